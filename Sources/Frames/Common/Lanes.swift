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

// Interleaves two vectors: the first lanes of both, the second lanes of both, and so on. Written out, since the
// compiler turns the vectors' own even and odd halves into several times as many instructions; so does it with two of
// the same type in a row, unless there is a conversion in between.

@inline(__always)
func zipped(_ a: SIMD16<UInt8>, _ b: SIMD16<UInt8>) -> (SIMD16<UInt8>, SIMD16<UInt8>) {
    (
        SIMD16(a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3], a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7]),
        SIMD16(
            a[8], b[8], a[9], b[9], a[10], b[10], a[11], b[11], a[12], b[12], a[13], b[13], a[14], b[14], a[15], b[15])
    )
}

@inline(__always)
func zipped(_ a: SIMD8<UInt16>, _ b: SIMD8<UInt16>) -> (SIMD8<UInt16>, SIMD8<UInt16>) {
    (SIMD8(a[0], b[0], a[1], b[1], a[2], b[2], a[3], b[3]), SIMD8(a[4], b[4], a[5], b[5], a[6], b[6], a[7], b[7]))
}

/// Interleaves two vectors by pairs of lanes.
@inline(__always)
func zippedPairs(_ a: SIMD8<UInt16>, _ b: SIMD8<UInt16>) -> (SIMD8<UInt16>, SIMD8<UInt16>) {
    let (a, b) = unsafe (unsafeBitCast(a, to: SIMD4<UInt32>.self), unsafeBitCast(b, to: SIMD4<UInt32>.self))
    let (low, high) = (SIMD4(a[0], b[0], a[1], b[1]), SIMD4(a[2], b[2], a[3], b[3]))
    return unsafe (unsafeBitCast(low, to: SIMD8<UInt16>.self), unsafeBitCast(high, to: SIMD8<UInt16>.self))
}

/// Interleaves two vectors by halves: both lower halves, and both higher halves.
@inline(__always)
func zippedHalves(_ a: SIMD8<UInt16>, _ b: SIMD8<UInt16>) -> (SIMD8<UInt16>, SIMD8<UInt16>) {
    let (a, b) = unsafe (unsafeBitCast(a, to: SIMD2<UInt64>.self), unsafeBitCast(b, to: SIMD2<UInt64>.self))
    let (low, high) = (SIMD2(a[0], b[0]), SIMD2(a[1], b[1]))
    return unsafe (unsafeBitCast(low, to: SIMD8<UInt16>.self), unsafeBitCast(high, to: SIMD8<UInt16>.self))
}
