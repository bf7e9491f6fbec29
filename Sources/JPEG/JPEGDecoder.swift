// The only file of this module that handles libjpeg-turbo's pointers. They are taken from spans and a frame's planes
// for the duration of one call, after the picture's size and sampling were compared with the frame's.
import CArt
import Frames
import SystemKit

/// A decoder from a JPEG of a camera or of Guise to YUV planes, without resampling. After the first frame it allocates
/// nothing. May be passed between threads: it has one owner at a time.
@safe public struct JPEGDecoder: ~Copyable, @unchecked Sendable {
    private let handle: tjhandle

    /// Creates a decoder.
    /// - Throws: `Problem` of kind `system` if out of memory.
    public init() throws(Problem) {
        guard let handle = unsafe tjInitDecompress() else {
            throw Problem(.system, "could not start the JPEG decoder: out of memory")
        }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe tjDestroy(handle) }

    /// Decodes one picture.
    /// - Parameter frame: has the picture's size, which must be even; replaced if its format is not the picture's
    ///   sampling.
    /// - Returns: false if the picture is damaged or of another size; `frame` must not be used then.
    /// - Throws: `Problem` of kind `unusable` for a sampling without a frame format.
    public func decode(_ jpeg: Span<UInt8>, into frame: inout Frame) throws(Problem) -> Bool {
        var (width, height, sampling, colors): (CInt, CInt, CInt, CInt) = (0, 0, 0, 0)
        let isPicture = unsafe jpeg.withUnsafeBufferPointer {
            unsafe tjDecompressHeader3(handle, $0.baseAddress, UInt($0.count), &width, &height, &sampling, &colors) == 0
        }
        if !isPicture { resetAfterHeader() }
        let layout = frame.layout
        // The library writes planes of even size, whatever the picture's size.
        guard isPicture, Int(width) == layout.width, Int(height) == layout.height, width % 2 == 0, height % 2 == 0
        else { return false }
        let format = try Self.format(sampling)
        if format != layout.format {
            frame = Frame(FrameLayout(width: layout.width, height: layout.height, format: format, range: .full))
        }
        return decodePlanes(jpeg, into: &frame)
    }

    /// Makes the library forget a damaged header. Only its decoding functions do so after an error: it would read the
    /// next picture as the rest of the damaged one, and refuse it, for ever.
    private func resetAfterHeader() {
        // Nothing but the mark of a picture's beginning, so that nothing is ever written.
        let beginning: [UInt8] = [0xFF, 0xD8]
        var pixel: [UInt8] = [0]
        _ = unsafe tjDecompress2(handle, beginning, 2, &pixel, 1, 0, 1, CInt(TJPF_GRAY.rawValue), 0)
    }

    private static func format(_ sampling: CInt) throws(Problem) -> PixelFormat {
        switch sampling {
        case CInt(TJSAMP_444.rawValue): .i444
        case CInt(TJSAMP_422.rawValue): .i422
        case CInt(TJSAMP_420.rawValue): .i420
        case CInt(TJSAMP_GRAY.rawValue): .gray
        default:
            throw Problem(
                .unusable, "the camera sends JPEG with an unsupported chroma subsampling (4:4:0 or 4:1:1)",
                fix: "choose another size, or another format of the camera")
        }
    }

    private func decodePlanes(_ jpeg: Span<UInt8>, into frame: inout Frame) -> Bool {
        let layout = frame.layout
        var strides: [3 of CInt] = [0, 0, 0]
        for index in layout.planes.indices { strides[index] = CInt(layout.planes[index].stride) }
        var strideSpan = strides.mutableSpan
        var bytes = frame.mutableBytes
        return unsafe bytes.withUnsafeMutableBufferPointer { samples in
            guard let base = samples.baseAddress else { return false }
            var planes: [3 of UnsafeMutablePointer<UInt8>?] = [nil, nil, nil]
            for index in layout.planes.indices { unsafe planes[index] = unsafe base + layout.planes[index].offset }
            var planeSpan = unsafe planes.mutableSpan
            return unsafe planeSpan.withUnsafeMutableBufferPointer { planes in
                unsafe strideSpan.withUnsafeMutableBufferPointer { strides in
                    unsafe jpeg.withUnsafeBufferPointer {
                        let result = unsafe tjDecompressToYUVPlanes(
                            handle, $0.baseAddress, UInt($0.count), planes.baseAddress, CInt(layout.width),
                            strides.baseAddress, CInt(layout.height), 0)
                        return unsafe result == 0 || cart_is_padded_jpeg(handle)
                    }
                }
            }
        }
    }
}
