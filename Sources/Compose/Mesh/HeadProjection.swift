import Frames
import Track

/// Head space seen by a camera: perspective of a mean webcam's lens about the head's place.
struct HeadProjection {
    private let head: HeadPlacement
    private let away: SIMD3<Float>
    private let scale: Float
    /// Eye distances from the camera to the eyes.
    private let distance: Float

    /// The lens: a picture is as wide as 1.1 times its distance (58 degrees), as most webcams' at 720p.
    private static let focalLength: Float = 0.9
    /// Nearer heads are drawn as from here: photos are mostly cut from larger pictures.
    private static let nearest: Float = 7

    init(_ head: HeadPlacement, width: Int) {
        self.head = head
        scale = max(head.scale, 1e-3)
        away = cross(head.x, head.y) / (scale * scale)
        distance = max(Self.nearest, Self.focalLength * Float(width) / scale)
    }

    /// Pixels, and depth as -1 over the distance from the camera in head units: linear in the picture, and less what is
    /// nearer.
    @inline(__always)
    func callAsFunction(_ p: SIMD3<Float>) -> SIMD4<Float> {
        let inverse = 1 / max(distance + dot(away, p), 1)
        let factor = distance * inverse
        return SIMD4(
            head.origin.x + dot(head.x, p) * factor, head.origin.y + dot(head.y, p) * factor, 0 - inverse, 0)
    }

    /// A direction of head space in the picture's axes.
    @inline(__always)
    func turned(_ v: SIMD3<Float>) -> SIMD3<Float> {
        SIMD3(dot(head.x, v) / scale, dot(head.y, v) / scale, dot(away, v))
    }
}
