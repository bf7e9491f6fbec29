import Synchronization
import SystemKit

/// The exchange between the frame loop and the threads that control it. The locks protect a few assignments each;
/// settings whose lock is busy reach the loop with the next frame.
package final class Mailbox: Sendable {
    /// The event that wakes the loop.
    package let wakeEvent: WakeEvent
    private let state: Mutex<LoopSettings>
    private let generation = Atomic<Int>(1)
    private let loopStatus = Mutex(LoopStatus())
    private let metrics = Mutex(Metrics())
    private let captureRequests = Mutex<[any CaptureRequest]>([])
    private let hasPendingCaptures = Atomic<Bool>(false)
    private let observers = Atomic<Int>(0)
    private let wantsEnd = Atomic<Bool>(false)

    /// A mailbox with the first settings.
    /// - Throws: `Problem` of kind `system` if there is no free descriptor.
    package init(_ settings: LoopSettings) throws {
        wakeEvent = try WakeEvent()
        state = Mutex(settings)
    }

    // MARK: - for the controlling threads

    /// Changes the loop's settings, from the next frame on.
    package func change<R: Sendable, E: Error>(_ body: (inout sending LoopSettings) throws(E) -> sending R) throws(E)
        -> R
    {
        let result = try state.withLock(body)
        generation.add(1, ordering: .releasing)
        wakeEvent.signal()
        return result
    }

    /// The settings, including changes that the loop has not read yet.
    package var settings: LoopSettings { state.withLock { $0 } }
    /// The status that the loop reported last.
    package var lastStatus: LoopStatus { loopStatus.withLock { $0 } }
    /// The metrics that the loop reported last.
    package var lastMetrics: Metrics { metrics.withLock { $0 } }

    /// Requests a copy of the next published picture.
    package func requestCapture(_ request: any CaptureRequest) {
        captureRequests.withLock { $0.append(request) }
        hasPendingCaptures.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    /// Keeps the camera open while `body` waits for something to be seen.
    package func observe<R>(_ body: () throws -> R) rethrows -> R {
        observers.add(1, ordering: .releasing)
        defer { observers.subtract(1, ordering: .releasing) }
        wakeEvent.signal()
        return try body()
    }

    /// Has the loop report its status and its metrics anew. It does so by itself while frames flow or somebody watches.
    package func refresh() { wakeEvent.signal() }

    /// Ends the loop.
    package func end() {
        wantsEnd.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    // MARK: - for the frame loop

    /// Returns the settings if they have changed; nil also if their lock is busy.
    /// - Parameter seen: the generation of the loop's settings, which is updated; 0 at first.
    package func update(since seen: inout Int) -> LoopSettings? {
        let now = generation.load(ordering: .acquiring)
        guard now != seen else { return nil }
        guard let settings = state.withLockIfAvailable({ $0 }) else { return nil }
        seen = now
        return settings
    }

    /// Whether `update(since:)` has yet to return settings.
    package func hasUpdate(since seen: Int) -> Bool { generation.load(ordering: .acquiring) != seen }

    /// Whether `end` was called.
    package var isEnding: Bool { wantsEnd.load(ordering: .acquiring) }

    /// Reports the loop's status. If the lock is busy, the next report replaces this one.
    /// - Returns: whether it was reported.
    @discardableResult package func update(_ new: LoopStatus) -> Bool {
        loopStatus.withLockIfAvailable { $0 = new } != nil
    }
    /// Reports the loop's metrics. If the lock is busy, the next report replaces this one.
    package func update(_ new: borrowing Metrics) { metrics.withLockIfAvailable { [copy = copy new] in $0 = copy } }

    /// Whether `takeCaptureRequests` would return any.
    package var hasCaptureRequests: Bool { hasPendingCaptures.load(ordering: .acquiring) }

    /// Whether a thread is in `observe`.
    package var hasObservers: Bool { observers.load(ordering: .acquiring) > 0 }

    /// Returns the requests since the last call.
    package func takeCaptureRequests() -> [any CaptureRequest] {
        hasPendingCaptures.store(false, ordering: .releasing)
        return captureRequests.withLock { captureRequests in
            let pending = captureRequests
            captureRequests = []
            return pending
        }
    }
}
