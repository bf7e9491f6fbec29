/// A picture size that the camera offers, always as YUYV without padding.
public struct CameraMode: Equatable, Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// The bytes of the picture in each isochronous packet. A picture has a whole number of packets. If they are more
    /// than 32, the most that uvcvideo puts in a transfer, they are a multiple of 32: then all transfers are full and
    /// end with pictures, and the kernel need not move packets apart (usbip_pad_iso).
    let packetBytes: Int

    /// The bytes of a picture.
    public var frameBytes: Int { width * height * 2 }
    /// The bytes of a full packet, with its UVC header.
    var packetSize: Int { packetBytes + PayloadHeader.size }

    /// All modes; the first is the default.
    public static let all = [
        CameraMode(width: 1280, height: 720, packetBytes: 28_800),
        CameraMode(width: 1920, height: 1080, packetBytes: 43_200),
        CameraMode(width: 960, height: 540, packetBytes: 43_200),
        CameraMode(width: 640, height: 480, packetBytes: 40_960),
        CameraMode(width: 640, height: 360, packetBytes: 46_080),
        CameraMode(width: 320, height: 240, packetBytes: 38_400),
    ]

    /// The offered frame intervals, in UVC's units of 100 ns; the first is the default. 30 and 15 frames per second.
    public static let intervals: [UInt32] = [333_333, 666_666]

    /// The bytes of the largest picture.
    public static let maxFrameBytes = all.map(\.frameBytes).max() ?? 0

    /// The mode of a size; nil if the camera does not offer it.
    public static func of(width: Int, height: Int) -> CameraMode? {
        all.first { $0.width == width && $0.height == height }
    }

    /// The packet sizes, ascending: alternate setting n of the streaming interface has the size at n - 1.
    static let packetSizes = Set(all.map(\.packetSize)).sorted()
}

/// The header of each packet of video (UVC 1.0, 2.4.3.3), without the optional clocks.
enum PayloadHeader {
    /// Bytes.
    static let size = 2
    /// Toggles with each picture.
    static let frameID: UInt8 = 0x01
    /// Marks the last packet of a picture.
    static let endOfFrame: UInt8 = 0x02
    /// Marks the end of the header; always set.
    static let endOfHeader: UInt8 = 0x80
}
