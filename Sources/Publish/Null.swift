import Frames
import Privacy

/// Takes frames and forgets them: for measuring and for trying a camera out.
public struct NullSink: FrameSink, ~Copyable {
    /// The layout that frames must have.
    public let layout: FrameLayout
    /// "nowhere".
    public let description = "nowhere"
    /// Frames taken so far.
    public private(set) var frames = 0

    /// - Parameter layout: the layout of all frames to come.
    public init(layout: FrameLayout) { self.layout = layout }

    /// Counts the frame.
    public mutating func publish(_ frame: borrowing PublishableFrame) throws {
        precondition(frame.layout == layout, "a frame has its sink's layout")
        frames += 1
    }

    /// Does nothing.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {}
}
