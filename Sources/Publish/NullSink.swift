import Frames
import Privacy

/// A sink that discards frames: for measurements and for trying out a camera.
public struct NullSink: FrameSink, ~Copyable {
    /// The layout that frames must have.
    public let layout: FrameLayout
    /// The sink for the user: "nowhere".
    public let description = "nowhere"
    /// The number of frames published so far.
    public private(set) var frames = 0

    /// - Parameter layout: the layout of all frames to come.
    public init(layout: FrameLayout) { self.layout = layout }

    /// Counts the frame.
    public mutating func publish(_ frame: borrowing PublishableFrame) throws {
        precondition(frame.layout == layout, "the frame must have the sink's layout")
        frames += 1
    }

    /// Does nothing.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {}
}
