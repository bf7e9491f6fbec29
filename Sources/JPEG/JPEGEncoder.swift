import CArt
import Frames
import SystemKit

/// A JPEG encoder for frames of one layout, which it can reduce to any smaller size. It owns its intermediate
/// buffers. It has one owner at a time, and so can move between threads.
///
/// Unsafe calls to the C shim are in this file only.
@safe public struct JPEGEncoder: ~Copyable, @unchecked Sendable {
    /// The size of the JPEG in pixels.
    public let size: (width: Int, height: Int)
    private let quality: CInt
    private let encoder: OpaquePointer
    /// True for packed formats that are reduced. They are reduced before the conversion, which leaves a quarter of the
    /// samples to convert.
    private let isPacked: Bool
    /// The packed frame at half size, in its own range.
    private var packed: Frame
    /// The frame as full-range I420, followed by its reductions.
    private var whole: Frame
    private var half: Frame
    private var quarter: Frame
    private let halvings: Int
    /// Reduces frames to a size that is neither theirs nor a half or a quarter of it, which cost less.
    private var scaler: FrameScaler?
    private var jpeg: [UInt8]

    /// Creates an encoder.
    /// - Parameters:
    ///   - layout: the layout of the frames.
    ///   - maxWidth: the maximum width in pixels, rounded to even. A wider frame is reduced to it.
    ///   - quality: the JPEG quality, 0 to 100. 80 gives clean faces at a fifth of a byte per pixel.
    /// - Throws: `Problem` of kind `system` if there is not enough memory.
    public init(layout: FrameLayout, maxWidth: Int, quality: Int = 80) throws(Problem) {
        func smaller(_ layout: FrameLayout) -> FrameLayout {
            FrameLayout(
                width: (layout.width + 1) / 2, height: (layout.height + 1) / 2, format: .i420, range: .full)
        }
        guard let encoder = unsafe cart_encoder_open() else {
            throw Problem(.system, "could not start the JPEG encoder: out of memory")
        }
        let whole = FrameLayout(width: layout.width, height: layout.height, format: .i420, range: .full)
        let halved = smaller(whole)
        let quarter = smaller(halved)
        let halvings =
            whole.width <= maxWidth ? 0 : halved.width == maxWidth ? 1 : quarter.width == maxWidth ? 2 : nil
        // A scaled frame takes the place of the half one.
        let scaled = FrameLayout(
            width: max(2, (maxWidth + 1) & ~1),
            height: max(2, (layout.height * maxWidth / layout.width + 1) & ~1), format: .i420, range: .full)
        let half = halvings == nil ? scaled : halved
        let final = halvings == 0 ? whole : halvings == 2 ? quarter : half
        unsafe (self.encoder = encoder)
        self.halvings = halvings ?? 1
        scaler =
            halvings == nil
            ? FrameScaler(
                from: layout, PixelRect(x: 0, y: 0, width: layout.width & ~1, height: layout.height & ~1), to: scaled,
                PixelRect(x: 0, y: 0, width: scaled.width, height: scaled.height)) : nil
        self.quality = CInt(quality)
        size = (final.width, final.height)
        isPacked = halvings ?? 0 > 0 && [.yuyv, .uyvy].contains(layout.format)
        let onePixel = FrameLayout(width: 1, height: 1, format: .i420)
        packed = Frame(
            isPacked
                ? FrameLayout(width: half.width, height: half.height, format: .i420, range: layout.range) : onePixel)
        self.whole = Frame(isPacked || halvings == nil ? onePixel : whole)
        self.half = Frame(halvings == 0 ? onePixel : half)
        self.quarter = Frame(halvings == 2 ? quarter : onePixel)
        jpeg = [UInt8](repeating: 0, count: cart_encoder_capacity(CInt(final.width), CInt(final.height)))
    }

    deinit { unsafe cart_encoder_close(encoder) }

    /// Encodes a frame.
    /// - Parameter draw: draws on the reduced copy of the frame. `scale` is the copy's size relative to the frame's.
    /// - Returns: the JPEG; nil if the encoder failed.
    public mutating func encode(
        _ view: borrowing FrameView, drawing draw: (_ copy: inout Frame, _ scale: Float) -> Void = { _, _ in }
    ) -> [UInt8]? {
        let scale = Float(size.width) / Float(view.layout.width)
        if scaler != nil {
            scaler?.scale(view, into: &half)
        } else if isPacked {
            halve(packed: view, into: &packed)
            convert(packed, into: &half)
        } else {
            convert(view, into: &whole)
            if halvings > 0 { halve(whole, into: &half) }
        }
        if halvings > 1 { halve(half, into: &quarter) }
        let count: Int
        switch halvings {
        case 0:
            draw(&whole, scale)
            count = unsafe Self.compress(encoder, whole, quality, &jpeg)
        case 1:
            draw(&half, scale)
            count = unsafe Self.compress(encoder, half, quality, &jpeg)
        default:
            draw(&quarter, scale)
            count = unsafe Self.compress(encoder, quarter, quality, &jpeg)
        }
        return count < 0 ? nil : Array(jpeg[..<count])
    }

    private static func compress(
        _ encoder: OpaquePointer, _ frame: borrowing Frame, _ quality: CInt, _ jpeg: inout [UInt8]
    ) -> Int {
        let layout = frame.layout
        let planes = layout.planes
        return unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            return unsafe cart_encoder_encode(
                encoder, base + planes[0].offset, planes[0].stride, base + planes[1].offset, base + planes[2].offset,
                planes[1].stride, CInt(layout.width), CInt(layout.height), quality, &jpeg, jpeg.count)
        }
    }
}
