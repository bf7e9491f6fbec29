import Frames

/// A face as a cascade sees it: where the eyes should be, pixels of the frame.
public struct Detection: Sendable {
    /// The middle between the eyes.
    public var eyes: Point
    /// Pixels.
    public var eyeDistance: Float
    /// Degrees.
    public var roll: Float
    /// Windows that agreed.
    public var votes: Int

    var pair: EyePair { EyePair(middle: eyes, distance: eyeDistance, roll: roll) }

    /// True where both may be one face: near each other, and of about one size, for a large false find would otherwise
    /// hide the small true one inside it.
    func mayBe(_ other: Detection) -> Bool {
        (eyes - other.eyes).length < max(eyeDistance, other.eyeDistance) / 2
            && EyePair.areAlike(eyeDistance, other.eyeDistance)
    }

    /// An upright box round the whole head, as wide as 3 and as high as 3.8 eye distances, for a head that may be turned
    /// and tilted: its features lie in the inner half, hair and chin within.
    var head: Rect {
        let (width, height) = (3 * eyeDistance, 3.8 * eyeDistance)
        return Rect(x: eyes.x - width / 2, y: eyes.y - height * 0.42, width: width, height: height)
    }
}

/// Thresholds of finding and following faces.
enum Thresholds {
    /// The certainty that makes a find a face.
    static let detectionLogOdds: Float = -0.6
    /// The same for photos, which have no second frame to ask but are searched at more sizes and tilts.
    static let photoLogOdds: Float = -0.2
    /// From this on a place in a photo may be a face, so a mask that hides faces covers it too: on every third labelled
    /// photo no face of 58 stays bare (2 without), and 1.5 other places a photo are covered.
    static let weakLogOdds: Float = -2.4
    /// Up to this a face in a photo gives way to a cat's: cats have eyes too.
    static let catLogOdds: Float = 2.5
    /// Tiny faces are looked for in so many more places that they must be surer: eye distance in pixels, log-odds.
    static let tinyEyes: Float = 20
    static let tinyPenalty: Float = 0.3
    /// The certainty without eyes above which they add nothing that matters, and below which they cannot help: both
    /// open add 2.8.
    static let undecided: ClosedRange<Float> = -4...3
    /// Below the certainty needed, but above this, a find is looked at again in the next frames.
    static let candidateLogOdds: Float = -3
    /// The disagreement up to which a known face is kept without the cascade.
    static let keepResidual: Float = 0.04
    /// And that up to which it is taken where the cascade finds it again: the fits of what is no face, in whose place the
    /// landmarks slid even farther, have more.
    static let foundResidual: Float = 0.06
    /// Below this, fits of two frames agree so well that one a frame will do.
    static let steadyResidual: Float = 0.025
    /// Above this, a fit may have slid: the cascade is asked where the face is.
    static let doubtfulResidual: Float = 0.03
    /// A face with fewer of its landmarks inside the frame is cut by its edge, and one with fewer still is gone.
    static let wholeFace: Float = 0.9
    static let leastFace: Float = 0.3
    /// The correlation from which on two frames' patches show the same.
    static let samePatchCorrelation: Float = 0.8
    /// And that from which on they are so alike that no lid or lip has moved.
    static let stillPatchCorrelation: Float = 0.995
}
