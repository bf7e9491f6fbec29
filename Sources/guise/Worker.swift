import Dispatch
import Synchronization
import SystemKit

/// A queue of jobs that run one at a time on a thread with low priority. The thread ends after some idle time, so that
/// an unused worker costs nothing.
final class Worker: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var hasThread = false
    }

    private let name: String
    /// The maximum number of queued jobs.
    private let maxQueued: Int
    private let onIdle: @Sendable () -> Void
    private let state = Mutex(State())
    private let jobAvailable = DispatchSemaphore(value: 0)

    /// The value added to the thread's nice value, so that the frame loop has priority on few cores. The thread still
    /// gets a third of the loop's share, so that photos are finished in time on a busy machine.
    private static let nice: CInt = 5
    /// The idle time in seconds after which the thread ends.
    private static let idleTimeout = 10.0

    /// Creates a worker without a thread.
    /// - Parameters:
    ///   - name: the thread's name.
    ///   - maxQueued: the maximum number of queued jobs.
    ///   - onIdle: called on the thread before it ends, to release resources of the jobs.
    init(_ name: String, maxQueued: Int, onIdle: @escaping @Sendable () -> Void = {}) {
        (self.name, self.maxQueued, self.onIdle) = (name, maxQueued, onIdle)
    }

    /// Runs a job after the queued ones.
    /// - Returns: the job's result; nil if too many jobs are queued.
    /// - Throws: the job's error.
    func run<R: Sendable>(_ job: @escaping @Sendable () throws -> R) async throws -> R? {
        try await withCheckedThrowingContinuation { (waiting: CheckedContinuation<R?, any Error>) in
            let isQueued = add { waiting.resume(with: Result { try job() }) }
            if !isQueued { waiting.resume(returning: nil) }
        }
    }

    /// Runs a job after the queued ones. Does not wait for it.
    /// - Returns: false if too many jobs are queued, and this one will not run.
    func add(_ job: @escaping @Sendable () -> Void) -> Bool {
        let isQueued = state.withLock { state in
            guard state.jobs.count < maxQueued else { return false }
            state.jobs.append(job)
            if !state.hasThread {
                state.hasThread = true
                start()
            }
            return true
        }
        if isQueued { jobAvailable.signal() }
        return isQueued
    }

    private func start() {
        // The stack size of a main thread, because decoders of untrusted files can recurse some levels deep.
        startThread(named: name, stackSize: 8 << 20) { [self] in work() }
    }

    private func work() {
        lowerThreadPriority(toNice: Self.nice)
        while true {
            let wasSignalled = jobAvailable.wait(timeout: .now() + Self.idleTimeout) == .success
            let job: (@Sendable () -> Void)? = state.withLock { state in
                state.jobs.isEmpty ? nil : state.jobs.removeFirst()
            }
            if let job {
                job()
            } else if !wasSignalled {
                // While this thread still counts as running, so that no job runs at the same time.
                onIdle()
                if endThread() { return }
            }
        }
    }

    /// Ends the thread, unless a job was added.
    private func endThread() -> Bool {
        state.withLock { state in
            state.hasThread = !state.jobs.isEmpty
            return !state.hasThread
        }
    }
}
