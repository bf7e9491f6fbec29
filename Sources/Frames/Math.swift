import Glibc

/// The cosine of an angle in radians. Like the functions below, an overload for `Float` of the C library's function.
public func cos(_ radians: Float) -> Float { cosf(radians) }
/// The sine of an angle in radians.
public func sin(_ radians: Float) -> Float { sinf(radians) }
/// The angle of the vector (x, y) in radians, -pi...pi.
public func atan2(_ y: Float, _ x: Float) -> Float { atan2f(y, x) }
/// The natural logarithm.
public func log(_ x: Float) -> Float { logf(x) }
/// e to the power of x.
public func exp(_ x: Float) -> Float { expf(x) }
/// A non-negative base raised to a power.
public func pow(_ base: Float, _ exponent: Float) -> Float { powf(base, exponent) }
/// The angle whose sine is `s`, in radians, -pi/2...pi/2.
public func asin(_ s: Float) -> Float { asinf(s) }
/// Converts radians to degrees.
public func degrees(_ radians: Float) -> Float { radians * 180 / .pi }
/// Converts degrees to radians.
public func radians(_ degrees: Float) -> Float { degrees * .pi / 180 }
/// A curve from 0 to 1 that begins and ends flat: 3t² - 2t³, with t clamped to 0...1.
@inline(__always)
public func smoothstep(_ t: Float) -> Float {
    let t = max(0, min(1, t))
    return t * t * (3 - 2 * t)
}
