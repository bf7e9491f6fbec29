/// A corner of the triangles by which a stamp is bent.
public struct WarpVertex: Sendable {
    /// Where it lies in the stamp, pixels.
    public var source: Point
    /// Where it lies in the frame, pixels.
    public var target: Point
    /// 0...1, multiplies the art's own alpha there and is interpolated between the corners.
    public var fade: Float

    /// A corner.
    public init(source: Point, target: Point, fade: Float) {
        (self.source, self.target, self.fade) = (source, target, fade)
    }
}

/// Draws a stamp on a tile piece by piece: each triangle by the affine map that its corners give. A pixel belongs to the
/// triangle in which its centre lies, and one on an edge to the triangle on its right or below it, so that triangles
/// that share an edge leave no gap and touch no pixel twice. Pixels are set, not blended. Allocates nothing.
/// - Parameters:
///   - triangles: three indices of `vertices` each, clockwise as seen in the stamp; the last lane is not used. One whose
///     corners do not lie clockwise in the frame faces away and is left out.
public func warp(
    _ stamp: borrowing Stamp, _ vertices: Span<WarpVertex>, _ triangles: Span<SIMD4<UInt8>>, onto tile: inout Tile
) {
    let (region, rowWords) = (tile.region, tile.stride)
    guard !region.isEmpty else { return }
    var words = tile.pixels
    unsafe words.withUnsafeMutableBufferPointer { words in
        guard let words = words.baseAddress else { return }
        stamp.withArt { art in
            art.fetch()
            for i in triangles.indices {
                let t = triangles[i]
                guard let triangle = WarpTriangle(vertices[Int(t.x)], vertices[Int(t.y)], vertices[Int(t.z)])
                else { continue }
                unsafe triangle.draw(art, onto: words, rowWords, region)
            }
        }
    }
}

/// One triangle in the frame, and how the stamp's position and the fade go on from pixel to pixel.
private struct WarpTriangle {
    /// Positions in the stamp have 16 bits behind the point: over the longest row the error stays under 0.1 pixel.
    private static let fraction = ArtLine.fraction
    private static let one = Float(1 << fraction)
    /// Pixels of a run that are skipped together where the stamp is empty.
    private static let chunk = 16
    /// Keeps conversions to whole numbers defined for wild faces.
    private static let farthest: Float = 100_000

    /// Corners from top to bottom.
    private let (top, middle, bottom): (Point, Point, Point)
    /// From frame to stamp.
    private let toArt: Affine
    /// The fade is `fade.x * x + fade.y * y + fade.z`.
    private let fade: SIMD3<Float>
    private let isFaded: Bool

    /// Nil for one that faces away, is a line, or reaches far out.
    init?(_ a: WarpVertex, _ b: WarpVertex, _ c: WarpVertex) {
        let (u, v) = (b.target - a.target, c.target - a.target)
        let area = u.x * v.y - u.y * v.x
        guard area > 1e-3, area.isFinite else { return nil }
        var (p, q, r) = (a.target, b.target, c.target)
        // From top to bottom, and on one height from left to right: an edge is stepped along in the same way, to the
        // last bit, whichever triangle it is looked at from.
        func precedes(_ s: Point, _ t: Point) -> Bool { s.y < t.y || (s.y == t.y && s.x < t.x) }
        if precedes(q, p) { swap(&p, &q) }
        if precedes(r, q) { swap(&q, &r) }
        if precedes(q, p) { swap(&p, &q) }
        (top, middle, bottom) = (p, q, r)
        let low = pointwiseMin(p, pointwiseMin(q, r))
        let high = pointwiseMax(p, pointwiseMax(q, r))
        guard low.x > -Self.farthest, low.y > -Self.farthest, high.x < Self.farthest, high.y < Self.farthest else {
            return nil
        }
        // The gradient over the frame of what has the values at the corners.
        func slope(_ du: Float, _ dv: Float) -> Point {
            Point(du * v.y - dv * u.y, dv * u.x - du * v.x) / area
        }
        let (s, t) = (b.source - a.source, c.source - a.source)
        let (x, y) = (slope(s.x, t.x), slope(s.y, t.y))
        toArt = Affine(
            a: x.x, b: x.y, c: y.x, d: y.y, tx: a.source.x - (x * a.target).sum(),
            ty: a.source.y - (y * a.target).sum())
        guard max(max(abs(x.x), abs(x.y)), max(abs(y.x), abs(y.y))) < 4096 else { return nil }
        let f = slope(b.fade - a.fade, c.fade - a.fade)
        fade = SIMD3(f.x, f.y, a.fade - (f * a.target).sum())
        isFaded = min(a.fade, min(b.fade, c.fade)) < 1
        if max(a.fade, max(b.fade, c.fade)) <= 0 { return nil }
    }

    /// Where the edge from `p` down to `q` crosses a row.
    @inline(__always)
    private func crossing(_ p: Point, _ q: Point, _ y: Float) -> Float { p.x + (y - p.y) * ((q.x - p.x) / (q.y - p.y)) }

    func draw(_ art: SampledArt, onto words: UnsafeMutablePointer<UInt32>, _ rowWords: Int, _ region: PixelRect) {
        let first = max(region.y, Int(top.y.rounded(.up)))
        let end = min(region.y + region.height, Int(bottom.y.rounded(.up)))
        guard first < end else { return }
        for y in first..<end {
            let at = Float(y)
            let long = crossing(top, bottom, at)
            let short = at < middle.y ? crossing(top, middle, at) : crossing(middle, bottom, at)
            let left = max(region.x, Int(min(long, short).rounded(.up)))
            let right = min(region.x + region.width, Int(max(long, short).rounded(.up)))
            guard left < right else { continue }
            let row = unsafe words + ((y - region.y) * rowWords - region.x)
            unsafe draw(art, onto: row, left, right, y)
        }
    }

    /// The pixels `left ..< right` of row `y`; `row` is where x = 0 would lie.
    @inline(__always)
    private func draw(
        _ art: SampledArt, onto row: UnsafeMutablePointer<UInt32>, _ left: Int, _ right: Int, _ y: Int
    ) {
        let start = toArt(Point(Float(left), Float(y)))
        let (du, dv) = (Int(toArt.a * Self.one), Int(toArt.c * Self.one))
        // Half a step of the weights, which are cut off to 8 bits.
        let half = 1 << (Self.fraction - 9)
        var (u, v) = (Int(start.x * Self.one) + half, Int(start.y * Self.one) + half)
        var (begin, end) = (left, right)
        let (limitU, limitV) = ((art.width - 1) << Self.fraction, (art.height - 1) << Self.fraction)
        func isInside(_ u: Int, _ v: Int) -> Bool { u >= 0 && v >= 0 && u < limitU && v < limitV }
        while begin < end && !isInside(u, v) {
            begin += 1
            u += du
            v += dv
        }
        while begin < end && !isInside(u + (end - 1 - begin) * du, v + (end - 1 - begin) * dv) { end -= 1 }
        // Twice the reach of half a chunk must stay within the blocks that `isNearArt` speaks of.
        let maySkip = max(abs(du), abs(dv)) * Self.chunk / 2 < (Self.chunk - 2) << Self.fraction
        let block = Self.fraction + ArtBlocks.stamp.shift
        var line = ArtLine(u: u, v: v, du: du, dv: dv)
        var x = begin
        while x < end {
            let count = min(Self.chunk, end - x)
            let (bu, bv) = ((line.u + count / 2 * du) >> block, (line.v + count / 2 * dv) >> block)
            if maySkip && !art.isNearArt(column: bu, row: bv) {
                line.skip(count)
            } else if isFaded {
                var fading: ArtLine.Fade? = ArtLine.Fade(
                    value: Int((fade.x * Float(x) + fade.y * Float(y) + fade.z) * Self.one),
                    step: Int(fade.x * Self.one))
                unsafe line.take(count, of: art, &fading, into: row + x)
            } else {
                var none: ArtLine.Fade?
                unsafe line.take(count, of: art, &none, into: row + x)
            }
            x += count
        }
    }
}
