import Frames
import Publish
import V4L2

/// The factory of sinks. A new kind needs a file in Publish and a case here.
extension AppContext {
    /// Opens a sink.
    /// - Parameters:
    ///   - spec: `loopback`, `/dev/videoN`, `null`, or a file. The page is not a sink; it gets copies of frames.
    ///   - layout: the layout of the frames.
    ///   - rate: the frame rate, in frames per second.
    ///   - overwrites: whether an existing file is replaced.
    /// - Throws: `Problem` with a fix.
    func openSink(
        _ spec: String, _ layout: FrameLayout, rate: Double, overwrites: Bool
    ) throws -> any FrameSink & ~Copyable {
        switch spec {
        case "loopback":
            return try Loopback(path: nil, width: layout.width, height: layout.height, rate: rate)
        case let node where node.hasPrefix("/dev/video"):
            return try Loopback(path: node, width: layout.width, height: layout.height, rate: rate)
        case "null":
            return NullSink(layout: layout)
        default:
            return try FileSink(path: spec, layout: layout, rate: rate, overwrites: overwrites)
        }
    }
}
