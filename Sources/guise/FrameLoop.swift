import CLinux
import Capture
import Compose
import Frames
import Glibc

/// SIGINT and SIGTERM as a descriptor, so that the frame loop hears them where it waits anyway.
///
/// Made before any other thread is started, for the others inherit that these signals wait.
struct Signals: ~Copyable {
    let descriptor: CInt

    init() throws {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        descriptor = unsafe signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK))
        guard descriptor >= 0 else { throw Problem(.system, "signalfd failed: \(message(of: errno))") }
    }

    deinit { close(descriptor) }
}

/// The main thread: waits for a frame, has it dressed, publishes it. Once warm it allocates nothing and never logs.
struct FrameLoop: ~Copyable {
    private let signals: Signals
    /// Nanoseconds from one frame to the next.
    private let interval: UInt64
    /// Frames are held back to the source's own times.
    private let isPaced: Bool
    private var started: UInt64 = 0
    private var published: UInt64 = 0
    private var arrived: UInt64 = 0

    /// A camera that gives nothing for so long is told as stalled, seconds.
    private static let patience: UInt64 = 10
    /// Readers of a virtual camera give up after a second without a frame: long before, the last one is given again.
    private static let gap: UInt64 = 250_000_000

    init(signals: consuming Signals, rate: Double, isPaced: Bool) {
        self.signals = signals
        self.isPaced = isPaced
        interval = UInt64(1_000_000_000 / max(rate, 0.1))
    }

    /// Runs until the source ends or a signal comes.
    mutating func run(
        _ source: inout any FrameSource & ~Copyable, _ pipeline: inout Pipeline, _ outputs: [Output]
    ) throws {
        started = monotonicTime()
        (published, arrived) = (0, started)
        while true {
            guard try wait(source) else { return }
            // A camera faster than the output: what comes within three quarters of an interval is let go unseen.
            let now = monotonicTime()
            let early = source.isLive && now < published + interval * 3 / 4
            var taken = 0.0
            let arrival = try source.withFrame { view, time in
                guard !early else { return }
                try pipeline.dress(view, at: time)
                taken = time.seconds
            }
            switch arrival {
            case .end: return
            case .nothing:
                if source.isLive { try bridge(pipeline, outputs, source.description) }
            case .frame:
                arrived = monotonicTime()
                guard !early else { continue }
                if isPaced, !pause(until: started + UInt64(taken * 1_000_000_000)) { return }
                for output in outputs { try output.publish(pipeline.canvas.frame.view) }
                // The time of arrival, so that a frame that was long in the making does not make the next seem early.
                published = now
            }
        }
    }

    /// Waits until the source may have a frame. False: a signal came.
    private func wait(_ source: borrowing any FrameSource & ~Copyable) throws -> Bool {
        var polled: [2 of pollfd] = [
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: source.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        // A source without a descriptor always has one.
        let timeout = source.descriptor == nil ? 0 : CInt(Self.gap / 1_000_000)
        var span = polled.mutableSpan
        let count = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, 2, timeout) }
        guard count >= 0 || errno == EINTR else { throw Problem(.system, "poll failed: \(message(of: errno))") }
        return polled[0].revents == 0
    }

    /// Gives the last frame again while a camera is late, and says when it is more than that.
    private mutating func bridge(
        _ pipeline: borrowing Pipeline, _ outputs: [Output], _ source: String
    ) throws {
        let now = monotonicTime()
        guard now < arrived + Self.patience * 1_000_000_000 else {
            throw Problem(
                .gone, "\(source) has given no frame for \(Self.patience) s", cure: "plug the camera in again")
        }
        guard published > 0, now >= published + Self.gap else { return }
        for output in outputs { try output.publish(pipeline.canvas.frame.view) }
        published = now
    }

    /// Sleeps until a moment of the monotonic clock. False: a signal came first.
    private func pause(until moment: UInt64) -> Bool {
        while true {
            let now = monotonicTime()
            guard now < moment else { return true }
            let left = moment - now
            guard left >= 1_000_000 else {
                // poll counts whole milliseconds; the rest is slept.
                usleep(UInt32(left / 1000))
                return true
            }
            var polled = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
            let count = unsafe poll(&polled, 1, CInt(clamping: left / 1_000_000))
            if count > 0 { return false }
        }
    }
}
