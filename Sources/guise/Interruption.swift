import Engine
import Glibc
import Publish
import Synchronization
import SystemKit

/// Ends the process on SIGINT or SIGTERM, without leaving a part of a file behind: a command that writes a file, or the
/// daemon until its frame loop reads the signals. SIGHUP, which `nohup` ignores, stays pending: the file is completed.
final class Interruption: Sendable {
    private struct State {
        /// What removes what must not stay behind.
        var removers: [@Sendable () -> Void] = []
        var isReleased = false
    }

    private let signals: Signals
    private let state = Mutex(State())
    /// Wakes the thread to its end.
    private let released: WakeEvent
    /// The exit status for a signal.
    private let status: @Sendable (CInt) -> CInt

    /// Waits for the signals, on a thread of its own.
    ///
    /// It must be created before any other thread starts, as `Signals`.
    /// - Parameter status: the exit status for a signal; by default, as a shell reports a program that it has ended.
    /// - Throws: `Problem` of kind `system` if there is no free descriptor.
    init(exiting status: @escaping @Sendable (_ signal: CInt) -> CInt = { 128 + $0 }) throws {
        self.status = status
        signals = try Signals(isEndingOnly: true)
        released = try WakeEvent()
        startThread(named: "signals") { [self] in waitForSignal() }
    }

    /// Starts to write a file. A signal waits until its name while it is written is known.
    func open(_ sink: () throws -> FileSink) throws -> FileSink {
        try state.withLock { state in
            let sink = try sink()
            let file = try sink.unfinishedFile()
            state.removers.append { file.remove() }
            return sink
        }
    }

    /// Has something done before the process ends by a signal.
    func atEnd(_ remover: @escaping @Sendable () -> Void) { state.withLock { $0.removers.append(remover) } }

    /// Leaves the signals to another reader. One that came before has ended the process, or is still pending.
    func release() {
        state.withLock { state in
            state.isReleased = true
            state.removers = []
        }
        released.signal()
    }

    private func waitForSignal() {
        var polled: [2 of pollfd] = [
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: released.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            var span = polled.mutableSpan
            guard pollDescriptors(&span, milliseconds: -1) >= 0 else { return }
            let isReleased = state.withLock { state in
                if !state.isReleased, let signal = signals.next() { end(signal, state.removers) }
                return state.isReleased
            }
            if isReleased { return }
        }
    }

    private func end(_ signal: CInt, _ removers: [@Sendable () -> Void]) {
        // What waits for a child must not end the process first, with an error.
        ChildProcess.killAll {
            for remove in removers { remove() }
            _exit(status(signal))
        }
    }
}
