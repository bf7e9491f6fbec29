/// A picture as large as the frames that it is laid over, pixel upon pixel: premultiplied YUVA words as in a `Stamp`.
public struct Sheet: Sendable {
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    private let words: [UInt32]
    private let stride: Int
    /// Of each row, where its first art begins and its last ends; runs of nothing between cost a look.
    private let ends: [Range<Int>]

    /// How a sheet changes what it is laid over.
    public enum Way: Sendable { case over, multiply, screen }

    /// - Parameter pixels: `width * height` of them.
    public init(width: Int, height: Int, pixels: [UInt32]) {
        precondition(width > 0 && height > 0 && pixels.count == width * height, "a sheet's pixels are all there")
        // Whole runs, so that a row's end needs no care.
        let stride = (width + runLength - 1) / runLength * runLength
        var words = [UInt32](repeating: 0, count: stride * height)
        var ends: [Range<Int>] = []
        ends.reserveCapacity(height)
        for y in 0..<height {
            var (first, last) = (width, 0)
            for x in 0..<width where pixels[y * width + x] != 0 {
                words[y * stride + x] = pixels[y * width + x]
                first = min(first, x)
                last = x + 1
            }
            ends.append(first < last ? first & ~(runLength - 1)..<last : 0..<0)
        }
        (self.width, self.height, self.words, self.stride, self.ends) = (width, height, words, stride, ends)
    }

    /// Lays the sheet over a frame's top left corner. Allocates nothing.
    /// - Parameters:
    ///   - opacity: 0...1, multiplies the art's own alpha.
    ///   - way: over as art; multiply and screen as light, for which the sheet must be opaque all over.
    public func lay(onto frame: inout Frame, opacity: Float, _ way: Way = .over) {
        guard opacity > 0 else { return }
        let layout = frame.layout
        let gain = UInt32((min(opacity, 1) * 256).rounded())
        let (columns, lines) = (min(width, layout.width), min(height, layout.height))
        let rows = layout.format.chromaShift.y == 1 ? 2 : 1
        let black: UInt16 = layout.range == .limited ? 16 : 0
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { target in
            unsafe words.withUnsafeBufferPointer { words in
                guard let base = target.baseAddress, let words = words.baseAddress else { return }
                for y in Swift.stride(from: 0, to: lines, by: rows) {
                    let isPair = rows == 2 && y + 1 < lines
                    var ends = self.ends[y]
                    if isPair, !self.ends[y + 1].isEmpty {
                        let other = self.ends[y + 1]
                        ends =
                            ends.isEmpty
                            ? other
                            : min(ends.lowerBound, other.lowerBound)..<max(ends.upperBound, other.upperBound)
                    }
                    let (first, second) = unsafe (
                        PixelRow(base, layout, y), PixelRow(base, layout, min(y + 1, layout.height - 1))
                    )
                    for x in Swift.stride(from: ends.lowerBound, to: min(ends.upperBound, columns), by: runLength) {
                        let at = unsafe UnsafeRawPointer(words + y * stride + x)
                        var upper = unsafe at.loadUnaligned(as: Run.self)
                        var lower: Run?
                        if rows == 2 {
                            lower = isPair ? unsafe (at + stride * 4).loadUnaligned(as: Run.self) : Run()
                        }
                        guard !isBare(upper) || !isBare(lower ?? Run()) else { continue }
                        let count = min(runLength, layout.width - x)
                        if way != .over {
                            upper = lit(upper, first.run(at: x, count: count), way, black)
                            if isPair, let under = lower {
                                lower = lit(under, second.run(at: x, count: count), way, black)
                            }
                        }
                        let place = RunPlace(x: x, y: y, count: count)
                        let below = y + 1 < layout.height ? lower.map { faded($0, gain) } : nil
                        unsafe blend(faded(upper, gain), below, onto: base, layout, at: place)
                    }
                }
            }
        }
    }
}

private func isBare(_ run: Run) -> Bool { (run .== Run()) == SIMDMask(repeating: true) }

/// What is there, lit by opaque art: words to be laid over it.
///
/// Multiplied, a colour's luma is the product of both, its chroma each one's times the other's luma (that of chroma with
/// chroma is left out). Screened is the same of what lacks to white, where chroma changes sign twice.
private func lit(_ art: Run, _ under: Run, _ way: Sheet.Way, _ black: UInt16) -> Run {
    let span: UInt16 = black == 0 ? 255 : 219
    let levels = (lowest: SIMD16(repeating: black), highest: SIMD16(repeating: black + span))
    @inline(__always)
    func level(_ run: Run) -> SIMD16<UInt16> {
        let luma = SIMD16<UInt16>(truncatingIfNeeded: run & 255)
        let light = pointwiseMin(pointwiseMax(luma, levels.lowest), levels.highest) &- black
        return way == .screen ? span &- light : light
    }
    @inline(__always)
    func chroma(_ run: Run, _ shift: UInt32) -> SIMD16<Int16> {
        SIMD16<Int16>(truncatingIfNeeded: run &>> shift & 255) &- 128
    }
    let (a, b) = (level(art), level(under))
    // Divided by the span: by 256 first, then with what that takes too much given back.
    let part = (a &* b &+ 128) &>> 8
    let rest = (65_536 + UInt32(span) / 2) / UInt32(span) - 256
    let product = pointwiseMin(part &+ (part &* UInt16(rest) &+ 128) &>> 8, SIMD16(repeating: span))
    let luma = black &+ (way == .screen ? span &- product : product)
    // 7 bits of each level keep the sums within 16 bits.
    let (sa, sb) = (SIMD16<Int16>(truncatingIfNeeded: a &>> 1), SIMD16<Int16>(truncatingIfNeeded: b &>> 1))
    @inline(__always)
    func mixed(_ shift: UInt32) -> Run {
        let sum = (chroma(art, shift) &* sb &+ chroma(under, shift) &* sa) &>> 7
        let kept = pointwiseMin(pointwiseMax(sum &+ 128, SIMD16(repeating: 16)), SIMD16(repeating: 240))
        return Run(truncatingIfNeeded: kept)
    }
    return Run(truncatingIfNeeded: luma) | mixed(8) &<< 8 | mixed(16) &<< 16 | 0xff00_0000
}
