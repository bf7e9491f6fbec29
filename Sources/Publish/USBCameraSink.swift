import Frames
import Glibc
import Privacy
import SystemKit
import V4L2

/// The USB camera of the service `guise-camera`, which applications see as a webcam.
///
/// Each reader chooses a size, to which the sink scales frames of other sizes. Frames are copied only while somebody
/// reads. If the service ends, the sink goes on without it, and connects again by itself.
public struct USBCameraSink: FrameSink, ~Copyable {
    /// The sink for the user: "Guise Camera (USB)".
    public let description = DeviceListing.ownUSBTitle
    /// The layout of frames if the reader's size doesn't matter: YUYV without padding.
    public let layout: FrameLayout

    private let path: String
    /// Made here and not with the first link, because it waits for a thread.
    private let lifeline = Lifeline.descriptor
    private var link: CameraLink?
    /// The last frame in the reader's size, if it came in another one.
    private var scaled = ScaledCopy()
    /// The layout of what was scaled last.
    private var readerLayout: FrameLayout
    /// When connecting was tried last, nanoseconds.
    private var tried: UInt64 = 0
    /// Why the last connection was refused; nil: it was not.
    private var refusal: Problem?

    /// Where the service listens.
    public static let servicePath = "/run/guise-camera/socket"
    /// Whether the service belongs to this machine: systemd starts it at boot, and the kernel has the virtual USB
    /// controller.
    public static func isSetUp(root: String = "") -> Bool {
        guard mayExist("\(root)/etc/systemd/system/multi-user.target.wants/guise-camera.service") else { return false }
        if isFolder("\(root)/sys/devices/platform/vhci_hcd.0") { return true }
        guard let kernel = firstLine(ofFile: "\(root)/proc/sys/kernel/osrelease"),
            let modules = try? contents(of: "\(root)/lib/modules/\(kernel)/modules.dep")
        else { return false }
        return String(decoding: modules, as: UTF8.self).contains("/vhci-hcd.ko")
    }

    /// Nanoseconds between two attempts to connect.
    private static let retry: UInt64 = 200_000_000
    /// Milliseconds to wait for the service's first message.
    private static let timeout: CInt = 2000

    /// Connects to the service.
    /// - Parameters:
    ///   - layout: the size of the frames; the format is always YUYV.
    ///   - path: the service's socket.
    ///   - isExpected: whether to go on without a service that does not run yet, as when a session begins before the
    ///     system has started it.
    /// - Throws: `Problem` of kind `missing` if the service does not run, `busy` if another process feeds the camera,
    ///   `forbidden` if this user may not.
    public init(layout: FrameLayout, path: String = servicePath, isExpected: Bool = false) throws(Problem) {
        self.layout = FrameLayout(width: layout.width, height: layout.height, format: .yuyv)
        readerLayout = self.layout
        self.path = path
        guard !isExpected || mayExist(path) else {
            logWarning(
                "the camera service does not run yet, and is fed as soon as it does; "
                    + "to start it: sudo systemctl restart guise-camera")
            return
        }
        guard var link = try connect() else { return }
        while !link.isReady {
            let isAnswered = PollClock.system.waits(for: link.descriptor, milliseconds: Self.timeout)
            guard isAnswered, link.receiveMessages() else {
                throw link.refusal
                    ?? Problem(
                        .unusable, "the camera service at \(path) does not answer as expected",
                        fix: "restart it with `sudo systemctl restart guise-camera`")
            }
        }
        self.link = consume link
    }

    /// Connects, without waiting for the service's first message.
    /// - Returns: nil if the service's queue is full, which is logged: it is tried again.
    /// - Throws: `missing` if no service listens.
    private mutating func connect() throws(Problem) -> CameraLink? {
        do throws(Problem) { return try CameraLink(path, lifeline: lifeline) } catch {
            guard error.kind == .busy else { throw error }
            report(error)
            return nil
        }
    }

    /// Logs why the camera can't be fed; once, not at each attempt.
    private mutating func report(_ problem: Problem?) {
        if let problem, problem != refusal { logWarning("\(problem)") }
        refusal = problem
    }

    /// Reported by a message of the service. Without a connection it is polled, which tries to connect.
    public var readerNotice: ReaderNotice {
        switch link {
        case .some(let link): .reported(ReaderEvents(descriptor: link.descriptor, events: Int16(POLLIN)))
        case .none: .polled(nil)
        }
    }

    /// False: the service has a placeholder of its own.
    public let needsIdlePlaceholder = false

    /// Whether a program streams from the camera.
    public mutating func hasReaders(at now: UInt64) -> Bool? {
        if link == nil, now >= tried + Self.retry {
            tried = now
            link = try? connect()
        }
        guard var current = link.take() else { return false }
        guard current.receiveMessages() else {
            report(current.refusal)
            return false
        }
        let hasReader = current.wanted != nil
        link = consume current
        return hasReader
    }

    /// True: each reader has a size of its own.
    public let takesAnySize = true

    /// The size that the reader has chosen, in pixels; nil without a reader.
    public var chosenSize: FrameSize? {
        switch link {
        case .some(let link): link.wanted
        case .none: nil
        }
    }

    /// Copies a frame for the reader; without a reader, does nothing. Never waits.
    /// - Throws: `invalid` for a frame that isn't YUYV without padding.
    public mutating func publish(_ frame: borrowing PublishableFrame) throws {
        guard layout.isResized(frame.layout) else {
            throw Problem(.invalid, "a frame of \(frame.layout) does not fit \(description)")
        }
        guard var current = link.take() else { return }
        guard current.receiveMessages() else { return }
        var isAlive = true
        if let wanted = current.wanted {
            if wanted == frame.layout.size {
                isAlive = current.offer(frame)
            } else {
                if readerLayout.size != wanted { readerLayout = layout.resized(to: wanted) }
                scaled.scale(frame, to: readerLayout)
                isAlive = current.offer(scaled.frame)
            }
        }
        if isAlive { link = consume current }
    }

    /// Ends the connection: the service then shows its own placeholder.
    public consuming func finish(placeholder: borrowing PublishableFrame) throws {}
}
