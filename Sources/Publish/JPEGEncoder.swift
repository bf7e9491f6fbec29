import CArt
import Frames

/// Makes JPEGs of frames of one layout, made smaller by halves. Owns what lies between; has one owner
/// at a time, and so may change threads.
///
/// The unsafe calls to the C shim are in this file alone.
@safe struct JPEGEncoder: ~Copyable, @unchecked Sendable {
    /// Pixels of the JPEG.
    let size: (width: Int, height: Int)
    private let encoder: OpaquePointer
    /// The frame in I420, full range, then the halves of it.
    private var whole: Frame
    private var half: Frame
    private var quarter: Frame
    private let halvings: Int
    private var jpeg: [UInt8]

    /// Of JPEG, 0 to 100: here clean faces at a fifth of a byte for each pixel.
    private static let quality: CInt = 80

    /// - Parameter maxWidth: pixels; a wider frame is halved once or twice to get near.
    /// - Throws: `system` where memory is short.
    init(layout: FrameLayout, maxWidth: Int) throws(Problem) {
        func smaller(_ layout: FrameLayout) -> FrameLayout {
            FrameLayout(
                width: (layout.width + 1) / 2, height: (layout.height + 1) / 2, format: .i420, range: .full)
        }
        guard let encoder = unsafe cart_encoder_open() else {
            throw Problem(.system, "cannot make JPEGs for the page: no memory")
        }
        let whole = FrameLayout(width: layout.width, height: layout.height, format: .i420, range: .full)
        let half = smaller(whole)
        let quarter = smaller(half)
        let halvings = whole.width <= maxWidth ? 0 : half.width <= maxWidth ? 1 : 2
        let final = halvings == 0 ? whole : halvings == 1 ? half : quarter
        unsafe (self.encoder = encoder)
        self.halvings = halvings
        size = (final.width, final.height)
        self.whole = Frame(whole)
        self.half = Frame(half)
        self.quarter = Frame(quarter)
        jpeg = [UInt8](repeating: 0, count: cart_encoder_capacity(CInt(final.width), CInt(final.height)))
    }

    deinit { unsafe cart_encoder_close(encoder) }

    /// The frame as a JPEG; nil where it could not be made.
    mutating func encode(_ frame: borrowing Frame) -> [UInt8]? {
        convert(frame, into: &whole)
        if halvings > 0 { halve(whole, into: &half) }
        if halvings > 1 { halve(half, into: &quarter) }
        let count =
            switch halvings {
            case 0: unsafe Self.compress(encoder, whole, &jpeg)
            case 1: unsafe Self.compress(encoder, half, &jpeg)
            default: unsafe Self.compress(encoder, quarter, &jpeg)
            }
        return count < 0 ? nil : Array(jpeg[..<count])
    }

    private static func compress(_ encoder: OpaquePointer, _ frame: borrowing Frame, _ jpeg: inout [UInt8]) -> Int {
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
