import Dispatch
import Glibc
import Synchronization
import SystemKit

/// A queue of jobs that run one at a time on a thread with low priority. The thread ends after some idle time, so that
/// an unused worker costs nothing. A job that takes long can be left to a thread of its own.
final class Worker: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        /// The number of threads.
        var threads = 0
    }

    private let name: String
    /// The maximum number of queued jobs.
    private let maxQueued: Int
    /// The number of seconds that a job waits for those before it; nil: until they end.
    private let patience: Double?
    private let onIdle: @Sendable () -> Void
    private let state = Mutex(State())
    private let jobAvailable = DispatchSemaphore(value: 0)

    /// The value added to the thread's nice value, so that the frame loop has priority on few cores. The thread still
    /// gets a third of the loop's share, so that photos are finished in time on a busy machine.
    private static let nice: CInt = 5
    /// The most threads of a worker with patience: more large photos than that at once are hardly anybody's.
    private static let maxThreads = 4
    /// The idle time in seconds after which the thread ends.
    private static let idleTimeout = 10.0

    /// Creates a worker without a thread.
    /// - Parameters:
    ///   - name: the thread's name.
    ///   - maxQueued: the maximum number of queued jobs.
    ///   - patience: the number of seconds that a job waits for those before it; then it runs beside them, `maxThreads`
    ///     at once. Nil: it waits until they end.
    ///   - onIdle: called on the thread before it ends, to release resources of the jobs.
    init(
        _ name: String, maxQueued: Int, patience: Double? = nil, onIdle: @escaping @Sendable () -> Void = {}
    ) {
        (self.name, self.maxQueued, self.patience, self.onIdle) = (name, maxQueued, patience, onIdle)
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
            if state.threads == 0 || patience != nil && state.threads < Self.maxThreads {
                state.threads += 1
                start(after: state.threads == 1 ? 0 : patience ?? 0)
            }
            return true
        }
        if isQueued { jobAvailable.signal() }
        return isQueued
    }

    /// - Parameter seconds: how long the thread leaves the jobs to the one that runs already.
    private func start(after seconds: Double) {
        // The stack size of a main thread, because decoders of untrusted files can recurse some levels deep.
        startThread(named: name, stackSize: 8 << 20) { [self] in
            if seconds > 0 {
                usleep(useconds_t(seconds * 1_000_000))
                if endThread() { return }
            }
            work()
        }
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
                // While this thread still counts as running, so that no other one starts for a job.
                onIdle()
                if endThread() { return }
            }
        }
    }

    /// Ends the thread, unless a job was added.
    private func endThread() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.threads -= 1
            return true
        }
    }
}
