import Frames

/// Where frames come from: a camera, a clip, a photo, the sample. One file per kind; `openSource` lists them.
///
/// Opened and closed beside the frame loop, for that takes its time, and handed over whole.
///
/// The frame loop polls `descriptor` and then asks for the frame, so a source never blocks and never owns a thread.
public protocol FrameSource: ~Copyable, Sendable {
    /// What the user reads: "Integrated Camera (/dev/video0), YUYV 1280x720 at 30 fps".
    var description: String { get }
    /// The size, format and range of the frames to come.
    var layout: FrameLayout { get }
    /// Frames per second as the source declares them; nil where it does not know.
    var rate: Double? { get }
    /// Readable when `withFrame` has something to do; nil: always ready.
    var descriptor: CInt? { get }
    /// True where frames come by themselves in real time (a camera); false where they come as fast as they are read.
    var isLive: Bool { get }
    /// Frames that were thrown away because they were damaged or short.
    var damaged: Int { get }

    /// Lends the newest frame to `body` if one is there. The bytes are the source's own and end with the call.
    /// - Throws: `Problem` of kind `gone` when the source ended by accident (unplugged, decoder killed), and what
    ///   `body` throws.
    mutating func withFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> Arrival

    /// Lends the last frame once more, as long as it is whole.
    /// - Returns: false where it is no longer there; `body` was not called then.
    /// - Throws: what `body` throws.
    mutating func withLastFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> Bool
}

/// When a frame was taken.
public struct FrameTime: Equatable, Sendable {
    /// Counts the frames that the source gave, from 0; a camera's dropped frames leave no gap.
    public var number: Int
    /// Seconds since the source's first frame, by the source's own clock.
    public var seconds: Double
    /// The same by the monotonic clock, seconds; nil where the source knows no real time.
    public var taken: Double?

    /// A moment of a source's own clock.
    public init(number: Int, seconds: Double, taken: Double? = nil) {
        (self.number, self.seconds, self.taken) = (number, seconds, taken)
    }
}

/// What came of asking a source for a frame.
public enum Arrival: Equatable, Sendable {
    /// `body` was called.
    case frame
    /// Not yet: poll again.
    case nothing
    /// The last frame has been given; there will be no more.
    case end
}
