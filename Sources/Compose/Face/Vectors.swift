import Frames

/// The dot product.
func dot(_ a: SIMD3<Float>, _ b: SIMD3<Float>) -> Float { (a * b).sum() }

/// The length of a vector.
func norm(_ v: SIMD3<Float>) -> Float { dot(v, v).squareRoot() }

/// The vector scaled to length 1; a vector of length 0 becomes -y, up.
func normalized(_ v: SIMD3<Float>) -> SIMD3<Float> {
    let length = norm(v)
    return length > 1e-12 ? v / length : [0, -1, 0]
}

/// Two unit tangents of a surface whose cross product is its normal.
func tangents(_ normal: SIMD3<Float>) -> (SIMD3<Float>, SIMD3<Float>) {
    let away: SIMD3<Float> = abs(normal.y) < 0.9 ? [0, 1, 0] : [1, 0, 0]
    let u = normalized(cross(away, normal))
    return (u, cross(normal, u))
}
