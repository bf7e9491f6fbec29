/// An overlay of the frame's size, drawn without scaling: premultiplied YUVA pixels as in a `Sprite`.
public struct FrameOverlay: Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// A stretch of adjacent runs of the same kind in a pair of rows; a pair, since rows may share chroma.
    private struct Stretch {
        /// The columns, in whole runs; the last run may extend beyond the overlay.
        let begin: Int
        var end: Int
        /// The opaque colour of the whole stretch in the upper and the lower row; nil if it is not uniform.
        let colors: SIMD2<UInt32>?
        /// The index of its art in `runPixels`: run by run, the upper row's and then the lower one's.
        let first: Int
    }

    /// The pixels that are neither transparent nor of one opaque colour, in drawing order. Reading them is nearly the
    /// whole cost of an overlay, and short pieces far apart are the slowest.
    private let runPixels: [UInt32]
    private let stretches: [Stretch]
    /// The index of each pair of rows' first stretch, and at the end the number of stretches.
    private let firsts: [Int]

    /// The blend mode of an overlay.
    public enum Mode: Sendable { case over, multiply, screen }

    /// Creates an overlay from pixels.
    /// - Parameter pixels: `width * height` of them.
    public init(width: Int, height: Int, pixels: [UInt32]) {
        precondition(
            width > 0 && height > 0 && pixels.count == width * height, "an overlay needs width * height pixels")
        var runPixels: [UInt32] = []
        var stretches: [Stretch] = []
        var firsts: [Int] = []
        func pixel(_ x: Int, _ y: Int) -> UInt32 { x < width && y < height ? pixels[y * width + x] : 0 }
        for y in Swift.stride(from: 0, to: height, by: 2) {
            firsts.append(stretches.count)
            for x in Swift.stride(from: 0, to: width, by: runLength) {
                let colors = SIMD2(pixel(x, y), pixel(x, y + 1))
                let isFlat = (x..<x + runLength).allSatisfy { pixel($0, y) == colors.x && pixel($0, y + 1) == colors.y }
                guard !isFlat || colors != .zero else { continue }
                let isOpaque = colors.x >> 24 == 255 && colors.y >> 24 == 255
                let next = Stretch(
                    begin: x, end: x + runLength, colors: isFlat && isOpaque ? colors : nil, first: runPixels.count)
                if next.colors == nil {
                    for row in y...y + 1 { runPixels += (x..<x + runLength).map { pixel($0, row) } }
                }
                let hasLast = stretches.count > firsts[firsts.count - 1]
                if hasLast, let last = stretches.last, last.end == x, last.colors == next.colors {
                    stretches[stretches.count - 1].end = next.end
                } else {
                    stretches.append(next)
                }
            }
        }
        firsts.append(stretches.count)
        (self.width, self.height, self.runPixels) = (width, height, runPixels)
        (self.stretches, self.firsts) = (stretches, firsts)
    }

    /// Draws the overlay over a frame, aligned at the top left corner. Allocates nothing.
    /// - Parameters:
    ///   - opacity: 0...1, multiplies the art's own alpha.
    ///   - mode: the blend mode; multiply and screen require an overlay that is opaque everywhere.
    public func draw(onto frame: inout Frame, opacity: Float, _ mode: Mode = .over) {
        guard opacity > 0 else { return }
        let layout = frame.layout
        let gain = UInt32((min(opacity, 1) * 256).rounded())
        let lines = min(height, layout.height)
        let filler = ColorFiller(layout)
        let rows = layout.format.chromaShift.y == 1 ? 2 : 1
        let range = layout.range
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { target in
            unsafe runPixels.withUnsafeBufferPointer { runPixels in
                guard let base = target.baseAddress, let runPixels = runPixels.baseAddress else { return }
                for y in Swift.stride(from: 0, to: lines, by: rows) {
                    let isPair = rows == 2 && y + 1 < lines
                    let (first, second) = unsafe (
                        PixelRow(base, layout, y), PixelRow(base, layout, min(y + 1, layout.height - 1))
                    )
                    for i in firsts[y / 2]..<firsts[y / 2 + 1] {
                        let stretch = stretches[i]
                        let art = unsafe runPixels + stretch.first + y % 2 * runLength
                        let end = min(stretch.end, min(width, layout.width))
                        var begin = stretch.begin
                        if let colors = stretch.colors, mode == .over, gain == 256 {
                            begin = max(begin, end / runLength * runLength)
                            let columns = stretch.begin..<begin
                            let here = y % 2 == 0 ? colors.x : colors.y
                            unsafe filler.fill(columns, row: y, here, isPair ? colors.y : nil, onto: base)
                        }
                        for x in Swift.stride(from: begin, to: end, by: runLength) {
                            var (upper, lower) = (Run(), rows == 2 ? Run() : nil)
                            if let colors = stretch.colors {
                                upper = Run(repeating: y % 2 == 0 ? colors.x : colors.y)
                                if isPair { lower = Run(repeating: colors.y) }
                            } else {
                                let at = unsafe UnsafeRawPointer(art + 2 * (x - stretch.begin))
                                upper = unsafe at.loadUnaligned(as: Run.self)
                                if isPair { lower = unsafe (at + runLength * 4).loadUnaligned(as: Run.self) }
                                guard !isTransparent(upper) || !isTransparent(lower ?? Run()) else { continue }
                            }
                            let count = min(runLength, layout.width - x)
                            if mode != .over {
                                upper = lit(upper, first.run(at: x, count: count), mode, range)
                                if isPair, let under = lower {
                                    lower = lit(under, second.run(at: x, count: count), mode, range)
                                }
                            }
                            let below = y + 1 < layout.height ? lower.map { faded($0, gain) } : nil
                            let position = RunPosition(x: x, y: y, count: count)
                            unsafe blend(faded(upper, gain), below, onto: base, layout, at: position)
                        }
                    }
                }
            }
        }
    }
}

/// Fills whole runs with one opaque colour, without reading what is there.
private struct ColorFiller {
    private var patterns: [3 of PlanePattern]
    private let count: Int

    init(_ layout: FrameLayout) {
        count = layout.planes.count
        patterns = [3 of PlanePattern](repeating: PlanePattern(layout, plane: 0))
        for i in 1..<count { patterns[i] = PlanePattern(layout, plane: i) }
    }

    /// Fills one or two rows of pixels.
    /// - Parameters:
    ///   - columns: whole runs inside the frame.
    ///   - lower: the colour of the next row, if it shares chroma with this one.
    func fill(
        _ columns: Range<Int>, row: Int, _ color: UInt32, _ lower: UInt32?, onto base: UnsafeMutablePointer<UInt8>
    ) {
        for i in 0..<count {
            let pattern = patterns[i]
            let bytes = pattern.bytes(columns.lowerBound, columns.upperBound)
            let start = unsafe base + pattern.plane.offset + (row >> pattern.rowShift) * pattern.plane.stride
            // Shared chroma is the mean of both rows.
            let (first, second) = pattern.rowShift == 1 ? (color, lower ?? color) : (color, color)
            unsafe Self.fill(start, bytes, pattern, first, second)
            if let lower, pattern.rowShift == 0 {
                unsafe Self.fill(start + pattern.plane.stride, bytes, pattern, lower, lower)
            }
        }
    }

    private static func fill(
        _ row: UnsafeMutablePointer<UInt8>, _ bytes: Range<Int>, _ pattern: PlanePattern, _ first: UInt32,
        _ second: UInt32
    ) {
        var word: UInt64 = 0
        for i in 0..<8 {
            let shift = UInt32(pattern.channels[i & 3]) * 8
            let sample = ((first >> shift & 255) + (second >> shift & 255)) / 2
            word |= UInt64(sample) << UInt64(8 * i)
        }
        // A run is 8, 16 or 32 bytes.
        for at in stride(from: bytes.lowerBound, to: bytes.upperBound, by: 8) {
            unsafe UnsafeMutableRawPointer(row + at).storeBytes(of: word, as: UInt64.self)
        }
    }
}

private func isTransparent(_ run: Run) -> Bool { (run .== Run()) == SIMDMask(repeating: true) }

/// The frame's pixels blended with opaque art, as opaque pixels.
///
/// Multiply: the luma is the product of both lumas; each chroma is multiplied by the other's luma (the product of both
/// chromas is ignored). Screen: the same with inverted levels, where the sign of chroma changes twice.
private func lit(_ art: Run, _ under: Run, _ mode: FrameOverlay.Mode, _ range: ColorRange) -> Run {
    let (black, span) = (UInt16(range.black), UInt16(range.lumaSpan))
    let levels = (lowest: SIMD16(repeating: black), highest: SIMD16(repeating: black + span))
    @inline(__always)
    func level(_ run: Run) -> SIMD16<UInt16> {
        let luma = SIMD16<UInt16>(truncatingIfNeeded: run & 255)
        let light = laneClamp(luma, levels.lowest, levels.highest) &- black
        return mode == .screen ? span &- light : light
    }
    @inline(__always)
    func chroma(_ run: Run, _ shift: UInt32) -> SIMD16<Int16> {
        SIMD16<Int16>(truncatingIfNeeded: run &>> shift & 255) &- 128
    }
    let (a, b) = (level(art), level(under))
    // Division by the span: first by 256, then a correction is added.
    let part = (a &* b &+ 128) &>> 8
    let rest = (65_536 + UInt32(span) / 2) / UInt32(span) - 256
    let product = laneMin(part &+ (part &* UInt16(rest) &+ 128) &>> 8, SIMD16(repeating: span))
    let luma = black &+ (mode == .screen ? span &- product : product)
    // Weights of 128ths keep the sums within 16 bits: at most 128, at the highest level.
    let perLevel = UInt16((128 * 256 + UInt32(span) / 2) / UInt32(span))
    @inline(__always)
    func weight(_ level: SIMD16<UInt16>) -> SIMD16<Int16> {
        SIMD16<Int16>(truncatingIfNeeded: (level &* perLevel &+ 128) &>> 8)
    }
    let (artWeight, underWeight) = (weight(a), weight(b))
    let (lowest, highest) = (Int16(range.black), Int16(range.black) + Int16(range.chromaSpan))
    @inline(__always)
    func mixed(_ shift: UInt32) -> Run {
        let sum = (chroma(art, shift) &* underWeight &+ chroma(under, shift) &* artWeight &+ 64) &>> 7
        let kept = laneClamp(sum &+ 128, SIMD16(repeating: lowest), SIMD16(repeating: highest))
        return Run(truncatingIfNeeded: kept)
    }
    return Run(truncatingIfNeeded: luma) | mixed(8) &<< 8 | mixed(16) &<< 16 | 0xff00_0000
}
