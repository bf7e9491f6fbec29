import Engine
import Glibc
import Synchronization
import SystemKit

/// Ends a command that writes a file on SIGINT or SIGTERM, without leaving a part of the file behind. After SIGHUP, which
/// `nohup` ignores, the file is completed.
final class Interruption: Sendable {
    private let signals: Signals
    private let path = Mutex<String?>(nil)

    /// Waits for the signals, on a thread of its own.
    ///
    /// It must be created before any other thread starts, as `Signals`.
    /// - Throws: `Problem` of kind `system` if there is no free descriptor.
    init() throws {
        signals = try Signals()
        startThread(named: "signals") { [self] in
            while waitUntilReady(signals.descriptor) {
                guard let signal = signals.next(), signal != SIGHUP else { continue }
                ChildProcess.killAll()
                path.withLock { path in
                    if let path { unsafe unlink(path) }
                    // As a shell reports a program that a signal has ended.
                    _exit(128 + signal)
                }
            }
        }
    }

    /// Names the file that is removed then, which must be one that nobody else can guess.
    func removesFile(_ path: String) { self.path.withLock { $0 = path } }
}
