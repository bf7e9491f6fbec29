/// A source as it is named on the command line and in the configuration.
package enum SourceSpec: Hashable, Sendable, CustomStringConvertible {
    /// The first camera, or the sample portrait if there is none when the source is opened.
    case automatic
    /// The first camera.
    case camera
    /// The video node at a path, or where a link of udev's leads.
    case device(String)
    /// The sample portrait.
    case sample
    /// A photo or clip.
    case file(String)

    /// The forms of its text, and where frames come from then, in Markdown.
    package static let forms = [
        SpecForm("auto", "the camera, or the sample if there is none when it is opened"),
        SpecForm("camera", "the best camera"),
        SpecForm(
            "/dev/videoN",
            "that device, or the one that a link of udev's such as `/dev/v4l/by-id/NAME` leads to: its number may "
                + "change, the link does not. `guise use` and the page save the link"),
        SpecForm("sample", "a moving portrait"),
        SpecForm("a photo or clip", "the file at that path, read through ffmpeg"),
    ]

    /// - Parameter text: a form's text; any other text is the path of a file.
    package init(_ text: String) {
        self =
            switch text {
            case "auto": .automatic
            case "camera": .camera
            case "sample": .sample
            case let node where node.hasPrefix("/dev/video") || node.hasPrefix("/dev/v4l/"): .device(node)
            default: .file(text)
            }
    }

    package var description: String {
        switch self {
        case .automatic: "auto"
        case .camera: "camera"
        case .sample: "sample"
        case .device(let path), .file(let path): path
        }
    }

    /// Whether it is a camera or stands in for one, so that another one can replace it while Guise runs.
    package var isReplaceable: Bool { if case .file = self { false } else { true } }
}

/// One way of naming a source or a sink.
package struct SpecForm: Sendable {
    /// What users write, or what kind of thing that is: "a file".
    package let text: String
    /// What it stands for, in Markdown.
    package let meaning: String

    package init(_ text: String, _ meaning: String) {
        (self.text, self.meaning) = (text, meaning)
    }
}

extension [SpecForm] {
    /// The texts in a sentence: "usb, null, or a file".
    package var list: String { dropLast().map { "\($0.text), " }.joined() + "or " + (last?.text ?? "") }
}
