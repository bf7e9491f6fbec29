import SystemKit

/// A frame that owns its bytes and frees them when it is destroyed. Everything else borrows: spans and views end with
/// the borrow.
///
/// A frame may move between threads: it has one owner at a time, and its memory belongs to it alone.
@safe public struct Frame: ~Copyable, @unchecked Sendable {
    /// Size and arrangement of the bytes.
    public let layout: FrameLayout
    private let storage: UnsafeMutableBufferPointer<UInt8>

    /// Allocates a black frame, aligned to a cache line, so that rows of common widths are aligned too.
    public init(_ layout: FrameLayout) {
        self.layout = layout
        let memory = unsafe LargePages.allocate(byteCount: layout.byteCount)
        unsafe storage = UnsafeMutableBufferPointer(
            start: memory.bindMemory(to: UInt8.self, capacity: layout.byteCount), count: layout.byteCount)
        fill(y: UInt8(layout.range.black), u: 128, v: 128)
    }

    deinit { unsafe storage.deallocate() }

    /// All bytes, borrowed for reading.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self) get {
            let span = unsafe Span(_unsafeElements: UnsafeBufferPointer(storage))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// All bytes, borrowed for writing.
    public var mutableBytes: MutableSpan<UInt8> {
        @_lifetime(&self) mutating get {
            let span = unsafe MutableSpan(_unsafeElements: storage)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// The frame, borrowed for reading.
    public var view: FrameView {
        @_lifetime(borrow self) get { FrameView(layout: layout, bytes: bytes) }
    }

    /// Fills the frame with the background colour of all placeholders: a dark blue-grey (BT.601).
    public mutating func fillPlaceholderBackground() { fill(y: 48, u: 138, v: 124) }

    /// Fills the whole frame with one colour, given in the frame's own range.
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

/// A borrowed frame: the camera's own buffer, or an owned `Frame`.
public struct FrameView: ~Escapable {
    /// Size and arrangement of the bytes.
    public let layout: FrameLayout
    /// The frame's bytes, at least `layout.byteCount` of them.
    public let bytes: Span<UInt8>

    /// A view of a frame's bytes.
    /// - Precondition: `bytes` holds at least `layout.byteCount` bytes.
    @_lifetime(copy bytes)
    public init(layout: FrameLayout, bytes: Span<UInt8>) {
        precondition(bytes.count >= layout.byteCount, "a frame needs layout.byteCount bytes")
        self.layout = layout
        self.bytes = bytes
    }

    /// The luma samples alone, without a copy.
    public var luma: LumaView {
        @_lifetime(copy self) get {
            let site = layout.luma
            return LumaView(
                samples: bytes.extracting(site.offset..<layout.byteCount), width: layout.width, height: layout.height,
                pixelStride: site.step, rowStride: site.stride)
        }
    }

    /// The chroma samples alone, without a copy; nil for gray.
    public var chroma: ChromaView? {
        @_lifetime(copy self) get {
            guard let sites = layout.chroma else { return nil }
            let shift = layout.format.chromaShift
            return ChromaView(
                samples: bytes, width: (layout.width + shift.x) >> shift.x,
                height: (layout.height + shift.y) >> shift.y,
                u: sites.u, v: sites.v)
        }
    }
}

/// The chroma of a picture, of fewer samples than luma in most formats.
public struct ChromaView: ~Escapable {
    /// The bytes that hold the samples.
    public let samples: Span<UInt8>
    /// The number of samples across.
    public let width: Int
    /// The number of samples down.
    public let height: Int
    /// The positions of U in `samples`.
    public let u: SampleSite
    /// The positions of V in `samples`.
    public let v: SampleSite

    /// A view of a picture's chroma.
    /// - Precondition: the last samples of the last row are within `samples`.
    @_lifetime(copy samples)
    public init(samples: Span<UInt8>, width: Int, height: Int, u: SampleSite, v: SampleSite) {
        func last(_ site: SampleSite) -> Int { site.offset + (height - 1) * site.stride + (width - 1) * site.step }
        precondition(
            width > 0 && height > 0 && samples.count > max(last(u), last(v)),
            "too few samples for this size and these strides")
        self.samples = samples
        (self.width, self.height) = (width, height)
        (self.u, self.v) = (u, v)
    }

    /// U and V of a sample.
    public func sample(x: Int, y: Int) -> SIMD2<Int> {
        SIMD2(Int(samples[u.offset + y * u.stride + x * u.step]), Int(samples[v.offset + y * v.stride + x * v.step]))
    }
}

/// The luma of a picture: sample (x, y) is `samples[y * rowStride + x * pixelStride]`.
public struct LumaView: ~Escapable {
    /// The bytes from the first pixel's sample to the last one's or beyond.
    public let samples: Span<UInt8>
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// Bytes from one sample to its right neighbour: 2 in packed formats, else 1.
    public let pixelStride: Int
    /// Bytes from one sample to the one below it.
    public let rowStride: Int

    /// A view of a picture's luma.
    /// - Precondition: the last sample of the last row is within `samples`.
    @_lifetime(copy samples)
    public init(samples: Span<UInt8>, width: Int, height: Int, pixelStride: Int = 1, rowStride: Int) {
        precondition(
            width > 0 && height > 0 && samples.count > (height - 1) * rowStride + (width - 1) * pixelStride,
            "too few samples for this size and these strides")
        self.samples = samples
        (self.width, self.height) = (width, height)
        (self.pixelStride, self.rowStride) = (pixelStride, rowStride)
    }
}
