import Frames
import Track

/// The ellipse in the picture that contains a head with its hair and ears, however it is turned. What hides a face must
/// hide all of it.
struct HeadOutline {
    /// The ellipse's centre, in pixels.
    let center: Point
    /// The ellipse's matrix (xx, xy, yy): the sum of its half axes' outer products with themselves, pixels squared.
    private let matrix: SIMD3<Float>
    /// The inverse of `matrix`.
    private let inverse: SIMD3<Float>

    /// Half axes of an ellipsoid around the head, in eye distances. It contains the skull, ears, close hair, chin and
    /// tip of the nose.
    private static let halfAxes: SIMD3<Float> = [1.36, 2.06, 1.45]
    /// The ellipsoid's centre in head space, between the ears.
    private static let middle: SIMD3<Float> = [0, 0, 0.75]
    /// The largest distance of a landmark from the centre, relative to the outline's. The head model's ellipse grows
    /// until all landmarks are within it, for faces that are longer or more turned than the pose says.
    private static let inside: Float = 0.93
    /// Growth of the outline for a predicted face, which may have moved on.
    private static let predictedGrowth: Float = 1.12

    /// The outline of the whole head.
    init(_ face: borrowing Face) {
        let mean = HeadOutline(face.head, middle: Self.middle, halfAxes: Self.halfAxes)
        var growth = face.state == .predicted ? Self.predictedGrowth : 1
        for i in 0..<68 {
            let distance = mean.distance(face.landmarks[i]) / Self.inside
            if distance.isFinite { growth = max(growth, min(distance, 3)) }
        }
        self.init(center: mean.center, matrix: mean.matrix * growth * growth)
    }

    /// The outline of the facial features: from the brows to the chin, without ears and hair.
    init(features face: borrowing Face) {
        self.init(face.head, middle: [0, 0.7, 0.1], halfAxes: [0.98, 1.14, 0.45])
    }

    private init(_ head: HeadPlacement, middle: SIMD3<Float>, halfAxes: SIMD3<Float>) {
        let (x, y) = (head.x * halfAxes, head.y * halfAxes)
        // The parallel projection of an ellipsoid is the ellipse of this matrix. Adding half a pixel, squared, keeps it
        // invertible for tiny faces.
        let floor: Float = 0.25
        self.init(
            center: head(middle), matrix: SIMD3((x * x).sum() + floor, (x * y).sum(), (y * y).sum() + floor))
    }

    private init(center: Point, matrix: SIMD3<Float>) {
        (self.center, self.matrix, inverse) = (center, matrix, Self.inverse(of: matrix))
    }

    /// The inverse of a symmetric matrix (xx, xy, yy).
    private static func inverse(of m: SIMD3<Float>) -> SIMD3<Float> {
        let determinant = max(m.x * m.z - m.y * m.y, 1e-6)
        return SIMD3(m.z, -m.y, m.x) / determinant
    }

    /// The quadratic form of a symmetric matrix (xx, xy, yy).
    private static func squared(_ d: Point, _ m: SIMD3<Float>) -> Float {
        m.x * d.x * d.x + 2 * m.y * d.x * d.y + m.z * d.y * d.y
    }

    /// The distance of a point from the centre, relative to the outline's: 0 at the centre, 1 on the outline, more
    /// outside.
    func distance(_ p: Point) -> Float { Self.squared(p - center, inverse).squareRoot() }

    /// Half the width and height of the upright bounding box, in pixels.
    var halfSize: Point { Point(matrix.x.squareRoot(), matrix.z.squareRoot()) }

    /// Whether all values are finite. If not, nothing can be drawn.
    var isSound: Bool { center.x.isFinite && center.y.isFinite && halfSize.x.isFinite && halfSize.y.isFinite }

    /// The upright bounding box of the outline grown by a factor, in whole pixels.
    func box(grown factor: Float = 1) -> PixelRect {
        let edge: Float = 100_000  // keeps Int conversions defined
        func whole(_ value: Float) -> Int { Int(max(-edge, min(edge, value))) }
        let half = halfSize * factor
        let (left, top) = (whole((center.x - half.x).rounded(.down)), whole((center.y - half.y).rounded(.down)))
        let (right, bottom) = (whole((center.x + half.x).rounded(.up)), whole((center.y + half.y).rounded(.up)))
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }

    /// The pixels of a row that are inside the outline grown by a factor, and at most one more at each end.
    func columns(_ y: Int, grown factor: Float) -> Range<Int> {
        // The squared distance is a parabola along the row. Solve for the factor's square.
        let (m, down) = (inverse, Float(y) - center.y)
        let half = (m.y * down) * (m.y * down) - m.x * (m.z * down * down - factor * factor)
        guard isSound, half > 0, m.x > 0 else { return 0..<0 }
        let edge: Float = 100_000  // keeps Int conversions defined
        let (middle, reach) = (center.x - m.y * down / m.x, half.squareRoot() / m.x)
        let (first, last) = (max(-edge, min(edge, middle - reach)), max(-edge, min(edge, middle + reach)))
        return Int(first.rounded(.down))..<Int(last.rounded(.up)) + 1
    }

    /// Coverage of a point: 1 up to the outline grown by `full`, fading smoothly to 0 at the outline grown by `none`.
    @inline(__always)
    func cover(_ p: Point, full: Float, none: Float) -> Float {
        smoothstep((none * none - Self.squared(p - center, inverse)) / (none * none - full * full))
    }

    /// The outline with a soft edge, for the kernels. Fades from the outline grown by `full` to the one grown by
    /// `none`.
    func soft(full: Float, none: Float) -> SoftEllipse {
        SoftEllipse(center: center, matrix: inverse, full: full * full, none: none * none)
    }
}
