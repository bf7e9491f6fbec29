import Frames
import Publish
import V4L2

/// The factory of sinks: a new kind is a new file in Publish, and a case here.
extension AppContext {
    /// - Parameters:
    ///   - spec: `loopback`, `/dev/videoN`, `null`, or a file. The page is no sink of frames: it takes copies.
    ///   - layout: what the other sinks get, or would get from this one.
    ///   - overwrites: a file that exists is replaced.
    /// - Throws: `Problem` with the fix.
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
