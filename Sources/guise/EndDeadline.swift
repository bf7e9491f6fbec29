import Glibc
import SystemKit

/// Ends the daemon in time, whatever its child processes and its own threads wait for. Service managers and logout wait
/// for 2 seconds.
enum EndDeadline {
    /// The time in microseconds that encoders have to finish their files.
    private static let encoders: useconds_t = 1_500_000
    /// The time in microseconds after that which is left for what they have written, and for settings.
    private static let files: useconds_t = 400_000

    /// Kills child processes that have not ended in time, and then ends this process, if a disk, a pipe or a device
    /// still holds one of its threads. Its guard process shows the placeholder on a device that has none yet.
    /// - Parameter status: this process's exit status.
    static func start(status: CInt) {
        startThread(named: "ending") {
            usleep(encoders)
            ChildProcess.killAll()
            usleep(files)
            _exit(status)
        }
    }

    /// Does the same if the frame loop, which may wait for a file's encoder, does not react to SIGINT or SIGTERM in
    /// time.
    static func watch(_ signals: CInt) {
        startThread(named: "signals") {
            while true {
                guard waitUntilReady(signals) else { return }
                usleep(encoders)
                guard isEndPending else { continue }
                ChildProcess.killAll()
                usleep(files)
                if isEndPending { _exit(EXIT_SUCCESS) }
            }
        }
    }

    /// Whether a signal to end has not been read. SIGHUP, which reloads the configuration, is ignored here.
    private static var isEndPending: Bool {
        var pending = sigset_t()
        _ = unsafe sigpending(&pending)
        return [SIGINT, SIGTERM].contains { unsafe sigismember(&pending, $0) == 1 }
    }
}
