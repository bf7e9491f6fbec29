import Frames
import Track

/// The ellipse in which a head, its hair and its ears lie in the picture, however it is turned: what hides a face must
/// hide all of it.
struct HeadOutline {
    /// Pixels.
    let center: Point
    /// The ellipse's matrix: (xx, xy, yy) of the sum of its half axes' squares, pixels squared.
    private let spread: SIMD3<Float>
    private let inverse: SIMD3<Float>

    /// Half axes of an ellipsoid round the head, eye distances: skull, ears, hair close to it, chin and nose tip.
    private static let halfAxes: SIMD3<Float> = [1.36, 2.06, 1.45]
    /// Its middle in head space, between the ears.
    private static let middle: SIMD3<Float> = [0, 0, 0.75]
    /// How far inside of the outline every landmark lies, as a part of the way from the centre: the head model's ellipse
    /// grows until they do, for faces that are longer or more turned than the pose says.
    private static let inside: Float = 0.93
    /// A face that this frame did not show may have moved on by that part of its outline.
    private static let predictedGrowth: Float = 1.12

    /// The whole head's.
    init(_ face: borrowing Face) {
        let mean = HeadOutline(face.head, middle: Self.middle, halfAxes: Self.halfAxes)
        var growth = face.state == .predicted ? Self.predictedGrowth : 1
        for i in 0..<68 {
            let distance = mean.distance(face.landmarks[i]) / Self.inside
            if distance.isFinite { growth = max(growth, min(distance, 3)) }
        }
        self.init(center: mean.center, spread: mean.spread * growth * growth)
    }

    /// The outline of what shows features: from the brows to the chin, without ears and hair.
    init(features face: borrowing Face) {
        self.init(face.head, middle: [0, 0.7, 0.1], halfAxes: [0.98, 1.14, 0.45])
    }

    private init(_ head: HeadPlacement, middle: SIMD3<Float>, halfAxes: SIMD3<Float>) {
        let (x, y) = (head.x * halfAxes, head.y * halfAxes)
        // A parallel projection of an ellipsoid is the ellipse of this matrix. Half a pixel keeps tiny faces sound.
        let floor: Float = 0.25
        self.init(
            center: head(middle), spread: SIMD3((x * x).sum() + floor, (x * y).sum(), (y * y).sum() + floor))
    }

    private init(center: Point, spread: SIMD3<Float>) {
        (self.center, self.spread, inverse) = (center, spread, Self.inverse(of: spread))
    }

    private static func inverse(of m: SIMD3<Float>) -> SIMD3<Float> {
        let determinant = max(m.x * m.z - m.y * m.y, 1e-6)
        return SIMD3(m.z, -m.y, m.x) / determinant
    }

    private static func squared(_ d: Point, _ m: SIMD3<Float>) -> Float {
        m.x * d.x * d.x + 2 * m.y * d.x * d.y + m.z * d.y * d.y
    }

    /// 0 in the middle, 1 on the outline, more outside.
    func distance(_ p: Point) -> Float { Self.squared(p - center, inverse).squareRoot() }

    /// From the centre to the upright box round it, pixels.
    var halfSize: Point { Point(spread.x.squareRoot(), spread.z.squareRoot()) }

    /// False where the place is no number: nothing can be drawn there.
    var isSound: Bool { center.x.isFinite && center.y.isFinite && halfSize.x.isFinite && halfSize.y.isFinite }

    /// The upright box round the outline grown by a factor, as whole pixels.
    func box(grown factor: Float = 1) -> PixelRect {
        let edge: Float = 100_000  // keeps Int conversions defined
        func whole(_ value: Float) -> Int { Int(max(-edge, min(edge, value))) }
        let half = halfSize * factor
        let (left, top) = (whole((center.x - half.x).rounded(.down)), whole((center.y - half.y).rounded(.down)))
        let (right, bottom) = (whole((center.x + half.x).rounded(.up)), whole((center.y + half.y).rounded(.up)))
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }

    /// The pixels of a row that lie within the outline grown by a factor, and at most one beside each end.
    func columns(_ y: Int, grown factor: Float) -> Range<Int> {
        // Where the squared distance, a parabola along the row, is the factor's square.
        let (m, down) = (inverse, Float(y) - center.y)
        let half = (m.y * down) * (m.y * down) - m.x * (m.z * down * down - factor * factor)
        guard isSound, half > 0, m.x > 0 else { return 0..<0 }
        let edge: Float = 100_000  // keeps Int conversions defined
        let (middle, reach) = (center.x - m.y * down / m.x, half.squareRoot() / m.x)
        let (first, last) = (max(-edge, min(edge, middle - reach)), max(-edge, min(edge, middle + reach)))
        return Int(first.rounded(.down))..<Int(last.rounded(.up)) + 1
    }

    /// 1 up to the outline grown by `full`, fading smoothly to 0 at the outline grown by `none`.
    @inline(__always)
    func cover(_ p: Point, full: Float, none: Float) -> Float {
        let t = max(0, min(1, (none * none - Self.squared(p - center, inverse)) / (none * none - full * full)))
        return t * t * (3 - 2 * t)
    }

    /// The same for kernels.
    func soft(full: Float, none: Float) -> SoftEllipse {
        SoftEllipse(center: center, matrix: inverse, full: full * full, none: none * none)
    }
}
