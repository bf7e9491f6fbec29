import Frames
import SystemKit

/// Converts a source's frames to an output's size and format. The picture keeps its aspect ratio, between black bars
/// (letterbox or pillarbox). Instead of the whole frame it can show a part, which may move from frame to frame. Owns
/// its buffers and allocates nothing after `init`.
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
    public private(set) var visibleRect: Rect
    private let isSameSize: Bool
    private let canMove: Bool
    /// Nil if always the whole input is shown at its own size.
    private var scaler: FrameScaler?

    /// Allocates buffers for frames of these layouts, which may differ in all ways.
    /// - Parameters:
    ///   - part: the part of the input to show, starting on even pixels; nil: all.
    ///   - canMove: whether `setVisibleRect` will be called.
    public init(from input: FrameLayout, to output: FrameLayout, part: PixelRect? = nil, canMove: Bool = false) {
        let all = PixelRect(x: 0, y: 0, width: input.width, height: input.height)
        let part = part ?? all
        let region = Self.region(of: part, in: output)
        isSameSize = input.width == output.width && input.height == output.height
        (self.input, self.output, self.region, self.part) = (input, output, region, part)
        self.canMove = canMove
        visibleRect = Rect(part)
        map = Self.map(from: visibleRect, to: region)
        let isScaled = part != all || canMove || !isSameSize
        scaler = isScaled ? FrameScaler(from: input, part, to: output, region) : nil
    }

    /// Sets the visible part of the input, from the next frame on.
    /// - Parameter part: in pixels, inside the `part` that may be shown, and with its aspect ratio.
    /// - Precondition: the scaler was made with `canMove`.
    public mutating func setVisibleRect(_ part: Rect) {
        precondition(canMove, "the scaler was not made with canMove")
        guard part != visibleRect else { return }
        visibleRect = part
        map = Self.map(from: part, to: region)
        scaler?.setPart(part)
    }

    private static func map(from part: Rect, to region: PixelRect) -> Affine {
        let x = Float(region.width) / part.width
        let y = Float(region.height) / part.height
        // Whole coordinates are pixel centres, so edges are half a pixel before them.
        return Affine(
            a: x, b: 0, c: 0, d: y, tx: Float(region.x) + x / 2 - 0.5 - x * part.x,
            ty: Float(region.y) + y / 2 - 0.5 - y * part.y)
    }

    /// Scales and converts a frame into `frame`.
    /// - Precondition: the frames have the layouts `input` and `output`.
    public mutating func scale(_ view: borrowing FrameView, into frame: inout Frame) {
        precondition(view.layout == input && frame.layout == output, "the frames must have the scaler's layouts")
        if isSameSize, map == .identity {
            convert(view, into: &frame)
        } else {
            scaler?.scale(view, into: &frame)
        }
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
