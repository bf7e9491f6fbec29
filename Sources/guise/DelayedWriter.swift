import Dispatch
import Synchronization
import SystemKit

/// Runs a job on a thread of its own when no further request has come for a while, or many for long, so that a slider
/// writes one file and not a hundred.
final class DelayedWriter: Sendable {
    private let requests = DispatchSemaphore(value: 0)
    private let write: Mutex<(@Sendable () -> Bool)?>
    private let isPending = Atomic<Bool>(false)

    /// The time without a request after which the job runs, in seconds.
    private static let quiet = 0.5

    /// The time after which the job runs although requests keep coming, in seconds.
    private static let longest = 5.0

    /// - Parameter write: the job; called by one thread at a time. False if it failed, and is to be tried again with
    ///   the next request, or at the end.
    init(_ write: @escaping @Sendable () -> Bool) {
        self.write = Mutex(write)
        startThread(named: "writer") { [self] in
            while true {
                requests.wait()
                let deadline = DispatchTime.now() + Self.longest
                while requests.wait(timeout: min(.now() + Self.quiet, deadline)) == .success, .now() < deadline {}
                guard run() else { return }
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

    /// Runs the job if it is pending. False if this was closed.
    private func run() -> Bool {
        write.withLock { write in
            if isPending.exchange(false, ordering: .acquiringAndReleasing), write?() == false {
                isPending.store(true, ordering: .releasing)
            }
            return write != nil
        }
    }
}
