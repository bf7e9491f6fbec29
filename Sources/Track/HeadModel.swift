import Frames

/// A mean head in three dimensions and how it lies in a picture.
///
/// Head space: origin midway between the eyes' centres, x to the right of the picture, y down, z away from the camera
/// when the head faces it; the unit is the distance between the eyes' centres.
public struct HeadPlacement: Sendable {
    /// Head space to picture: the first two rows of the rotation, in pixels per unit.
    public var x: SIMD3<Float>
    public var y: SIMD3<Float>
    /// Where head space's origin lies, pixels.
    public var origin: Point

    public static let nowhere = HeadPlacement(x: [1, 0, 0], y: [0, 1, 0], origin: .zero)

    public init(x: SIMD3<Float>, y: SIMD3<Float>, origin: Point) { (self.x, self.y, self.origin) = (x, y, origin) }

    /// Pixels per eye distance, as if the head faced the camera.
    public var scale: Float { ((x * x).sum().squareRoot() + (y * y).sum().squareRoot()) / 2 }

    /// Where a point of head space lies in the picture, by scaled orthographic projection.
    public func callAsFunction(_ p: SIMD3<Float>) -> Point { origin + Point((x * p).sum(), (y * p).sum()) }

    /// The head's turn, as rotations about z, then y, then x (the face first nods, then turns, then leans).
    public var pose: Pose {
        let s = max(scale, 1e-6)
        // R = Rz(roll) Ry(yaw) Rx(pitch); its rows are x / s, y / s and their cross product.
        let (r0, r1) = (x / s, y / s)
        let r2 = cross(r0, r1)
        // Forward, towards the camera, is -z; a face that looks to the right of the picture has forward.x > 0.
        let yaw = -arcSine(max(-1, min(1, -r2.x)))
        let roll = arcTangent(r1.x, r0.x)
        let pitch = arcTangent(-r2.y, r2.z)
        return Pose(roll: degrees(roll), yaw: degrees(yaw), pitch: degrees(pitch))
    }
}

func cross(_ a: SIMD3<Float>, _ b: SIMD3<Float>) -> SIMD3<Float> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}


extension HeadPlacement {
    /// The 68 landmarks of a mean head in head space. Measured by factorisation (Tomasi and Kanade, 1992) of landmark
    /// tracks of some twenty people, made symmetric; pitch 0 is where the chin lies 0.08 behind the nose's root.
    public static let meanHead: [SIMD3<Float>] = [
        // jaw, from the right ear to the left
        [-1.138, 0.179, 0.785], [-1.121, 0.465, 0.694], [-1.082, 0.751, 0.625], [-1.024, 1.033, 0.554],
        [-0.927, 1.293, 0.428], [-0.765, 1.512, 0.253], [-0.547, 1.681, 0.047], [-0.290, 1.802, -0.145],
        [0.000, 1.840, -0.208], [0.290, 1.802, -0.145], [0.547, 1.681, 0.047], [0.765, 1.512, 0.253],
        [0.927, 1.293, 0.428], [1.024, 1.033, 0.554], [1.082, 0.751, 0.625], [1.121, 0.465, 0.694],
        [1.138, 0.179, 0.785],
        // brows
        [-0.919, -0.200, 0.172], [-0.784, -0.356, 0.055], [-0.586, -0.421, -0.055], [-0.377, -0.411, -0.155],
        [-0.185, -0.339, -0.227], [0.185, -0.339, -0.227], [0.377, -0.411, -0.155], [0.586, -0.421, -0.055],
        [0.784, -0.356, 0.055], [0.919, -0.200, 0.172],
        // nose
        [0.000, -0.094, -0.288], [0.000, 0.074, -0.420], [0.000, 0.236, -0.563], [0.000, 0.407, -0.701],
        [-0.215, 0.631, -0.411], [-0.111, 0.657, -0.464], [0.000, 0.678, -0.504], [0.111, 0.657, -0.464],
        [0.215, 0.631, -0.411],
        // eyes
        [-0.695, 0.015, 0.068], [-0.572, -0.067, 0.010], [-0.427, -0.070, -0.018], [-0.296, 0.019, -0.039],
        [-0.433, 0.049, -0.026], [-0.578, 0.054, 0.004], [0.296, 0.019, -0.039], [0.427, -0.070, -0.018],
        [0.572, -0.067, 0.010], [0.695, 0.015, 0.068], [0.578, 0.054, 0.004], [0.433, 0.049, -0.026],
        // lips
        [-0.415, 1.086, -0.172], [-0.263, 0.955, -0.346], [-0.109, 0.887, -0.445], [0.000, 0.912, -0.460],
        [0.109, 0.887, -0.445], [0.263, 0.955, -0.346], [0.415, 1.086, -0.172], [0.268, 1.196, -0.347],
        [0.118, 1.241, -0.455], [0.000, 1.250, -0.474], [-0.118, 1.241, -0.455], [-0.268, 1.196, -0.347],
        [-0.345, 1.080, -0.207], [-0.110, 1.003, -0.414], [0.000, 1.010, -0.432], [0.110, 1.003, -0.414],
        [0.345, 1.080, -0.207], [0.112, 1.088, -0.449], [0.000, 1.099, -0.467], [-0.112, 1.088, -0.449],
    ]

    /// How much each landmark counts: what is fixed to the skull counts most, what speaks and smiles little.
    private static let weights: [Float] = (0..<68).map {
        switch $0 {
        case 0...2, 14...16: 0.5
        case 3...13: 0.15
        case 17...26: 0.5
        case 27...35: 1
        case 36...47: 1
        default: 0.15
        }
    }

    /// The least-squares solution's constant part: row i times landmark i, summed, gives the projection.
    private static let solver: (rows: [SIMD3<Float>], mean: SIMD3<Float>, total: Float) = {
        let total = weights.reduce(0, +)
        var mean = SIMD3<Float>.zero
        for (p, w) in zip(meanHead, weights) { mean += p * w }
        mean /= total
        var (c0, c1, c2) = (SIMD3<Float>.zero, SIMD3<Float>.zero, SIMD3<Float>.zero)
        for (p, w) in zip(meanHead, weights) {
            let d = p - mean
            c0 += d * (d.x * w)
            c1 += d * (d.y * w)
            c2 += d * (d.z * w)
        }
        // The inverse of a symmetric 3x3 matrix by its cofactors.
        let (i0, i1, i2) = (cross(c1, c2), cross(c2, c0), cross(c0, c1))
        let det = (c0 * i0).sum()
        let rows = zip(meanHead, weights).map { p, w in
            let d = (p - mean) * w
            return SIMD3((i0 * d).sum(), (i1 * d).sum(), (i2 * d).sum()) / det
        }
        return (rows, mean, total)
    }()

    /// The placement under which the mean head's landmarks lie nearest to those seen (weighted least squares, then the
    /// nearest scaled rotation).
    public init(fitting landmarks: borrowing Face.Landmarks) {
        let (rows, mean, total) = Self.solver
        var (mx, my) = (SIMD3<Float>.zero, SIMD3<Float>.zero)
        var center = Point.zero
        for i in 0..<68 {
            mx += rows[i] * landmarks[i].x
            my += rows[i] * landmarks[i].y
            center += landmarks[i] * Self.weights[i]
        }
        center /= total
        // Two rows of a scaled rotation are of equal length and orthogonal: half the error is taken from each.
        let lengths = Point((mx * mx).sum().squareRoot(), (my * my).sum().squareRoot())
        let scale = max((lengths.x + lengths.y) / 2, 1e-6)
        var (ux, uy) = (mx / max(lengths.x, 1e-6), my / max(lengths.y, 1e-6))
        let skew = (ux * uy).sum() / 2
        (ux, uy) = (ux - uy * skew, uy - ux * skew)
        ux /= max((ux * ux).sum().squareRoot(), 1e-6)
        uy /= max((uy * uy).sum().squareRoot(), 1e-6)
        (x, y) = (ux * scale, uy * scale)
        origin = center - Point((x * mean).sum(), (y * mean).sum())
    }

    /// Where the mean head's landmarks lie under this placement.
    public var landmarks: Face.Landmarks {
        var points = Face.Landmarks(repeating: .zero)
        for i in 0..<68 { points[i] = self(Self.meanHead[i]) }
        return points
    }
}
