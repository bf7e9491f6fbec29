import Frames
import Glibc
import SystemKit
import V4L2

/// A V4L2 capture device that streams memory-mapped buffers.
///
/// Poll `descriptor` for reading, and call `withFrame` at least once a second even if nothing arrived: only that call
/// detects a stalled camera. A JPEG camera's `layout` is a guess until its first frame has been decoded; the view that
/// is lent always has the right one.
public struct Camera: FrameSource, ~Copyable {
    /// The camera for the user, such as "Integrated Camera (/dev/video0), YUYV 1280x720 at 30 fps".
    public let description: String
    /// The camera's name and bus, which find it again under another device number.
    public let identity: Identity
    /// The layout of the last frame; for JPEG cameras see above.
    public private(set) var layout: FrameLayout
    /// The frame rate that the driver granted; nil if it does not report one.
    public let rate: Double?
    /// True: frames arrive in real time.
    public let isLive = true

    private var ring: BufferRing
    private let decoder: FrameDecoder
    private let isNative: Bool
    /// The last decoded frame; a single pixel if the camera's own bytes are lent.
    private var decoded: Frame
    /// Frames that could not be decoded. The ring counts short and broken ones.
    private var undecodable = 0
    private var clock = FrameClock()
    /// The last frame's time, and its buffer, which is queued again when the next frame arrives; nil if it was queued
    /// at once, since the frame was decoded.
    private var last: (filled: BufferRing.DequeuedBuffer?, time: FrameTime)?
    /// When the last frame arrived, or the stream was started, in monotonic seconds.
    private var lastSign: Double

    /// Seconds without a frame after which a camera counts as lost. Slow cameras need two seconds to start.
    static let timeout = 5.0
    /// The least number of buffers with which one is kept while the driver fills the others.
    private static let spareBuffers = 3

    /// The device node, such as "/dev/video0".
    public var path: String { ring.device.path }
    /// The current values of the camera's controls, such as brightness.
    public var settings: [ControlSetting] { ring.device.settings }
    /// Sets some of the camera's controls.
    public func set(_ settings: [ControlSetting]) { ring.device.set(settings) }
    /// Sets controls by their names, as far as the camera has them.
    public func restore(_ values: [String: Int32]) { ring.device.restore(values) }

    /// Readable when a frame is available.
    public var descriptor: CInt? { ring.device.descriptor }
    /// The number of frames that were short, marked as broken, or could not be decoded.
    public var damaged: Int { ring.damaged + undecodable }

    /// Starts a camera in the mode nearest to the requested size and rate.
    /// - Parameters:
    ///   - path: the device node, or a link to it; nil: the first camera that is not a loopback.
    ///   - width: pixels.
    ///   - height: pixels.
    ///   - rate: frames per second.
    ///   - format: the V4L2 FourCC of the only format to use, such as "MJPG"; nil: the cheapest suitable one.
    /// - Throws: `Problem` of kind `missing`, `busy`, `forbidden`, `unusable` or `system`.
    public init(path: String?, width: Int, height: Int, rate: Double, format: String? = nil) throws {
        let path = try path.map { realPath(of: $0) ?? $0 } ?? Self.best(in: listDevices())
        let device = try Device(path: path)
        guard !device.isOwnCamera else {
            throw Problem(
                .unusable, "\(path) is the camera that Guise itself presents", fix: "choose another with --source")
        }
        try Self.check(device.capabilities, of: path)
        let mode = try Self.mode(of: device, width: width, height: height, rate: rate, only: format)
        let granted = try device.setFormat(mode.fourCC, width: mode.width, height: mode.height, for: .capture)
        let grantedRate = device.setRate(mode.rate ?? rate, for: .capture) ?? mode.rate

        let decoder = try FrameDecoder(granted, descriptor: device.descriptor)
        let layout = decoder.layout(of: granted)
        let isNative = granted.layout != nil
        let speed = grantedRate.map { " at \(rateText($0)) fps" } ?? ""
        let description = "\(device.capabilities.card) (\(path)), \(granted)\(speed)"
        let identity = Identity(card: device.capabilities.card, bus: device.capabilities.bus)
        let ring = try BufferRing(device, shortest: isNative ? layout.byteCount : 2)

        (self.description, self.layout, self.rate, self.isNative) = (description, layout, grantedRate, isNative)
        self.identity = identity
        self.ring = ring
        self.decoder = decoder
        decoded = Frame(isNative ? .onePixel : layout)
        lastSign = monotonicSeconds()
    }

    /// Lends the newest frame; older ones are queued again unread.
    /// - Throws: `Problem` of kind `gone` if the camera was unplugged or has stalled, and what `body` throws.
    public mutating func withFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws
        -> FrameResult
    {
        let now = monotonicSeconds()
        guard let filled = try ring.dequeueNewest() else {
            guard now - lastSign < Self.timeout else { throw stalled }
            return .nothing
        }
        requeueLastBuffer()
        guard try decoder.decode(ring.bytes(of: filled), into: &decoded) else {
            ring.requeue(filled)
            undecodable += 1
            // A camera whose every frame is damaged counts as stalled.
            guard now - lastSign < Self.timeout else { throw stalled }
            return .nothing
        }
        var time = clock.stamp(filled.time ?? now, arrival: now)
        time.captureTime = filled.time ?? now
        lastSign = now
        if !isNative { layout = decoded.layout }
        guard isNative else {
            // A decoded frame is a copy, so its buffer is free.
            ring.requeue(filled)
            last = (nil, time)
            try body(decoded.view, time)
            return .frame
        }
        last = (filled, time)
        // Drivers with few buffers need each of them.
        defer { if ring.count < Self.spareBuffers { requeueLastBuffer() } }
        try body(FrameView(layout: layout, bytes: ring.bytes(of: filled)), time)
        return .frame
    }

    /// Lends the last frame again.
    public mutating func withLastFrame(
        _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
    ) throws -> Bool {
        guard let last else { return false }
        if let filled = last.filled {
            try body(FrameView(layout: layout, bytes: ring.bytes(of: filled)), last.time)
        } else {
            try body(decoded.view, last.time)
        }
        return true
    }

    private mutating func requeueLastBuffer() {
        if let filled = last?.filled { ring.requeue(filled) }
        last = nil
    }

    private var stalled: Problem {
        Problem(
            .gone, "lost the camera \(ring.device.path): no good frame for \(Int(Self.timeout)) seconds",
            fix: "unplug it and plug it in again, or restart what feeds it")
    }
}

extension Camera {
    /// A camera's name and bus.
    public struct Identity: Equatable, Sendable {
        /// The card name, such as "Integrated Camera".
        public let card: String
        /// The bus, such as "usb-0000:00:14.0-6".
        public let bus: String

        /// The camera's current device node: on the same bus, otherwise one of the same name; nil if there is none.
        public var path: String? {
            let devices = listDevices().filter { $0.capabilities?.card == card && $0.capabilities?.isCapture == true }
            return (devices.first { $0.capabilities?.bus == bus } ?? devices.first)?.path
        }
    }

    /// The first camera by device number: colour cameras before others, and real ones before other programs' loopbacks.
    /// - Throws: `Problem` if there is none.
    public static func best(in listings: [DeviceListing]) throws(Problem) -> String {
        // Infrared cameras, which send only grey, are used only if there is no other.
        let cameras = listings.filter(\.isCamera)
        let best = cameras.first { $0.hasColor && !$0.isLoopback } ?? cameras.first(where: \.hasColor) ?? cameras.first
        if let best { return best.path }
        let others = listings.filter { !$0.isLoopback && !$0.isOwnCamera }
        if let shut = others.first(where: { $0.problem != nil })?.problem { throw shut }
        if let odd = others.first(where: { $0.capabilities?.isCapture == true }) {
            throw noFormat(odd.path, odd.supportedFormats.map(\.fourCC))
        }
        let seen = listings.map(\.path).joined(separator: ", ")
        throw Problem(
            .missing, seen.isEmpty ? "no camera was found" : "no camera was found among \(seen)",
            fix: "plug one in, or play a clip with --source FILE")
    }

    private static func check(_ capabilities: Capabilities, of path: String) throws(Problem) {
        guard !capabilities.isCapture || !capabilities.canStream else { return }
        if capabilities.isLoopback {
            throw Problem(
                .unusable, "\(path) is a loopback device that no program writes to",
                fix: "start the program that writes to it first")
        }
        throw Problem(.unusable, "\(path) is not a camera", fix: "`guise devices` lists the cameras")
    }

    private static func mode(
        of device: borrowing Device, width: Int, height: Int, rate: Double, only: String?
    ) throws(Problem) -> Mode {
        var formats = device.supportedFormats(for: .capture)
        if formats.isEmpty {
            // Old drivers list no sizes, and grant the nearest that they have.
            formats = device.formats(for: .capture).map {
                SupportedFormat(
                    fourCC: $0, width: SupportedFormat.SizeRange(width), height: SupportedFormat.SizeRange(height),
                    rates: .unknown)
            }
        }
        let known = formats.map(\.fourCC)
        if let only { formats.removeAll { $0.fourCC != FourCC(only) } }
        guard let mode = Mode.nearest(in: formats, width: width, height: height, rate: rate) else {
            throw noFormat(device.path, known)
        }
        return mode
    }

    private static func noFormat(_ path: String, _ formats: [FourCC]) -> Problem {
        let names = Set(formats).map(\.description).sorted().joined(separator: ", ")
        return Problem(
            .unusable, "\(path) has no usable format: it offers \(names.isEmpty ? "none" : names)",
            fix: "choose another camera with --source; `guise devices` lists them")
    }
}

/// A frame counter that gives each frame's number and time since the first.
struct FrameClock {
    private var number = 0
    private var first = 0.0
    private var last: (seconds: Double, arrival: Double)?

    /// The least seconds between two frames.
    private static let step = 0.001

    /// The time of a frame; always after that of the last one, since a frame with the same time counts as the same
    /// frame, whose outline of the people is known. Some loopbacks repeat frames with older timestamps, and those of
    /// some cameras jump ahead and back: then the time goes on as the frames arrive.
    /// - Parameters:
    ///   - seconds: the driver's timestamp.
    ///   - arrival: monotonic seconds.
    mutating func stamp(_ seconds: Double, arrival: Double) -> FrameTime {
        var time = 0.0
        if let last {
            time = seconds - first
            if time < last.seconds + Self.step { time = last.seconds + max(Self.step, arrival - last.arrival) }
        } else {
            first = seconds
        }
        last = (time, arrival)
        defer { number += 1 }
        return FrameTime(number: number, seconds: time)
    }
}

/// Seconds of the monotonic clock, which V4L2 uses for frame timestamps.
func monotonicSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}
