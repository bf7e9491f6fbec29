import CLinux
import Frames

/// A V4L2 pixel format code: four characters, the first in the lowest byte.
public struct FourCC: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The value of V4L2_PIX_FMT_...
    public let rawValue: UInt32

    /// A code by its value.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A code by its name; missing characters become spaces, additional ones are ignored.
    public init(_ name: String) {
        var value: UInt32 = 0
        let codes = Array(name.utf8.prefix(4))
        for index in 0..<4 { value |= UInt32(index < codes.count ? codes[index] : 0x20) << (8 * UInt32(index)) }
        rawValue = value
    }

    /// A code by its name: "YUYV".
    public init(stringLiteral name: String) { self.init(name) }

    /// The name: "YUYV"; unprintable bytes are shown as dots.
    public var description: String {
        // The highest bit marks big-endian variants.
        let codes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (8 * UInt32($0))) & 0x7f }
        let name = String(decoding: codes.map { $0 < 0x20 || $0 == 0x7f ? 0x2e : $0 }, as: UTF8.self)
        return String(name.reversed().drop { $0 == " " }.reversed())
    }
}

extension FourCC {
    /// The frame format with the same memory layout; nil if there is none.
    public var pixelFormat: PixelFormat? {
        switch self {
        case "YUYV": .yuyv
        case "UYVY": .uyvy
        case "NV12": .nv12
        case "YU12": .i420
        case "422P": .i422
        case "GREY": .gray
        default: nil
        }
    }

    /// Whether frames are JPEG pictures.
    public var isJPEG: Bool { self == "MJPG" || self == "JPEG" }

    /// The V4L2 code of a frame format; nil if it has none.
    public init?(_ format: PixelFormat) {
        switch format {
        case .yuyv: self = "YUYV"
        case .uyvy: self = "UYVY"
        case .nv12: self = "NV12"
        case .i420: self = "YU12"
        case .i422: self = "422P"
        case .gray: self = "GREY"
        case .i444: return nil
        }
    }
}

/// The format of a stream: the driver's answer to VIDIOC_S_FMT.
public struct StreamFormat: Equatable, Sendable, CustomStringConvertible {
    /// The pixel format.
    public var fourCC: FourCC
    /// The width in pixels.
    public var width: Int
    /// The height in pixels.
    public var height: Int
    /// Bytes from one row of the first plane to the next; 0 in compressed formats.
    public var bytesPerLine: Int
    /// The range of the sample values.
    public var range: ColorRange

    /// A format as a driver could grant it.
    public init(fourCC: FourCC, width: Int, height: Int, bytesPerLine: Int = 0, range: ColorRange = .limited) {
        (self.fourCC, self.width, self.height) = (fourCC, width, height)
        (self.bytesPerLine, self.range) = (bytesPerLine, range)
    }

    init(_ pix: v4l2_pix_format) {
        let fourCC = FourCC(rawValue: pix.pixelformat)
        let full = pix.quantization == V4L2_QUANTIZATION_FULL_RANGE.rawValue
        // The kernel's V4L2_MAP_QUANTIZATION_DEFAULT: YUV is limited unless its colour space is JPEG's.
        let isDefaultQuantization = pix.quantization == V4L2_QUANTIZATION_DEFAULT.rawValue
        let jpeg = pix.colorspace == V4L2_COLORSPACE_JPEG.rawValue
        self.init(
            fourCC: fourCC, width: Int(pix.width), height: Int(pix.height), bytesPerLine: Int(pix.bytesperline),
            range: full || (isDefaultQuantization && jpeg) || fourCC.isJPEG ? .full : .limited)
    }

    /// The layout of the frames; nil if the pixel format is not supported directly, or the driver's numbers are
    /// inconsistent.
    public var layout: FrameLayout? {
        let limit = 16384
        guard let format = fourCC.pixelFormat, (1...limit).contains(width), (1...limit).contains(height),
            (0...8 * limit).contains(bytesPerLine)
        else { return nil }
        // Drivers disagree about the position of the planes for odd sizes.
        let shift = format.chromaShift
        guard shift.x == 0 || width % 2 == 0, shift.y == 0 || height % 2 == 0 else { return nil }
        let layout = FrameLayout(
            width: width, height: height, format: format, range: range,
            lumaStride: bytesPerLine == 0 ? nil : bytesPerLine)
        return bytesPerLine == 0 || layout.planes[0].stride == bytesPerLine ? layout : nil
    }

    /// The pixel format and size: "YUYV 1280x720".
    public var description: String { "\(fourCC) \(width)x\(height)" }
}
