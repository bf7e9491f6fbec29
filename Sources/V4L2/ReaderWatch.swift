import CLinux
import Frames
import Glibc

/// Where to hear that a loopback's readers came or went.
public struct ReaderEvents: Sendable {
    /// To be polled for `events`.
    public let descriptor: CInt
    public let events: Int16
    /// Somebody may have come: worth asking again in a twentieth of a second.
    public let isUnsure: Bool
}

/// Knows whether somebody reads a loopback, so that the camera need not be on while nobody does.
///
/// From 0.13 the driver tells its writer: V4L2_EVENT_PRI_CLIENT_USAGE, when a reader starts or ends its stream, and not
/// when it merely lists cameras. Patched 0.12 have the same under an older number. Others are watched from outside:
/// who opens and closes the node (inotify), which needs patience, for programs open it only to look.
public struct ReaderWatch: ~Copyable {
    private enum Mechanism {
        /// The event's number.
        case event(UInt32)
        /// The inotify descriptor.
        case opens(CInt)
        /// The system refused both.
        case none
    }

    private let mechanism: Mechanism
    /// The writer's own.
    private let device: CInt
    /// Openings of the node by others.
    private var count = 0
    /// Nanoseconds: since when the node has been open, or not, as far as is known.
    private var changed: UInt64 = 0
    private var asked: UInt64 = 0
    private var isRead = false

    /// v4l2loopback.h: V4L2_EVENT_PRIVATE_START + 0x08E00000 + 1.
    private static let usage: UInt32 = 0x10E0_0001
    /// v4l2-relayd's patch for 0.12: V4L2_EVENT_PRIVATE_START.
    private static let oldUsage: UInt32 = 0x0800_0000
    /// Milliseconds that a node must stay open before that counts: some programs open it four times in three seconds, only
    /// to ask what it is. A camera has half a second to open.
    private static let patience: UInt64 = 200
    /// Events get lost: the state is asked for anew so often, milliseconds.
    private static let renewal: UInt64 = 5000

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
            // Whoever read from the daemon before this one still does.
            count = Device.openingsElsewhere(of: device.path)
        } else {
            close(inotify)
            mechanism = .none
        }
    }

    deinit { if case .opens(let inotify) = mechanism { close(inotify) } }

    /// What to poll for, so that news is heard at once.
    public var events: ReaderEvents? {
        switch mechanism {
        // An event makes the writer's descriptor "exceptional".
        case .event: ReaderEvents(descriptor: device, events: Int16(POLLPRI), isUnsure: false)
        case .opens(let inotify):
            ReaderEvents(descriptor: inotify, events: Int16(POLLIN), isUnsure: count > 0 && !isRead)
        case .none: nil
        }
    }

    /// Whether somebody reads; nil where that cannot be known.
    /// - Parameter now: nanoseconds of the monotonic clock.
    public mutating func isRead(at now: UInt64) -> Bool? {
        switch mechanism {
        case .event(let number):
            if isDue(at: now) {
                // Subscribed anew it tells the state: on the same descriptor only after it was given up.
                _ = Self.unsubscribe(device, number)
                _ = Self.subscribe(device, number)
            }
            while let readers = Self.next(device, number) { isRead = readers > 0 }
        case .opens(let inotify):
            let before = count
            count = max(0, count + Self.opened(inotify))
            if count > 0, isDue(at: now), Device.loopbackOpeningsElsewhere == 0 { count = 0 }
            if (count > 0) != (before > 0) { changed = now }
            // Who goes away is gone; who comes must stay.
            if count == 0 { isRead = false } else if now - changed > Self.patience * 1_000_000 { isRead = true }
        case .none: return nil
        }
        return isRead
    }

    /// Whether the state is to be asked for anew: once each time it is.
    private mutating func isDue(at now: UInt64) -> Bool {
        guard now - asked > Self.renewal * 1_000_000 else { return false }
        asked = now
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

    /// The number of readers that the next event tells; nil where there is none.
    private static func next(_ device: CInt, _ number: UInt32) -> UInt32? {
        while true {
            var event = v4l2_event()
            guard Device.control(device, clinux_dqevent, &event) == 0 else { return nil }
            guard event.type == number else { continue }
            // struct v4l2_event_client_usage { __u32 count; }
            return unsafe withUnsafeBytes(of: event.u) { unsafe $0.load(as: UInt32.self) }
        }
    }

    /// Openings less closings since the last call.
    private static func opened(_ inotify: CInt) -> Int {
        var balance = 0
        // struct inotify_event: a watch of a file itself names none, so that each is four words: watch, mask, cookie, 0.
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
