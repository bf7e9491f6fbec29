import CLinux

/// A picture ready to be laid over frames: premultiplied YUVA, one 32-bit word a pixel (Y lowest, then U, V, A), in the
/// range of the frames that it is for. One transparent pixel surrounds the art, so that its edge fades on its own.
public struct Sprite: Sendable {
    /// Pixels, at most 4096.
    public let width: Int
    /// Pixels, at most 4096.
    public let height: Int
    /// Row by row.
    public let pixels: [UInt32]

    /// Where art lies or is near, so that what is transparent costs next to nothing.
    private let isNearArt: [Bool]

    /// - Parameter pixels: `width * height` of them; both sides have 2 to 4096 pixels.
    public init(width: Int, height: Int, pixels: [UInt32]) {
        precondition(pixels.count == width * height && (2...4096).contains(width) && (2...4096).contains(height))
        var isNear: [Bool] = []
        ArtBlocks.sprite.mark(pixels.span, width: width, height: height, stride: width, into: &isNear)
        (self.width, self.height, self.pixels, isNearArt) = (width, height, pixels, isNear)
    }
}

/// Lays a stamp over a frame, touching only the pixels under it. Allocates nothing.
///
/// Chroma is taken as sited in the middle of the luma samples that share it, as V4L2's documents say of 4:2:2 and
/// 4:2:0: it gets the mean of the art over those samples.
/// - Parameters:
///   - sprite: the art, in the range of the frame.
///   - map: from the stamp's pixels to the frame's; one that folds the plane or is not finite lays nothing.
///   - paint: how it is laid.
public func blend(_ sprite: borrowing Sprite, by map: Affine, _ paint: Paint, onto frame: inout Frame) {
    guard let back = map.inverse, paint.opacity > 0 else { return }
    let layout = frame.layout
    // The rows of the frame that the stamp's corners span.
    let size = Point(Float(sprite.width - 1), Float(sprite.height - 1))
    guard let (low, high) = map.span(from: .zero, to: size) else { return }
    guard max(max(abs(back.a), abs(back.b)), max(abs(back.c), abs(back.d))) < 4096 else { return }
    let top = max(0, Int(low.y)) & ~1
    let bottom = min(layout.height, Int(high.y) + 2)
    guard top < bottom else { return }
    let blender = PixelBlender(paint, layout.range)
    let gain = UInt32((min(paint.opacity, 1) * 256).rounded())
    let rows = layout.format.chromaShift.y == 1 ? 2 : 1
    var bytes = frame.mutableBytes
    unsafe bytes.withUnsafeMutableBufferPointer { target in
        guard let target = target.baseAddress else { return }
        sprite.withArt { art in
            art.prefetch()
            let sampler = Sampler(art, back, gain: gain)
            for y in stride(from: top, to: bottom, by: rows) {
                unsafe blendRows(target, layout, y, rows: min(rows, layout.height - y), sampler, blender)
            }
        }
    }
}

extension Sprite {
    func withArt(_ body: (SampledArt) -> Void) {
        unsafe pixels.withUnsafeBufferPointer { pixels in
            unsafe isNearArt.withUnsafeBufferPointer { isNearArt in
                guard let pixels = pixels.baseAddress, let isNearArt = isNearArt.baseAddress else { return }
                body(unsafe SampledArt(pixels, width: width, height: height, stride: width, isNearArt: isNearArt))
            }
        }
    }
}

/// The same, as the art was drawn.
public func blend(_ sprite: borrowing Sprite, by map: Affine, opacity: Float, onto frame: inout Frame) {
    blend(sprite, by: map, Paint(opacity: opacity), onto: &frame)
}

/// One or two rows of the frame, in runs.
private func blendRows(
    _ base: UnsafeMutablePointer<UInt8>, _ layout: FrameLayout, _ y: Int, rows: Int, _ sampler: Sampler,
    _ blender: PixelBlender
) {
    let upper = sampler.row(y, width: layout.width)
    let lower = rows == 2 ? sampler.row(y + 1, width: layout.width) : Sampler.Row()
    guard upper.begin < upper.end || lower.begin < lower.end else { return }
    var begin = Int.max
    var end = 0
    if upper.begin < upper.end { (begin, end) = (upper.begin, upper.end) }
    if lower.begin < lower.end { (begin, end) = (min(begin, lower.begin), max(end, lower.end)) }
    var (first, second) = (Run(), Run())
    for x in stride(from: begin & ~1, to: end, by: runLength) {
        let one = sampler.sample(upper, from: x, into: &first)
        let two = rows == 2 ? sampler.sample(lower, from: x, into: &second) : false
        guard one || two else { continue }
        let here = RunPlace(x: x, y: y, count: min(runLength, layout.width - x))
        unsafe blender.blend(first, rows == 2 ? second : nil, onto: base, layout, at: here)
    }
}

/// Takes rows of the frame's pixels from a stamp: bilinear, 8 bits of weight.
@safe struct Sampler {
    /// The columns of one row that lie on the stamp, and where they begin there, in fixed point.
    struct Row {
        var begin = 0
        var end = 0
        var u = 0
        var v = 0
    }

    /// Fixed point has 24 bits behind the point, so that steps add up to no error that shows.
    private static let fraction = 24
    private static let one = Float(1 << fraction)
    /// More than positions are off by after a run of steps that were cut off to `ArtLine`'s bits.
    private static let hair = (runLength + 1) << (fraction - ArtLine.fraction)

    private let art: SampledArt
    private let back: Affine
    /// Whether pixels may lie upon pixels.
    private let isUpright: Bool
    private let (du, dv): (Int, Int)
    private let gain: UInt32
    /// False where a run may reach beyond the blocks that `isNearArt` speaks of.
    private let maySkip: Bool

    init(_ art: SampledArt, _ back: Affine, gain: UInt32) {
        (self.art, self.back, self.gain) = (art, back, gain)
        (du, dv) = (Int((back.a * Self.one).rounded()), Int((back.c * Self.one).rounded()))
        isUpright = du == 1 << Self.fraction && dv == 0
        maySkip = max(abs(back.a), abs(back.c)) * Float(runLength) / 2 + 2 < Float(1 << ArtBlocks.sprite.shift)
    }

    /// The part of a row that lies on the stamp: where 0 <= u < width - 1 and 0 <= v < height - 1.
    func row(_ y: Int, width frameWidth: Int) -> Row {
        let start = back(Point(0, Float(y)))
        var columns = (first: Float(0), last: Float(frameWidth - 1))
        Self.narrow(&columns, start.x, back.a, Float(art.width - 1))
        Self.narrow(&columns, start.y, back.c, Float(art.height - 1))
        let (first, last) = columns
        guard first <= last else { return Row() }
        var row = Row()
        row.begin = max(0, Int(first.rounded(.up)))
        row.end = min(frameWidth, Int(last.rounded(.down)) + 1)
        guard row.begin < row.end else { return Row() }
        // Half a step of the weights, which are cut off to 8 bits.
        let half = 1 << (Self.fraction - 9)
        row.u = Int((start.x + back.a * Float(row.begin)) * Self.one) + half
        row.v = Int((start.y + back.c * Float(row.begin)) * Self.one) + half
        // Rounding may carry the ends a hair outside.
        while row.begin < row.end && !isInside(row.u, row.v) {
            row.begin += 1
            row.u += du
            row.v += dv
        }
        while row.begin < row.end {
            let steps = row.end - 1 - row.begin
            if isInside(row.u + steps * du, row.v + steps * dv) { break }
            row.end -= 1
        }
        return row
    }

    /// Keeps the columns x for which `from + slope * x` lies between 0 and `limit`.
    private static func narrow(
        _ columns: inout (first: Float, last: Float), _ from: Float, _ slope: Float, _ limit: Float
    ) {
        if abs(slope) < 1e-9 {
            if from < 0 || from >= limit { columns = (1, 0) }
            return
        }
        let (p, q) = ((0 - from) / slope, (limit - from) / slope)
        columns.first = max(columns.first, min(p, q))
        columns.last = min(columns.last, max(p, q))
    }

    private func isInside(_ u: Int, _ v: Int) -> Bool {
        u >= Self.hair && v >= Self.hair && u < (art.width - 1) << Self.fraction - Self.hair
            && v < (art.height - 1) << Self.fraction - Self.hair
    }

    /// Samples the run of columns from `x` on; what lies outside of the row's part is transparent.
    /// - Returns: false where all of it is.
    func sample(_ row: Row, from x: Int, into run: inout Run) -> Bool {
        let begin = max(x, row.begin)
        let end = min(x + runLength, row.end)
        guard begin < end else { return empty(&run) }
        let steps = begin - row.begin
        let (u, v) = (row.u + steps * du, row.v + steps * dv)
        if maySkip {
            let half = (end - begin) / 2
            let block = Self.fraction + ArtBlocks.sprite.shift
            let (bu, bv) = ((u + half * du) >> block, (v + half * dv) >> block)
            if !art.isNearArt(column: bu, row: bv) { return empty(&run) }
        }
        if end - begin < runLength {
            run = Run()
        } else if isUpright, (u | v) & (1 << Self.fraction - 1) < 1 << (Self.fraction - 8) {
            // Words and frames set to whole pixels need no weights.
            let first = unsafe art.pixels + ((v >> Self.fraction) * art.stride + (u >> Self.fraction))
            run = faded(unsafe UnsafeRawPointer(first).loadUnaligned(as: Run.self), gain)
            return run != Run()
        }
        // The last bits are for what adds up from run to run.
        let fine = Self.fraction - ArtLine.fraction
        var line = ArtLine(u: u >> fine, v: v >> fine, du: du >> fine, dv: dv >> fine)
        unsafe withUnsafeMutableBytes(of: &run) { bytes in
            let words = unsafe bytes.assumingMemoryBound(to: UInt32.self)
            guard let first = words.baseAddress else { return }
            unsafe line.sample(end - begin, of: art, into: first + (begin - x))
        }
        run = faded(run, gain)
        return run != Run()
    }

    private func empty(_ run: inout Run) -> Bool {
        run = Run()
        return false
    }
}

extension Affine {
    /// The lowest and highest coordinates that an upright rectangle's image has; nil where they are so far out that they
    /// are no pixels of a frame.
    func span(from low: Point, to high: Point) -> (low: Point, high: Point)? {
        let corners: [4 of Point] = [self(low), self(Point(high.x, low.y)), self(Point(low.x, high.y)), self(high)]
        var (least, most) = (corners[0], corners[0])
        for i in 1..<4 {
            least = pointwiseMin(least, corners[i])
            most = pointwiseMax(most, corners[i])
        }
        let far: Float = 1_000_000  // keeps Int conversions defined for wild maps
        guard least.x > -far, least.y > -far, most.x < far, most.y < far else { return nil }
        return (least, most)
    }
}
