import CLinux
import Glibc
import SystemKit

/// Notifications to the service manager (sd_notify(3)). Without a service manager they have no effect.
final class Service {
    private var isReady = false
    private var status = ""
    /// The interval of watchdog notifications in nanoseconds: half of the manager's timeout, so that one late
    /// notification is tolerated. 0 without a watchdog.
    private let watchdog: UInt64
    private var lastPing: UInt64 = 0

    init() {
        var microseconds: UInt64 = 0
        watchdog = unsafe sd_watchdog_enabled(0, &microseconds) > 0 ? microseconds * 500 : 0
    }

    /// Reports once that frames flow.
    func notifyReady() {
        guard !isReady else { return }
        isReady = true
        notify("READY=1")
    }

    /// Reports that the frame loop is alive. Called in each iteration; notifies only when it is due.
    func pingWatchdog() {
        guard watchdog > 0 else { return }
        let now = monotonicTime()
        guard now - lastPing > watchdog else { return }
        lastPing = now
        notify("WATCHDOG=1")
    }

    /// Reports the state in words, for `systemctl status` and the verbose log.
    func setStatus(_ words: String) {
        guard words != status else { return }
        status = words
        log("state: \(words)", .debug)
        notify("STATUS=\(words)")
    }

    func notifyStopping() { notify("STOPPING=1") }

    private func notify(_ text: String) { unsafe sd_notify(0, text) }
}
