import FoundationEssentials
import Frames
import Privacy
import Glibc
import SystemKit
import V4L2

/// A v4l2loopback device, which applications see as a camera.
///
/// Frames are written with one write(2) each, which every version of the driver accepts and none blocks in. The stream
/// is started in the one order that works from 0.12 to 0.15: format, rate, VIDIOC_STREAMON, and never VIDIOC_REQBUFS,
/// after which 0.14 and later refuse write.
public struct Loopback: FrameSink, ~Copyable {
    /// The sink for the user, such as "Guise Camera (/dev/video10), YUYV 1280x720".
    public let description: String
    /// The layout that the driver granted; frames must have it.
    public let layout: FrameLayout

    private let device: Device
    private let lock: DeviceLock
    private var readers: ReaderWatch
    private let crashPlaceholder: CrashPlaceholder
    /// The number of writes after which the placeholder is in all of the driver's buffers.
    private let placeholderWrites: Int

    /// Opens a loopback and starts its stream. `layout` is what the driver granted: a size or format that is already
    /// fixed is adopted.
    /// - Parameters:
    ///   - path: the device node; nil: the first free loopback labelled "Guise Camera", otherwise the first free one
    ///     without a label of its own.
    ///   - width: pixels, rounded down to even.
    ///   - height: pixels, rounded down to even.
    ///   - rate: frames per second reported to readers.
    ///   - lockFolder: the folder of the lock against a second writer; nil: this user's runtime folder.
    /// - Throws: `Problem` of kind `missing`, `busy`, `forbidden`, `unusable` or `system`.
    public init(path: String?, width: Int, height: Int, rate: Double, lockFolder: String? = nil) throws {
        let folder = try lockFolder ?? DeviceLock.runtimeFolder()
        var refusal: Problem?
        for candidate in try path.map({ [$0] }) ?? Self.candidates(in: listDevices()) {
            do throws(Problem) {
                self = try Self(candidate, width: max(2, width & ~1), height: max(2, height & ~1), rate, folder)
                return
            } catch {
                refusal = refusal ?? error
            }
        }
        throw refusal ?? Self.noLoopback
    }

    private init(_ path: String, width: Int, height: Int, _ rate: Double, _ folder: String) throws(Problem) {
        let device = try Device(path: path)
        let (driver, card) = (device.capabilities.driver, device.capabilities.card)
        guard device.capabilities.isLoopback else {
            throw Problem(
                .unusable, "\(path) is not a loopback device but \(card) (\(driver))",
                fix: "`guise devices` lists the loopbacks"
            )
        }
        let lock = try DeviceLock(device: path, folder: folder)
        try Self.refuseForeignWriter(device)
        let granted = try Self.format(device, width: width, height: height)
        guard let layout = Self.layout(of: granted) else {
            throw Problem(
                .unusable, "could not write to \(path): its format is fixed at \(granted)",
                fix: "close the programs that use it, or reload v4l2loopback")
        }
        device.setRate(rate, for: .output)
        let plain = Placeholder(plain: layout)
        if device.refusesSecondWrite {
            let written = device.write(plain.frame.view.bytes.extracting(first: layout.byteCount))
            guard written != -Int(EINVAL) else { throw device.problem(EBUSY, "could not write to \(path)") }
        }
        let code = device.start(.output)
        // 0.14 and later start with the first write, and return EINVAL here. 0.12 offers the device again after the end
        // only if it was started this way.
        guard code == 0 || code == EINVAL else { throw device.problem(code, "could not start the stream of \(path)") }
        let writes = 1 + max(2, min(32, device.bufferCount ?? 2))
        // Created before the guard process, which has the node open too.
        let readers = ReaderWatch(device)
        let crashPlaceholder = try CrashPlaceholder(
            device: device, format: granted.fourCC, layout, writeCount: writes, lock: lock)
        crashPlaceholder.update(plain.frame)
        (self.layout, description, placeholderWrites) = (layout, "\(card) (\(path)), \(granted)", writes)
        self.readers = readers
        self.crashPlaceholder = crashPlaceholder
        self.device = device
        self.lock = lock
    }

    deinit { device.stop(.output) }

    /// Sets the picture that the guard process leaves on the device.
    public mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {
        crashPlaceholder.update(placeholder)
    }

    /// Reported by newer drivers, polled with others.
    public var readerNotice: ReaderNotice { readers.notice }

    /// Returns true while a program reads from the device.
    public mutating func hasReaders(at now: UInt64) -> Bool? { readers.hasReaders(at: now) }

    /// Delivers one frame to all readers; never waits.
    /// - Throws: `Problem` of kind `gone` or `busy` if another program has taken over the device, `invalid` for a frame
    ///   of another layout.
    public mutating func publish(_ frame: borrowing PublishableFrame) throws {
        guard frame.layout == layout else {
            throw Problem(.invalid, "a frame of \(frame.layout) does not fit \(description)")
        }
        let size = layout.byteCount
        let count = device.write(frame.view.bytes.extracting(first: size))
        guard count != size else { return }
        let what = "could not write to \(device.path)"
        switch -count {
        case let short where short <= 0:
            throw Problem(
                .gone, "\(what): it accepted \(count) of \(size) bytes, because another program changed its format",
                fix: "stop that program")
        case Int(EINVAL): throw device.problem(EBUSY, what)
        case let code: throw device.problem(CInt(clamping: code), what)
        }
    }

    /// Writes `placeholder` to every buffer of the driver, so that none contains a face, and gives readers time to read
    /// it: stopping empties the queue of some versions.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {
        for _ in 0..<placeholderWrites {
            try publish(placeholder)
            usleep(UInt32(200_000 / placeholderWrites))
        }
    }
}

extension Loopback {
    /// The loopbacks that may be written to, the best one first.
    /// - Throws: `missing` if there is none.
    static func candidates(in listings: [DeviceListing]) throws(Problem) -> [String] {
        let usable = listings.loopbacksForGuise
        guard usable.isEmpty else { return usable.map(\.path) }
        let others = listings.filter(\.isLoopback)
        guard let other = others.first else { throw noLoopback }
        throw Problem(
            .missing,
            "there is no loopback for Guise: \(others.map(\.title).joined(separator: ", ")) was set up for another program",
            fix: "create one with `guise install`, or use that one with --sink \(other.path)")
    }

    /// The layout to write; nil for odd sizes and formats that we cannot produce.
    static func layout(of granted: StreamFormat) -> FrameLayout? {
        let formats: [PixelFormat] = [.yuyv, .uyvy, .nv12, .i420]
        guard let format = granted.fourCC.pixelFormat, formats.contains(format), granted.layout != nil,
            granted.width % 2 == 0, granted.height % 2 == 0
        else { return nil }
        // Readers expect unpadded rows, whatever the driver reports as its bytesperline.
        return FrameLayout(width: granted.width, height: granted.height, format: format)
    }

    /// Throws `busy` if another program writes to the device. Before 0.14 a second writer's frames mix with the first
    /// one's, and only the driver's state shows it: VIDEO_OUTPUT missing, or a stream. A writer that has ended may
    /// leave either.
    private static func refuseForeignWriter(_ device: borrowing Device) throws(Problem) {
        let isTaken = device.capabilities.isCapture && !device.capabilities.isOutput || device.hasStream
        guard device.mixesWriters, isTaken, mayHaveWriter(device) else { return }
        throw device.problem(EBUSY, "could not write to \(device.path)")
    }

    /// Whether another program may write to the device. It is free if nobody has it open; those that have it open are
    /// mostly readers. 0.13, which keeps a stream as long as a reader remains, is tested by a write instead.
    private static func mayHaveWriter(_ device: borrowing Device) -> Bool {
        !device.refusesSecondWrite && Device.isOpenElsewhere(device.path)
    }

    /// Sets YUYV. A writer that has ended may have left its format behind; 0.13 reports that as busy instead of
    /// granting its current format, so this requests that one.
    private static func format(_ device: borrowing Device, width: Int, height: Int) throws(Problem) -> StreamFormat {
        do throws(Problem) {
            return try device.setFormat("YUYV", width: width, height: height, for: .output)
        } catch {
            guard error.kind == .busy, !mayHaveWriter(device), let kept = device.format(for: .output) else {
                throw error
            }
            return try device.setFormat(kept.fourCC, width: kept.width, height: kept.height, for: .output)
        }
    }

    /// The shell command that loads v4l2loopback as browsers need it.
    public static let loadCommand =
        "sudo modprobe v4l2loopback exclusive_caps=1 card_label=\"\(DeviceListing.ownLabel)\""

    private static var noLoopback: Problem {
        let isLoaded = FileManager.default.fileExists(atPath: "/sys/module/v4l2loopback")
        return Problem(
            .missing, isLoaded ? "v4l2loopback has no device" : "no loopback was found: v4l2loopback is not loaded",
            fix: """
                install v4l2loopback-dkms and load it with \
                `\(loadCommand)`
                """)
    }
}
