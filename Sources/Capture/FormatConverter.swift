// The only file of this module that passes pointers to libv4lconvert, each for the duration of one call.
import CConvert
import CLinux
import Frames
import SystemKit
import V4L2

/// A converter from a camera's unusual format to planar 4:2:0, by libv4lconvert. After the first frame our code
/// allocates nothing. May be passed between threads: it has one owner at a time.
@safe struct FormatConverter: ~Copyable, @unchecked Sendable {
    /// The layout of the converted frames.
    let layout: FrameLayout
    private let converter: OpaquePointer
    /// The minimum picture size in bytes; the library might read beyond the end of a shorter one.
    private let shortest: Int

    /// - Parameters:
    ///   - source: the camera's current format.
    ///   - descriptor: the camera's; the library queries whether its pictures must be rotated.
    /// - Throws: `Problem` of kind `unusable` for rows that are padded or overlap, `system` if out of memory.
    init(_ source: StreamFormat, descriptor: CInt) throws(Problem) {
        let pixelBytes = Mode.convertible[source.fourCC] ?? 0
        // With other row strides libv4lconvert 1.22 reads beyond its pictures.
        guard pixelBytes == 0 || source.bytesPerLine == source.width * pixelBytes else {
            throw Problem(
                .unusable,
                "could not use the camera's format \(source): its rows are \(source.bytesPerLine) bytes apart",
                fix: "choose another format of the camera")
        }
        var pix = v4l2_pix_format()
        pix.pixelformat = source.fourCC.rawValue
        (pix.width, pix.height) = (UInt32(clamping: source.width), UInt32(clamping: source.height))
        pix.bytesperline = UInt32(clamping: source.bytesPerLine)
        guard let converter = unsafe cconvert_create(descriptor, &pix) else {
            throw Problem(.system, "could not start libv4lconvert for \(source): out of memory")
        }
        unsafe self.converter = unsafe converter
        shortest = pixelBytes == 0 ? 2 : source.bytesPerLine * source.height
        layout = FrameLayout(
            width: max(2, source.width & ~1), height: max(2, source.height & ~1), format: .i420,
            range: Self.range(of: source))
    }

    deinit { unsafe cconvert_destroy(converter) }

    /// The colour range of the result: the library converts RGB and Bayer to limited YUV, and keeps the range of YUV.
    private static func range(of source: StreamFormat) -> ColorRange {
        let yuv: [FourCC] = ["YV12", "YVYU", "NV16", "NV61", "MJPG", "JPEG", "PJPG"]
        return yuv.contains(source.fourCC) ? source.range : .limited
    }

    /// Converts one picture.
    /// - Parameter frame: has this converter's layout.
    /// - Returns: false if the picture is damaged; `frame` must not be used then.
    func convert(_ picture: Span<UInt8>, into frame: inout Frame) -> Bool {
        guard frame.layout == layout, picture.count >= shortest else { return false }
        let expected = layout.byteCount
        var bytes = frame.mutableBytes
        return unsafe bytes.withUnsafeMutableBufferPointer { result in
            unsafe picture.withUnsafeBufferPointer {
                unsafe cconvert_frame(
                    converter, $0.baseAddress, $0.count, result.baseAddress, result.count) == expected
            }
        }
    }
}
