/// How skin is smoothed.
public struct Smoothing: Sendable {
    /// 0...1: of what is finer than the eye's width, how much is taken away where it is faint.
    public var strength: Float
    /// 0...1: how far colour is drawn to the skin's mean.
    public var evenness: Float
    /// The skin's mean U and V.
    public var chroma: SIMD2<Float>
    /// Pixels between the eyes: what pores and wrinkles are measured by.
    public var eyeDistance: Float

    /// From its parts.
    public init(strength: Float, evenness: Float, chroma: SIMD2<Float>, eyeDistance: Float) {
        (self.strength, self.evenness, self.chroma) = (strength, evenness, chroma)
        self.eyeDistance = eyeDistance
    }
}

/// Smooths the luma under a tile and keeps its edges: the guided filter with the picture as its own guide (He, Sun and
/// Tang, 2010), its coefficients from a smaller picture (He and Sun, 2015), so that the cost hardly depends on the face's
/// size. Its memory grows to the largest face and is kept.
public struct Smoother: ~Copyable {
    /// The smaller picture has this many pixels between the eyes.
    private static let coarseEyes: Float = 26
    /// Of the window, in pixels of the smaller picture: 0.12 eye distances.
    private static let radius = 3
    /// What is smoothed has a variance below this, in squared levels: pores and faint wrinkles, not lids or nostrils.
    private static let variance: Float = 60

    private var luma: [Float] = []
    private var square: [Float] = []
    private var scratch: [Float] = []
    /// Coefficients of one row of the frame, in 256ths and in halves of a level.
    private var rowA: [Int16] = []
    private var rowB: [Int16] = []

    /// Without memory yet.
    public init() {}

    /// Turns a tile whose alpha says where skin is into that skin, smoothed, ready to be laid.
    public mutating func smooth(_ tile: inout Tile, _ how: Smoothing, over frame: borrowing Frame) {
        let region = tile.region
        guard !region.isEmpty else { return }
        let step = max(1, Int((how.eyeDistance / Self.coarseEyes).rounded(.down)))
        // One more on the right and below, to interpolate towards.
        let (width, height) = (region.width / step + 2, region.height / step + 2)
        grow(width * height, region.width + step + runLength)
        coarse(frame, region, step, width, height)
        coefficients(width, height)
        draw(&tile, how, frame, step, width)
    }

    private mutating func grow(_ coarse: Int, _ row: Int) {
        if luma.count < coarse {
            luma = Array(repeating: 0, count: coarse)
            square = luma
            scratch = luma
        }
        if rowA.count < row {
            rowA = Array(repeating: 0, count: row)
            rowB = rowA
        }
    }

    /// The smaller picture: means of blocks' diagonals, which is enough of them.
    private mutating func coarse(
        _ frame: borrowing Frame, _ region: PixelRect, _ step: Int, _ width: Int, _ height: Int
    ) {
        let layout = frame.layout
        let bytes = frame.bytes
        let (offset, pixel) = layout.luma
        let row = layout.planes[0].stride
        let share = 1 / Float(step)
        for y in 0..<height {
            for x in 0..<width {
                var sum = 0
                for i in 0..<step {
                    let px = min(region.x + x * step + i, layout.width - 1)
                    let py = min(region.y + y * step + i, layout.height - 1)
                    sum += Int(bytes[offset + py * row + px * pixel])
                }
                let mean = Float(sum) * share
                luma[y * width + x] = mean
                square[y * width + x] = mean * mean
            }
        }
    }

    /// From means and squares to what luma is multiplied by and what is added to it.
    private mutating func coefficients(_ width: Int, _ height: Int) {
        Self.box(&luma, &scratch, width, height)
        Self.box(&square, &scratch, width, height)
        for i in 0..<width * height {
            let (mean, spread) = (luma[i], max(0, square[i] - luma[i] * luma[i]))
            let a = spread / (spread + Self.variance)
            (square[i], luma[i]) = (a, mean * (1 - a))
        }
        Self.box(&luma, &scratch, width, height)
        Self.box(&square, &scratch, width, height)
    }

    /// The mean over the window, by running sums along rows and then columns; windows are cut off at the edges.
    private static func box(_ picture: inout [Float], _ scratch: inout [Float], _ width: Int, _ height: Int) {
        for y in 0..<height {
            let row = y * width
            var sum: Float = 0
            for x in 0..<min(radius, width) { sum += picture[row + x] }
            for x in 0..<width {
                if x + radius < width { sum += picture[row + x + radius] }
                if x > radius { sum -= picture[row + x - radius - 1] }
                let count = min(x + radius, width - 1) - max(x - radius, 0) + 1
                scratch[row + x] = sum / Float(count)
            }
        }
        for y in 0..<height {
            let (first, last) = (max(y - radius, 0), min(y + radius, height - 1))
            let share = 1 / Float(last - first + 1)
            for x in 0..<width {
                var sum: Float = 0
                for i in first...last { sum += scratch[i * width + x] }
                picture[y * width + x] = sum * share
            }
        }
    }

    /// The coefficients between the smaller picture's pixels, for one row of the frame.
    private mutating func interpolate(row y: Int, _ step: Int, _ width: Int, _ count: Int) {
        let (cell, part) = (y / step, (Float(y % step) + 0.5) / Float(step) - 0.5)
        let upper = max(0, part < 0 ? cell - 1 : cell) * width
        let lower = (part < 0 ? cell : cell + 1) * width
        let weight = part < 0 ? part + 1 : part
        let share = 1 / Float(step)
        var x = 0
        var cellX = 0
        var (a, b) = (
            square[upper] + (square[lower] - square[upper]) * weight,
            luma[upper] + (luma[lower] - luma[upper]) * weight
        )
        while x < count {
            let next = min(cellX + 1, width - 1)
            let (nextA, nextB) = (
                square[upper + next] + (square[lower + next] - square[upper + next]) * weight,
                luma[upper + next] + (luma[lower + next] - luma[upper + next]) * weight
            )
            // 16 bits behind the point.
            var (fixedA, fixedB) = (Int32(a * 16_711_680), Int32(b * 131_072))
            let (stepA, stepB) = (Int32((nextA - a) * share * 16_711_680), Int32((nextB - b) * share * 131_072))
            for _ in 0..<min(step, count - x) {
                rowA[x] = Int16(truncatingIfNeeded: fixedA >> 16)
                rowB[x] = Int16(truncatingIfNeeded: fixedB >> 16)
                fixedA &+= stepA
                fixedB &+= stepB
                x += 1
            }
            (a, b, cellX) = (nextA, nextB, cellX + 1)
        }
    }

    private mutating func draw(
        _ tile: inout Tile, _ how: Smoothing, _ frame: borrowing Frame, _ step: Int, _ width: Int
    ) {
        let (region, rowWords, layout) = (tile.region, tile.stride, frame.layout)
        let count = (region.width + runLength - 1) / runLength * runLength
        if rowA.count < count {
            rowA = Array(repeating: 0, count: count)
            rowB = rowA
        }
        let strength = UInt16(max(0, min(256, how.strength * 256)))
        let evenness = Int16(max(0, min(128, how.evenness * 128)))
        let means = (
            SIMD16<Int16>(repeating: Int16(max(0, min(255, how.chroma.x)))),
            SIMD16<Int16>(repeating: Int16(max(0, min(255, how.chroma.y))))
        )
        for y in 0..<region.height {
            interpolate(row: y, step, width, region.width)
            var words = tile.pixels
            unsafe words.withUnsafeMutableBufferPointer { words in
                unsafe frame.bytes.withUnsafeBufferPointer { bytes in
                    unsafe rowA.withUnsafeBufferPointer { rowA in
                        unsafe rowB.withUnsafeBufferPointer { rowB in
                            guard let words = words.baseAddress, let bytes = bytes.baseAddress,
                                let rowA = rowA.baseAddress, let rowB = rowB.baseAddress
                            else { return }
                            let reader = unsafe UnderReader(bytes, layout)
                            for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                                let at = unsafe UnsafeMutableRawPointer(words + y * rowWords + x)
                                let run = unsafe at.loadUnaligned(as: Run.self)
                                guard run != Run() else { continue }
                                let under = unsafe reader.all(region.x + x, region.y + y)
                                let a = unsafe UnsafeRawPointer(rowA + x).loadUnaligned(as: SIMD16<UInt16>.self)
                                let b = unsafe UnsafeRawPointer(rowB + x).loadUnaligned(as: SIMD16<UInt16>.self)
                                let alpha = (SIMD16<UInt16>(truncatingIfNeeded: run &>> 24) &* strength) &>> 8
                                let smoothed = pointwiseMin(
                                    (under.y &* a &>> 8) &+ (b &>> 1), SIMD16(repeating: 255))
                                let u = drawn(under.u, to: means.0, evenness)
                                let v = drawn(under.v, to: means.1, evenness)
                                unsafe at.storeBytes(of: premultiplied(smoothed, u, v, alpha), as: Run.self)
                            }
                        }
                    }
                }
            }
        }
    }
}

@inline(__always)
private func drawn(_ chroma: SIMD16<UInt16>, to mean: SIMD16<Int16>, _ share: Int16) -> SIMD16<UInt16> {
    let here = unsafe unsafeBitCast(chroma, to: SIMD16<Int16>.self)
    return unsafe unsafeBitCast(here &+ ((mean &- here) &* share) &>> 7, to: SIMD16<UInt16>.self)
}

@inline(__always)
private func premultiplied(
    _ y: SIMD16<UInt16>, _ u: SIMD16<UInt16>, _ v: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>
) -> Run {
    func times(_ sample: SIMD16<UInt16>) -> SIMD16<UInt16> {
        let t = sample &* alpha &+ 128
        return (t &+ t &>> 8) &>> 8
    }
    var words = SIMD32<UInt16>()
    words.evenHalf = times(y) | times(u) &<< 8
    words.oddHalf = times(v) | alpha &<< 8
    return unsafe unsafeBitCast(words, to: Run.self)
}
