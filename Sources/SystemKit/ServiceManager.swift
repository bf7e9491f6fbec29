import CLinux
import Glibc

/// The service manager that started this process, and to which it reports (sd_notify(3)). Without one, nothing is sent.
public struct ServiceManager: Sendable {
    /// The manager's socket: a path, or a name in the abstract namespace that begins with @.
    private let socket: String?
    /// The time within which the manager expects "WATCHDOG=1", microseconds; nil: it doesn't.
    public let watchdogTimeout: UInt64?

    /// - Parameter variable: the value of an environment variable.
    public init(variable: (String) -> String? = environmentVariable) {
        socket = variable("NOTIFY_SOCKET")
        let isForOther = variable("WATCHDOG_PID").map { pid_t($0) != getpid() } ?? false
        let timeout = variable("WATCHDOG_USEC").flatMap { UInt64($0) } ?? 0
        watchdogTimeout = timeout > 0 && !isForOther ? timeout : nil
    }

    /// Sends a notification, such as "READY=1", without waiting.
    /// - Returns: whether it was sent, or there is no manager to send it to.
    @discardableResult
    public func notify(_ text: String) -> Bool {
        guard let socket else { return true }
        return ManagerConnection(socket)?.send(text) ?? false
    }

    /// Connects, for notifications after the process has lost the right to; nil without a manager.
    public func connect() -> ManagerConnection? { socket.flatMap { ManagerConnection($0) } }
}

/// A connection to the service manager, for any number of notifications.
public struct ManagerConnection: ~Copyable {
    private let descriptor: CInt

    fileprivate init?(_ path: String) {
        descriptor = unsafe clinux_datagram_connect(path)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Sends a notification without waiting.
    /// - Parameter passed: a descriptor that goes with it (sd_pid_notify_with_fds(3)).
    /// - Returns: whether it was sent.
    public borrowing func send(_ text: String, passing passed: CInt = -1) -> Bool {
        let bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeBufferPointer {
            unsafe clinux_packet_send(descriptor, $0.baseAddress, $0.count, passed) == 0
        }
    }
}

/// The value of an environment variable; nil if it is not set.
public func environmentVariable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
}
