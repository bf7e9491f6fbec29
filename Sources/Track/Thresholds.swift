/// Thresholds for detecting and tracking faces.
enum Thresholds {
    /// The minimum log-odds at which a detection becomes a face.
    static let detectionLogOdds: Float = -0.6
    /// The same for photos, which have no second frame for confirmation but are searched at more sizes and tilts. Such
    /// a detection is looked at again, see `photoLogOdds`.
    static let photoDetectionLogOdds: Float = 0
    /// The log-odds from which on a new face needs no further look: in photos, the other looks at a face never lowered
    /// the mean by more than 1.7.
    static let certainLogOdds: Float = 4
    /// The mean of three looks (`FaceDetector.meanLogOdds`) above which a detection in a photo is a face. Of 914
    /// pictures without faces 12 have such a find, and 164 of 169 photo faces are found; with one look at 0.55, 23 had
    /// one, and as many were found.
    static let photoLogOdds: Float = 0.5
    /// The same for faces in photos that are turned by more than 55 degrees, for which there are as many chances again
    /// to be wrong, and for a single look at them: of the same pictures one has such a find, and of 390 turned faces
    /// with a look above this none has a lower mean.
    static let turnedPhotoLogOdds: Float = 1.5
    /// The minimum log-odds at which a place in a photo may be a face, so that a mask that hides faces covers it too.
    /// On every third labelled photo no face of 58 is left uncovered (2 without this), and 1.5 other places per photo
    /// are covered.
    static let weakLogOdds: Float = -2.4
    /// The maximum log-odds at which a face in a photo yields to a cat's: cats have eyes too.
    static let catLogOdds: Float = 2.5
    /// The eye distance in pixels below which a face is tiny, and needs more frames: tiny faces are searched in so many
    /// more places.
    static let tinyEyeDistance: Float = 20
    /// What two open eyes add to the log-odds: the weights of `VerifierFeatures` times the most votes.
    private static let openEyesLogOdds: Float = 3.9
    /// The range of log-odds, without the eyes' share, in which the eye cascade is asked. Below it, open eyes make no
    /// detection a face; above it, it is one with closed eyes too.
    static let undecided: ClosedRange<Float> = detectionLogOdds - openEyesLogOdds...3
    /// Detections below the required log-odds but above this are examined again in the next frames.
    static let candidateLogOdds: Float = -3
    /// The maximum fit residual at which a known face is kept without the cascade. Residuals are in eye distances: how
    /// far two fits from opposite sides disagree.
    static let keepResidual: Float = 0.04
    /// The maximum fit residual at which a face is accepted where the cascade detects it again. Fits to what is no face
    /// have more, because the landmarks slide even farther.
    static let foundResidual: Float = 0.06
    /// The residual below which the fits of two frames agree so well that one fit per frame is enough.
    static let steadyResidual: Float = 0.025
    /// The residual above which a fit may have drifted, so the cascade searches for the face.
    static let doubtfulResidual: Float = 0.03
    /// The share of a face's landmarks inside the frame below which the edge cuts it, so that only its patch is
    /// followed.
    static let wholeFaceShare: Float = 0.9
    /// The share below which it is gone.
    static let minFaceShare: Float = 0.3
    /// The minimum correlation of two frames' patches that show the same face.
    static let samePatchCorrelation: Float = 0.8
    /// The minimum correlation at which the patches are so alike that no eyelid or lip has moved.
    static let stillPatchCorrelation: Float = 0.995
}
