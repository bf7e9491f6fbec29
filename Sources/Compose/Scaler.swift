import CVision
import Frames
import SystemKit

/// Converts a source's frames to an output's size and format: scaled with their aspect ratio kept, with black bars, as
/// letterbox or pillarbox. Or shows a part of each frame, which may move from frame to frame. Owns its buffers and
/// allocates nothing after `init` (OpenCV does for a moment, when it scales).
///
/// The unsafe calls to the C shim are in this file only.
public struct Scaler: ~Copyable {
    /// The layout of the input frames.
    public let input: FrameLayout
    /// The layout of the output frames.
    public let output: FrameLayout
    /// The map from input pixels to output pixels. It only scales and translates.
    public private(set) var map: Affine
    /// The part of the input that may be shown, in pixels.
    public let part: PixelRect

    /// The picture's place in the output, in pixels. The rest is black.
    public let region: PixelRect
    /// The visible part of the input, in pixels: all of `part`, or a rectangle inside it.
    private var shown: Rect
    /// Whether anything other than the whole input at its own size is, or may be, shown.
    private let isScaled: Bool
    private let isSameSize: Bool
    private let canMove: Bool
    private let isPacked: Bool
    /// The input, converted to a planar format; one pixel if it needs no conversion.
    private var planes: Frame
    /// The output in a planar format, in the input's range; one pixel if nothing is scaled.
    private var canvas: Frame

    /// Allocates buffers for frames of these layouts, which may differ in all ways.
    /// - Parameters:
    ///   - part: the part of the input to show, starting on even pixels; nil: all.
    ///   - canMove: whether `setVisibleRect` will be called.
    public init(from input: FrameLayout, to output: FrameLayout, part: PixelRect? = nil, canMove: Bool = false) {
        let all = PixelRect(x: 0, y: 0, width: input.width, height: input.height)
        let part = part ?? all
        let region = Self.region(of: part, in: output)
        let isSameSize = input.width == output.width && input.height == output.height
        let isScaled = part != all || canMove || !isSameSize
        let unpacked = Self.planar(input, range: input.range)
        let isPacked = unpacked.format != input.format
        (self.input, self.output, self.region, self.part) = (input, output, region, part)
        (self.isScaled, self.isSameSize, self.isPacked, self.canMove) = (isScaled, isSameSize, isPacked, canMove)
        shown = Rect(part)
        map = Self.map(from: shown, to: region)
        planes = Frame(isScaled && isPacked ? unpacked : .onePixel)
        canvas = Frame(isScaled ? Self.planar(output, range: input.range) : .onePixel)
    }

    /// Sets the visible part of the input, from the next frame on. On even pixel boundaries, scaling costs a third.
    /// Anywhere else, pixels are sampled bilinearly and not averaged, even when they are scaled to less than half the
    /// size.
    /// - Parameter place: in pixels, inside `part` and with its aspect ratio.
    /// - Precondition: the scaler was made with `canMove`.
    public mutating func setVisibleRect(_ place: Rect) {
        precondition(canMove, "the scaler was not made with canMove")
        guard place != shown else { return }
        shown = place
        map = Self.map(from: place, to: region)
    }

    private static func map(from place: Rect, to region: PixelRect) -> Affine {
        let x = Float(region.width) / place.width
        let y = Float(region.height) / place.height
        // Whole coordinates are pixel centres, so edges are half a pixel before them.
        return Affine(
            a: x, b: 0, c: 0, d: y, tx: Float(region.x) + x / 2 - 0.5 - x * place.x,
            ty: Float(region.y) + y / 2 - 0.5 - y * place.y)
    }

    /// Scales and converts a frame into `frame`.
    /// - Precondition: the frames have the layouts `input` and `output`.
    /// - Throws: `system` if OpenCV runs out of memory.
    public mutating func fit(_ view: borrowing FrameView, into frame: inout Frame) throws(Problem) {
        precondition(view.layout == input && frame.layout == output, "the frames must have the scaler's layouts")
        guard isScaled, !isSameSize || map != .identity else {
            convert(view, into: &frame)
            return
        }
        let even = shown == Rect(part) ? part : PixelRect(even: shown)
        let way = Path(part: even ?? part, region: region, map: even == nil ? map.inverse : nil)
        if isPacked {
            convert(view, into: &planes)
            try Self.scale(planes, into: &canvas, way)
        } else {
            try Self.scale(view, into: &canvas, way)
        }
        convert(canvas, into: &frame)
    }

    /// Source and target rectangles of a scaling operation.
    private struct Path {
        let part: PixelRect
        let region: PixelRect
        /// The map from output pixels to input pixels, to warp a part that isn't on even pixels; nil: resize `part`.
        let map: Affine?
    }

    private static func scale(_ frame: borrowing Frame, into canvas: inout Frame, _ way: Path) throws(Problem) {
        try scale(frame.view, into: &canvas, way)
    }

    private static func scale(_ view: borrowing FrameView, into canvas: inout Frame, _ way: Path) throws(Problem) {
        let (from, to) = (view.layout, canvas.layout)
        var target = canvas.mutableBytes
        for index in 0..<min(from.planes.count, to.planes.count) {
            let fine = index == 0 ? (x: 0, y: 0) : from.format.chromaShift
            let coarse = index == 0 ? (x: 0, y: 0) : to.format.chromaShift
            let place = samples(of: way.region, in: to.planes[index], coarse)
            if let map = way.map {
                let whole = PixelRect(x: 0, y: 0, width: from.width, height: from.height)
                let start = Affine(
                    a: 1, b: 0, c: 0, d: 1, tx: Float(way.region.x >> coarse.x), ty: Float(way.region.y >> coarse.y))
                let inner = pixels(ofSamples: fine).inverse?.after(map).after(pixels(ofSamples: coarse)).after(start)
                try draw(view.bytes, samples(of: whole, in: from.planes[index], fine), into: &target, place, inner)
            } else {
                try draw(view.bytes, samples(of: way.part, in: from.planes[index], fine), into: &target, place, nil)
            }
        }
    }

    /// A rectangle of samples, by its offset from the first byte of a frame.
    private struct Samples {
        let start: Int
        let stride: Int
        let width: Int
        let height: Int

        /// The offset after the last sample.
        var end: Int { start + (height - 1) * stride + width }
    }

    /// The samples of a plane that cover a rectangle of pixels.
    /// - Parameter shift: pixels per sample, as powers of two.
    private static func samples(
        of rect: PixelRect, in plane: FrameLayout.Plane, _ shift: (x: Int, y: Int)
    ) -> Samples {
        Samples(
            start: plane.offset + (rect.y >> shift.y) * plane.stride + (rect.x >> shift.x), stride: plane.stride,
            width: (rect.width + shift.x) >> shift.x, height: (rect.height + shift.y) >> shift.y)
    }

    /// The map from samples to pixels. A chroma sample is at the centre of its pixels.
    private static func pixels(ofSamples shift: (x: Int, y: Int)) -> Affine {
        let (x, y) = (Float(1 << shift.x), Float(1 << shift.y))
        return Affine(a: x, b: 0, c: 0, d: y, tx: (x - 1) / 2, ty: (y - 1) / 2)
    }

    /// Scales one plane.
    /// - Parameter map: from the target's samples to the source's; nil: resize all of the source to all of the target.
    private static func draw(
        _ source: Span<UInt8>, _ given: Samples, into target: inout MutableSpan<UInt8>, _ made: Samples, _ map: Affine?
    ) throws(Problem) {
        precondition(given.end <= source.count && made.end <= target.count)
        let map = map.map { map -> [6 of Double] in
            [Double(map.a), Double(map.b), Double(map.tx), Double(map.c), Double(map.d), Double(map.ty)]
        }
        var text = [128 of CChar](repeating: 0)
        var words = text.mutableSpan
        let result = unsafe source.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                unsafe words.withUnsafeMutableBufferPointer { words in
                    // The shim doesn't write to the source; `cvision_plane` has no const variant.
                    let from = unsafe cvision_plane(
                        samples: UnsafeMutablePointer(mutating: source.baseAddress.map { unsafe $0 + given.start }),
                        width: CInt(given.width), height: CInt(given.height), stride: given.stride)
                    let to = unsafe cvision_plane(
                        samples: target.baseAddress.map { unsafe $0 + made.start }, width: CInt(made.width),
                        height: CInt(made.height), stride: made.stride)
                    if let map {
                        return unsafe map.span.withUnsafeBufferPointer {
                            unsafe cvision_warp(from, to, $0.baseAddress, 0, words.baseAddress, words.count)
                        }
                    }
                    return unsafe cvision_resize(from, to, words.baseAddress, words.count)
                }
            }
        }
        guard result == 0 else {
            let reason = String(
                decoding: text.indices.map { UInt8(bitPattern: text[$0]) }.prefix { $0 != 0 }, as: UTF8.self)
            throw Problem(.system, "cannot scale a picture to \(made.width)x\(made.height): \(reason)")
        }
    }

    /// The planar layout with the same chroma subsampling, with rows without padding unless the layout already has this
    /// format.
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

    /// The largest place for the picture in the output, on even pixels, so that chroma has the same place.
    private static func region(of input: PixelRect, in output: FrameLayout) -> PixelRect {
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

extension PixelRect {
    /// Converts a rectangle whose edges are on even pixels, so that they are chroma edges too; nil for any other.
    fileprivate init?(even rect: Rect) {
        func even(_ value: Float) -> Int? { Int(exactly: value).flatMap { $0 % 2 == 0 ? $0 : nil } }
        guard let x = even(rect.x), let y = even(rect.y), let width = even(rect.width), let height = even(rect.height)
        else { return nil }
        self.init(x: x, y: y, width: width, height: height)
    }
}
