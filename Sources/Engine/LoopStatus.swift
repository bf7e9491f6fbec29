import Frames

/// The current state of the frame loop. It is copied in every frame: no arrays or strings, which would be allocated.
package struct LoopStatus: Equatable, Sendable {
    package enum Camera: String, Sendable {
        /// Nobody watches, or Guise is paused.
        case closed
        case opening
        case open
        /// The camera cannot be opened, or was lost; opening is retried.
        case lost
    }

    package var camera = Camera.closed
    /// Whether somebody sees the picture, in a program or on the page; true too if this cannot be determined.
    package var hasViewers = false
    /// Whether a program reads the virtual camera, most likely for a call; nil if there is no virtual camera.
    package var hasReaders: Bool?
    /// The number of faces in the last frame, and how many of them are predicted.
    package var faces = 0
    package var predicted = 0
    /// Where these faces are.
    package var facePlacements = FacePlacements()
    /// The number of frames of the source that were masked and published.
    package var frames = 0
    /// The number of placeholders and repeated frames.
    package var repeated = 0
    /// The number of discarded frames, which arrived faster than the output rate.
    package var overRate = 0
    /// The number of damaged or truncated frames.
    package var damaged = 0
    /// Frames per second, in the last second. At rest it is 0.
    package var rate = 0.0
    /// The CPU time of the process in the last second, in milliseconds per second. At rest it is that of the second
    /// before, or of the time since the last refresh.
    package var load = 0.0

    /// The state before the first frame.
    package init() {}
}

/// The cost of frames since the start, in nanoseconds.
package struct Metrics: Sendable {
    /// The latency from the camera's time stamp to the write.
    package var latency = Histogram()
    /// The CPU time of the loop for one frame, and of its stages.
    package var frame = Histogram()
    package var search = Histogram()
    package var landmarks = Histogram()
    package var transform = Histogram()
    package var segmentation = Histogram()
    package var compose = Histogram()
    package var publish = Histogram()
}
