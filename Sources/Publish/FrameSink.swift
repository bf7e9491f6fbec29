import Frames

/// Where composed frames go: a v4l2loopback, a file, a page, nowhere. One file per kind; `openSink` lists them.
public protocol FrameSink: ~Copyable {
    /// What the user reads: "Guise Camera (/dev/video10), YUYV 1280x720".
    var description: String { get }
    /// The layout that frames must have. A frame of another layout is a programming error.
    var layout: FrameLayout { get }

    /// Takes one frame. Must not block for longer than a copy takes.
    /// - Throws: `Problem` of kind `gone` when nobody can take frames any more.
    mutating func publish(_ frame: borrowing FrameView) throws
    /// Ends the output in order: flushes a file, leaves `card` on a device as its last frame, closes.
    /// - Parameter card: a plain picture in this sink's layout.
    consuming func finish(card: borrowing FrameView) throws
}
