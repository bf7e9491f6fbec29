import Frames

/// Tells by the colour whether something is this person's skin, lit or in shade.
struct SkinKey: Sendable {
    /// Luma, U and V of the skin: full range, chroma relative to neutral.
    private(set) var color = SIMD3<Float>.zero
    /// Whether the skin has a colour that other things in the picture don't have; not in infrared light.
    var isSound: Bool { saturation > Self.leastSaturation }
    private var saturation: Float = 0
    private var isNew = true

    /// Seconds by which the colour follows the light.
    private static let timeConstant: Float = 1
    /// The chroma of skin in the greyest picture in which it can be told apart, in samples.
    private static let leastSaturation: Float = 8
    /// Luma that is light in the lens, in samples.
    private static let black: Float = 16
    /// The chroma of skin is relative to its luma, within this range of the usual one.
    private static let shades: ClosedRange<Float> = 0.5...1.3
    /// The distance of the chroma from the skin's, relative to the skin's, from which on nothing is skin, and over
    /// which it becomes less likely.
    private static let (farthest, slope): (Float, Float) = (0.6, 0.25)
    /// Luma relative to the skin's below which, and above which, nothing is skin, and the widths of both ramps.
    private static let (darkest, brightest): (Float, Float) = (0.25, 2.7)
    private static let (darkRamp, brightRamp): (Float, Float) = (0.086, 0.7)

    /// Follows the skin's colour.
    mutating func update(_ seen: SIMD3<Float>, elapsed: Float) {
        color += (seen - color) * (isNew ? 1 : 1 - exp(-elapsed / Self.timeConstant))
        isNew = false
        saturation = (color.y * color.y + color.z * color.z).squareRoot()
    }

    /// How likely a colour is skin, 0...1.
    /// - Parameters:
    ///   - luma: full range.
    ///   - chroma: U and V relative to neutral, full range.
    @inline(__always)
    func likelihood(_ luma: Float, _ chroma: SIMD2<Float>) -> Float {
        let ratio = ratio(luma)
        let near = (Self.farthest - distance(luma, chroma)) / Self.slope
        let lit = min((ratio - Self.darkest) / Self.darkRamp, (Self.brightest - ratio) / Self.brightRamp)
        return max(0, min(1, near)) * max(0, min(1, lit))
    }

    /// The distance of a colour's chroma from this skin's, as lit, relative to the skin's.
    @inline(__always)
    func distance(_ luma: Float, _ chroma: SIMD2<Float>) -> Float {
        let shade = min(max(ratio(luma), Self.shades.lowerBound), Self.shades.upperBound)
        let d = chroma - SIMD2(color.y, color.z) * shade
        return (d.x * d.x + d.y * d.y).squareRoot() / max(saturation, Self.leastSaturation)
    }

    @inline(__always)
    private func ratio(_ luma: Float) -> Float { max(luma - Self.black, 2) / max(color.x - Self.black, 10) }
}
