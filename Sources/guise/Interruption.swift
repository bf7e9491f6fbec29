import Engine
import Glibc
import Publish
import Synchronization
import SystemKit

/// Ends a command that writes a file on SIGINT or SIGTERM, without leaving a part of the file behind. After SIGHUP,
/// which `nohup` ignores, the file is completed.
final class Interruption: Sendable {
    private let signals: Signals
    /// The file that is removed then.
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

    /// Starts to write a file. A signal waits until its name while it is written is known.
    func open(_ sink: () throws -> FileSink) rethrows -> FileSink {
        try path.withLock { path in
            let sink = try sink()
            path = sink.partPath
            return sink
        }
    }
}
