import Frames

/// A face detected by a cascade: the estimated eyes, pixels of the frame.
public struct Detection: Sendable {
    /// The midpoint between the eyes.
    public var eyes: Point
    /// The distance between the eyes, pixels.
    public var eyeDistance: Float
    /// The rotation in the image plane, degrees.
    public var roll: Float
    /// The number of windows that agreed.
    public var votes: Int

    var pair: EyePair { EyePair(middle: eyes, distance: eyeDistance, roll: roll) }

    /// Whether two detections may be one face: near each other, and of similar size, since a large false detection
    /// would otherwise hide a small true one inside it.
    func mayBe(_ other: Detection) -> Bool {
        (eyes - other.eyes).length < max(eyeDistance, other.eyeDistance) / 2
            && EyePair.areAlike(eyeDistance, other.eyeDistance)
    }

    /// An upright box around the whole head, 3 eye distances wide and 3.8 high, for a head that may be turned and
    /// tilted. Its features are in the inner half; hair and chin are inside too.
    var head: Rect {
        let (width, height) = (3 * eyeDistance, 3.8 * eyeDistance)
        return Rect(x: eyes.x - width / 2, y: eyes.y - height * 0.42, width: width, height: height)
    }
}

/// What the verifiers say about a fit: how far its two fits disagree, and for each cascade the logarithm of one plus
/// the number of windows that pass there.
struct Evidence: Sendable {
    var fitResidual: Float
    /// The distance between the eyes, pixels: what is small shows less, and is searched for in many more places.
    var eyeDistance: Float
    /// Two further face cascades.
    var alt: Float = 0
    var lbp: Float = 0
    /// The score of `FacePattern`. Without landmark trees, which place its patch, halfway between the means of faces
    /// (1.09) and of other things (0).
    var pattern: Float = 0.55
    /// The eye cascade, on the eye with fewer windows and on the other; 0 if it was not needed.
    var worseEye: Float = 0
    var betterEye: Float = 0

    /// Eyes farther apart than this, pixels, tell no more: about the patches' own resolution.
    private static let largest: Float = 40

    /// The size's share of the log-odds.
    /// - Parameter eyeDistance: pixels.
    static func share(ofSize eyeDistance: Float) -> Float { 1.324 * log(min(max(eyeDistance, 1), largest)) }

    /// A logistic regression, trained and judged by Benchmarks/verifier.py (see docs/tracker.md).
    var logOdds: Float {
        let fits = -10.132 - 0.860 * log(max(fitResidual, 0.002)) + Self.share(ofSize: eyeDistance)
        return fits + 0.664 * alt + 0.888 * lbp + pattern + 0.577 * worseEye + 1.213 * betterEye
    }
}

/// Thresholds for detecting and tracking faces.
enum Thresholds {
    /// The minimum log-odds at which a detection becomes a face.
    static let detectionLogOdds: Float = -0.6
    /// The same for photos, which have no second frame for confirmation but are searched at more sizes and tilts: at
    /// this, in no fold of the cross-validation more than 2 of 31 pictures without faces have a false find.
    static let photoLogOdds: Float = 0.55
    /// The minimum log-odds at which a place in a photo may be a face, so that a mask that hides faces covers it too.
    /// On every third labelled photo no face of 58 is left uncovered (2 without this), and 1.5 other places per photo
    /// are covered.
    static let weakLogOdds: Float = -2.4
    /// The maximum log-odds at which a face in a photo yields to a cat's: cats have eyes too.
    static let catLogOdds: Float = 2.5
    /// The eye distance in pixels below which a face is tiny, and needs more frames: tiny faces are searched in so many
    /// more places.
    static let tinyEyes: Float = 20
    /// The range of log-odds, without the eyes' share, in which the eye cascade can change the decision: two open eyes
    /// add 3.9.
    static let undecided: ClosedRange<Float> = -4.5...3
    /// Detections below the required log-odds but above this are examined again in the next frames.
    static let candidateLogOdds: Float = -3
    /// The maximum fit residual at which a known face is kept without the cascade.
    static let keepResidual: Float = 0.04
    /// The maximum fit residual at which a face is accepted where the cascade detects it again. Fits to what is no face
    /// have more, because the landmarks slide even farther.
    static let foundResidual: Float = 0.06
    /// The residual below which the fits of two frames agree so well that one fit per frame is enough.
    static let steadyResidual: Float = 0.025
    /// The residual above which a fit may have drifted, so the cascade searches for the face.
    static let doubtfulResidual: Float = 0.03
    /// The share of its landmarks inside the frame below which a face is cut by the edge, and below which it is gone.
    static let wholeFace: Float = 0.9
    static let leastFace: Float = 0.3
    /// The minimum correlation of two frames' patches that show the same face.
    static let samePatchCorrelation: Float = 0.8
    /// The minimum correlation at which the patches are so alike that no eyelid or lip has moved.
    static let stillPatchCorrelation: Float = 0.995
}
