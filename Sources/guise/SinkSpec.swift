import Engine
import Frames
import Publish
import V4L2

/// A sink as it is named on the command line and in the configuration.
enum SinkSpec: Equatable, CustomStringConvertible {
    /// The best virtual camera of this machine, or the page if there is none.
    case automatic
    /// The USB camera of the service guise-camera.
    case usb
    /// The first v4l2loopback.
    case loopback
    /// The video node at a path.
    case device(String)
    case page
    /// Discards frames.
    case null
    case file(String)

    /// The forms of its text, and where frames go then, in Markdown.
    static let forms = [
        SpecForm("auto", "the USB camera; without its service the loopback; without one [the page](page.md)"),
        SpecForm("usb", "the [USB camera](usb-camera.md) of the service `guise-camera`"),
        SpecForm("loopback", "the v4l2loopback device, found by its driver; \"Guise Camera\" is preferred"),
        SpecForm("/dev/videoN", "that v4l2loopback device"),
        SpecForm("page", "[the page](page.md), as `guise page` shows it"),
        SpecForm("null", "nowhere"),
        SpecForm(
            "a file",
            "the file at that path; the extension sets the format (.png, .jpg, .mp4, .mkv, .webm, .gif, ...)"),
    ]

    /// - Parameter text: a form's text; any other text is the path of a file.
    init(_ text: String) {
        self =
            switch text {
            case "auto": .automatic
            case "usb": .usb
            case "loopback": .loopback
            case "page": .page
            case "null": .null
            case let node where node.hasPrefix("/dev/video"): .device(node)
            default: .file(text)
            }
    }

    var description: String {
        switch self {
        case .automatic: "auto"
        case .usb: "usb"
        case .loopback: "loopback"
        case .page: "page"
        case .null: "null"
        case .device(let path), .file(let path): path
        }
    }

    /// Whether it is a virtual camera.
    var isDevice: Bool {
        switch self {
        case .usb, .loopback, .device: true
        case .automatic, .page, .null, .file: false
        }
    }

    /// Whether its sink must get every frame once, as a file's must (`FrameSink.keepsFrames`). With such sinks alone,
    /// `guise run` is a batch job: it keeps the source's size, opens no control socket, and ends with the source.
    var keepsFrames: Bool {
        switch self {
        case .file: true
        case .automatic, .usb, .loopback, .device, .page, .null: false
        }
    }
}

/// The factory of sinks. To add a kind, add a file to Publish, and a case and a form to `SinkSpec`.
extension SinkSpec {
    /// Opens the sink.
    /// - Precondition: neither the page, which gets copies of frames, nor `automatic`, which is another sink by then.
    /// - Parameters:
    ///   - layout: the layout of the frames.
    ///   - rate: the frame rate, in frames per second.
    ///   - isRecording: whether the frames come from a camera, so that a file is kept as far as it was written.
    ///   - overwrites: whether an existing file is replaced.
    ///   - interruption: what removes the part of a file if a signal ends the process.
    /// - Throws: `Problem` with a fix.
    func open(
        _ layout: FrameLayout, rate: Double, isRecording: Bool, overwrites: Bool, _ interruption: Interruption
    ) throws -> any FrameSink & ~Copyable {
        switch self {
        case .usb:
            return try USBCameraSink(layout: layout, isExpected: USBCameraSink.isSetUp())
        case .loopback:
            return try Loopback(path: nil, width: layout.width, height: layout.height, rate: rate)
        case .device(let node):
            return try Loopback(path: node, width: layout.width, height: layout.height, rate: rate)
        case .null:
            return NullSink(layout: layout)
        case .file(let path):
            return try interruption.open {
                try FileSink(path: path, layout: layout, rate: rate, isRecording: isRecording, overwrites: overwrites)
            }
        case .page, .automatic:
            preconditionFailure("\(self) has no sink of its own")
        }
    }
}
