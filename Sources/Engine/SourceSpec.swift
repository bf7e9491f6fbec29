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

    /// The forms of its text, for the help.
    package static let forms = "auto, camera, /dev/videoN, sample, or a photo or clip"

    /// - Parameter text: one of `forms`; any other text is the path of a file.
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
