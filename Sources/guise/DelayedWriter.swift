import Dispatch
import Synchronization
import SystemKit

/// Runs a job on a thread of its own when no further request has come for a while, or many for long, so that a slider
/// writes one file and not a hundred. A job that fails is tried again until it succeeds: a disk that was full may have
/// room again, and nobody requests anything meanwhile.
final class DelayedWriter: Sendable {
    private let requests = DispatchSemaphore(value: 0)
    private let write: Mutex<(@Sendable () -> Bool)?>
    private let isPending = Atomic<Bool>(false)

    /// The time without a request after which the job runs, in seconds.
    private static let quiet = 0.5

    /// The time after a failure until the next attempt, in seconds.
    static let delay = 1.0

    /// The time after which the job runs although requests keep coming, in seconds.
    private static let longest = 5.0

    private enum Outcome {
        /// Nothing is left to do.
        case done
        /// The job is still pending.
        case failed
        /// The job never runs again.
        case closed
    }

    /// - Parameters:
    ///   - delay: the time after a failure until the next attempt, in seconds.
    ///   - write: the job; called by one thread at a time. False if it failed and is to be tried again: after the
    ///     delay, with the next request, and at the end.
    init(retryingAfter delay: Double = DelayedWriter.delay, _ write: @escaping @Sendable () -> Bool) {
        self.write = Mutex(write)
        startThread(named: "writer") { [self] in
            var outcome = Outcome.done
            while outcome != .closed {
                let next: DispatchTime = outcome == .failed ? .now() + delay : .distantFuture
                if requests.wait(timeout: next) == .success {
                    let deadline = DispatchTime.now() + Self.longest
                    while requests.wait(timeout: min(.now() + Self.quiet, deadline)) == .success, .now() < deadline {}
                }
                outcome = run()
            }
        }
    }

    /// Requests that the job runs soon.
    func request() {
        isPending.store(true, ordering: .releasing)
        requests.signal()
    }

    /// Runs the job now if it is pending, and never again.
    func close() {
        _ = run()
        write.withLock { $0 = nil }
        requests.signal()
    }

    /// Runs the job if it is pending.
    private func run() -> Outcome {
        write.withLock { write in
            guard let job = write else { return .closed }
            guard isPending.exchange(false, ordering: .acquiringAndReleasing), !job() else { return .done }
            isPending.store(true, ordering: .releasing)
            return .failed
        }
    }
}
