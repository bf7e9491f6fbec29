/// A picture ready to be laid over frames: premultiplied YUVA, one 32-bit word a pixel (Y lowest, then U, V, A), in the
/// range of the frames that it is for. One transparent pixel surrounds the art, so that its edge fades on its own.
public struct Stamp: Sendable {
    public let width: Int
    public let height: Int
    public let pixels: [UInt32]

    public init(width: Int, height: Int, pixels: [UInt32]) {
        precondition(pixels.count == width * height && width > 1 && height > 1)
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }
}

/// Rows that `blend` works in, allocated once for a frame's width.
public struct BlendRows: Sendable {
    fileprivate var upper: [UInt32]
    fileprivate var lower: [UInt32]

    /// - Parameter width: of the frames to come, pixels.
    public init(width: Int) {
        upper = Array(repeating: 0, count: width + 2)
        lower = upper
    }
}

/// Lays a stamp over a frame, touching only the pixels under it.
///
/// Chroma is taken as sited in the middle of the luma samples that share it, as V4L2's documents say of 4:2:2 and
/// 4:2:0: it gets the mean of the art over those samples.
/// - Parameters:
///   - stamp: the art, in the range of the frame.
///   - map: from the stamp's pixels to the frame's.
///   - opacity: 0...1, multiplies the art's own alpha.
public func blend(
    _ stamp: borrowing Stamp, by map: Affine, opacity: Float, onto frame: inout Frame, rows: inout BlendRows
) {
    guard let back = map.inverse, opacity > 0 else { return }
    let layout = frame.layout
    precondition(rows.upper.count >= layout.width + 2, "the rows were made for narrower frames")
    // The rectangle of the frame that the stamp's corners span.
    let size = Point(Float(stamp.width - 1), Float(stamp.height - 1))
    let corners: [4 of Point] = [map(.zero), map(Point(size.x, 0)), map(Point(0, size.y)), map(size)]
    var (low, high) = (corners[0], corners[0])
    for i in 1..<4 {
        low = pointwiseMin(low, corners[i])
        high = pointwiseMax(high, corners[i])
    }
    let edge: Float = 1_000_000  // keeps Int conversions defined for wild maps
    guard low.x > -edge, low.y > -edge, high.x < edge, high.y < edge else { return }
    let top = max(0, Int(low.y)) & ~1
    let bottom = min(layout.height, Int(high.y) + 2)
    guard top < bottom else { return }
    let gain = UInt32((min(opacity, 1) * 256).rounded())
    let paired = layout.format.chromaShift.y == 1
    var bytes = frame.mutableBytes
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        var y = top
        while y < bottom {
            let span = sample(stamp, back, row: y, width: layout.width, gain: gain, into: &rows.upper)
            if paired {
                let below =
                    y + 1 < layout.height
                    ? sample(stamp, back, row: y + 1, width: layout.width, gain: gain, into: &rows.lower) : 0..<0
                let both = cover(span, below)
                clear(&rows.upper, both, except: span)
                clear(&rows.lower, both, except: below)
                if !both.isEmpty {
                    unsafe blendLuma(base, layout, y, both, rows.upper)
                    if y + 1 < layout.height { unsafe blendLuma(base, layout, y + 1, both, rows.lower) }
                    unsafe blendChroma(base, layout, y / 2, both, rows.upper, rows.lower)
                }
                y += 2
            } else {
                if !span.isEmpty {
                    unsafe blendLuma(base, layout, y, span, rows.upper)
                    unsafe blendChroma(base, layout, y, span, rows.upper, rows.upper)
                }
                y += 1
            }
        }
    }
}

/// The range of even bounds that holds both; an empty one counts for nothing.
private func cover(_ a: Range<Int>, _ b: Range<Int>) -> Range<Int> {
    if a.isEmpty { return b }
    if b.isEmpty { return a }
    return min(a.lowerBound, b.lowerBound)..<max(a.upperBound, b.upperBound)
}

private func clear(_ row: inout [UInt32], _ whole: Range<Int>, except kept: Range<Int>) {
    for x in whole where !kept.contains(x) { row[x] = 0 }
}

/// Samples one row of the frame from the stamp (bilinear, 8 bits of weight).
/// - Returns: the columns that were written, from an even one to an even one (or one past the frame's width).
private func sample(
    _ stamp: borrowing Stamp, _ back: Affine, row: Int, width: Int, gain: UInt32, into out: inout [UInt32]
) -> Range<Int> {
    let start = back(Point(0, Float(row)))
    // Columns where 0 <= u < width - 1 and 0 <= v < height - 1: two linear conditions on x.
    var (first, last) = (Float(0), Float(width - 1))
    func narrow(_ from: Float, _ slope: Float, _ limit: Float) {
        if abs(slope) < 1e-9 {
            if from < 0 || from >= limit { (first, last) = (1, 0) }
            return
        }
        let (p, q) = ((0 - from) / slope, (limit - from) / slope)
        first = max(first, min(p, q))
        last = min(last, max(p, q))
    }
    narrow(start.x, back.a, Float(stamp.width - 1))
    narrow(start.y, back.c, Float(stamp.height - 1))
    guard first <= last else { return 0..<0 }
    let begin = max(0, Int(first.rounded(.up)))
    let end = min(width, Int(last.rounded(.down)) + 1)
    guard begin < end else { return 0..<0 }
    let (from, to) = (begin & ~1, (end + 1) & ~1)
    out[from] = 0
    out[to - 1] = 0
    // 16.16 fixed point: the stamp is at most 4096 pixels wide.
    let one: Float = 65536
    let (du, dv) = (Int(back.a * one), Int(back.c * one))
    var u = Int((start.x + back.a * Float(begin)) * one)
    var v = Int((start.y + back.c * Float(begin)) * one)
    let (uMax, vMax) = ((stamp.width - 1) << 16 - 1, (stamp.height - 1) << 16 - 1)
    let stride = stamp.width
    unsafe stamp.pixels.withUnsafeBufferPointer { source in
        guard let source = source.baseAddress else { return }
        unsafe out.withUnsafeMutableBufferPointer { target in
            for x in begin..<end {
                // Rounding may carry the ends a hair outside.
                let (cu, cv) = (max(0, min(u, uMax)), max(0, min(v, vMax)))
                let p = unsafe source + (cv >> 16) * stride + (cu >> 16)
                let (p00, p10) = unsafe (p[0], p[1])
                let (p01, p11) = unsafe (p[stride], p[stride + 1])
                if p00 | p10 | p01 | p11 == 0 {
                    unsafe target[x] = 0
                } else {
                    let (fu, fv) = (UInt32(cu >> 8 & 255), UInt32(cv >> 8 & 255))
                    let w11 = (fu * fv) >> 8
                    let (w10, w01) = (fu - w11, fv - w11)
                    let w00 = 256 - fu - w01
                    unsafe target[x] = scaled(mix(p00, p10, p01, p11, w00, w10, w01, w11), gain)
                }
                u += du
                v += dv
            }
        }
    }
    return from..<to
}

/// Four pixels weighted (weights sum to 256), two channels at a time.
@inline(__always)
private func mix(
    _ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, _ wa: UInt32, _ wb: UInt32, _ wc: UInt32, _ wd: UInt32
) -> UInt32 {
    let mask: UInt32 = 0x00ff_00ff
    let even = (a & mask) &* wa &+ (b & mask) &* wb &+ (c & mask) &* wc &+ (d & mask) &* wd
    let odd = (a >> 8 & mask) &* wa &+ (b >> 8 & mask) &* wb &+ (c >> 8 & mask) &* wc &+ (d >> 8 & mask) &* wd
    return (even >> 8 & mask) | (odd & ~mask)
}

/// All four channels times gain / 256.
@inline(__always)
private func scaled(_ p: UInt32, _ gain: UInt32) -> UInt32 {
    if gain == 256 { return p }
    let mask: UInt32 = 0x00ff_00ff
    return ((p & mask) &* gain >> 8 & mask) | ((p >> 8 & mask) &* gain & ~mask)
}

/// `under` seen through art of `alpha`, plus the art's own premultiplied value; division by 255 exact to rounding.
@inline(__always)
private func over(_ art: UInt32, _ alpha: UInt32, _ under: UInt8) -> UInt8 {
    let t = UInt32(under) &* (255 &- alpha) &+ 128
    return UInt8(truncatingIfNeeded: min(255, art &+ ((t &+ (t >> 8)) >> 8)))
}

private func blendLuma(
    _ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ y: Int, _ span: Range<Int>, _ row: borrowing [UInt32]
) {
    let (offset, step) = layout.luma
    let line = unsafe base + offset + y * layout.planes[0].stride
    for x in span.lowerBound..<min(span.upperBound, layout.width) {
        let p = row[x]
        if p == 0 { continue }
        unsafe line[x * step] = over(p & 255, p >> 24, line[x * step])
    }
}

private func blendChroma(
    _ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ row: Int, _ span: Range<Int>,
    _ upper: borrowing [UInt32], _ lower: borrowing [UInt32]
) {
    // The first U and V sample of the row, and the bytes from one to the next.
    let u: UnsafeMutablePointer<UInt8>
    let v: UnsafeMutablePointer<UInt8>
    let step: Int
    switch layout.format {
    case .gray: return
    case .yuyv, .uyvy:
        let line = unsafe base + layout.planes[0].offset + row * layout.planes[0].stride
        let first = layout.format == .yuyv ? 1 : 0
        unsafe (u, v, step) = unsafe (line + first, line + first + 2, 4)
    case .nv12:
        let line = unsafe base + layout.planes[1].offset + row * layout.planes[1].stride
        unsafe (u, v, step) = unsafe (line, line + 1, 2)
    case .i420, .i422, .i444:
        unsafe u = unsafe base + layout.planes[1].offset + row * layout.planes[1].stride
        unsafe v = unsafe base + layout.planes[2].offset + row * layout.planes[2].stride
        step = 1
    }
    if layout.format == .i444 {
        for x in span.lowerBound..<min(span.upperBound, layout.width) where upper[x] != 0 {
            let p = upper[x]
            unsafe u[x] = over(p >> 8 & 255, p >> 24, u[x])
            unsafe v[x] = over(p >> 16 & 255, p >> 24, v[x])
        }
        return
    }
    let mask: UInt32 = 0x00ff_00ff
    for c in span.lowerBound / 2..<span.upperBound / 2 {
        let (a, b, d, e) = (upper[2 * c], upper[2 * c + 1], lower[2 * c], lower[2 * c + 1])
        if a | b | d | e == 0 { continue }
        let even = (a & mask) &+ (b & mask) &+ (d & mask) &+ (e & mask)
        let odd = (a >> 8 & mask) &+ (b >> 8 & mask) &+ (d >> 8 & mask) &+ (e >> 8 & mask)
        let alpha = odd >> 18
        unsafe u[c * step] = over((odd & 0xffff) >> 2, alpha, u[c * step])
        unsafe v[c * step] = over(even >> 18, alpha, v[c * step])
    }
}
