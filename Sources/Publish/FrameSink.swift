import Frames
import Privacy
import V4L2

/// A destination of composed frames: a v4l2loopback, a file, a page, nowhere. One file per kind; `SinkSpec` lists them.
public protocol FrameSink: ~Copyable {
    /// The sink for the user, such as "Guise Camera (/dev/video10), YUYV 1280x720".
    var description: String { get }
    /// The layout that frames must have, but for the size if `takesAnySize`. Another one is a programming error.
    var layout: FrameLayout { get }
    /// Whether the sink scales frames by itself, to the size that its reader has chosen.
    var takesAnySize: Bool { get }
    /// The size that the reader has chosen, in pixels; nil without a reader, or if it has no choice.
    var chosenSize: FrameSize? { get }

    /// How readers coming and going are noticed: by a descriptor that reports each, or by calling `hasReaders` often.
    var readerNotice: ReaderNotice { get }
    /// Whether it must get a placeholder now and then while nobody reads, because programs find it only while it is
    /// written to.
    var needsIdlePlaceholder: Bool { get }
    /// Returns whether somebody reads the frames; nil if that cannot be known, or if somebody always does.
    /// - Parameter now: nanoseconds of the monotonic clock.
    mutating func hasReaders(at now: UInt64) -> Bool?

    /// Whether each frame has its place in time, as in a file, so that none may be published twice. Such a sink may
    /// wait, and if it fails it is dropped while the others go on; the failure of another sink ends the program.
    var keepsFrames: Bool { get }

    /// Sets the picture that remains on a device if this process dies before `finish`.
    mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame)

    /// Publishes one frame. Must not block for longer than a copy takes.
    /// - Throws: `Problem` of kind `gone` if frames cannot be delivered any more.
    mutating func publish(_ frame: borrowing PublishableFrame) throws
    /// Ends the output in an orderly way: flushes a file, leaves `placeholder` on a device as its last frame, closes.
    /// - Parameter placeholder: a plain picture in this sink's layout.
    consuming func finish(placeholder: borrowing PublishableFrame) throws
}

extension FrameSink where Self: ~Copyable {
    /// False by default: only its own.
    public var takesAnySize: Bool { false }
    /// Nil by default: it has no choice.
    public var chosenSize: FrameSize? { nil }
    /// Polled by default.
    public var readerNotice: ReaderNotice { .polled(nil) }
    /// True by default.
    public var needsIdlePlaceholder: Bool { true }
    /// False by default: only the newest frame counts.
    public var keepsFrames: Bool { false }
    /// Does nothing by default.
    public mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {}
    /// Nil by default: not known.
    public mutating func hasReaders(at now: UInt64) -> Bool? { nil }
}
