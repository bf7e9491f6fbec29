import CVision
import Frames

/// Turns and mirrors a source's frames, sample by sample, before anything else is done with them: faces are tracked, and
/// masks are worn, by who is seen in the mirror. Owns what it makes; asks for no memory of its own once made.
///
/// The unsafe calls to the C shim are in this file alone.
public struct Rotator: ~Copyable {
    /// The layout of the frames that come.
    public let input: FrameLayout
    /// The last frame, turned.
    public private(set) var frame: Frame

    private let quarters: Int
    private let isMirrored: Bool
    /// The input in planes that can be turned; one pixel where its own can.
    private var planes: Frame
    private let isPlanar: Bool

    /// Prepares for frames of this layout.
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

    /// Leaves the picture, turned and mirrored, in `frame`.
    /// - Precondition: it has the layout that the turner was made for.
    /// - Throws: `system` where OpenCV has no memory.
    public mutating func rotate(_ view: borrowing FrameView) throws(Problem) {
        precondition(view.layout == input, "frames have the turner's layout")
        if isPlanar {
            try Self.rotate(view, into: &frame, quarters, isMirrored)
        } else {
            convert(view, into: &planes)
            try Self.rotate(planes, into: &frame, quarters, isMirrored)
        }
    }

    /// Planes whose chroma lies alike before and after.
    private static func format(for layout: FrameLayout, isAcross: Bool) -> PixelFormat {
        if layout.format == .gray { return .gray }
        // The last sample of an odd row stands for one pixel, and would for two as the first.
        if layout.width % 2 != 0 || layout.height % 2 != 0 { return .i444 }
        return switch layout.format {
        case .i444: .i444
        case .nv12, .i420: .i420
        // Half as many across would become half as many down.
        default: isAcross ? .i420 : .i422
        }
    }

    private static func rotate(
        _ source: borrowing Frame, into target: inout Frame, _ quarters: Int, _ isMirrored: Bool
    ) throws(Problem) { try rotate(source.view, into: &target, quarters, isMirrored) }

    private static func rotate(
        _ view: borrowing FrameView, into target: inout Frame, _ quarters: Int, _ isMirrored: Bool
    ) throws(Problem) {
        let (from, to) = (view.layout, target.layout)
        var bytes = target.mutableBytes
        for index in from.planes.indices {
            let (source, plane) = (from.planes[index], to.planes[index])
            precondition(source.offset + (source.rows - 1) * source.stride + source.rowBytes <= view.bytes.count)
            precondition(plane.offset + (plane.rows - 1) * plane.stride + plane.rowBytes <= bytes.count)
            let result = unsafe view.bytes.withUnsafeBufferPointer { given in
                unsafe bytes.withUnsafeMutableBufferPointer { made in
                    // The shim does not write to a source; C has no word for a plane that is const only here.
                    let from = unsafe cvision_plane(
                        samples: UnsafeMutablePointer(mutating: given.baseAddress.map { unsafe $0 + source.offset }),
                        width: CInt(source.rowBytes), height: CInt(source.rows), stride: source.stride)
                    let to = unsafe cvision_plane(
                        samples: made.baseAddress.map { unsafe $0 + plane.offset }, width: CInt(plane.rowBytes),
                        height: CInt(plane.rows), stride: plane.stride)
                    return unsafe cvision_turn(from, to, CInt(quarters), isMirrored ? 1 : 0, nil, 0)
                }
            }
            guard result == 0 else { throw Problem(.system, "cannot turn a picture: OpenCV has no memory") }
        }
    }
}
