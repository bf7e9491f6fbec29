import Glibc
import SystemKit

/// Ends child processes that would keep the daemon from ending in time.
enum ChildDeadline {
    /// The time in microseconds that encoders have to finish their files. Service managers and logout wait for 2
    /// seconds.
    private static let timeout: useconds_t = 1_500_000

    /// Kills child processes that have not ended in time.
    static func killAfterTimeout() {
        startThread(named: "ending") {
            usleep(timeout)
            ChildProcess.killAll()
        }
    }

    /// Kills child processes if the frame loop, which waits for a file's encoder, does not react to SIGINT or SIGTERM
    /// in time.
    static func killAfterSignal(_ signals: CInt) {
        startThread(named: "signals") {
            while true {
                guard waitUntilReady(signals) else { return }
                usleep(timeout)
                // SIGHUP, which reloads the configuration, is ignored here.
                var pending = sigset_t()
                _ = unsafe sigpending(&pending)
                let isToEnd = [SIGINT, SIGTERM].contains { unsafe sigismember(&pending, $0) == 1 }
                if isToEnd { ChildProcess.killAll() }
            }
        }
    }
}
