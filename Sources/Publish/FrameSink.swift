import Frames
import Privacy
import V4L2

/// Where composed frames go: a v4l2loopback, a file, a page, nowhere. One file per kind; `openSink` lists them.
public protocol FrameSink: ~Copyable {
    /// What the user reads: "Guise Camera (/dev/video10), YUYV 1280x720".
    var description: String { get }
    /// The layout that frames must have. A frame of another layout is a programming error.
    var layout: FrameLayout { get }

    /// What to poll for, so that it is heard at once when somebody begins to watch or ceases to; nil: it is heard by
    /// asking again.
    var readerEvents: ReaderEvents? { get }
    /// Whether somebody watches; nil: that cannot be known, or somebody always does.
    /// - Parameter now: nanoseconds of the monotonic clock.
    mutating func isWatched(at now: UInt64) -> Bool?

    /// True where each frame has its place in time, as in a file: none may be given twice.
    var keepsFrames: Bool { get }

    /// What is left on a device should this process die before `finish`.
    mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame)

    /// Takes one frame. Must not block for longer than a copy takes.
    /// - Throws: `Problem` of kind `gone` when nobody can take frames any more.
    mutating func publish(_ frame: borrowing PublishableFrame) throws
    /// Ends the output in order: flushes a file, leaves `placeholder` on a device as its last frame, closes.
    /// - Parameter placeholder: a plain picture in this sink's layout.
    consuming func finish(placeholder: borrowing PublishableFrame) throws
}

extension FrameSink where Self: ~Copyable {
    /// None.
    public var readerEvents: ReaderEvents? { nil }
    /// Only the newest frame counts.
    public var keepsFrames: Bool { false }
    /// Nothing is left anywhere.
    public mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {}
    /// Not known.
    public mutating func isWatched(at now: UInt64) -> Bool? { nil }
}
