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
        return unsafe clinux_local_notify(socket, text) == 0
    }
}

/// The value of an environment variable; nil if it is not set.
public func environmentVariable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
}
