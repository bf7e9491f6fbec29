import CLinux
import CScale
import SystemKit

/// A picture ready to be blended over frames: premultiplied YUVA, 32 bits for each pixel (Y in the lowest byte, then
/// U, V, A), in the range of the frames it is for. A border of one transparent pixel lets the art's edge fade out.
public struct Sprite: Sendable {
    /// The width in pixels, 2 to 4096.
    public let width: Int
    /// The height in pixels, 2 to 4096.
    public let height: Int
    /// The pixels, row by row.
    public let pixels: [UInt32]

    /// For each block, whether it or a neighbour contains art, so that transparent parts cost next to nothing.
    private let isNearArt: [Bool]

    /// Creates a sprite from pixels.
    /// - Parameter pixels: `width * height` of them; both sides have 2 to 4096 pixels.
    public init(width: Int, height: Int, pixels: [UInt32]) {
        precondition(pixels.count == width * height && (2...4096).contains(width) && (2...4096).contains(height))
        var isNear: [Bool] = []
        OccupancyGrid.sprite.mark(pixels.span, width: width, height: height, stride: width, into: &isNear)
        (self.width, self.height, self.pixels, isNearArt) = (width, height, pixels, isNear)
    }
}

/// Blends a sprite over a frame, touching only the pixels under it. Allocates nothing.
///
/// Chroma is taken as sited in the middle of the luma samples that share it, as V4L2's documentation says of 4:2:2 and
/// 4:2:0: it gets the mean of the art over those samples.
/// - Parameters:
///   - sprite: the art, in the range of the frame.
///   - map: from the sprite's pixels to the frame's; nothing is drawn if it is singular or not finite.
///   - paint: blend mode, opacity and light.
public func blend(_ sprite: borrowing Sprite, by map: Affine, _ paint: Paint, onto frame: inout Frame) {
    guard let back = map.inverse, paint.opacity > 0 else { return }
    let layout = frame.layout
    // The rows of the frame that the sprite's corners span.
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
    func withArt(_ body: (TextureView) -> Void) {
        unsafe pixels.withUnsafeBufferPointer { pixels in
            unsafe isNearArt.withUnsafeBufferPointer { isNearArt in
                guard let pixels = pixels.baseAddress, let isNearArt = isNearArt.baseAddress else { return }
                body(unsafe TextureView(pixels, width: width, height: height, stride: width, isNearArt: isNearArt))
            }
        }
    }
}

/// Blends a sprite over a frame without changing the art.
public func blend(_ sprite: borrowing Sprite, by map: Affine, opacity: Float, onto frame: inout Frame) {
    blend(sprite, by: map, Paint(opacity: opacity), onto: &frame)
}

/// Blends one or two rows of the frame, in runs.
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
        let here = RunPosition(x: x, y: y, count: min(runLength, layout.width - x))
        unsafe blender.blend(first, rows == 2 ? second : nil, onto: base, layout, at: here)
    }
}

/// Samples a sprite for rows of the frame's pixels: bilinear, with 8 bits of weight.
@safe struct Sampler {
    /// The columns of one row that are on the sprite, and their first position there, in fixed point.
    struct Row {
        var begin = 0
        var end = 0
        var u = 0
        var v = 0
    }

    /// Fraction bits of a position: 24, so that the rounding errors of the steps stay invisible.
    private static let fraction = 24
    private static let one = Float(1 << fraction)
    /// An upper bound of a position's error after a run of steps truncated to `LineSampler`'s bits.
    private static let hair = (runLength + 1) << (fraction - LineSampler.fraction)

    private let art: TextureView
    private let back: Affine
    /// Whether the sprite is neither scaled nor rotated, so that its pixels can coincide with the frame's.
    private let isUpright: Bool
    private let (du, dv): (Int, Int)
    private let gain: UInt32
    /// False if a run may reach beyond the neighbouring blocks that `isNearArt` covers.
    private let maySkip: Bool

    init(_ art: TextureView, _ back: Affine, gain: UInt32) {
        (self.art, self.back, self.gain) = (art, back, gain)
        (du, dv) = (Int((back.a * Self.one).rounded()), Int((back.c * Self.one).rounded()))
        isUpright = du == 1 << Self.fraction && dv == 0
        maySkip = max(abs(back.a), abs(back.c)) * Float(runLength) / 2 + 2 < Float(1 << OccupancyGrid.sprite.shift)
    }

    /// The part of a row that is on the sprite: where 0 <= u < width - 1 and 0 <= v < height - 1.
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
        // Half a step of the weights, which are truncated to 8 bits.
        let half = 1 << (Self.fraction - 9)
        row.u = Int((start.x + back.a * Float(row.begin)) * Self.one) + half
        row.v = Int((start.y + back.c * Float(row.begin)) * Self.one) + half
        // Rounding may put the ends slightly outside.
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

    /// Restricts columns to those x for which `from + slope * x` is between 0 and `limit`.
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

    /// Samples the run of columns from `x` on; columns outside the row's part are transparent.
    /// - Returns: false if the whole run is transparent.
    func sample(_ row: Row, from x: Int, into run: inout Run) -> Bool {
        let begin = max(x, row.begin)
        let end = min(x + runLength, row.end)
        guard begin < end else { return empty(&run) }
        let steps = begin - row.begin
        let (u, v) = (row.u + steps * du, row.v + steps * dv)
        if maySkip {
            let half = (end - begin) / 2
            let block = Self.fraction + OccupancyGrid.sprite.shift
            let (bu, bv) = ((u + half * du) >> block, (v + half * dv) >> block)
            if !art.isNearArt(column: bu, row: bv) { return empty(&run) }
        }
        if end - begin < runLength {
            run = Run()
        } else if isUpright, (u | v) & (1 << Self.fraction - 1) < 1 << (Self.fraction - 8) {
            // Sprites aligned with whole pixels need no interpolation.
            let first = unsafe art.pixels + ((v >> Self.fraction) * art.stride + (u >> Self.fraction))
            run = faded(unsafe UnsafeRawPointer(first).loadUnaligned(as: Run.self), gain)
            return run != Run()
        }
        // The lowest bits only matter for the sum over many runs.
        let fine = Self.fraction - LineSampler.fraction
        var line = LineSampler(u: u >> fine, v: v >> fine, du: du >> fine, dv: dv >> fine)
        unsafe withUnsafeMutableBytes(of: &run) { bytes in
            let pixels = unsafe bytes.assumingMemoryBound(to: UInt32.self)
            guard let first = pixels.baseAddress else { return }
            unsafe line.sample(end - begin, of: art, into: first + (begin - x))
        }
        run = faded(run, gain)
        return run != Run()
    }

    /// Whether rows are interpolated between two rows of the art, and are no narrower than those.
    var isEnlarging: Bool { dv == 0 && du > 0 && du <= 1 << Self.fraction }

    /// Samples a row in runs, as `sample` does without a gain, with AVX2.
    /// - Parameters:
    ///   - mixed: room for a row of the art and 32 pixels more.
    ///   - target: the address of column 0; whole runs have room.
    func enlarge(
        _ row: Row, _ kernels: UnsafePointer<cscale_kernels>, _ mixed: UnsafeMutablePointer<UInt32>,
        into target: UnsafeMutablePointer<UInt32>
    ) {
        guard row.begin < row.end else { return }
        let upper = unsafe art.pixels + (row.v >> Self.fraction) * art.stride
        let below = CInt(truncatingIfNeeded: row.v >> (Self.fraction - 8) & 255)
        var line = cscale_line(begin: CInt(row.begin), end: CInt(row.end), start: Int64(row.u), step: Int64(du))
        unsafe kernels.pointee.enlarge_row(upper, upper + art.stride, below, &line, mixed, target)
    }

    private func empty(_ run: inout Run) -> Bool {
        run = Run()
        return false
    }
}

extension Affine {
    /// The bounding box of an axis-aligned rectangle's image; nil if it is too far out to be in a frame.
    func span(from low: Point, to high: Point) -> (low: Point, high: Point)? {
        let corners: [4 of Point] = [self(low), self(Point(high.x, low.y)), self(Point(low.x, high.y)), self(high)]
        var (lowest, highest) = (corners[0], corners[0])
        for i in 1..<4 {
            lowest = pointwiseMin(lowest, corners[i])
            highest = pointwiseMax(highest, corners[i])
        }
        let far: Float = 1_000_000  // keeps Int conversions defined for wild maps
        guard lowest.x > -far, lowest.y > -far, highest.x < far, highest.y < far else { return nil }
        return (lowest, highest)
    }
}
