import CLinux
import Frames
import Glibc

/// What the service manager is told (sd_notify(3)); nothing where there is none.
final class Service {
    private var isReady = false
    private var status = ""
    /// Nanoseconds; half of what the manager allows, so that one late word is no reason to end us.
    private let watchdog: UInt64
    private var lastPing: UInt64 = 0
    private var looked: UInt64 = 0

    init() {
        var microseconds: UInt64 = 0
        watchdog = unsafe sd_watchdog_enabled(0, &microseconds) > 0 ? microseconds * 500 : 0
    }

    /// Frames flow.
    func notifyReady() {
        guard !isReady else { return }
        isReady = true
        notify("READY=1")
    }

    /// The frame loop turns. Called in each turn; says something only when it is due.
    func pingWatchdog() {
        guard watchdog > 0 else { return }
        let now = monotonicTime()
        guard now - lastPing > watchdog else { return }
        lastPing = now
        notify("WATCHDOG=1")
    }

    /// In words, for `systemctl status`.
    func setStatus(_ words: String) {
        guard words != status else { return }
        status = words
        notify("STATUS=\(words)")
    }

    func notifyStopping() { notify("STOPPING=1") }

    private func notify(_ text: String) { unsafe sd_notify(0, text) }
}
