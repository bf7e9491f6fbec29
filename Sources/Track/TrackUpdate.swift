import Frames

/// What became of a face from one frame to the next; pixels of this frame.
struct TrackUpdate: Sendable {
    /// Its landmarks of the frame before, moved with its look; where that could not be followed, unmoved.
    var base: Face.Landmarks
    /// The fit of the frame before, moved alike.
    var last: Face.Landmarks
    /// Of both frames' looks; nil: could not be followed.
    var correlation: Float?
    /// This frame's fit, joined with the last one where that could be moved.
    var fit: Fit?
    /// It looks as it did: nothing was fitted.
    var isStill = false
    /// The frame's edge cuts it.
    var isCut = false
    /// This frame's alone.
    var raw: Face.Landmarks?
}
