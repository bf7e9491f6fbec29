import Frames

/// The features from which the verifier decides whether a fit is of a face. A cascade's feature is the logarithm of one
/// plus the number of its windows that pass there.
struct VerifierFeatures: Sendable {
    /// How far two fits from opposite sides disagree, in eye distances.
    var fitResidual: Float
    /// The distance between the eyes, in pixels. Small faces show less, and are searched for in many more places.
    var eyeDistance: Float
    /// The cascade alt.
    var alt: Float = 0
    /// The improved LBP cascade.
    var lbp: Float = 0
    /// The score of `FacePattern`. Without landmark trees, which place its patch, halfway between the means of faces
    /// (1.09) and of other things (0).
    var pattern: Float = 0.55
    /// The eye cascade, on the eye with fewer windows and on the other; 0 if it was not needed.
    var worseEye: Float = 0
    var betterEye: Float = 0

    /// Eyes farther apart than this, pixels, tell no more: about the patches' own resolution.
    private static let largest: Float = 40

    /// The log-odds that a size adds.
    /// - Parameter eyeDistance: pixels.
    static func sizeTerm(eyeDistance: Float) -> Float { 1.324 * log(min(max(eyeDistance, 1), largest)) }

    /// A logistic regression, trained and judged by Benchmarks/verifier.py (see docs/tracker.md).
    var logOdds: Float {
        let fits = -10.132 - 0.860 * log(max(fitResidual, 0.002)) + Self.sizeTerm(eyeDistance: eyeDistance)
        return fits + 0.664 * alt + 0.888 * lbp + pattern + 0.577 * worseEye + 1.213 * betterEye
    }
}
