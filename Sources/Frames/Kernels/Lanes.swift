/// The lane-wise minimum. Compiles to one instruction everywhere: in larger functions the library's own pointwise
/// functions are calls, and cost more than everything around them.
@inline(__always)
func laneMin<V: SIMD>(_ a: V, _ b: V) -> V where V.Scalar: Comparable {
    var lanes = V()
    for i in 0..<V.scalarCount { lanes[i] = a[i] < b[i] ? a[i] : b[i] }
    return lanes
}

/// The lane-wise maximum, compiled to one instruction like `laneMin`.
@inline(__always)
func laneMax<V: SIMD>(_ a: V, _ b: V) -> V where V.Scalar: Comparable {
    var lanes = V()
    for i in 0..<V.scalarCount { lanes[i] = a[i] > b[i] ? a[i] : b[i] }
    return lanes
}

/// Clamps each lane between two bounds.
@inline(__always)
func laneClamp<V: SIMD>(_ a: V, _ low: V, _ high: V) -> V where V.Scalar: Comparable { laneMin(laneMax(a, low), high) }

/// The lane-wise minimum of floats.
@inline(__always)
func laneMin(_ a: SIMD4<Float>, _ b: SIMD4<Float>) -> SIMD4<Float> { a.replacing(with: b, where: b .< a) }

/// The lane-wise maximum of floats.
@inline(__always)
func laneMax(_ a: SIMD4<Float>, _ b: SIMD4<Float>) -> SIMD4<Float> { a.replacing(with: b, where: b .> a) }

/// The nearest integers, for floats up to 2^21: adding 1.5 * 2^23 leaves them in the lowest bits.
@inline(__always)
func roundedLanes(_ a: SIMD4<Float>) -> SIMD4<Int32> {
    unsafe unsafeBitCast(a + 12_582_912, to: SIMD4<Int32>.self) &- 0x4b40_0000
}
