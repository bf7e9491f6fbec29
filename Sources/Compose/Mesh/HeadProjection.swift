import Frames
import Track

/// Perspective projection of head space, with an average webcam's lens and the vanishing point at the head's origin.
struct HeadProjection {
    private let head: HeadPlacement
    /// What is projected is enlarged by `stretch` first, and moved by `shift`.
    private let stretch: SIMD3<Float>
    private let shift: SIMD3<Float>
    /// The third row of the head's rotation: from head space to depth.
    private let away: SIMD3<Float>
    private let scale: Float
    /// Distance from the camera to the eyes, in eye distances.
    private let distance: Float

    /// Focal length relative to the picture's width: at a distance of 1, the picture shows a width of 1.1 (58 degrees),
    /// as most webcams do at 720p.
    private static let focalLength: Float = 0.9
    /// The least distance of the camera, in eye distances. Photos with larger heads are mostly crops of larger
    /// pictures.
    private static let nearest: Float = 7

    /// - Parameters:
    ///   - width: of the picture, in pixels.
    ///   - fit: the size of the head with its hair.
    ///   - center: the point in head space that stays in its place whatever the fit.
    init(_ head: HeadPlacement, width: Int, fit: HeadFit = HeadFit(), about center: SIMD3<Float> = .zero) {
        self.head = head
        stretch = SIMD3(fit.width, fit.height, fit.width)
        shift = center - center * stretch
        scale = max(head.scale, 1e-3)
        away = cross(head.x, head.y) / (scale * scale)
        distance = max(Self.nearest, Self.focalLength * Float(width) / scale)
    }

    /// Projects a point. x and y are pixels; z is depth, -1 over the distance from the camera in head units: linear in
    /// the picture, and smaller for nearer points.
    @inline(__always)
    func callAsFunction(_ point: SIMD3<Float>) -> SIMD4<Float> {
        let p = point * stretch + shift
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

extension HeadPlacement {
    /// The degrees of pitch from which a hat leans forward on a head that looks up, and by how much of the rest. A brim
    /// that is raised with the head surrounds the face like a bonnet, and hides the hat's body. Chosen in blind pairs:
    /// 0.7 from 5 degrees against none, 12 of 12; these against that, 8 of 9; 0.8 from -15 against these, 0 of 14.
    private static let (leanFrom, lean): (Float, Float) = (-6, 0.75)
    /// Where a hat stays while it leans: the rim at the forehead.
    private static let forehead: SIMD3<Float> = [0, -0.9, 0.1]

    /// The placement, less raised, of a head that a hat fits when it leans forward on this one.
    var leaningHat: HeadPlacement {
        let angle = radians(Self.lean * max(0, pose.pitch - Self.leanFrom))
        guard angle > 0 else { return self }
        let (c, s) = (cos(angle), sin(angle))
        func lowered(_ row: SIMD3<Float>) -> SIMD3<Float> {
            SIMD3(row.x, row.y * c + row.z * s, row.z * c - row.y * s)
        }
        let leaning = HeadPlacement(x: lowered(x), y: lowered(y), origin: origin)
        let place = leaning(Self.forehead)
        return HeadPlacement(x: leaning.x, y: leaning.y, origin: origin + self(Self.forehead) - place)
    }
}
