import Frames

/// A source of frames: a camera, a clip, a photo, the sample. One file per kind; `openSource` lists them.
///
/// Opening and closing take time, so both happen outside the frame loop.
///
/// The frame loop polls `descriptor` and then requests the frame, so a source never blocks and never owns a thread.
public protocol FrameSource: ~Copyable, Sendable {
    /// The source for the user, such as "Integrated Camera (/dev/video0), YUYV 1280x720 at 30 fps".
    var description: String { get }
    /// The size, format and range of the frames to come.
    var layout: FrameLayout { get }
    /// Frames per second as declared by the source; nil if unknown.
    var rate: Double? { get }
    /// Readable when `withFrame` can make progress; nil: always ready.
    var descriptor: CInt? { get }
    /// True if frames arrive in real time (a camera); false if they are produced as fast as they are read.
    var isLive: Bool { get }
    /// The number of frames discarded because they were damaged or short.
    var damaged: Int { get }

    /// Lends the newest frame to `body` if one is available. The bytes belong to the source and are valid only in
    /// `body`.
    /// - Throws: `Problem` of kind `gone` if the source ended unexpectedly (unplugged, decoder killed), and what `body`
    ///   throws.
    mutating func withFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> FrameResult

    /// Lends the last frame again, if it is still complete.
    /// - Returns: false if it is no longer available, without calling `body`.
    /// - Throws: what `body` throws.
    mutating func withLastFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> Bool
}

/// The number and time of a frame.
public struct FrameTime: Equatable, Sendable {
    /// The index of the frame among those delivered, from 0; a camera's dropped frames leave no gap.
    public var number: Int
    /// Seconds since the source's first frame, by the source's own clock. No two frames of a source have the same.
    public var seconds: Double
    /// When the frame was taken, in seconds of the monotonic clock; nil if the source has no real time.
    public var captureTime: Double?

    /// Creates a time of a source's own clock.
    public init(number: Int, seconds: Double, captureTime: Double? = nil) {
        (self.number, self.seconds, self.captureTime) = (number, seconds, captureTime)
    }
}

/// The result of requesting a frame from a source.
public enum FrameResult: Equatable, Sendable {
    /// `body` was called.
    case frame
    /// No frame yet: poll again.
    case nothing
    /// The end: there are no more frames.
    case end
}
