import SystemKit

/// A vertex of the triangle mesh by which a sprite is warped.
public struct WarpVertex: Sendable {
    /// The position in the sprite, pixels.
    public var source: Point
    /// The position in the frame, pixels.
    public var target: Point
    /// 0...1, multiplies the art's own alpha; interpolated between the vertices.
    public var fade: Float

    /// A vertex by its parts.
    public init(source: Point, target: Point, fade: Float) {
        (self.source, self.target, self.fade) = (source, target, fade)
    }
}

/// Warps a sprite piecewise into a layer: each triangle by the affine map that its corners define. A pixel belongs to
/// the triangle that contains its centre; on an edge, it belongs to the triangle to the right or below. So triangles
/// that share an edge leave no gap and write no pixel twice. Pixels are replaced, not blended. Allocates nothing.
/// - Parameters:
///   - triangles: three indices of `vertices` each, clockwise in the sprite; the last lane is unused. Triangles that
///     are not clockwise in the frame face away and are skipped.
public func warp(
    _ sprite: borrowing Sprite, _ vertices: Span<WarpVertex>, _ triangles: Span<SIMD4<UInt8>>,
    onto layer: inout LayerBuffer
) {
    let (region, rowStride) = (layer.region, layer.stride)
    guard !region.isEmpty else { return }
    var pixels = layer.pixels
    unsafe pixels.withUnsafeMutableBufferPointer { pixels in
        guard let pixels = pixels.baseAddress else { return }
        sprite.withArt { art in
            art.prefetch()
            for i in triangles.indices {
                let t = triangles[i]
                guard let triangle = WarpTriangle(vertices[Int(t.x)], vertices[Int(t.y)], vertices[Int(t.z)], art)
                else { continue }
                unsafe triangle.draw(art, onto: pixels, rowStride, region)
            }
        }
    }
}

extension Sprite {
    /// Whether there is art in the pixels that `warp` samples for a triangle, or within 2 pixels of it.
    public func containsArt(near a: Point, _ b: Point, _ c: Point) -> Bool {
        let reach: Float = 2
        let low = pointwiseMax(pointwiseMin(a, pointwiseMin(b, c)) - reach, .zero)
        let high = pointwiseMin(pointwiseMax(a, pointwiseMax(b, c)) + reach, Point(Float(width - 1), Float(height - 1)))
        guard low.x <= high.x, low.y <= high.y else { return false }
        let sides = [(a, b - a), (b, c - b), (c, a - c)].map { (corner: $0, along: $1, reach: reach * $1.length) }
        for y in Int(low.y)...Int(high.y) {
            for x in Int(low.x)...Int(high.x) where pixels[y * width + x] != 0 {
                let isNear = sides.allSatisfy { side in
                    let offset = Point(Float(x), Float(y)) - side.corner
                    return side.along.x * offset.y - side.along.y * offset.x >= -side.reach
                }
                if isNear { return true }
            }
        }
        return false
    }
}

/// One triangle in the frame, with the gradients of the sprite's position and of the fade.
private struct WarpTriangle {
    /// Fraction bits of a position: 16, so that the error over the widest triangle is below 0.02 pixel.
    private static let fraction = LineSampler.fraction
    private static let one = Float(1 << fraction)
    /// The number of pixels of a row that are skipped together if the sprite is empty there.
    private static let chunk = 16
    /// The largest coordinate of a corner, pixels: it keeps conversions to integers defined.
    private static let farthest: Float = 100_000
    /// An upper bound of a position's error, sprite pixels: a triangle this far inside the edges never leaves the
    /// sprite.
    private static let hair: Float = 0.2

    /// A quantity that is linear over the frame, in fixed point.
    private struct Slope {
        /// The value at the corner of the triangle's bounding box, and its change per pixel and per row.
        let (start, across, down): (Int, Int, Int)

        /// - Parameter gradient: the change over the frame, from `value` at `position`.
        init(_ gradient: Point, from value: Float, at position: Point, to corner: Point) {
            start = fixed(value + (gradient * (corner - position)).sum())
            (across, down) = (fixed(gradient.x), fixed(gradient.y))
        }

        @inline(__always)
        func at(_ x: Int, _ y: Int) -> Int { start &+ x &* across &+ y &* down }
    }

    /// The corners, sorted from top to bottom.
    private let (top, middle, bottom): (Point, Point, Point)
    /// The first column and row of the bounding box, where the slopes start.
    private let (column, row): (Int, Int)
    private let (u, v): (Slope, Slope)
    /// The fade; nil if the art keeps its own alpha.
    private let fade: Slope?
    /// Whether all of the triangle is inside the sprite.
    private let isInside: Bool

    /// Prepares a triangle; nil if it faces away, is degenerate, fully faded, or too far out.
    init?(_ a: WarpVertex, _ b: WarpVertex, _ c: WarpVertex, _ art: TextureView) {
        if max(a.fade, max(b.fade, c.fade)) <= 0 { return nil }
        let (ab, ac) = (b.target - a.target, c.target - a.target)
        let area = ab.x * ac.y - ab.y * ac.x
        guard area > 1e-3, area.isFinite else { return nil }
        var (p, q, r) = (a.target, b.target, c.target)
        // Sorted from top to bottom, and from left to right at equal height: the steps along a shared edge are then
        // equal to the last bit in both triangles.
        func precedes(_ s: Point, _ t: Point) -> Bool { s.y < t.y || (s.y == t.y && s.x < t.x) }
        if precedes(q, p) { swap(&p, &q) }
        if precedes(r, q) { swap(&q, &r) }
        if precedes(q, p) { swap(&p, &q) }
        (top, middle, bottom) = (p, q, r)
        let (low, high) = (min(p.x, min(q.x, r.x)), max(p.x, max(q.x, r.x)))
        guard low > -Self.farthest, p.y > -Self.farthest, high < Self.farthest, r.y < Self.farthest else { return nil }
        let corner = Point(low.rounded(.down), p.y.rounded(.down))
        (column, row) = (Int(corner.x), Int(corner.y))
        /// The gradient over the frame of a quantity that changes by these differences along the two sides.
        func gradient(_ first: Float, _ second: Float) -> Point {
            Point(first * ac.y - second * ab.y, second * ab.x - first * ac.x) / area
        }
        let (s, t) = (b.source - a.source, c.source - a.source)
        let (x, y) = (gradient(s.x, t.x), gradient(s.y, t.y))
        guard max(max(abs(x.x), abs(x.y)), max(abs(y.x), abs(y.y))) < 4096 else { return nil }
        // Half a step of the weights, which are truncated to 8 bits.
        let half = 0.5 / Float(256)
        u = Slope(x, from: a.source.x + half, at: a.target, to: corner)
        v = Slope(y, from: a.source.y + half, at: a.target, to: corner)
        let isFaded = min(a.fade, min(b.fade, c.fade)) < 1
        fade =
            isFaded
            ? Slope(gradient(b.fade - a.fade, c.fade - a.fade), from: a.fade, at: a.target, to: corner) : nil
        let first = pointwiseMin(a.source, pointwiseMin(b.source, c.source))
        let last = pointwiseMax(a.source, pointwiseMax(b.source, c.source))
        isInside =
            min(first.x, first.y) > Self.hair && last.x < Float(art.width - 1) - Self.hair
            && last.y < Float(art.height - 1) - Self.hair
    }

    /// An edge, stepped from row to row.
    private struct Edge {
        private var x: Int
        private let step: Int

        /// The edge from `p` down to `q`, at row `y`.
        init(_ p: Point, _ q: Point, from y: Int) {
            let slope = (q.x - p.x) / (q.y - p.y)
            x = fixed(p.x + (Float(y) - p.y) * slope)
            step = fixed(slope)
        }

        /// The first column on the edge or to its right.
        @inline(__always)
        var column: Int { (x &+ (1 << fraction &- 1)) >> fraction }

        @inline(__always)
        mutating func advance() { x &+= step }
    }

    func draw(_ art: TextureView, onto pixels: UnsafeMutablePointer<UInt32>, _ rowStride: Int, _ region: PixelRect) {
        let first = max(region.y, Int(top.y.rounded(.up)))
        let end = min(region.y + region.height, Int(bottom.y.rounded(.up)))
        guard first < end else { return }
        let half = max(first, min(Int(middle.y.rounded(.up)), end))
        var long = Edge(top, bottom, from: first)
        unsafe draw(art, onto: pixels, rowStride, region, &long, top, middle, first..<half)
        unsafe draw(art, onto: pixels, rowStride, region, &long, middle, bottom, half..<end)
    }

    /// Draws the rows between the edge from top to bottom and another one.
    @inline(__always)
    private func draw(
        _ art: TextureView, onto pixels: UnsafeMutablePointer<UInt32>, _ rowStride: Int, _ region: PixelRect,
        _ long: inout Edge, _ p: Point, _ q: Point, _ rows: Range<Int>
    ) {
        guard !rows.isEmpty else { return }
        var short = Edge(p, q, from: rows.lowerBound)
        var line = unsafe pixels + ((rows.lowerBound - region.y) * rowStride - region.x)
        for y in rows {
            let (one, other) = (long.column, short.column)
            let left = max(region.x, min(one, other))
            let right = min(region.x &+ region.width, max(one, other))
            if left < right { unsafe draw(art, onto: line, left, right, y) }
            long.advance()
            short.advance()
            unsafe line += rowStride
        }
    }

    /// Draws the pixels `left ..< right` of row `y`; `line` is the address of x = 0.
    @inline(__always)
    private func draw(
        _ art: TextureView, onto line: UnsafeMutablePointer<UInt32>, _ left: Int, _ right: Int, _ y: Int
    ) {
        var (x, end) = (left, right)
        var position = LineSampler(
            u: u.at(left &- column, y &- row), v: v.at(left &- column, y &- row), du: u.across, dv: v.across)
        if !isInside {
            while x < end && !art.contains(position.u, position.v) {
                x &+= 1
                position.skip(1)
            }
            while x < end {
                let steps = end &- 1 &- x
                if art.contains(position.u &+ steps &* position.du, position.v &+ steps &* position.dv) { break }
                end &-= 1
            }
        }
        // Half a chunk must stay within the neighbouring blocks that `isNearArt` covers.
        let maySkip = max(abs(position.du), abs(position.dv)) &* (Self.chunk / 2) < (Self.chunk - 2) << Self.fraction
        let block = Self.fraction + OccupancyGrid.sprite.shift
        while x < end {
            let count = min(Self.chunk, end &- x)
            let half = count >> 1
            if maySkip
                && !art.isNearArt(
                    column: (position.u &+ half &* position.du) >> block,
                    row: (position.v &+ half &* position.dv) >> block)
            {
                position.skip(count)
            } else if let fade {
                let here = LineSampler.Fade(value: fade.at(x &- column, y &- row), step: fade.across)
                unsafe position.sample(count, of: art, here, into: line + x)
            } else {
                unsafe position.sample(count, of: art, into: line + x)
            }
            x &+= count
        }
    }

    /// Converts to fixed point. Values are clamped: no frame has such coordinates, and no edge so steep crosses two
    /// rows.
    private static func fixed(_ value: Float) -> Int { Int((max(-1e12, min(value, 1e12)) * one).rounded()) }
}
