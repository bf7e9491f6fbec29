import Frames

/// The result of tracking a face from one frame to the next; positions in pixels of the new frame.
struct TrackUpdate: Sendable {
    /// The smoothed landmarks of the frame before, moved by the patch motion; unmoved if the patch could not be
    /// aligned.
    var base: Face.Landmarks
    /// The fit of the frame before, moved likewise.
    var last: Face.Landmarks
    /// The correlation of both frames' patches; nil if they could not be aligned.
    var correlation: Float?
    /// This frame's fit, averaged with the last one if only one fit was run.
    var fit: Fit?
    /// Whether the patch is unchanged, so that nothing was fitted.
    var isStill = false
    /// Whether the frame's edge cuts the face.
    var isCut = false
    /// This frame's landmarks before averaging or smoothing; nil: those of `fit`.
    var raw: Face.Landmarks?
}
