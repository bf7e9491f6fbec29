import Frames

/// A mean head in three dimensions, placed in a picture: its position, size and orientation, as the map that drawing
/// needs. `pose` is the orientation alone, as angles.
///
/// Head space: origin midway between the eyes' centres, x to the right of the picture, y down, z away from the camera
/// when the head faces it; the unit is the distance between the eyes' centres.
public struct HeadPlacement: Sendable {
    /// The first row of the map from head space to the picture: a row of the rotation, in pixels per unit.
    public var x: SIMD3<Float>
    /// The second row of the map.
    public var y: SIMD3<Float>
    /// The position of head space's origin, pixels.
    public var origin: Point

    /// Creates a placement from its parts.
    public init(x: SIMD3<Float>, y: SIMD3<Float>, origin: Point) { (self.x, self.y, self.origin) = (x, y, origin) }

    /// Pixels per eye distance, as if the head faced the camera.
    public var scale: Float { ((x * x).sum().squareRoot() + (y * y).sum().squareRoot()) / 2 }

    /// Projects a point of head space into the picture, by scaled orthographic projection.
    public func callAsFunction(_ p: SIMD3<Float>) -> Point { origin + Point((x * p).sum(), (y * p).sum()) }

    /// The head's orientation, as rotations about x, then y, then z (the face first nods, then turns, then leans).
    public var pose: Pose {
        let s = max(scale, 1e-6)
        // R = Rz(roll) Ry(yaw) Rx(pitch); its rows are x / s, y / s and their cross product.
        let (r0, r1) = (x / s, y / s)
        let r2 = cross(r0, r1)
        // Forward, towards the camera, is -z; a face that looks to the right of the picture has forward.x > 0.
        let yaw = -asin(max(-1, min(1, -r2.x)))
        let roll = atan2(r1.x, r0.x)
        let pitch = atan2(-r2.y, r2.z)
        return Pose(roll: degrees(roll), yaw: degrees(yaw), pitch: degrees(pitch))
    }
}

extension HeadPlacement {
    /// The 68 landmarks of a mean head in head space. Measured by factorisation (Tomasi and Kanade, 1992) of landmark
    /// tracks of some twenty people, made symmetric. Pitch 0 is the median of people who look at a screen.
    public static let meanHead: [SIMD3<Float>] = [
        // Jaw, from the right ear to the left.
        [-1.138, 0.075, 0.802], [-1.121, 0.370, 0.749], [-1.082, 0.663, 0.718], [-1.024, 0.952, 0.684],
        [-0.927, 1.226, 0.593], [-0.765, 1.466, 0.448], [-0.547, 1.660, 0.266], [-0.290, 1.806, 0.091],
        [0.000, 1.851, 0.034], [0.290, 1.806, 0.091], [0.547, 1.660, 0.266], [0.765, 1.466, 0.448],
        [0.927, 1.226, 0.593], [1.024, 0.952, 0.684], [1.082, 0.663, 0.718], [1.121, 0.370, 0.749],
        [1.138, 0.075, 0.802],
        // Brows.
        [-0.919, -0.221, 0.144], [-0.784, -0.360, 0.008], [-0.586, -0.410, -0.109], [-0.377, -0.387, -0.207],
        [-0.185, -0.306, -0.269], [0.185, -0.306, -0.269], [0.377, -0.387, -0.207], [0.586, -0.410, -0.109],
        [0.784, -0.360, 0.008], [0.919, -0.221, 0.144],
        // Nose.
        [0.000, -0.056, -0.298], [0.000, 0.128, -0.407], [0.000, 0.307, -0.527], [0.000, 0.495, -0.642],
        [-0.215, 0.679, -0.325], [-0.111, 0.712, -0.374], [0.000, 0.738, -0.411], [0.111, 0.712, -0.374],
        [0.215, 0.679, -0.325],
        // Eyes.
        [-0.695, 0.006, 0.069], [-0.572, -0.068, 0.001], [-0.427, -0.067, -0.027], [-0.296, 0.024, -0.036],
        [-0.433, 0.052, -0.019], [-0.578, 0.053, 0.011], [0.296, 0.024, -0.036], [0.427, -0.067, -0.027],
        [0.572, -0.068, 0.001], [0.695, 0.006, 0.069], [0.578, 0.053, 0.011], [0.433, 0.052, -0.019],
        // Lips.
        [-0.415, 1.099, -0.029], [-0.263, 0.992, -0.218], [-0.109, 0.937, -0.325], [0.000, 0.964, -0.337],
        [0.109, 0.937, -0.325], [0.263, 0.992, -0.218], [0.415, 1.099, -0.029], [0.268, 1.231, -0.188],
        [0.118, 1.290, -0.289], [0.000, 1.301, -0.307], [-0.118, 1.290, -0.289], [-0.268, 1.231, -0.188],
        [-0.345, 1.098, -0.064], [-0.110, 1.048, -0.280], [0.000, 1.058, -0.296], [0.110, 1.048, -0.280],
        [0.345, 1.098, -0.064], [0.112, 1.137, -0.303], [0.000, 1.151, -0.320], [-0.112, 1.137, -0.303],
    ]

    /// The weight of each landmark: high for those fixed to the skull, low for those that move in speech and smiles.
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

    /// The constant part of the least-squares solution: the sum of row i times landmark i is the projection.
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

    /// The placement that fits the mean head's landmarks best to those seen (weighted least squares, then the nearest
    /// scaled rotation).
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
        // The two rows of a scaled rotation are orthogonal and of equal length, so half the error is removed from each.
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

    /// The mean head's landmarks under this placement, pixels.
    public var landmarks: Face.Landmarks {
        var points = Face.Landmarks(repeating: .zero)
        for i in 0..<68 { points[i] = self(Self.meanHead[i]) }
        return points
    }
}
