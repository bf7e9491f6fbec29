import CVision
import Frames

/// Brings a source's frames to an output's fixed size and format: scaled with their shape kept, black bars beside them.
/// Owns what lies between; asks for no memory of its own once made (OpenCV does for a moment, when it scales).
///
/// The unsafe calls to the C shim are in this file alone.
public struct Fitter: ~Copyable {
    /// The layout of the frames that come.
    public let input: FrameLayout
    /// The layout of the frames that go.
    public let output: FrameLayout
    /// From input pixels to output pixels.
    public let map: Affine

    /// Where the picture lies in the output; the rest is black.
    public let region: PixelRect
    private let isScaled: Bool
    private let isPacked: Bool
    /// The input in planes of its own; one pixel where it needs none.
    private var planes: Frame
    /// The output in planes, in the input's range; one pixel where nothing is scaled.
    private var canvas: Frame

    /// Prepares for frames of these layouts, whatever they are.
    public init(from input: FrameLayout, to output: FrameLayout) {
        let region = Self.region(of: input, in: output)
        let isScaled = input.width != output.width || input.height != output.height
        let unpacked = Self.planar(input, range: input.range)
        let isPacked = unpacked.format != input.format
        let onePixel = FrameLayout(width: 1, height: 1, format: .gray)
        let x = Float(region.width) / Float(input.width)
        let y = Float(region.height) / Float(input.height)
        (self.input, self.output, self.region) = (input, output, region)
        (self.isScaled, self.isPacked) = (isScaled, isPacked)
        // Whole numbers are pixel centres, so edges lie half a pixel before them.
        map = Affine(
            a: x, b: 0, c: 0, d: y, tx: Float(region.x) + x / 2 - 0.5, ty: Float(region.y) + y / 2 - 0.5)
        planes = Frame(isScaled && isPacked ? unpacked : onePixel)
        canvas = Frame(isScaled ? Self.planar(output, range: input.range) : onePixel)
    }

    /// Fills `frame` with the picture.
    /// - Precondition: both have the layouts that the fitter was made for.
    /// - Throws: `system` where OpenCV has no memory.
    public mutating func fit(_ view: borrowing FrameView, into frame: inout Frame) throws(Problem) {
        precondition(view.layout == input && frame.layout == output, "frames have the fitter's layouts")
        guard isScaled else {
            convert(view, into: &frame)
            return
        }
        if isPacked {
            convert(view, into: &planes)
            try Self.scale(planes, into: &canvas, region)
        } else {
            try Self.scale(view, into: &canvas, region)
        }
        convert(canvas, into: &frame)
    }

    private static func scale(
        _ frame: borrowing Frame, into canvas: inout Frame, _ region: PixelRect
    ) throws(Problem) { try scale(frame.view, into: &canvas, region) }

    private static func scale(
        _ view: borrowing FrameView, into canvas: inout Frame, _ region: PixelRect
    ) throws(Problem) {
        let (from, to) = (view.layout, canvas.layout)
        var target = canvas.mutableBytes
        for index in 0..<min(from.planes.count, to.planes.count) {
            let shift = index == 0 ? (x: 0, y: 0) : to.format.chromaShift
            let plane = to.planes[index]
            let start = plane.offset + (region.y >> shift.y) * plane.stride + region.x >> shift.x
            let width = (region.width + shift.x) >> shift.x
            let height = (region.height + shift.y) >> shift.y
            try resize(view.bytes, from.planes[index], into: &target, start, plane.stride, width, height)
        }
    }

    private static func resize(
        _ source: Span<UInt8>, _ plane: FrameLayout.Plane, into target: inout MutableSpan<UInt8>, _ start: Int,
        _ stride: Int, _ width: Int, _ height: Int
    ) throws(Problem) {
        precondition(plane.offset + (plane.rows - 1) * plane.stride + plane.rowBytes <= source.count)
        precondition(start + (height - 1) * stride + width <= target.count)
        var text = [128 of CChar](repeating: 0)
        var words = text.mutableSpan
        let result = unsafe source.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                unsafe words.withUnsafeMutableBufferPointer { words in
                    // The shim does not write to a source; C has no word for a plane that is const only here.
                    let from = unsafe cvision_plane(
                        samples: UnsafeMutablePointer(mutating: source.baseAddress.map { unsafe $0 + plane.offset }),
                        width: CInt(plane.rowBytes), height: CInt(plane.rows), stride: plane.stride)
                    let to = unsafe cvision_plane(
                        samples: target.baseAddress.map { unsafe $0 + start }, width: CInt(width),
                        height: CInt(height), stride: stride)
                    return unsafe cvision_resize(from, to, words.baseAddress, words.count)
                }
            }
        }
        guard result == 0 else {
            let reason = String(
                decoding: text.indices.map { UInt8(bitPattern: text[$0]) }.prefix { $0 != 0 }, as: UTF8.self)
            throw Problem(.system, "cannot scale a picture to \(width)x\(height): \(reason)")
        }
    }

    /// The same density of chroma in planes, rows close together.
    private static func planar(_ layout: FrameLayout, range: ColorRange) -> FrameLayout {
        let format: PixelFormat =
            switch layout.format {
            case .yuyv, .uyvy, .i422: .i422
            case .nv12, .i420: .i420
            case .i444: .i444
            case .gray: .gray
            }
        let stride = format == layout.format ? layout.planes[0].stride : nil
        return FrameLayout(
            width: layout.width, height: layout.height, format: format, range: range, lumaStride: stride)
    }

    /// The largest place for the picture; on even pixels, so that chroma has the same place.
    private static func region(of input: FrameLayout, in output: FrameLayout) -> PixelRect {
        let scale = min(Double(output.width) / Double(input.width), Double(output.height) / Double(input.height))
        func side(_ length: Int, _ room: Int) -> (start: Int, length: Int) {
            let exact = Double(length) * scale
            guard exact < Double(room) - 1, room > 2 else { return (0, room) }
            let even = max(2, Int((exact / 2).rounded()) * 2)
            return ((room - even) / 4 * 2, even)
        }
        let (x, width) = side(input.width, output.width)
        let (y, height) = side(input.height, output.height)
        return PixelRect(x: x, y: y, width: width, height: height)
    }
}
