import Dispatch
import Frames
import Synchronization

/// Does jobs one at a time on a thread of its own, behind frames in line. The thread ends when nothing was to do for a
/// while, so that it costs nothing then.
final class Worker: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isAtWork = false
    }

    private let name: String
    /// Jobs that may wait.
    private let most: Int
    private let onIdle: @Sendable () -> Void
    private let state = Mutex(State())
    private let jobAvailable = DispatchSemaphore(value: 0)

    /// Added to the thread's nice value: frames go first where cores are few. It still gets a third of what they get, so
    /// that photos are done in time on a busy machine.
    private static let nice: CInt = 5
    /// Seconds.
    private static let patience = 10.0

    /// - Parameter onIdle: called on the thread before it ends, to let go of what jobs left.
    init(_ name: String, most: Int, onIdle: @escaping @Sendable () -> Void = {}) {
        (self.name, self.most, self.onIdle) = (name, most, onIdle)
    }

    /// Does a job when those before it are done.
    /// - Throws: what the job throws; nil in the place of a result: too many wait already.
    func run<R: Sendable>(_ job: @escaping @Sendable () throws -> R) async throws -> R? {
        try await withCheckedThrowingContinuation { (waiting: CheckedContinuation<R?, any Error>) in
            let isTaken = state.withLock { state in
                guard state.jobs.count < most else { return false }
                state.jobs.append { waiting.resume(with: Result { try job() }) }
                if !state.isAtWork {
                    state.isAtWork = true
                    start()
                }
                return true
            }
            if isTaken { jobAvailable.signal() } else { waiting.resume(returning: nil) }
        }
    }

    private func start() {
        // As a main thread's: what reads strangers' files goes some levels deep.
        startThread(named: name, stackSize: 8 << 20) { [self] in work() }
    }

    private func work() {
        lowerThreadPriority(by: Self.nice)
        while true {
            let isWoken = jobAvailable.wait(timeout: .now() + Self.patience) == .success
            let job: (@Sendable () -> Void)? = state.withLock { state in
                if state.jobs.isEmpty {
                    if !isWoken { state.isAtWork = false }
                    return nil
                }
                return state.jobs.removeFirst()
            }
            if let job { job() } else if !isWoken { return onIdle() }
        }
    }
}
