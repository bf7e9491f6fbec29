/// The arrangement of a frame's samples in memory. All formats are YUV with 8 bits per sample.
public enum PixelFormat: String, CaseIterable, Sendable {
    /// Packed 4:2:2: Y0 U Y1 V.
    case yuyv
    /// Packed 4:2:2: U Y0 V Y1.
    case uyvy
    /// Planar 4:2:0, chroma in one plane of interleaved U V pairs.
    case nv12
    /// Planar 4:2:0: Y, U, V.
    case i420
    /// Planar 4:2:2: Y, U, V (what most MJPEG cameras deliver once decoded).
    case i422
    /// Planar 4:4:4: Y, U, V (photos).
    case i444
    /// Luma only.
    case gray

    /// Whether luma and chroma share a plane.
    public var isPacked: Bool { self == .yuyv || self == .uyvy }

    /// Luma samples per chroma sample, across and down, as powers of two.
    public var chromaShift: (x: Int, y: Int) {
        switch self {
        case .yuyv, .uyvy, .i422: (1, 0)
        case .nv12, .i420: (1, 1)
        case .i444, .gray: (0, 0)
        }
    }
}

/// Red, green and blue, 0...255, of a full-range sample (Y, U, V), by JFIF.
public func rgb(_ yuv: SIMD3<Float>) -> SIMD3<UInt8> {
    let (luma, u, v) = (yuv.x, yuv.y - 128, yuv.z - 128)
    let rgb = SIMD3(luma + 1.402 * v, luma - 0.344136 * u - 0.714136 * v, luma + 1.772 * u)
    return SIMD3(rgb.rounded(.toNearestOrAwayFromZero).clamped(lowerBound: .zero, upperBound: SIMD3(repeating: 255)))
}

/// The range of sample values. YUYV from cameras is limited; MJPEG and photos are full.
public enum ColorRange: String, Sendable {
    /// Black is 16, white is 235, chroma spans 16 to 240 (ITU-R BT.601).
    case limited
    /// Black is 0, white is 255 (JFIF).
    case full

    /// The luma of black.
    public var black: Int { self == .full ? 0 : 16 }
    /// The difference between the luma of white and of black.
    public var lumaSpan: Int { self == .full ? 255 : 219 }
    /// The difference between the largest and the smallest chroma, which has its middle at 128.
    public var chromaSpan: Int { self == .full ? 255 : 224 }
}

/// The size of a frame.
public struct FrameSize: Equatable, Sendable {
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int

    /// The size of frames `width` pixels wide and `height` pixels high.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

    /// The number of pixels.
    public var pixels: Int { width * height }
}

/// Size and arrangement of a frame. Strides are bytes from one row to the next and may be larger than a row.
public struct FrameLayout: Equatable, Sendable {
    /// One plane: `rows` rows of `rowBytes` bytes, `stride` bytes apart, the first at `offset`.
    public struct Plane: Equatable, Sendable {
        /// Bytes before the first row.
        public var offset: Int
        /// Bytes from one row to the next.
        public var stride: Int
        /// Bytes of a row without its padding.
        public var rowBytes: Int
        /// Rows of samples; fewer than pixels in 4:2:0 chroma.
        public var rows: Int

        /// A plane by its place and size.
        public init(offset: Int, stride: Int, rowBytes: Int, rows: Int) {
            (self.offset, self.stride, self.rowBytes, self.rows) = (offset, stride, rowBytes, rows)
        }
    }

    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The arrangement of the samples.
    public let format: PixelFormat
    /// The range of the sample values.
    public let range: ColorRange
    /// One plane for packed formats and gray, two for NV12, three for planar formats; luma is in the first.
    public let planes: [Plane]

    /// The smallest layout, for a frame that is not needed.
    public static let onePixel = FrameLayout(width: 1, height: 1, format: .gray)

    /// The layout as V4L2 and ffmpeg pack it: planes follow each other, and chroma strides follow luma's.
    /// - Parameter lumaStride: bytes between rows of the first plane (V4L2's `bytesperline`); nil: no padding.
    public init(width: Int, height: Int, format: PixelFormat, range: ColorRange = .limited, lumaStride: Int? = nil) {
        precondition(width > 0 && height > 0, "a frame needs at least one pixel")
        (self.width, self.height, self.format, self.range) = (width, height, format, range)
        let halfWidth = (width + 1) / 2
        let halfHeight = (height + 1) / 2
        switch format {
        case .yuyv, .uyvy:
            let bytes = halfWidth * 4
            planes = [Plane(offset: 0, stride: max(lumaStride ?? bytes, bytes), rowBytes: bytes, rows: height)]
        case .gray:
            planes = [Plane(offset: 0, stride: max(lumaStride ?? width, width), rowBytes: width, rows: height)]
        case .nv12:
            let stride = max(lumaStride ?? halfWidth * 2, width)
            planes = [
                Plane(offset: 0, stride: stride, rowBytes: width, rows: height),
                Plane(offset: stride * height, stride: stride, rowBytes: halfWidth * 2, rows: halfHeight),
            ]
        case .i420, .i422, .i444:
            let stride = max(lumaStride ?? width, width)
            let shift = format.chromaShift
            let chromaWidth = shift.x == 1 ? halfWidth : width
            let rows = shift.y == 1 ? halfHeight : height
            let chromaStride = shift.x == 1 ? (stride + 1) / 2 : stride
            let first = stride * height
            planes = [
                Plane(offset: 0, stride: stride, rowBytes: width, rows: height),
                Plane(offset: first, stride: chromaStride, rowBytes: chromaWidth, rows: rows),
                Plane(offset: first + chromaStride * rows, stride: chromaStride, rowBytes: chromaWidth, rows: rows),
            ]
        }
    }

    /// The size in pixels.
    public var size: FrameSize { FrameSize(width: width, height: height) }

    /// The layout of frames of another size, in the same format and range, without padding.
    public func resized(to size: FrameSize) -> FrameLayout {
        FrameLayout(width: size.width, height: size.height, format: format, range: range)
    }

    /// Whether another layout differs from this one in its size alone, without padding. Unlike a comparison with
    /// `resized(to:)`, it allocates nothing.
    public func isResized(_ other: FrameLayout) -> Bool {
        other.format == format && other.range == range && other.planes.allSatisfy { $0.stride == $0.rowBytes }
    }

    /// Bytes from the start of the frame's memory to the end of its last sample.
    public var byteCount: Int {
        planes.reduce(0) { max($0, $1.offset + ($1.rows - 1) * $1.stride + $1.rowBytes) }
    }
}

/// The position of one component's samples: sample (x, y) is at `offset + y * stride + x * step`.
public struct SampleSite: Equatable, Sendable {
    /// Bytes before the first sample.
    public var offset: Int
    /// Bytes from one sample to the next.
    public var step: Int
    /// Bytes from one row of samples to the next.
    public var stride: Int
}

extension FrameLayout {
    /// The positions of the luma samples.
    public var luma: SampleSite {
        SampleSite(
            offset: planes[0].offset + (format == .uyvy ? 1 : 0), step: format.isPacked ? 2 : 1,
            stride: planes[0].stride)
    }

    /// The positions of U and V; nil for gray.
    public var chroma: (u: SampleSite, v: SampleSite)? {
        func site(_ plane: Int, _ shift: Int, _ step: Int) -> SampleSite {
            SampleSite(offset: planes[plane].offset + shift, step: step, stride: planes[plane].stride)
        }
        return switch format {
        case .yuyv: (site(0, 1, 4), site(0, 3, 4))
        case .uyvy: (site(0, 0, 4), site(0, 2, 4))
        case .nv12: (site(1, 0, 2), site(1, 1, 2))
        case .i420, .i422, .i444: (site(1, 0, 1), site(2, 0, 1))
        case .gray: nil
        }
    }
}

extension FrameLayout: CustomStringConvertible {
    /// The format and size: "YUYV 1280x720".
    public var description: String { "\(format.rawValue.uppercased()) \(width)x\(height)" }
}
