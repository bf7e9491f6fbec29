/// A map of a frame's edges: the absolute Laplacian of the blurred luma, at half the frame's width and height. Its
/// memory grows to the largest frame and is kept.
public struct EdgeMap: ~Copyable {
    private var width = 0
    private var height = 0
    private var levels: [UInt8] = []
    private var spare: [UInt8] = []

    /// Laplacians below this, in samples, are treated as noise and skin texture.
    private static let noise: Int16 = 5
    /// The Laplacian above the noise level that counts as a full edge; a divisor of 255.
    private static let full: Int16 = 15
    /// Bytes beyond the end of the map that the last run of the last row reads.
    private static let beyond = runLength / 2

    /// An empty map.
    public init() {}

    /// Finds a frame's edges. Allocates nothing once it has processed a frame of that size.
    public mutating func find(_ frame: borrowing Frame) {
        let layout = frame.layout
        (width, height) = (layout.width / 2, layout.height / 2)
        let count = width * height
        if levels.count < count + Self.beyond {
            levels = Array(repeating: 0, count: count + Self.beyond)
            spare = levels
        }
        // A narrower frame has no room for a run and its neighbours.
        guard width >= 18, height >= 3 else { return }
        halve(frame)
        Self.filter(levels, into: &spare, width, height) { a, b, c, d, e, f, g, h, i in
            // The 3 x 3 binomial filter, nearly a Gaussian with a standard deviation of 0.7.
            (a &+ c &+ g &+ i &+ (b &+ d &+ f &+ h) &* 2 &+ e &* 4 &+ 8) &>> 4
        }
        Self.filter(spare, into: &levels, width, height) { a, b, c, d, e, f, g, h, i in
            let bend = a &+ b &+ c &+ d &+ f &+ g &+ h &+ i &- e &* 8
            // The absolute value by the sign bit: the library's own is a call, and slower.
            let sign = bend &>> 15
            let clear = (((bend ^ sign) &- sign) &>> 2) &- Self.noise
            return laneClamp(clear, .zero, SIMD8(repeating: Self.full)) &* (255 / Self.full)
        }
    }

    private mutating func halve(_ frame: borrowing Frame) {
        let (layout, width, height) = (frame.layout, self.width, self.height)
        let bytes = frame.bytes
        var target = levels.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let base = bytes.baseAddress, let target = target.baseAddress else { return }
                let (stride, format) = (layout.planes[0].stride, layout.format)
                for y in 0..<height {
                    let row = unsafe UnsafeRawPointer(base + layout.planes[0].offset + 2 * y * stride)
                    let out = unsafe UnsafeMutableRawPointer(target + y * width)
                    var x = 0
                    while x < width {
                        // The last run overlaps the previous one.
                        x = min(x, width - 8)
                        let upper = unsafe pairSums(row, 2 * x, format)
                        let lower = unsafe pairSums(row + stride, 2 * x, format)
                        let mean = (upper &+ lower &+ 2) &>> 2
                        unsafe out.storeBytes(
                            of: SIMD8<UInt8>(truncatingIfNeeded: mean), toByteOffset: x, as: SIMD8<UInt8>.self)
                        x += 8
                    }
                }
            }
        }
    }

    private typealias Lanes = SIMD8<Int16>

    /// Applies a 3 x 3 filter; its arguments are the neighbourhood row by row from the top left. The outermost samples
    /// are copied from their neighbours inside, so that the frame's own border is not an edge.
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
                for y in 1..<height - 1 {
                    let row = unsafe UnsafeRawPointer(from + y * width)
                    let out = unsafe UnsafeMutableRawPointer(to + y * width)
                    @inline(__always)
                    func at(_ offset: Int) -> Lanes {
                        unsafe row.loadUnaligned(fromByteOffset: offset, as: Lanes.self)
                    }
                    var x = 1
                    while x < width - 1 {
                        x = min(x, width - 17)
                        let (up, down) = (x &- width, x &+ width)
                        let (a, b, c) = (at(up &- 1), at(up), at(up &+ 1))
                        let (d, e, f) = (at(x &- 1), at(x), at(x &+ 1))
                        let (g, h, i) = (at(down &- 1), at(down), at(down &+ 1))
                        // Even and odd bytes, each in 16-bit lanes.
                        let even = body(
                            a & 255, b & 255, c & 255, d & 255, e & 255, f & 255, g & 255, h & 255, i & 255)
                        let odd = body(
                            high(a), high(b), high(c), high(d), high(e), high(f), high(g), high(h), high(i))
                        unsafe out.storeBytes(of: even | odd &<< 8, toByteOffset: x, as: Lanes.self)
                        x &+= 16
                    }
                    unsafe to[y * width] = to[y * width + 1]
                    unsafe to[y * width + width - 1] = to[y * width + width - 2]
                }
                unsafe to.update(from: to + width, count: width)
                unsafe (to + (height - 1) * width).update(from: to + (height - 2) * width, count: width)
            }
        }
    }

    /// Draws the edges over a frame in one colour, with opacity by strength: strong edges cover, faint ones tint.
    /// - Parameter color: an opaque pixel of a `Sprite`, in the frame's range.
    public func screen(_ color: UInt32, opacity: Float, onto frame: inout Frame) {
        let layout = frame.layout
        guard width >= 18, height >= 3, opacity > 0 else { return }
        precondition(width == layout.width / 2 && height == layout.height / 2, "the edges are of another frame size")
        let gain = UInt16((min(opacity, 1) * 256).rounded())
        let rows = layout.format.chromaShift.y == 1 ? 2 : 1
        let (y0, u0, v0) = (UInt16(color & 255), UInt16(color >> 8 & 255), UInt16(color >> 16 & 255))
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { target in
            unsafe levels.withUnsafeBufferPointer { levels in
                guard let base = target.baseAddress, let levels = levels.baseAddress else { return }
                for y in stride(from: 0, to: 2 * height, by: rows) {
                    for x in stride(from: 0, to: 2 * width, by: runLength) {
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
                        let position = RunPosition(x: x, y: y, count: min(runLength, 2 * width - x))
                        unsafe blend(run, rows == 2 ? run : nil, onto: base, layout, at: position)
                    }
                }
            }
        }
    }
}

@inline(__always)
private func high(_ pairs: SIMD8<Int16>) -> SIMD8<Int16> { pairs &>> 8 & 255 }

/// The sums of 8 pairs of neighbouring luma samples.
@inline(__always)
private func pairSums(_ row: UnsafeRawPointer, _ x: Int, _ format: PixelFormat) -> SIMD8<UInt16> {
    switch format {
    case .yuyv, .uyvy:
        let words = unsafe row.loadUnaligned(fromByteOffset: 2 * x, as: SIMD16<UInt16>.self)
        let luma = format == .yuyv ? words & 255 : words &>> 8
        return luma.evenHalf &+ luma.oddHalf
    default:
        let pairs = unsafe row.loadUnaligned(fromByteOffset: x, as: SIMD8<UInt16>.self)
        return (pairs & 255) &+ pairs &>> 8
    }
}
