import Capture
import Compose
import Publish
import SystemKit
import V4L2

/// A source as it is named on the command line and in the configuration.
enum SourceSpec: Equatable, CustomStringConvertible {
    /// The first camera.
    case camera
    /// The video node at a path, or where a link of udev's leads.
    case device(String)
    /// The sample portrait.
    case sample
    /// A photo or clip.
    case file(String)

    /// The forms of its text, for the help.
    static let forms = "camera, /dev/videoN, sample, or a photo or clip"

    /// - Parameter text: one of `forms`; any other text is the path of a file.
    init(_ text: String) {
        self =
            switch text {
            case "camera": .camera
            case "sample": .sample
            case let node where node.hasPrefix("/dev/video") || node.hasPrefix("/dev/v4l/"): .device(node)
            default: .file(text)
            }
    }

    var description: String {
        switch self {
        case .camera: "camera"
        case .sample: "sample"
        case .device(let path), .file(let path): path
        }
    }

    /// Whether it is a camera or stands in for one, so that another one can replace it while Guise runs.
    var isReplaceable: Bool { if case .file = self { false } else { true } }
}

/// The factory of sources. To add a kind, add a file to Capture, a case here, and a row to docs/configuration.md.
extension AppContext {
    /// Opens a source.
    /// - Parameter loop: whether a file starts again at its end.
    /// - Throws: `Problem` with a fix.
    func openSource(_ spec: SourceSpec, loop: Bool) throws -> any FrameSource & ~Copyable {
        let wanted = configuration.camera
        switch spec {
        case .camera:
            return try Camera(path: nil, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case .device(let node):
            return try Camera(path: node, width: wanted.width, height: wanted.height, rate: wanted.rate)
        case .sample:
            return try openSample()
        case .file(let path):
            return try Clip(path: path, loop: loop)
        }
    }

    func openSample() throws -> Sample {
        guard isReadable(paths.sample) else {
            throw Problem(.missing, "the sample picture \(paths.sample) is missing", fix: "run `make sample`")
        }
        let output = configuration.output
        return try Sample(path: paths.sample, width: output.width, height: output.height, rate: output.rate)
    }

    /// Resolves `auto` on this machine.
    /// - Returns: the source, the sinks, and notes for the user on the choice and its alternatives.
    func resolveAuto(
        source: String, sinks: [String]
    ) -> (source: SourceSpec, sinks: [SinkSpec], notes: [String]) {
        let devices = source == "auto" || sinks.contains("auto") ? listDevices() : []
        var notes: [String] = []
        var source = source
        if source == "auto" {
            // With neither camera nor sample, a placeholder says so until a camera is plugged in.
            let camera = devices.contains(where: \.isCamera) || !isReadable(paths.sample)
            source = camera ? "camera" : "sample"
            notes.append(
                camera
                    ? "source: the camera (for another: --source /dev/videoN, see `guise devices`)"
                    : "source: the sample, because there is no camera (plug one in, or choose a clip: --source FILE)")
        }
        var sinks = sinks
        if let index = sinks.firstIndex(of: "auto") {
            if mayExist(USBCameraSink.servicePath) {
                sinks[index] = "usb"
                notes.append("sink: the USB camera (to see it in a browser too: --sink usb --sink page)")
            } else if !devices.loopbacksForGuise.isEmpty {
                sinks[index] = "loopback"
                notes.append("sink: the virtual camera (to see it in a browser too: --sink loopback --sink page)")
            } else {
                sinks[index] = "page"
                notes.append(
                    "sink: a page, because there is no virtual camera (to get one: guise install; or sudo apt install "
                        + "v4l2loopback-dkms; \(Loopback.loadCommand))")
            }
        }
        return (SourceSpec(source), sinks.map { SinkSpec($0) }, notes)
    }
}
