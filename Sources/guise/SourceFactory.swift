import Capture
import Compose
import SystemKit
import V4L2

/// The factory of sources. A new kind needs a file in Capture and a case here.
extension AppContext {
    /// Opens a source.
    /// - Parameters:
    ///   - spec: `camera`, `/dev/videoN`, `sample`, or a file.
    ///   - loop: whether a file starts again at its end.
    /// - Throws: `Problem` with a fix.
    func openSource(_ spec: String, loop: Bool) throws -> any FrameSource & ~Copyable {
        let wanted = configuration.camera
        switch spec {
        case "camera":
            return try Camera(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case let node where node.hasPrefix("/dev/video"):
            return try Camera(path: node, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case "sample":
            return try openSample()
        default:
            return try Clip(path: spec, loop: loop)
        }
    }

    func openSample() throws -> Sample {
        guard isReadable(paths.sample) else {
            throw Problem(.missing, "the sample picture \(paths.sample) is missing", fix: "run `make sample`")
        }
        return try Sample(path: paths.sample, width: configuration.output.width, height: configuration.output.height)
    }

    /// Resolves `auto` on this machine.
    /// - Returns: the source, the sinks, and notes for the user on the choice and its alternatives.
    func resolveAuto(source: String, sinks: [String]) -> (source: String, sinks: [String], notes: [String]) {
        let devices = source == "auto" || sinks.contains("auto") ? listDevices() : []
        var notes: [String] = []
        var source = source
        if source == "auto" {
            // With neither camera nor sample, a placeholder says so until a camera is plugged in.
            let camera = devices.contains { $0.isCamera && !$0.isLoopback } || !isReadable(paths.sample)
            source = camera ? "camera" : "sample"
            notes.append(
                camera
                    ? "source: the camera (for another: --source /dev/videoN, see `guise devices`)"
                    : "source: the sample, because there is no camera (plug one in, or choose a clip: --source FILE)")
        }
        var sinks = sinks
        if let place = sinks.firstIndex(of: "auto") {
            let loopback = devices.contains { $0.isLoopback }
            sinks[place] = loopback ? "loopback" : "page"
            notes.append(
                loopback
                    ? "sink: the virtual camera (to see it in a browser too: --sink loopback --sink page)"
                    : "sink: a page, because there is no v4l2loopback device (to get one: sudo apt install v4l2loopback-dkms; "
                        + "sudo modprobe v4l2loopback exclusive_caps=1 card_label=\"Guise Camera\")")
        }
        return (source, sinks, notes)
    }
}
