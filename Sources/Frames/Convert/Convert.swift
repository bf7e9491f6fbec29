import CScale

/// Converts a picture to the format and range of a frame of the same size. Allocates nothing.
///
/// Chroma is averaged if the frame has less of it and repeated if it has more; a gray picture becomes neutral. Ranges
/// are converted according to ITU-R BT.601.
/// - Precondition: both have the same width and height.
public func convert(_ view: borrowing FrameView, into frame: inout Frame) {
    precondition(view.layout.height == frame.layout.height, "both frames need the same size")
    convert(view, rows: view.layout.height, into: &frame, at: 0)
}

/// Converts the first rows of a frame to rows of another one. Allocates nothing.
/// - Parameters:
///   - rows: the number of rows. Even, unless the frame ends there.
///   - row: the first row in the frame. Even, since two rows may share their chroma.
func convert(_ source: borrowing Frame, rows: Int, into frame: inout Frame, at row: Int) {
    convert(source.view, rows: rows, into: &frame, at: row)
}

private func convert(_ view: borrowing FrameView, rows: Int, into frame: inout Frame, at row: Int) {
    let (from, to) = (view.layout, frame.layout)
    precondition(from.width == to.width, "both frames need the same width")
    precondition(rows <= from.height && row + rows <= to.height && row & 1 == 0, "the rows must be in both frames")
    var target = frame.mutableBytes
    // The only bounds check: everything below stays within the bytes of the layouts.
    precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes for the layouts")
    unsafe view.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            if from.format == to.format, from.range == to.range {
                unsafe copyRows(source, from, target, to, rows, row, columns: 0..<to.width)
                return
            }
            let conversion = unsafe Conversion(
                source: source, from: from, target: target, to: to, top: row, height: rows)
            switch (from.range, to.range) {
            case (.full, .limited): conversion.run(FullToLimited.self)
            case (.limited, .full): conversion.run(LimitedToFull.self)
            case (.full, .full), (.limited, .limited): conversion.run(SameRange.self)
            }
        }
    }
}

/// Converts an owned frame to the format and range of another one of the same size. Allocates nothing.
public func convert(_ source: borrowing Frame, into frame: inout Frame) { convert(source.view, into: &frame) }

@unsafe private func copyRows(
    _ source: UnsafePointer<UInt8>, _ from: FrameLayout, _ target: UnsafeMutablePointer<UInt8>, _ to: FrameLayout,
    _ rows: Int, _ top: Int, columns: Range<Int>
) {
    for (i, (a, b)) in zip(from.planes, to.planes).enumerated() {
        func offset(_ x: Int) -> Int {
            if x == to.width { return b.rowBytes }
            if i == 0 { return to.format.isPacked ? 2 * x : x }
            return to.format == .nv12 ? x : x >> to.format.chromaShift.x
        }
        let shift = i == 0 ? 0 : to.format.chromaShift.y
        let (start, end) = (offset(columns.lowerBound), offset(columns.upperBound))
        for row in 0..<(rows + shift) >> shift {
            let bytes = unsafe source + a.offset + row * a.stride + start
            let address = unsafe target + b.offset + (top >> shift + row) * b.stride + start
            unsafe address.update(from: bytes, count: end - start)
        }
    }
}

/// Copies some columns of the first rows of a frame to another one of the same format and width. Allocates nothing.
/// - Parameters:
///   - rows: the number of rows. Even, unless the frame ends there.
///   - columns: begins and ends on even pixels, or at the frame's edge.
///   - row: the first row in the frame. Even.
func copyRows(of source: borrowing Frame, rows: Int, columns: Range<Int>, into frame: inout Frame, at row: Int) {
    let (from, to) = (source.layout, frame.layout)
    precondition(from.format == to.format && from.width == to.width, "both frames need the same format and width")
    precondition(rows <= from.height && row + rows <= to.height && columns.upperBound <= to.width, "out of the frame")
    var target = frame.mutableBytes
    unsafe source.bytes.withUnsafeBufferPointer { source in
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let source = source.baseAddress, let target = target.baseAddress else { return }
            unsafe copyRows(source, from, target, to, rows, row, columns: columns)
        }
    }
}

/// A map of samples from one range to another (ITU-R BT.601-7, 2.5; JFIF 1.02).
///
/// The maps are 16-bit arithmetic in 8.8 fixed point, which the compiler vectorizes; a table of 256 bytes would not be.
/// They are in this file since the compiler, unless it sees the whole module, would otherwise make a call per sample.
protocol SampleMap {
    static func luma(_ sample: UInt8) -> UInt8
    static func chroma(_ sample: UInt8) -> UInt8
}

/// The map between equal ranges.
enum SameRange: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 { sample }
    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 { sample }
}

/// Maps luma 0...255 to 16...235 and chroma 0...255 to 16...240, both rounded.
enum FullToLimited: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 {
        // 219/255; the offset is 16 plus one half.
        narrow(scaled(UInt16(sample), by: 56284) &+ (16 << 8 | 128))
    }

    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 {
        // 224/255 around 128: 128 - 128 * 224/255 = 15.561, plus one half.
        narrow(scaled(UInt16(sample), by: 57569) &+ 4112)
    }
}

/// Maps luma 16...235 to 0...255 and chroma 16...240 to 0...255, both rounded; samples outside are clamped.
enum LimitedToFull: SampleMap {
    @inline(__always) static func luma(_ sample: UInt8) -> UInt8 {
        let above = UInt16(max(16, min(sample, 235)) &- 16)
        // 255/219 = 1 + 0.16438.
        return narrow(above << 8 &+ scaled(above, by: 10773) &+ 128)
    }

    @inline(__always) static func chroma(_ sample: UInt8) -> UInt8 {
        let above = UInt16(max(16, min(sample, 240)) &- 16)
        // 255/224 = 1 + 0.13839 around 128, which is 127.5 above the lowest value: one half for that, one half to
        // round.
        return narrow(above << 8 &+ scaled(above, by: 9070) &+ 255)
    }
}

/// `value * factor / 65536` with 8 fraction bits, for 8-bit values.
@inline(__always) private func scaled(_ value: UInt16, by factor: UInt32) -> UInt16 {
    UInt16(truncatingIfNeeded: (UInt32(value << 8) &* factor) >> 16)
}

@inline(__always) private func narrow(_ value: UInt16) -> UInt8 { UInt8(truncatingIfNeeded: value >> 8) }

/// The pixels of a row that are converted at a time, so that intermediate results stay on the stack and in the nearest
/// cache. Even, since packed formats have pairs.
private let piece = 512

/// One conversion. Chroma is first brought to the target's subsampling, then each row is assembled.
@safe private struct Conversion {
    let source: UnsafePointer<UInt8>
    let from: FrameLayout
    let target: UnsafeMutablePointer<UInt8>
    let to: FrameLayout
    /// The target's row that the source's first row is converted to.
    let top: Int
    /// The number of rows.
    let height: Int

    func run<Map: SampleMap>(_: Map.Type) {
        // Five rows of one piece: luma, U, V, and two for chroma. Initially neutral chroma, which gray keeps.
        var memory = [2560 of UInt8](repeating: 128)
        var span = memory.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { scratch in
            guard let scratch = scratch.baseAddress else { return }
            let down = to.format.chromaShift.y
            for chromaRow in 0..<(height + down) >> down {
                for x in stride(from: 0, to: to.width, by: piece) {
                    unsafe convert(Map.self, chromaRow, x, min(piece, to.width - x), scratch)
                }
            }
        }
    }

    /// Converts `count` pixels from column `x` on, in all rows that share a row of the target's chroma.
    private func convert<Map: SampleMap>(
        _: Map.Type, _ chromaRow: Int, _ x: Int, _ count: Int, _ scratch: UnsafeMutablePointer<UInt8>
    ) {
        let shift = to.format.chromaShift
        let luma = unsafe scratch
        var (u, v) = unsafe (UnsafePointer(scratch + piece), UnsafePointer(scratch + 2 * piece))
        if to.format != .gray, let sites = from.chroma {
            unsafe u = chroma(Map.self, sites.u, chromaRow, x, count, scratch + piece, scratch + 3 * piece)
            unsafe v = chroma(Map.self, sites.v, chromaRow, x, count, scratch + 2 * piece, scratch + 3 * piece)
        }
        let (input, output) = (from.luma, to.luma)
        for row in chromaRow << shift.y..<min((chromaRow + 1) << shift.y, height) {
            let start = unsafe source + input.offset + row * input.stride + x * input.step
            let samples = unsafe gather(start, input.step, count, luma)
            let bytes = unsafe target + to.planes[0].offset + (top + row) * output.stride + x * output.step
            if output.step == 1 {
                for i in 0..<count { unsafe bytes[i] = Map.luma(samples[i]) }
            } else if Map.self == SameRange.self {
                unsafe pack(samples, u, v, count, bytes)
            } else {
                for i in 0..<count { unsafe luma[i] = Map.luma(samples[i]) }
                unsafe pack(luma, u, v, count, bytes)
            }
        }
        guard let sites = to.chroma, output.step == 1 else { return }
        let start = unsafe target + (top >> shift.y + chromaRow) * sites.u.stride + (x >> shift.x) * sites.u.step
        let chromaCount = (count + shift.x) >> shift.x
        if sites.u.step == 1 {
            unsafe (start + sites.u.offset).update(from: u, count: chromaCount)
            unsafe (start + sites.v.offset).update(from: v, count: chromaCount)
        } else {
            let pairs = unsafe start + sites.u.offset
            for i in 0..<chromaCount { unsafe (pairs[2 * i], pairs[2 * i + 1]) = (u[i], v[i]) }
        }
    }

    /// Converts one chroma component of a piece to the target's subsampling and range.
    /// - Parameters:
    ///   - out: scratch memory for the result.
    ///   - work: scratch memory of two rows.
    /// - Returns: `out`; or the source's own samples, if they need no change.
    private func chroma<Map: SampleMap>(
        _: Map.Type, _ site: SampleSite, _ row: Int, _ x: Int, _ count: Int, _ out: UnsafeMutablePointer<UInt8>,
        _ work: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let (has, wants) = (from.format.chromaShift, to.format.chromaShift)
        let available = (count + has.x) >> has.x
        let last = ((height + has.y) >> has.y) - 1
        let first = (row << wants.y) >> has.y
        let start = unsafe source + site.offset + (x >> has.x) * site.step
        var samples = unsafe gather(start + first * site.stride, site.step, available, work)
        if has.y < wants.y, first < last {
            let below = unsafe gather(start + (first + 1) * site.stride, site.step, available, work + piece)
            for i in 0..<available { unsafe work[i] = mean(samples[i], below[i]) }
            unsafe samples = UnsafePointer(work)
        }
        if Map.self == SameRange.self, has.x == wants.x, unsafe samples != UnsafePointer(work) { return unsafe samples }
        if has.x == wants.x {
            for i in 0..<available { unsafe out[i] = Map.chroma(samples[i]) }
        } else if has.x < wants.x {
            for i in 0..<available / 2 { unsafe out[i] = Map.chroma(mean(samples[2 * i], samples[2 * i + 1])) }
            if available & 1 == 1 { unsafe out[available / 2] = Map.chroma(samples[available - 1]) }
        } else {
            for i in 0..<count / 2 {
                let value = unsafe Map.chroma(samples[i])
                unsafe (out[2 * i], out[2 * i + 1]) = (value, value)
            }
            if count & 1 == 1 { unsafe out[count - 1] = Map.chroma(samples[available - 1]) }
        }
        return unsafe UnsafePointer(out)
    }

    /// Packs a row of separate components.
    private func pack(
        _ y: UnsafePointer<UInt8>, _ u: UnsafePointer<UInt8>, _ v: UnsafePointer<UInt8>, _ count: Int,
        _ bytes: UnsafeMutablePointer<UInt8>
    ) {
        let lumaFirst = to.format == .yuyv
        if lumaFirst {
            unsafe packPairs(y, u, v, count / 2, bytes, lumaFirst: true)
        } else {
            unsafe packPairs(y, u, v, count / 2, bytes, lumaFirst: false)
        }
        guard count & 1 == 1 else { return }
        // A pair needs a second pixel: the last one is repeated.
        let (i, end) = (count / 2, 2 * count - 2)
        let last = unsafe (y[count - 1], u[i], v[i])
        let quad: [4 of UInt8] = lumaFirst ? [last.0, last.1, last.0, last.2] : [last.1, last.0, last.2, last.0]
        for k in 0..<4 { unsafe bytes[end + k] = quad[k] }
    }
}

/// Packs pairs of pixels, eight at a time. Separate calls, so that the order is a constant in each loop.
@unsafe @inline(__always) private func packPairs(
    _ y: UnsafePointer<UInt8>, _ u: UnsafePointer<UInt8>, _ v: UnsafePointer<UInt8>, _ count: Int,
    _ bytes: UnsafeMutablePointer<UInt8>, lumaFirst: Bool
) {
    let (luma, out) = unsafe (UnsafeRawPointer(y), UnsafeMutableRawPointer(bytes))
    var i = 0
    if let kernels = unsafe cscale_kernels() {
        unsafe i = Int(kernels.pointee.pack(y, u, v, CInt(2 * count), lumaFirst ? 1 : 0, bytes)) / 2
    }
    while i &+ 8 <= count {
        let samples = unsafe luma.loadUnaligned(fromByteOffset: 2 &* i, as: SIMD16<UInt8>.self)
        let first = unsafe UnsafeRawPointer(u + i).loadUnaligned(as: SIMD8<UInt8>.self)
        let second = unsafe UnsafeRawPointer(v + i).loadUnaligned(as: SIMD8<UInt8>.self)
        let chroma = unsafe unsafeBitCast(
            SIMD8<UInt16>(truncatingIfNeeded: first) | SIMD8<UInt16>(truncatingIfNeeded: second) &<< 8,
            to: SIMD16<UInt8>.self)
        let packed = lumaFirst ? zipped(samples, chroma) : zipped(chroma, samples)
        unsafe out.storeBytes(of: packed.0, toByteOffset: 4 &* i, as: SIMD16<UInt8>.self)
        unsafe out.storeBytes(of: packed.1, toByteOffset: 4 &* i &+ 16, as: SIMD16<UInt8>.self)
        i &+= 8
    }
    while i < count {
        let (first, second) = unsafe (y[2 &* i], y[2 &* i &+ 1])
        let quad = unsafe lumaFirst ? SIMD4(first, u[i], second, v[i]) : SIMD4(u[i], first, v[i], second)
        unsafe out.storeBytes(of: quad, toByteOffset: 4 &* i, as: SIMD4<UInt8>.self)
        i &+= 1
    }
}

/// Contiguous samples: in place if `step` is 1, else collected into `work`.
@unsafe @inline(__always) private func gather(
    _ samples: UnsafePointer<UInt8>, _ step: Int, _ count: Int, _ work: UnsafeMutablePointer<UInt8>
) -> UnsafePointer<UInt8> {
    switch step {
    case 1: return unsafe samples
    case 2: for i in 0..<count { unsafe work[i] = samples[2 * i] }
    default: for i in 0..<count { unsafe work[i] = samples[4 * i] }
    }
    return unsafe UnsafePointer(work)
}

@inline(__always) private func mean(_ a: UInt8, _ b: UInt8) -> UInt8 {
    UInt8(truncatingIfNeeded: (UInt16(a) &+ UInt16(b) &+ 1) >> 1)
}
