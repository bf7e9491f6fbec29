/// The settings of skin smoothing.
public struct SkinSmoothing: Sendable {
    /// The opacity of the smoothed luma, 0...1. At 1, faint details finer than an eye's width are removed.
    public var strength: Float
    /// How far chroma is moved towards the skin's mean, 0...1, whatever the strength is.
    public var evenness: Float
    /// The skin's mean U and V.
    public var chroma: SIMD2<Float>

    /// Settings by their parts.
    public init(strength: Float, evenness: Float, chroma: SIMD2<Float>) {
        (self.strength, self.evenness, self.chroma) = (strength, evenness, chroma)
    }
}

/// An edge-preserving smoother for a region of a frame: the guided filter with the picture as its own guide (He, Sun
/// and Tang, 2010). Its coefficients are computed at reduced size (He and Sun, 2015), so that the cost hardly depends
/// on the size of the face. Its memory grows to the largest face and is kept.
public struct Smoother: ~Copyable {
    /// The smallest distance between the eyes in the reduced picture, pixels; the largest is nearly twice that.
    private static let coarseEyes: Float = 16
    /// The radius of the window in pixels of the reduced picture: 0.065 to 0.125 eye distances.
    private static let radius = 2
    /// The variance below which details are smoothed, in squared levels: pores and faint wrinkles, not lids or
    /// nostrils.
    private static let variance: Float = 60

    /// The alpha of the skin at the size of the reduced picture: drawn by the caller between `begin` and `smooth`.
    public var mask = LayerBuffer()
    /// The smoothed region, pixels of the frame; `x` and `y` are even.
    private var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// The reduction factor: the frame's pixels per pixel of the reduced picture.
    private var reduction = 1
    private var (width, height) = (0, 0)
    private var luma: [Float] = []
    private var square: [Float] = []
    private var scratch: [Float] = []
    /// Two rows of the reduced picture, an even and an odd one, scaled up to the frame's width. Each has three parts:
    /// the factors in 512ths, the offsets in quarters of a level, and the mask's alpha in halves.
    private var rows: [Int16] = []
    /// The capacity of each of the six parts.
    private var rowCapacity = 0

    /// A smoother without memory yet.
    public init() {}

    /// Starts a transparent mask for a region of a frame.
    /// - Parameters:
    ///   - region: pixels; it is clipped to the frame.
    ///   - layout: the frame's layout.
    ///   - eyeDistance: pixels; determines the size of what is smoothed.
    /// - Returns: the map from the frame's pixels to the mask's; nil if the region is outside the frame.
    public mutating func begin(over region: PixelRect, of layout: FrameLayout, eyeDistance: Float) -> Affine? {
        let region = region.evenPiece(width: layout.width, height: layout.height)
        guard !region.isEmpty else { return nil }
        self.region = region
        reduction = max(1, Int((eyeDistance / Self.coarseEyes).rounded(.down)))
        // One more on the right and below for an incomplete block, and one to interpolate towards.
        (width, height) = (region.width / reduction + 2, region.height / reduction + 2)
        growBuffers(width * height, region.width + 2 * runLength)
        let all = PixelRect(x: 0, y: 0, width: width, height: height)
        guard mask.begin(all, width: width, height: height) else { return nil }
        let scale = 1 / Float(reduction)
        // The centre of a reduced pixel is that of its block.
        let half = Float(reduction - 1) / 2
        return Affine(
            a: scale, b: 0, c: 0, d: scale, tx: (-Float(region.x) - half) * scale, ty: (-Float(region.y) - half) * scale
        )
    }

    /// Smooths the skin under the mask.
    public mutating func smooth(_ frame: inout Frame, _ settings: SkinSmoothing) {
        downsample(frame)
        coefficients()
        draw(&frame, settings)
    }

    private mutating func growBuffers(_ coarse: Int, _ row: Int) {
        // Half as much again, so that an approaching face doesn't cause an allocation in every frame.
        if luma.count < coarse {
            luma = Array(repeating: 0, count: coarse * 3 / 2)
            square = luma
            scratch = luma
        }
        if rowCapacity < row {
            rowCapacity = row * 3 / 2
            rows = Array(repeating: 0, count: 6 * rowCapacity)
        }
    }

    /// Computes the reduced picture. The mean of a block's diagonal is accurate enough.
    private mutating func downsample(_ frame: borrowing Frame) {
        let layout = frame.layout
        let site = layout.luma
        let (offset, pixel, row) = (site.offset, site.step, site.stride)
        let weight = 1 / Float(reduction)
        // Blocks that are entirely inside the picture; those of the last column or row may not be.
        let whole = (
            x: min(width, (layout.width - region.x) / reduction), y: min(height, (layout.height - region.y) / reduction)
        )
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            guard let first = bytes.baseAddress else { return }
            for y in 0..<height {
                let line = unsafe first + (offset + (region.y + y * reduction) * row + region.x * pixel)
                let columns = y < whole.y ? whole.x : 0
                for x in 0..<columns {
                    let block = unsafe line + x &* reduction &* pixel
                    var sum: UInt32 = 0
                    for i in 0..<reduction { unsafe sum &+= UInt32(block[i &* (row &+ pixel)]) }
                    set(y * width + x, Float(sum) * weight)
                }
                for x in columns..<width {
                    var sum: UInt32 = 0
                    for i in 0..<reduction {
                        let px = min(region.x + x * reduction + i, layout.width - 1)
                        let py = min(region.y + y * reduction + i, layout.height - 1)
                        unsafe sum += UInt32(first[offset + py * row + px * pixel])
                    }
                    set(y * width + x, Float(sum) * weight)
                }
            }
        }
    }

    @inline(__always)
    private mutating func set(_ at: Int, _ mean: Float) { (luma[at], square[at]) = (mean, mean * mean) }

    /// Computes the filter's coefficients from means and squares: the factors go to `square`, the offsets to `luma`.
    private mutating func coefficients() {
        Self.box(&luma, &scratch, width, height)
        Self.box(&square, &scratch, width, height)
        for i in 0..<width * height {
            let (mean, variance) = (luma[i], max(0, square[i] - luma[i] * luma[i]))
            let a = variance / (variance + Self.variance)
            (square[i], luma[i]) = (a, mean * (1 - a))
        }
        Self.box(&luma, &scratch, width, height)
        Self.box(&square, &scratch, width, height)
    }

    /// Box filter by running sums along rows, and direct sums down columns; windows are cut off at the edges.
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
                        unsafe to[x] = sum * Self.reciprocalCount(x, width)
                    }
                }
                for y in 0..<height {
                    let (first, last) = (max(y - radius, 0), min(y + radius, height - 1))
                    let weight = Self.reciprocalCount(y, height)
                    let to = unsafe picture + y * width
                    for x in 0..<width { unsafe to[x] = 0 }
                    for i in first...last {
                        let from = unsafe scratch + i * width
                        for x in 0..<width { unsafe to[x] += from[x] * weight }
                    }
                }
            }
        }
    }

    /// One over the number of pixels in a window.
    @inline(__always)
    private static func reciprocalCount(_ at: Int, _ count: Int) -> Float {
        let isWhole = at >= radius && at + radius < count
        return isWhole ? 1 / Float(2 * radius + 1) : 1 / Float(min(at + radius, count - 1) - max(at - radius, 0) + 1)
    }

    private mutating func draw(_ frame: inout Frame, _ settings: SkinSmoothing) {
        let layout = frame.layout
        let strength = UInt16(max(0, min(256, settings.strength * 256)))
        let pull = ChromaPull(settings)
        // Chroma rows are shared by `shared + 1` rows of luma.
        let shared = (1 << layout.format.chromaShift.y) - 1
        // The last row of the reduced picture that was scaled up into `rows`.
        var lastRow = -1
        var bytes = frame.mutableBytes
        for y in 0..<region.height {
            let at = max(0, (Float(y) + 0.5) / Float(reduction) - 0.5)
            let upper = min(Int(at), height - 2)
            while lastRow <= upper {
                lastRow = max(lastRow + 1, upper)
                Self.upsampleRow(
                    lastRow, into: &rows, rowCapacity, region.width, square, luma, mask, reduction: reduction,
                    width: width)
            }
            let weight = UInt16(((at - Float(upper)) * 32).rounded())
            let (even, odd) = upper & 1 == 0 ? (32 - weight, weight) : (weight, 32 - weight)
            unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                unsafe rows.withUnsafeBufferPointer { rows in
                    guard let base = bytes.baseAddress, let rows = rows.baseAddress else { return }
                    let reader = unsafe BackdropReader(base, layout)
                    let upsampled = unsafe UpsampledRows(rows: rows, capacity: rowCapacity, even: even, odd: odd)
                    for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                        let m = unsafe upsampled.part(2, x)
                        guard m != SIMD16<UInt16>() else { continue }
                        let alpha = (m &* strength) &>> 8
                        let count = min(runLength, layout.width - region.x - x)
                        let position = RunPosition(x: region.x + x, y: region.y + y, count: count)
                        let smoothed = laneMin(
                            unsafe ((reader.luma(position.x, position.y) &* upsampled.part(0, x) &+ 128) &>> 8)
                                &+ ((upsampled.part(1, x) &+ 1) &>> 1),
                            SIMD16(repeating: 255))
                        let luma = RunSamples(art: times(smoothed, alpha), alpha: alpha)
                        if position.y & shared == 0 {
                            unsafe blend(luma, pull.samples(m), onto: base, layout, at: position)
                        } else {
                            unsafe blend(luma, onto: base, layout, at: position)
                        }
                    }
                }
            }
        }
    }

    /// Scales a row of the reduced picture up to the frame's width.
    private static func upsampleRow(
        _ y: Int, into rows: inout [Int16], _ capacity: Int, _ count: Int, _ a: [Float], _ b: [Float],
        _ mask: borrowing LayerBuffer, reduction: Int, width: Int
    ) {
        let (first, firstMask, pixels) = (y * width, y * mask.stride, mask.readPixels)
        unsafe rows.withUnsafeMutableBufferPointer { rows in
            unsafe a.withUnsafeBufferPointer { a in
                unsafe b.withUnsafeBufferPointer { b in
                    unsafe pixels.withUnsafeBufferPointer { pixels in
                        guard let base = rows.baseAddress, let a = a.baseAddress, let b = b.baseAddress,
                            let pixels = pixels.baseAddress
                        else { return }
                        let row = unsafe base + (y & 1) * 3 * capacity
                        let columns = unsafe CoarseColumns(a: a + first, b: b + first, mask: pixels + firstMask)
                        var here = unsafe columns[0]
                        // Left of the first column's centre there is nothing to interpolate from.
                        var x = reduction / 2
                        unsafe ramp(row, capacity, 0..<min(x, count), from: here, slope: .zero)
                        var next = 1
                        while x < count {
                            let there = unsafe columns[min(next, width - 1)]
                            let slope = (there - here) * (1 / Float(reduction))
                            unsafe ramp(row, capacity, x..<min(x + reduction, count), from: here, slope: slope)
                            (here, x, next) = (there, x + reduction, next + 1)
                        }
                        // The last run extends beyond the row.
                        for x in count..<count + runLength { unsafe row[2 * capacity + x] = 0 }
                    }
                }
            }
        }
    }
}

/// The two scaled rows between which a row of the frame is interpolated; borrowed.
@unsafe private struct UpsampledRows {
    let rows: UnsafePointer<Int16>
    let capacity: Int
    /// The weights of the even and the odd row, in 32nds.
    let (even, odd): (UInt16, UInt16)

    /// Sixteen numbers of one of the three parts, rounded. They are at most 1020, so that 16 bits hold the sums.
    @inline(__always)
    func part(_ number: Int, _ x: Int) -> SIMD16<UInt16> {
        let at = unsafe UnsafeRawPointer(rows + (number &* capacity &+ x))
        let first = unsafe at.loadUnaligned(as: SIMD16<UInt16>.self)
        let second = unsafe at.loadUnaligned(fromByteOffset: 6 &* capacity, as: SIMD16<UInt16>.self)
        return unsafe (first &* even &+ second &* odd &+ 32) &>> 6
    }
}

/// A row of the reduced picture; borrowed.
@unsafe private struct CoarseColumns {
    let a: UnsafePointer<Float>
    let b: UnsafePointer<Float>
    let mask: UnsafePointer<UInt32>

    /// The coefficients and the mask's alpha, in 32nds of the units in `rows`.
    @inline(__always)
    subscript(x: Int) -> SIMD4<Float> {
        unsafe SIMD4(a[x] * 256, b[x] * 2, Float(mask[x] >> 24), 0) * 64
    }
}

/// Fills columns of a row's three parts with a linear ramp, eight at a time: up to seven more are written.
@inline(__always)
private func ramp(
    _ row: UnsafeMutablePointer<Int16>, _ capacity: Int, _ columns: Range<Int>, from start: SIMD4<Float>,
    slope: SIMD4<Float>
) {
    let rise = roundedLanes(slope)
    var x = columns.lowerBound
    while x < columns.upperBound {
        let first = roundedLanes(start + slope * Float(x - columns.lowerBound))
        let at = unsafe UnsafeMutableRawPointer(row + x)
        unsafe at.storeBytes(of: ramp(first.x, rise.x), as: SIMD8<Int16>.self)
        unsafe at.storeBytes(of: ramp(first.y, rise.y), toByteOffset: capacity * 2, as: SIMD8<Int16>.self)
        unsafe at.storeBytes(of: ramp(first.z, rise.z), toByteOffset: capacity * 4, as: SIMD8<Int16>.self)
        x += 8
    }
}

/// Eight numbers of a ramp in 32nds, rounded down; never below 0, where a rounded slope could lead.
@inline(__always)
private func ramp(_ first: Int32, _ rise: Int32) -> SIMD8<Int16> {
    let steps = SIMD8<Int16>(0, 1, 2, 3, 4, 5, 6, 7)
    let sum = Int16(truncatingIfNeeded: first) &+ steps &* Int16(truncatingIfNeeded: rise)
    return laneMax(sum, .zero) &>> 5
}

/// A pull of chroma towards the skin's mean.
private struct ChromaPull {
    /// U and V, alternating.
    private var mean = SIMD16<UInt16>()
    /// The evenness, in 256ths.
    private let weight: UInt16

    init(_ settings: SkinSmoothing) {
        func lanes(_ mean: Float) -> SIMD8<UInt16> { SIMD8(repeating: UInt16(max(0, min(255, mean)))) }
        (mean.evenHalf, mean.oddHalf) = (lanes(settings.chroma.x), lanes(settings.chroma.y))
        weight = UInt16(max(0, min(256, settings.evenness * 256)))
    }

    /// The mean, with the alpha of the skin times the evenness.
    @inline(__always)
    func samples(_ skin: SIMD16<UInt16>) -> RunSamples {
        // Shared chroma takes the alpha of the first pixel: skin has no edges here.
        let half = (skin.evenHalf &* weight) &>> 8
        var pairs = skin
        (pairs.evenHalf, pairs.oddHalf) = (half, half)
        return RunSamples(art: times(mean, pairs), alpha: pairs)
    }
}

/// Multiplies samples by alpha / 255, correctly rounded.
@inline(__always)
private func times(_ samples: SIMD16<UInt16>, _ alpha: SIMD16<UInt16>) -> SIMD16<UInt16> {
    let t = samples &* alpha &+ 128
    return (t &+ t &>> 8) &>> 8
}
