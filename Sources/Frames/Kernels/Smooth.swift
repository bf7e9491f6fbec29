/// How skin is smoothed.
public struct Smoothing: Sendable {
    /// 0...1: of what is finer than the eye's width, how much is taken away where it is faint.
    public var strength: Float
    /// 0...1: how far colour is drawn to the skin's mean.
    public var evenness: Float
    /// The skin's mean U and V.
    public var chroma: SIMD2<Float>

    /// From its parts.
    public init(strength: Float, evenness: Float, chroma: SIMD2<Float>) {
        (self.strength, self.evenness, self.chroma) = (strength, evenness, chroma)
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

    /// Says by its alpha where skin is, in pixels of the smaller picture: drawn by the caller between `begin` and `smooth`.
    public var mask = Tile()
    /// Pixels of the frame for one of the smaller picture.
    private var step = 1
    private var (width, height) = (0, 0)
    private var luma: [Float] = []
    private var square: [Float] = []
    private var scratch: [Float] = []
    /// For one row of the frame: coefficients in 256ths and in halves of a level, and the mask's alpha.
    private var rowA: [Int16] = []
    private var rowB: [Int16] = []
    private var rowM: [Int16] = []

    /// Without memory yet.
    public init() {}

    /// Makes the mask a transparent picture of a tile's size.
    /// - Parameter eyeDistance: pixels; what pores and wrinkles are measured by.
    /// - Returns: from the frame's pixels to the mask's; nil where there is nothing to smooth.
    public mutating func begin(over tile: borrowing Tile, eyeDistance: Float) -> Affine? {
        let region = tile.region
        guard !region.isEmpty else { return nil }
        step = max(1, Int((eyeDistance / Self.coarseEyes).rounded(.down)))
        // One more on the right and below, to interpolate towards.
        (width, height) = (region.width / step + 2, region.height / step + 2)
        grow(width * height, region.width + 2 * runLength)
        let all = PixelRect(x: 0, y: 0, width: width, height: height)
        guard mask.begin(all, width: width, height: height) else { return nil }
        let scale = 1 / Float(step)
        // A smaller pixel's centre is that of its block.
        let half = Float(step - 1) / 2
        return Affine(
            a: scale, b: 0, c: 0, d: scale, tx: (-Float(region.x) - half) * scale, ty: (-Float(region.y) - half) * scale
        )
    }

    /// Fills a tile with the skin under it, smoothed, as far as the mask says, ready to be laid.
    public mutating func smooth(_ tile: inout Tile, _ how: Smoothing, over frame: borrowing Frame) {
        coarse(frame, tile.region)
        coefficients()
        draw(&tile, how, frame)
    }

    private mutating func grow(_ coarse: Int, _ row: Int) {
        // With room to spare: a face that comes nearer would ask for more in every frame.
        if luma.count < coarse {
            luma = Array(repeating: 0, count: coarse * 3 / 2)
            square = luma
            scratch = luma
        }
        if rowA.count < row {
            rowA = Array(repeating: 0, count: row * 3 / 2)
            (rowB, rowM) = (rowA, rowA)
        }
    }

    /// The smaller picture: means of blocks' diagonals, which is enough of them.
    private mutating func coarse(_ frame: borrowing Frame, _ region: PixelRect) {
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
    private mutating func coefficients() {
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
        unsafe picture.withUnsafeMutableBufferPointer { picture in
            unsafe scratch.withUnsafeMutableBufferPointer { scratch in
                guard let picture = picture.baseAddress, let scratch = scratch.baseAddress else { return }
                for y in 0..<height {
                    let (from, to) = unsafe (picture + y * width, scratch + y * width)
                    var sum: Float = 0
                    for x in 0..<min(radius, width) { unsafe sum += from[x] }
                    for x in 0..<width {
                        if x + radius < width { unsafe sum += from[x + radius] }
                        if x > radius { unsafe sum -= from[x - radius - 1] }
                        unsafe to[x] = sum * Self.share(x, width)
                    }
                }
                for y in 0..<height {
                    let (first, last) = (max(y - radius, 0), min(y + radius, height - 1))
                    let share = Self.share(y, height)
                    let to = unsafe picture + y * width
                    for x in 0..<width { unsafe to[x] = 0 }
                    for i in first...last {
                        let from = unsafe scratch + i * width
                        for x in 0..<width { unsafe to[x] += from[x] * share }
                    }
                }
            }
        }
    }

    /// One over the pixels of a window.
    @inline(__always)
    private static func share(_ at: Int, _ count: Int) -> Float {
        let isWhole = at >= radius && at + radius < count
        return isWhole ? 1 / Float(2 * radius + 1) : 1 / Float(min(at + radius, count - 1) - max(at - radius, 0) + 1)
    }

    /// Coefficients and mask between the smaller picture's pixels, for one row of the frame.
    private mutating func interpolate(row y: Int, _ count: Int) {
        let at = max(0, (Float(y) + 0.5) / Float(step) - 0.5)
        let upper = min(Int(at), height - 2) * width
        let weight = at - Float(upper / width)
        let share = 1 / Float(step)
        var here = column(0, upper, weight)
        var x = 0
        var next = 0
        while x < count {
            // Up to the first column's centre there is nothing on the left to interpolate from.
            let isFirst = x == 0 && step > 1
            let run = isFirst ? step / 2 : step
            let there = isFirst ? here : column(min(next + 1, width - 1), upper, weight)
            let slope = (there - here) * share
            var (a, b, m) = (Int32(here.x), Int32(here.y), Int32(here.z))
            let (da, db, dm) = (Int32(slope.x), Int32(slope.y), Int32(slope.z))
            for _ in 0..<min(run, count - x) {
                (rowA[x], rowB[x]) = (Int16(truncatingIfNeeded: a >> 16), Int16(truncatingIfNeeded: b >> 16))
                rowM[x] = Int16(truncatingIfNeeded: m >> 16)
                (a, b, m) = (a &+ da, b &+ db, m &+ dm)
                x += 1
            }
            if !isFirst { next += 1 }
            here = there
        }
    }

    /// Between a row of the smaller picture, whose first pixel is `upper`, and the next, in 65536ths of what the rows'
    /// lanes hold.
    @inline(__always)
    private func column(_ x: Int, _ upper: Int, _ weight: Float) -> SIMD4<Float> {
        let lower = upper + width
        let first = upper / width * mask.stride + x
        let words = mask.readPixels
        let above = SIMD4(square[upper + x] * 255, luma[upper + x] * 2, Float(words[first] >> 24), 0)
        let below = SIMD4(square[lower + x] * 255, luma[lower + x] * 2, Float(words[first + mask.stride] >> 24), 0)
        return (above + (below - above) * weight) * 65536
    }

    private mutating func draw(_ tile: inout Tile, _ how: Smoothing, _ frame: borrowing Frame) {
        let (region, rowWords, layout) = (tile.region, tile.stride, frame.layout)
        let strength = UInt16(max(0, min(256, how.strength * 256)))
        let evenness = Int16(max(0, min(128, how.evenness * 128)))
        let means = (
            SIMD16<Int16>(repeating: Int16(max(0, min(255, how.chroma.x)))),
            SIMD16<Int16>(repeating: Int16(max(0, min(255, how.chroma.y))))
        )
        for y in 0..<region.height {
            interpolate(row: y, region.width)
            var words = tile.pixels
            unsafe words.withUnsafeMutableBufferPointer { words in
                unsafe frame.bytes.withUnsafeBufferPointer { bytes in
                    unsafe rowA.withUnsafeBufferPointer { rowA in
                        unsafe rowB.withUnsafeBufferPointer { rowB in
                            unsafe rowM.withUnsafeBufferPointer { rowM in
                                guard let words = words.baseAddress, let bytes = bytes.baseAddress,
                                    let rowA = rowA.baseAddress, let rowB = rowB.baseAddress,
                                    let rowM = rowM.baseAddress
                                else { return }
                                let reader = unsafe UnderReader(bytes, layout)
                                for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                                    let m = unsafe UnsafeRawPointer(rowM + x).loadUnaligned(as: SIMD16<UInt16>.self)
                                    guard m != SIMD16<UInt16>() else { continue }
                                    let at = unsafe UnsafeMutableRawPointer(words + y * rowWords + x)
                                    let under = unsafe reader.all(region.x + x, region.y + y)
                                    let a = unsafe UnsafeRawPointer(rowA + x).loadUnaligned(as: SIMD16<UInt16>.self)
                                    let b = unsafe UnsafeRawPointer(rowB + x).loadUnaligned(as: SIMD16<UInt16>.self)
                                    let alpha = (m &* strength) &>> 8
                                    let smoothed = pointwiseMin(
                                        ((under.y &* a) &>> 8) &+ (b &>> 1), SIMD16(repeating: 255))
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
