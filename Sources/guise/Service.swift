import SystemKit

/// The daemon's reports to the service manager. Without a service manager they have no effect.
final class Service {
    private let manager = ServiceManager()
    private var isReady = false
    private var status = ""
    /// The interval of watchdog notifications in nanoseconds: half of the manager's timeout, so that one late
    /// notification is tolerated. 0 without a watchdog.
    private let watchdog: UInt64
    private var lastPing: UInt64 = 0

    init() { watchdog = (manager.watchdogTimeout ?? 0) * 500 }

    /// Reports once that frames flow.
    func notifyReady() {
        guard !isReady else { return }
        isReady = manager.notify("READY=1")
    }

    /// Reports that the frame loop is alive. Called in each iteration; notifies only when it is due.
    /// - Returns: the nanoseconds after which it must be called again; nil without a watchdog.
    func pingWatchdog() -> UInt64? {
        guard watchdog > 0 else { return nil }
        let now = monotonicTime()
        if now - lastPing > watchdog {
            lastPing = now
            manager.notify("WATCHDOG=1")
        }
        return lastPing + watchdog - now
    }

    /// Reports the state, for `systemctl status` and the verbose log.
    func setStatus(_ text: String) {
        guard text != status else { return }
        status = text
        log("state: \(text)", .debug)
        manager.notify("STATUS=\(text)")
    }

    func notifyStopping() { manager.notify("STOPPING=1") }
}
