import CLinux
import Frames
import Glibc

/// The direction of a stream, seen from the program.
public enum Direction: Sendable {
    case capture
    case output

    var bufferType: UInt32 {
        switch self {
        case .capture: V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        case .output: V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue
        }
    }
}

/// What a node says of itself (VIDIOC_QUERYCAP), by its own capabilities and not those of the whole card.
public struct Capabilities: Equatable, Sendable {
    /// The kernel module: "uvcvideo".
    public var driver: String
    /// What the user reads: "Integrated Camera".
    public var card: String
    /// Where it is plugged in: "usb-0000:00:14.0-6".
    public var bus: String
    /// It gives pictures.
    public var isCapture: Bool
    /// It takes pictures.
    public var isOutput: Bool
    /// It maps buffers (V4L2_CAP_STREAMING).
    public var canStream: Bool

    /// Capabilities that are made up, for tests.
    public init(driver: String, card: String, bus: String, isCapture: Bool, isOutput: Bool, canStream: Bool = true) {
        (self.driver, self.card, self.bus) = (driver, card, bus)
        (self.isCapture, self.isOutput, self.canStream) = (isCapture, isOutput, canStream)
    }

    /// The driver's name is the one sure sign: its capabilities come and go with its writer.
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

/// An open video node; closed with the value. All requests to the kernel's V4L2 go through `control`.
public struct Device: ~Copyable {
    /// "/dev/video0".
    public let path: String
    /// Readable when a captured frame is there.
    public let descriptor: CInt
    /// As they were when it was opened.
    public let capabilities: Capabilities

    /// Opens a node without taking anything from others: only a format, buffers or a stream do that.
    /// - Throws: `Problem` of kind `missing`, `forbidden`, `busy` or `unusable`.
    public init(path: String) throws(Problem) {
        let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.problem(errno, "could not open \(path)", path: path, opening: true) }
        var raw = v4l2_capability()
        let code = Self.control(descriptor, clinux_querycap, &raw)
        guard code == 0 else {
            close(descriptor)
            throw code == ENOTTY || code == EINVAL
                ? Problem(.unusable, "\(path) is not a video device", fix: "`guise devices` lists those that are")
                : Self.problem(code, "could not ask \(path) what it is", path: path)
        }
        (self.path, self.descriptor, capabilities) = (path, descriptor, Capabilities(raw))
    }

    deinit { close(descriptor) }

    /// One request, repeated where a signal interrupted it. Returns 0 or the error's number.
    static func control<T>(_ descriptor: CInt, _ request: UInt, _ argument: inout T) -> CInt {
        while true {
            let result = unsafe withUnsafeMutablePointer(to: &argument) { unsafe ioctl(descriptor, request, $0) }
            if result >= 0 { return 0 }
            let code = errno
            if code != EINTR { return code }
        }
    }

    func control<T>(_ request: UInt, _ argument: inout T) -> CInt { Self.control(descriptor, request, &argument) }

    /// Asks for a format. The driver may grant another: obey what it returns (VIDIOC_S_FMT).
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
        // A loopback of 0.14 and later takes back its output side while somebody writes.
        let isTaken = code == EINVAL && direction == .output && capabilities.isLoopback
        guard code == 0 else {
            throw problem(isTaken ? EBUSY : code, "could not set \(path) to \(fourCC) \(width)x\(height)")
        }
        return unsafe StreamFormat(format.fmt.pix)
    }

    /// The format that is set (VIDIOC_G_FMT); nil where there is none.
    public func format(for direction: Direction) -> StreamFormat? {
        var format = unsafe v4l2_format()
        unsafe format.type = direction.bufferType
        return unsafe control(clinux_g_fmt, &format) == 0 ? StreamFormat(format.fmt.pix) : nil
    }

    /// Asks for a rate in frames per second and returns what was granted; nil where the device has none to set.
    @discardableResult
    public func setRate(_ rate: Double, for direction: Direction) -> Double? {
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

    /// Starts the stream (VIDIOC_STREAMON). Returns 0 or the error's number, whose meaning depends on the driver.
    public func start(_ direction: Direction) -> CInt {
        var type = direction.bufferType
        return control(clinux_streamon, &type)
    }

    /// Stops the stream (VIDIOC_STREAMOFF). A device that has gone has stopped, so that errors say nothing.
    public func stop(_ direction: Direction) {
        var type = direction.bufferType
        _ = control(clinux_streamoff, &type)
    }

    /// One write(2) of all of `bytes`. Returns the count that was taken, or the error's number as a negative.
    public func write(_ bytes: Span<UInt8>) -> Int {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            while true {
                let count = unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
                if count >= 0 { return count }
                let code = errno
                if code != EINTR { return -Int(code) }
            }
        }
    }
}

extension v4l2_fract {
    /// The rate of a frame interval in frames per second; nil for nonsense.
    var rate: Double? { numerator > 0 && denominator > 0 ? Double(denominator) / Double(numerator) : nil }
}

/// The text in one of C's arrays of characters, up to its zero.
func text<Characters>(_ characters: Characters) -> String {
    unsafe withUnsafeBytes(of: characters) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
