/// A frame that owns its bytes; they are freed with it. Everything else borrows: spans and views end with the borrow.
///
/// May change threads: it has one owner at a time, and what it points to belongs to it alone.
@safe public struct Frame: ~Copyable, @unchecked Sendable {
    /// Size and arrangement of the bytes.
    public let layout: FrameLayout
    private let storage: UnsafeMutableBufferPointer<UInt8>

    /// Bytes of owned frames start on cache lines, so that rows of common sizes do too.
    private static let alignment = 64

    /// A black frame.
    public init(_ layout: FrameLayout) {
        self.layout = layout
        let raw = UnsafeMutableRawBufferPointer.allocate(byteCount: layout.byteCount, alignment: Self.alignment)
        unsafe storage = raw.bindMemory(to: UInt8.self)
        fill(y: layout.range == .full ? 0 : 16, u: 128, v: 128)
    }

    deinit { unsafe storage.deallocate() }

    /// All bytes, lent.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self) get {
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(storage))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// All bytes, lent for writing.
    public var mutableBytes: MutableSpan<UInt8> {
        @_lifetime(&self) mutating get {
            let span = unsafe MutableSpan(_unsafeElements: storage)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// The frame, lent.
    public var view: FrameView {
        @_lifetime(borrow self) get { FrameView(layout: layout, bytes: bytes) }
    }

    /// Paints the ground of all cards: a dark blue-grey, by BT.601.
    public mutating func fillPlaceholderBackground() { fill(y: 48, u: 138, v: 124) }

    /// Paints the whole frame in one colour, in the frame's own range.
    public mutating func fill(y: UInt8, u: UInt8, v: UInt8) {
        let layout = self.layout
        var bytes = mutableBytes
        switch layout.format {
        case .yuyv, .uyvy:
            let quad: [4 of UInt8] = layout.format == .yuyv ? [y, u, y, v] : [u, y, v, y]
            for row in 0..<layout.planes[0].rows {
                let start = layout.planes[0].offset + row * layout.planes[0].stride
                for x in 0..<layout.planes[0].rowBytes { bytes[start + x] = quad[x & 3] }
            }
        case .nv12:
            Self.fill(&bytes, layout.planes[0], y, y)
            Self.fill(&bytes, layout.planes[1], u, v)
        case .i420, .i422, .i444:
            Self.fill(&bytes, layout.planes[0], y, y)
            Self.fill(&bytes, layout.planes[1], u, u)
            Self.fill(&bytes, layout.planes[2], v, v)
        case .gray:
            Self.fill(&bytes, layout.planes[0], y, y)
        }
    }

    private static func fill(_ bytes: inout MutableSpan<UInt8>, _ plane: FrameLayout.Plane, _ even: UInt8, _ odd: UInt8)
    {
        for row in 0..<plane.rows {
            let start = plane.offset + row * plane.stride
            for x in 0..<plane.rowBytes { bytes[start + x] = x & 1 == 0 ? even : odd }
        }
    }
}

/// A frame lent for a while: the camera's own buffer, or an owned `Frame`.
public struct FrameView: ~Escapable {
    /// Size and arrangement of the bytes.
    public let layout: FrameLayout
    /// At least `layout.byteCount` of them.
    public let bytes: Span<UInt8>

    /// - Precondition: `bytes` holds at least `layout.byteCount` bytes.
    @_lifetime(copy bytes)
    public init(layout: FrameLayout, bytes: Span<UInt8>) {
        precondition(bytes.count >= layout.byteCount, "a frame's bytes are all there")
        self.layout = layout
        self.bytes = bytes
    }

    /// The luma samples alone, where they lie.
    public var luma: LumaView {
        @_lifetime(copy self) get {
            let (offset, pixelStride) = layout.luma
            return LumaView(
                samples: bytes.extracting(offset..<layout.byteCount), width: layout.width, height: layout.height,
                pixelStride: pixelStride, rowStride: layout.planes[0].stride)
        }
    }
}

/// The brightness of a picture: sample (x, y) is `samples[y * rowStride + x * pixelStride]`.
public struct LumaView: ~Escapable {
    /// From the first pixel's sample to the last one's or beyond.
    public let samples: Span<UInt8>
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// Bytes from one sample to its right neighbour: 2 in packed formats, else 1.
    public let pixelStride: Int
    /// Bytes from one sample to the one below it.
    public let rowStride: Int

    /// - Precondition: the last sample of the last row lies within `samples`.
    @_lifetime(copy samples)
    public init(samples: Span<UInt8>, width: Int, height: Int, pixelStride: Int = 1, rowStride: Int) {
        precondition(
            width > 0 && height > 0 && samples.count > (height - 1) * rowStride + (width - 1) * pixelStride,
            "a picture's samples are all there")
        self.samples = samples
        (self.width, self.height) = (width, height)
        (self.pixelStride, self.rowStride) = (pixelStride, rowStride)
    }
}
