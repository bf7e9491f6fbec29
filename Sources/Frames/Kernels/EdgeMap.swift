/// Where a frame's brightness bends sharply: the absolute Laplacian of the blurred luma, at half the frame's width and
/// height. Its memory grows to the largest frame and is kept.
public struct EdgeMap: ~Copyable {
    private var width = 0
    private var height = 0
    private var levels: [UInt8] = []
    private var spare: [UInt8] = []

    /// Laplacians below this are noise and skin, samples.
    private static let noise: UInt16 = 5
    /// Makes a Laplacian of 20 samples a full edge.
    private static let gain: UInt16 = 16

    /// An empty one.
    public init() {}

    /// Finds a frame's edges. Allocates nothing once it has seen a frame of that size.
    public mutating func find(_ frame: borrowing Frame) {
        let layout = frame.layout
        (width, height) = (layout.width / 2, layout.height / 2)
        let count = width * height
        if levels.count < count {
            levels = Array(repeating: 0, count: count)
            spare = Array(repeating: 0, count: count)
        }
        // Narrower frames have no room for a run and its neighbours.
        guard width >= 18, height >= 3 else { return }
        halve(frame)
        Self.filter(levels, into: &spare, width, height) { a, b, c, d, e, f, g, h, i in
            // The binomial filter, which is nearly a Gaussian with a deviation of 0.7.
            (a &+ c &+ g &+ i &+ (b &+ d &+ f &+ h) &* 2 &+ e &* 4 &+ 8) &>> 4
        }
        Self.filter(spare, into: &levels, width, height) { a, b, c, d, e, f, g, h, i in
            let (round, middle) = (a &+ b &+ c &+ d &+ f &+ g &+ h &+ i, e &* 8)
            let bend = (pointwiseMax(round, middle) &- pointwiseMin(round, middle)) &>> 2
            let clear = pointwiseMax(bend, SIMD16(repeating: Self.noise)) &- Self.noise
            return pointwiseMin(clear &* Self.gain, SIMD16(repeating: 255))
        }
    }

    private mutating func halve(_ frame: borrowing Frame) {
        let (layout, width, height) = (frame.layout, self.width, self.height)
        let bytes = frame.bytes
        var target = levels.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let base = bytes.baseAddress, let target = target.baseAddress else { return }
                let (offset, step, stride) = (layout.luma.offset, layout.luma.pixelStride, layout.planes[0].stride)
                for y in 0..<height {
                    let row = unsafe UnsafeRawPointer(base + offset + 2 * y * stride)
                    let out = unsafe UnsafeMutableRawPointer(target + y * width)
                    var x = 0
                    while x < width {
                        // The last run overlaps the one before.
                        x = min(x, width - 8)
                        let upper = unsafe lumaRun(row + 2 * x * step, step)
                        let lower = unsafe lumaRun(row + stride + 2 * x * step, step)
                        let sum = upper &+ lower
                        let mean = (sum.evenHalf &+ sum.oddHalf &+ 2) &>> 2
                        unsafe out.storeBytes(
                            of: SIMD8<UInt8>(truncatingIfNeeded: mean), toByteOffset: x, as: SIMD8<UInt8>.self)
                        x += 8
                    }
                }
            }
        }
    }

    typealias Lanes = SIMD16<UInt16>

    /// Each sample from itself and its eight neighbours, row by row from the top left; the outermost ones become 0.
    @inline(__always)
    private static func filter(
        _ source: [UInt8], into target: inout [UInt8], _ width: Int, _ height: Int,
        _ body: (Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes) -> Lanes
    ) {
        let from = source.span
        var to = target.mutableSpan
        unsafe from.withUnsafeBufferPointer { from in
            unsafe to.withUnsafeMutableBufferPointer { to in
                guard let from = from.baseAddress, let to = to.baseAddress else { return }
                unsafe to.update(repeating: 0, count: width)
                unsafe (to + (height - 1) * width).update(repeating: 0, count: width)
                for y in 1..<height - 1 {
                    let row = unsafe UnsafeRawPointer(from + y * width)
                    let out = unsafe UnsafeMutableRawPointer(to + y * width)
                    @inline(__always)
                    func at(_ offset: Int) -> Lanes {
                        unsafe Lanes(
                            truncatingIfNeeded: row.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self))
                    }
                    var x = 1
                    while x < width - 1 {
                        x = min(x, width - 17)
                        let (up, down) = (x - width, x + width)
                        let value = body(
                            at(up - 1), at(up), at(up + 1), at(x - 1), at(x), at(x + 1), at(down - 1), at(down),
                            at(down + 1))
                        unsafe out.storeBytes(
                            of: SIMD16<UInt8>(truncatingIfNeeded: value), toByteOffset: x, as: SIMD16<UInt8>.self)
                        x += 16
                    }
                    unsafe out.storeBytes(of: 0, as: UInt8.self)
                    unsafe out.storeBytes(of: 0, toByteOffset: width - 1, as: UInt8.self)
                }
            }
        }
    }

    /// Draws the edges over a frame in one colour, screened: bright edges cover, faint ones lighten.
    /// - Parameter color: an opaque word of a `Stamp`, in the frame's range.
    public func screen(_ color: UInt32, opacity: Float, onto frame: inout Frame) {
        let layout = frame.layout
        guard width >= 18, height >= 3, opacity > 0 else { return }
        precondition(width == layout.width / 2 && height == layout.height / 2, "the edges are the frame's own")
        let gain = UInt16((min(opacity, 1) * 256).rounded())
        let rows = layout.format.chromaShift.y == 1 ? 2 : 1
        let (y0, u0, v0) = (UInt16(color & 255), UInt16(color >> 8 & 255), UInt16(color >> 16 & 255))
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { target in
            unsafe levels.withUnsafeBufferPointer { levels in
                guard let base = target.baseAddress, let levels = levels.baseAddress else { return }
                for y in stride(from: 0, to: 2 * height, by: rows) {
                    for x in stride(from: 0, to: 2 * width - 15, by: runLength) {
                        let at = unsafe UnsafeRawPointer(levels + y / 2 * width + x / 2)
                        let edge = unsafe at.loadUnaligned(as: SIMD8<UInt8>.self)
                        guard edge != .zero else { continue }
                        let half = (SIMD8<UInt16>(truncatingIfNeeded: edge) &* gain) &>> 8
                        var alpha = SIMD16<UInt16>()
                        (alpha.evenHalf, alpha.oddHalf) = (half, half)
                        @inline(__always)
                        func part(_ value: UInt16) -> SIMD16<UInt16> {
                            let t = alpha &* value &+ 128
                            return (t &+ (t &>> 8)) &>> 8
                        }
                        let low = part(y0) | part(u0) &<< 8
                        let high = part(v0) | alpha &<< 8
                        let run = Run(truncatingIfNeeded: low) | Run(truncatingIfNeeded: high) &<< 16
                        let place = RunPlace(x: x, y: y, count: runLength)
                        unsafe blend(run, rows == 2 ? run : nil, onto: base, layout, at: place)
                    }
                }
            }
        }
    }
}

/// The luma of 16 pixels.
@inline(__always)
private func lumaRun(_ at: UnsafeRawPointer, _ step: Int) -> SIMD16<UInt16> {
    if step == 1 { return SIMD16(truncatingIfNeeded: unsafe at.loadUnaligned(as: SIMD16<UInt8>.self)) }
    // From the first sample on; behind the last one of a frame there may be nothing.
    let first = unsafe at.loadUnaligned(as: SIMD16<UInt8>.self)
    let rest = unsafe (at + 15).loadUnaligned(as: SIMD16<UInt8>.self)
    return SIMD16(
        lowHalf: SIMD8(truncatingIfNeeded: first.evenHalf), highHalf: SIMD8(truncatingIfNeeded: rest.oddHalf))
}
