import CLinux
import Glibc
import SystemKit

/// The direction of a stream, as seen from the program.
public enum Direction: Sendable {
    /// From a camera to the program.
    case capture
    /// From the program to a loopback.
    case output

    var bufferType: UInt32 {
        switch self {
        case .capture: V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        case .output: V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue
        }
    }
}

/// A node's capabilities (VIDIOC_QUERYCAP): its own, not those of the whole device.
public struct Capabilities: Equatable, Sendable {
    /// The driver: "uvcvideo".
    public var driver: String
    /// The name for users: "Integrated Camera".
    public var card: String
    /// The bus address: "usb-0000:00:14.0-6".
    public var bus: String
    /// Whether the node captures video (V4L2_CAP_VIDEO_CAPTURE).
    public var isCapture: Bool
    /// Whether the node accepts video (V4L2_CAP_VIDEO_OUTPUT).
    public var isOutput: Bool
    /// Whether the node supports mapped buffers (V4L2_CAP_STREAMING).
    public var canStream: Bool

    /// Capabilities by their parts, for tests.
    public init(driver: String, card: String, bus: String, isCapture: Bool, isOutput: Bool, canStream: Bool = true) {
        (self.driver, self.card, self.bus) = (driver, card, bus)
        (self.isCapture, self.isOutput, self.canStream) = (isCapture, isOutput, canStream)
    }

    /// Whether the driver is v4l2loopback. Only its name is reliable: its capabilities change with its writer.
    public var isLoopback: Bool { driver == "v4l2 loopback" }

    init(_ raw: v4l2_capability) {
        let all = UInt32(V4L2_CAP_DEVICE_CAPS)
        let flags = raw.capabilities & all != 0 ? raw.device_caps : raw.capabilities
        self.init(
            driver: text(raw.driver), card: text(raw.card), bus: text(raw.bus_info),
            isCapture: flags & UInt32(V4L2_CAP_VIDEO_CAPTURE) != 0,
            isOutput: flags & UInt32(V4L2_CAP_VIDEO_OUTPUT) != 0,
            canStream: flags & UInt32(V4L2_CAP_STREAMING) != 0)
    }
}

/// An open video node, closed when it is destroyed. All V4L2 ioctls go through `control`.
public struct Device: ~Copyable {
    /// The path of the node: "/dev/video0".
    public let path: String
    /// The descriptor; readable when a captured frame is ready.
    public let descriptor: CInt
    /// The capabilities at the time of opening.
    public let capabilities: Capabilities

    /// Opens a node without disturbing other programs: only setting a format, requesting buffers or streaming does
    /// that.
    /// - Throws: `Problem` of kind `missing`, `forbidden`, `busy` or `unusable`.
    public init(path: String) throws(Problem) {
        let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.problem(errno, "could not open \(path)", path: path, opening: true) }
        var raw = v4l2_capability()
        let code = Self.control(descriptor, clinux_querycap, &raw)
        guard code == 0 else {
            close(descriptor)
            throw code == ENOTTY || code == EINVAL
                ? Problem(.unusable, "\(path) is not a video device", fix: "`guise devices` lists the video devices")
                : Self.problem(code, "could not query the capabilities of \(path)", path: path)
        }
        (self.path, self.descriptor, capabilities) = (path, descriptor, Capabilities(raw))
    }

    deinit { close(descriptor) }

    /// Makes an ioctl, and repeats it if a signal interrupts it. Returns 0 or the `errno`.
    static func control<T>(_ descriptor: CInt, _ request: UInt, _ argument: inout T) -> CInt {
        let result = unsafe withUnsafeMutablePointer(to: &argument) { argument in
            retryingInterrupted { unsafe ioctl(descriptor, request, argument) }
        }
        return result >= 0 ? 0 : errno
    }

    func control<T>(_ request: UInt, _ argument: inout T) -> CInt { Self.control(descriptor, request, &argument) }

    /// Sets a format (VIDIOC_S_FMT). The driver may choose another one: the returned format applies.
    /// - Throws: `Problem`, of kind `busy` if another program uses the device.
    public func setFormat(_ fourCC: FourCC, width: Int, height: Int, for direction: Direction) throws(Problem)
        -> StreamFormat
    {
        var format = unsafe v4l2_format()
        unsafe format.type = direction.bufferType
        unsafe format.fmt.pix.width = UInt32(clamping: width)
        unsafe format.fmt.pix.height = UInt32(clamping: height)
        unsafe format.fmt.pix.pixelformat = fourCC.rawValue
        unsafe format.fmt.pix.field = V4L2_FIELD_ANY.rawValue
        let code = unsafe control(clinux_s_fmt, &format)
        // A loopback of version 0.14 and later removes its output capability while somebody writes.
        let isTaken = code == EINVAL && direction == .output && capabilities.isLoopback
        guard code == 0 else {
            throw problem(isTaken ? EBUSY : code, "could not set \(path) to \(fourCC) \(width)x\(height)")
        }
        return unsafe StreamFormat(format.fmt.pix)
    }

    /// The current format (VIDIOC_G_FMT); nil if there is none.
    public func format(for direction: Direction) -> StreamFormat? {
        var format = unsafe v4l2_format()
        unsafe format.type = direction.bufferType
        return unsafe control(clinux_g_fmt, &format) == 0 ? StreamFormat(format.fmt.pix) : nil
    }

    /// Sets the frame rate in frames per second (VIDIOC_S_PARM), and returns the granted one; nil if it cannot be set.
    @discardableResult
    public func setRate(_ rate: Double, for direction: Direction) -> Double? {
        // Rates such as 29.97 are given in thousandths.
        let whole = rate == rate.rounded()
        var wanted = v4l2_fract()
        wanted.numerator = whole ? 1 : 1000
        wanted.denominator = UInt32(clamping: Int((whole ? rate : rate * 1000).rounded()))
        var parameters = v4l2_streamparm()
        parameters.type = direction.bufferType
        let granted: v4l2_fract
        switch direction {
        case .capture: unsafe parameters.parm.capture.timeperframe = wanted
        case .output: unsafe parameters.parm.output.timeperframe = wanted
        }
        guard control(clinux_s_parm, &parameters) == 0 else { return nil }
        switch direction {
        case .capture: granted = unsafe parameters.parm.capture.timeperframe
        case .output: granted = unsafe parameters.parm.output.timeperframe
        }
        return granted.rate
    }

    /// Starts the stream (VIDIOC_STREAMON). Returns 0 or the `errno`, whose meaning depends on the driver.
    public func start(_ direction: Direction) -> CInt {
        var type = direction.bufferType
        return control(clinux_streamon, &type)
    }

    /// Stops the stream (VIDIOC_STREAMOFF). Errors are ignored: a device that was unplugged has stopped anyway.
    public func stop(_ direction: Direction) {
        var type = direction.bufferType
        _ = control(clinux_streamoff, &type)
    }

    /// Writes `bytes` with one write(2). Returns the number of bytes written, or the negative `errno`.
    public func write(_ bytes: Span<UInt8>) -> Int {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            let count = retryingInterrupted {
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            return count >= 0 ? count : -Int(errno)
        }
    }
}

extension v4l2_fract {
    /// The frame rate of a frame interval, in frames per second; nil if it is invalid.
    var rate: Double? { numerator > 0 && denominator > 0 ? Double(denominator) / Double(numerator) : nil }
}

/// The string in a C array of characters, up to the first zero.
func text<Characters>(_ characters: Characters) -> String {
    unsafe withUnsafeBytes(of: characters) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
