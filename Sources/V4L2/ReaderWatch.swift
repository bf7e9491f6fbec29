import CLinux
import Glibc

/// A descriptor to poll for changes of a virtual camera's readers.
public struct ReaderEvents: Equatable, Sendable {
    /// The descriptor to poll for `events`.
    public let descriptor: CInt
    /// The events of poll(2).
    public let events: Int16

    /// The events of a descriptor.
    public init(descriptor: CInt, events: Int16) { (self.descriptor, self.events) = (descriptor, events) }
}

/// How changes of a virtual camera's readers are noticed.
public enum ReaderNotice: Equatable, Sendable {
    /// The descriptor reports each change. The state need not be queried in between.
    case reported(ReaderEvents)
    /// The state must be queried a few times a second. The descriptor, if there is one, reports most changes earlier.
    case polled(ReaderEvents?)
    /// There may be a new reader, so that the state should be queried again in a twentieth of a second.
    case unsure(ReaderEvents)

    /// What to poll; nil: there is nothing that reports changes.
    public var events: ReaderEvents? {
        switch self {
        case .reported(let events), .unsure(let events): events
        case .polled(let events): events
        }
    }
}

/// Detects whether anybody reads a loopback, so that the camera can be off while nobody does.
///
/// From version 0.13 the driver notifies its writer (V4L2_EVENT_PRI_CLIENT_USAGE) when a reader starts or stops
/// streaming, but not when a program only lists cameras. Patched 0.12 drivers have the same event with an older number.
/// With other drivers, inotify reports who opens and closes the node; that takes longer, since programs also open it
/// only to query it.
public struct ReaderWatch: ~Copyable {
    private enum Mechanism {
        /// The number of the driver's event.
        case event(UInt32)
        /// The inotify descriptor.
        case opens(CInt)
        /// Neither is available.
        case none
    }

    private let mechanism: Mechanism
    /// The writer's descriptor of the loopback.
    private let device: CInt
    /// The number of times others have the node open.
    private var count = 0
    /// The time of the last change between open and not open, as far as is known; nanoseconds.
    private var changed: UInt64 = 0
    private var queried: UInt64 = 0
    private var hasReaders = false

    /// v4l2loopback.h: V4L2_EVENT_PRIVATE_START + 0x08E00000 + 1.
    private static let usage: UInt32 = 0x10E0_0001
    /// v4l2-relayd's patch for 0.12: V4L2_EVENT_PRIVATE_START.
    private static let oldUsage: UInt32 = 0x0800_0000
    /// Milliseconds that a node must stay open before that counts as reading: some programs open it four times in three
    /// seconds, only to query it. It is part of the half second within which the camera should be open.
    private static let timeout: UInt64 = 200
    /// Milliseconds between queries of the state, since events get lost.
    private static let renewal: UInt64 = 5000

    /// Starts to watch a loopback.
    /// - Parameter device: the loopback that is written to; must outlive the watch.
    public init(_ device: borrowing Device) {
        self.device = device.descriptor
        if let number = [Self.usage, Self.oldUsage].first(where: { Self.subscribe(device.descriptor, $0) }) {
            mechanism = .event(number)
            return
        }
        let inotify = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
        let events = UInt32(IN_OPEN) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_CLOSE_NOWRITE)
        if unsafe inotify >= 0 && inotify_add_watch(inotify, device.path, events) >= 0 {
            mechanism = .opens(inotify)
            // A reader may have the node open since a previous run of the daemon.
            count = Device.usersElsewhere(of: device.path)
        } else {
            close(inotify)
            mechanism = .none
        }
    }

    deinit { if case .opens(let inotify) = mechanism { close(inotify) } }

    /// How changes are noticed: only the driver's own event reports all of them. Since events get lost, `hasReaders`
    /// must be called now and then nevertheless, as whenever a placeholder is written.
    public var notice: ReaderNotice {
        switch mechanism {
        // An event is reported as an exceptional condition (POLLPRI) of the writer's descriptor.
        case .event: return .reported(ReaderEvents(descriptor: device, events: Int16(POLLPRI)))
        case .opens(let inotify):
            let events = ReaderEvents(descriptor: inotify, events: Int16(POLLIN))
            return count > 0 && !hasReaders ? .unsure(events) : .polled(events)
        case .none: return .polled(nil)
        }
    }

    /// Whether anybody reads; nil if that cannot be detected.
    /// - Parameter now: the time on the monotonic clock, nanoseconds.
    public mutating func hasReaders(at now: UInt64) -> Bool? {
        switch mechanism {
        case .event(let number):
            if isDue(at: now) {
                // A new subscription reports the state, but only after the old one was cancelled.
                _ = Self.unsubscribe(device, number)
                _ = Self.subscribe(device, number)
            }
            while let readers = Self.next(device, number) { hasReaders = readers > 0 }
        case .opens(let inotify):
            let before = count
            count = max(0, count + Self.opened(inotify))
            if count > 0, isDue(at: now), Device.loopbackUsersElsewhere == 0 { count = 0 }
            if (count > 0) != (before > 0) { changed = now }
            // Closing counts at once; opening counts only after a while.
            if count == 0 { hasReaders = false } else if now - changed > Self.timeout * 1_000_000 { hasReaders = true }
        case .none: return nil
        }
        return hasReaders
    }

    /// Whether the state is due to be queried again; true once per period.
    private mutating func isDue(at now: UInt64) -> Bool {
        guard now - queried > Self.renewal * 1_000_000 else { return false }
        queried = now
        return true
    }

    private static func subscribe(_ device: CInt, _ number: UInt32) -> Bool {
        var subscription = v4l2_event_subscription()
        (subscription.type, subscription.flags) = (number, UInt32(V4L2_EVENT_SUB_FL_SEND_INITIAL))
        return Device.control(device, clinux_subscribe_event, &subscription) == 0
    }

    private static func unsubscribe(_ device: CInt, _ number: UInt32) -> Bool {
        var subscription = v4l2_event_subscription()
        subscription.type = number
        return Device.control(device, clinux_unsubscribe_event, &subscription) == 0
    }

    /// The number of readers in the next pending event; nil if there is none.
    private static func next(_ device: CInt, _ number: UInt32) -> UInt32? {
        while true {
            var event = v4l2_event()
            guard Device.control(device, clinux_dqevent, &event) == 0 else { return nil }
            guard event.type == number else { continue }
            // struct v4l2_event_client_usage { __u32 count; }
            return unsafe withUnsafeBytes(of: event.u) { unsafe $0.load(as: UInt32.self) }
        }
    }

    /// The number of openings minus closings since the last call.
    private static func opened(_ inotify: CInt) -> Int {
        var balance = 0
        // struct inotify_event without a name, since the watch is on a file: four words (watch, mask, cookie, 0).
        var words = [256 of UInt32](repeating: 0)
        var span = words.mutableSpan
        while true {
            let bytes = unsafe span.withUnsafeMutableBytes { unsafe read(inotify, $0.baseAddress, $0.count) }
            guard bytes > 0 else { return balance }
            for i in stride(from: 0, to: bytes / 4, by: 4) {
                let mask = span[i + 1]
                if mask & UInt32(IN_OPEN) != 0 { balance += 1 }
                if mask & UInt32(IN_CLOSE_WRITE | IN_CLOSE_NOWRITE) != 0 { balance -= 1 }
            }
        }
    }
}
