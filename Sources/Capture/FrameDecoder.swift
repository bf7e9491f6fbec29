import Frames
import JPEG
import SystemKit
import V4L2

/// The conversion from a camera's bytes to a frame.
enum FrameDecoder: ~Copyable, Sendable {
    /// The bytes are the frame.
    case none
    /// The bytes are a JPEG.
    case jpeg(JPEGDecoder)
    /// libv4lconvert converts the bytes.
    case converted(FormatConverter)

    /// The decoder for a camera's format.
    /// - Parameter descriptor: of the camera, which libv4lconvert may ask about the format.
    /// - Throws: `Problem` of kind `unusable` if the format is not supported, or `system`.
    init(_ format: StreamFormat, descriptor: CInt) throws(Problem) {
        // Pixels share chroma in pairs.
        let isLargeEnough = format.width > 1 && format.height > 1
        if format.layout != nil {
            self = .none
        } else if isLargeEnough && format.fourCC.isJPEG && format.width % 2 == 0 && format.height % 2 == 0 {
            self = .jpeg(try JPEGDecoder())
        } else if isLargeEnough && (format.fourCC.isJPEG || Mode.convertible[format.fourCC] != nil) {
            self = .converted(try FormatConverter(format, descriptor: descriptor))
        } else {
            throw Problem(
                .unusable, "could not use the camera's format \(format)",
                fix: "choose another camera with --source; `guise devices` lists them")
        }
    }

    /// The layout of the decoded frames. A JPEG's layout is known when it is decoded; until then this is the most
    /// common one.
    func layout(of format: StreamFormat) -> FrameLayout {
        switch self {
        case .converted(let converter): converter.layout
        default:
            format.layout
                ?? FrameLayout(width: format.width, height: format.height, format: .i422, range: .full)
        }
    }

    /// Decodes one picture. If there is nothing to decode, leaves `frame` unchanged.
    /// - Returns: false if the picture is damaged.
    func decode(_ bytes: Span<UInt8>, into frame: inout Frame) throws(Problem) -> Bool {
        switch self {
        case .none: true
        case .jpeg(let decoder): try decoder.decode(bytes, into: &frame)
        case .converted(let converter): converter.convert(bytes, into: &frame)
        }
    }
}
