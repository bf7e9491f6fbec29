import FoundationEssentials
import Frames
import Privacy
import Glibc
import V4L2

/// A v4l2loopback device: what an application sees as a camera.
///
/// Written with one write(2) a frame, which every version of the driver takes and none blocks in. The order of the
/// start is the one that works from 0.12 to 0.15: format, rate, VIDIOC_STREAMON, and never VIDIOC_REQBUFS, after which
/// 0.14 and later refuse write.
public struct Loopback: FrameSink, ~Copyable {
    /// "Guise Camera (/dev/video10), YUYV 1280x720".
    public let description: String
    /// What the driver granted; frames must have it.
    public let layout: FrameLayout

    private let device: Device
    private let lock: DeviceLock
    private var readers: ReaderWatch
    private let crashPlaceholder: CrashPlaceholder
    /// Writes after which the card is in all of the driver's buffers.
    private let placeholderWrites: Int

    /// The card label that our set-up gives to its device.
    static let ownCardLabel = "Guise Camera"

    /// Takes a loopback and starts its stream. `layout` is what the driver granted: a size or format that others fixed
    /// before is obeyed.
    /// - Parameters:
    ///   - path: the node; nil: the free loopback that is called "Guise Camera", else the first free one.
    ///   - width: pixels, rounded down to even.
    ///   - height: pixels, rounded down to even.
    ///   - rate: frames per second that readers are told.
    ///   - lockFolder: where the lock against a second writer lies; nil: this user's runtime folder.
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
                .unusable, "\(path) is no loopback but \(card) (\(driver))", fix: "`guise devices` lists the loopbacks"
            )
        }
        let lock = try DeviceLock(device: path, folder: folder)
        try Self.refuseForeignWriter(device)
        let granted = try Self.format(device, width: width, height: height)
        guard let layout = Self.layout(of: granted) else {
            throw Problem(
                .unusable, "could not write to \(path): it is fixed at \(granted)",
                fix: "close the programs that use it, or load v4l2loopback anew")
        }
        device.setRate(rate, for: .output)
        let plain = Placeholder(plain: layout)
        if device.refusesSecondWrite {
            let written = device.write(plain.frame.view.bytes.extracting(first: layout.byteCount))
            guard written != -Int(EINVAL) else { throw device.problem(EBUSY, "could not write to \(path)") }
        }
        let code = device.start(.output)
        // 0.14 and later start with the first write, and say EINVAL here. 0.12 offers the device again after the end
        // only if it was started so.
        guard code == 0 || code == EINVAL else { throw device.problem(code, "could not start the stream of \(path)") }
        let writes = 1 + max(2, min(32, device.bufferCount ?? 2))
        // Before the guard, which has the node open too.
        let readers = ReaderWatch(device)
        let crashPlaceholder = try CrashPlaceholder(
            device: device, format: granted.fourCC, layout, writes: writes, lock: lock)
        crashPlaceholder.update(plain.frame)
        (self.layout, description, placeholderWrites) = (layout, "\(card) (\(path)), \(granted)", writes)
        self.readers = readers
        self.crashPlaceholder = crashPlaceholder
        self.device = device
        self.lock = lock
    }

    deinit { device.stop(.output) }

    /// For the guard.
    public mutating func setCrashPlaceholder(_ placeholder: borrowing PublishableFrame) {
        crashPlaceholder.update(placeholder)
    }

    /// When readers come and go.
    public var readerEvents: ReaderEvents? { readers.events }

    /// True while a program reads from the device.
    public mutating func isWatched(at now: UInt64) -> Bool? { readers.isRead(at: now) }

    /// Gives one frame to all who read; never waits.
    /// - Throws: `gone` or `busy` where another program has taken the device over.
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
                .gone, "\(what): it took \(count) bytes of \(size), so that its format was changed by another program",
                fix: "stop that program")
        case Int(EINVAL): throw device.problem(EBUSY, what)
        case let code: throw device.problem(CInt(clamping: code), what)
        }
    }

    /// Leaves `placeholder` in every buffer of the driver, so that none keeps a face, and gives readers time to take it:
    /// stopping empties the queue of some versions.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {
        for _ in 0..<placeholderWrites {
            try publish(placeholder)
            usleep(UInt32(200_000 / placeholderWrites))
        }
    }
}

extension Loopback {
    /// All loopbacks, our own first, then by number.
    static func candidates(in listings: [DeviceListing]) throws(Problem) -> [String] {
        let loopbacks = listings.filter(\.isLoopback)
        let own = loopbacks.filter { ($0.capabilities?.card ?? $0.name) == ownCardLabel }
        let others = loopbacks.filter { ($0.capabilities?.card ?? $0.name) != ownCardLabel }
        guard !loopbacks.isEmpty else { throw noLoopback }
        return (own + others).map(\.path)
    }

    /// The layout to write; nil for formats that are not ours to make, and odd sizes.
    static func layout(of granted: StreamFormat) -> FrameLayout? {
        let formats: [PixelFormat] = [.yuyv, .uyvy, .nv12, .i420]
        guard let format = granted.fourCC.pixelFormat, formats.contains(format), granted.layout != nil,
            granted.width % 2 == 0, granted.height % 2 == 0
        else { return nil }
        // Readers take the rows as unpadded, whatever the driver keeps as its bytesperline.
        return FrameLayout(width: granted.width, height: granted.height, format: format)
    }

    /// Before 0.14 a second writer's frames mix with the first one's, and only what the driver shows tells of it: no
    /// VIDEO_OUTPUT, or a stream. Either may also be left by a writer that has ended.
    private static func refuseForeignWriter(_ device: borrowing Device) throws(Problem) {
        let isTaken = device.capabilities.isCapture && !device.capabilities.isOutput || device.hasStream
        guard device.mixesWriters, isTaken, mayHaveWriter(device) else { return }
        throw device.problem(EBUSY, "could not write to \(device.path)")
    }

    /// Where nobody holds the device it is free. Who does is mostly a reader; 0.13, which leaves its stream behind under one
    /// that stays, is asked by a write instead.
    private static func mayHaveWriter(_ device: borrowing Device) -> Bool {
        !device.refusesSecondWrite && Device.isOpenElsewhere(device.path)
    }

    /// Asks for YUYV. A writer that has ended may have left its format behind; 0.13 calls that busy instead of granting
    /// what it has, and grants that when asked for it.
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

    private static var noLoopback: Problem {
        let isLoaded = FileManager.default.fileExists(atPath: "/sys/module/v4l2loopback")
        return Problem(
            .missing, isLoaded ? "v4l2loopback has no device" : "no loopback was found: v4l2loopback is not loaded",
            fix: """
                install v4l2loopback-dkms and load it with \
                `sudo modprobe v4l2loopback exclusive_caps=1 card_label="\(ownCardLabel)"`
                """)
    }
}
