import Frames
import SystemKit

/// Rotates and mirrors a source's frames before anything else is done with them, so that tracking and masks work on the
/// picture that the user sees. Owns its buffers and allocates nothing after `init`.
public struct Rotator: ~Copyable {
    /// The layout of the input frames.
    public let input: FrameLayout
    /// The last frame, rotated and mirrored.
    public private(set) var frame: Frame

    /// Clockwise rotation in quarter turns.
    private let quarters: Int
    private let isMirrored: Bool
    /// The input, converted to a planar format; one pixel if the input's own format can be rotated.
    private var planes: Frame
    /// Whether the input's own format can be rotated.
    private let isPlanar: Bool

    /// Allocates buffers for frames of this layout.
    public init(from input: FrameLayout, rotation: ViewTransform.Rotation, isMirrored: Bool) {
        let format = Self.format(for: input, isAcross: rotation.isAcross)
        let (width, height) = (input.width, input.height)
        (self.input, self.isMirrored, quarters) = (input, isMirrored, rotation.rawValue / 90)
        isPlanar = format == input.format
        planes = Frame(
            isPlanar
                ? .onePixel
                : FrameLayout(width: width, height: height, format: format, range: input.range))
        frame = Frame(
            FrameLayout(
                width: rotation.isAcross ? height : width, height: rotation.isAcross ? width : height, format: format,
                range: input.range))
    }

    /// Rotates and mirrors a frame into `frame`.
    /// - Precondition: the view has the layout `input`.
    public mutating func rotate(_ view: borrowing FrameView) {
        precondition(view.layout == input, "the frame must have the rotator's input layout")
        if isPlanar {
            rotateAndMirror(view, into: &frame, quarters: quarters, isMirrored: isMirrored)
        } else {
            convert(view, into: &planes)
            rotateAndMirror(planes, into: &frame, quarters: quarters, isMirrored: isMirrored)
        }
    }

    /// The planar format whose chroma samples match pixels in the same way before and after the rotation.
    private static func format(for layout: FrameLayout, isAcross: Bool) -> PixelFormat {
        if layout.format == .gray { return .gray }
        // With odd sizes, the last chroma sample of a row covers one pixel. After mirroring it is the first, and would
        // cover two.
        if layout.width % 2 != 0 || layout.height % 2 != 0 { return .i444 }
        return switch layout.format {
        case .i444: .i444
        case .nv12, .i420: .i420
        // A rotation by a quarter turns chroma with half the columns into chroma with half the rows.
        default: isAcross ? .i420 : .i422
        }
    }
}
