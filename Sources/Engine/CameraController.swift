import Capture
import Synchronization
import SystemKit

/// Opens and closes cameras on its own thread, because either can take long. It retries after a failure: after half a
/// second at first, then less often.
package final class CameraController: Sendable {
    /// The source that is to be open.
    package struct Target: Equatable, Sendable {
        package var source: SourceSpec
        package var camera: VideoFormat
    }

    private struct State: ~Copyable {
        /// The requested source; nil if none is to be open.
        var wanted: Target?
        var ready: (any FrameSource & ~Copyable)?
        /// The source that the frame loop gave back, and the one that was ready for an earlier request.
        var returned: (any FrameSource & ~Copyable)?
        var superseded: (any FrameSource & ~Copyable)?
        /// The reason that the last source ended, or could not be opened.
        var problem: Problem?
        /// The reason that the last source ended, not yet reported. The thread reports it, because that renders
        /// placeholders, which takes longer than a frame.
        var unreported: Problem?
        /// The number of requests so far.
        var selection = 0
        /// True if the frame loop has a source, or one is ready for it.
        var isServed = false
        /// True if the frame loop still has the source of the request before.
        var isBesidePrevious = false
        /// True if the source could not be opened beside that one.
        var isBlocked = false
        var isOpen = true
    }

    private let clock: PollClock
    private let wakeEvent: WakeEvent
    private let wake: WakeEvent
    /// Locked for moments only, for the frame loop takes it: sources are opened and closed outside it.
    private let state = Mutex(State())
    private let open: @Sendable (Target) throws -> any FrameSource & ~Copyable
    private let closing: @Sendable () -> Void
    private let failed: @Sendable (Problem) -> Void

    /// Seconds between attempts; the last value repeats.
    private static let retryDelays = [0.5, 0.5, 1, 2, 4]
    /// A source that ended after this many seconds had been opened successfully, so the delays start from the
    /// beginning.
    private static let successDuration: UInt64 = 10

    /// Starts the thread.
    /// - Parameters:
    ///   - wake: signalled when a source is ready or could not be opened.
    ///   - clock: the clock for the pauses between attempts.
    ///   - open: opens a source, on the thread.
    ///   - closing: called on the thread before a source is closed.
    ///   - failed: called on the thread with each new reason for a failure.
    /// - Throws: an error if the wake event cannot be created.
    package init(
        wake: WakeEvent, clock: PollClock = .system,
        open: @escaping @Sendable (Target) throws -> any FrameSource & ~Copyable,
        closing: @escaping @Sendable () -> Void, failed: @escaping @Sendable (Problem) -> Void
    ) throws {
        wakeEvent = try WakeEvent()
        (self.wake, self.clock, self.open, self.closing, self.failed) = (wake, clock, open, closing, failed)
        startThread(named: "camera") { [self] in run() }
    }

    // MARK: - for the frame loop

    /// Changes the source that is to be open; nil closes it.
    /// - Parameter isBesidePrevious: whether the frame loop keeps the source that it has until this one is there, or
    ///   until `isBlocked`. Otherwise it has returned it.
    package func request(_ wanted: Target?, besidePrevious isBesidePrevious: Bool = false) {
        state.withLock { state in
            state.wanted = wanted
            (state.isBesidePrevious, state.isBlocked) = (isBesidePrevious, false)
            state.selection += 1
            state.problem = nil
            if state.ready != nil { state.superseded = state.ready.take() }
            state.isServed = false
        }
        wakeEvent.signal()
    }

    /// Takes the source that is ready, if there is one.
    package func takeSource() -> (any FrameSource & ~Copyable)? { state.withLock { $0.ready.take() } }

    /// Takes back a source, to close it on the thread.
    /// - Parameters:
    ///   - source: the source.
    ///   - problem: the reason that it ended, after which it is opened again. Nil if it is no longer wanted.
    package func returnSource(_ source: consuming any FrameSource & ~Copyable, _ problem: Problem?) {
        var outgoing: (any FrameSource & ~Copyable)? = consume source
        state.withLock { state in
            state.returned = outgoing.take()
            state.isBesidePrevious = false
            if let problem {
                state.problem = problem
                state.unreported = problem
                state.isServed = false
            }
        }
        wakeEvent.signal()
    }

    /// Whether the source could not be opened or was lost; nil if that is just changing, since the frame loop may not
    /// wait for it.
    package var isFailing: Bool? { state.withLockIfAvailable { $0.problem != nil } }

    /// Whether the source waits for the previous one to be returned, such as for its share of the USB bus; nil if that
    /// is just changing.
    package var isBlocked: Bool? { state.withLockIfAvailable { $0.isBlocked } }

    package func close() {
        state.withLock { $0.isOpen = false }
        wakeEvent.signal()
    }

    // MARK: - the thread

    private func run() {
        var (tries, selection) = (0, 0)
        var opened: UInt64 = 0
        var lastReported: Problem?
        while true {
            var returned: (any FrameSource & ~Copyable)?
            var superseded: (any FrameSource & ~Copyable)?
            let (wanted, isOpen, current, unreported) = state.withLock { state in
                returned = state.returned.take()
                superseded = state.superseded.take()
                defer { state.unreported = nil }
                return (state.isServed ? nil : state.wanted, state.isOpen, state.selection, state.unreported)
            }
            // Outside the lock.
            if returned != nil || superseded != nil { closing() }
            Self.close(returned.take())
            Self.close(superseded.take())
            if let unreported { failed(unreported) }
            guard isOpen else { return }
            // A source that was closed on request is not a failure.
            if current != selection { (selection, tries, lastReported, opened) = (current, 0, nil, 0) }
            guard let wanted else {
                wait(milliseconds: -1)
                continue
            }
            if opened > 0 {
                // The previous source ended.
                if clock.now() - opened > Self.successDuration * 1_000_000_000 { tries = 0 }
                opened = 0
                wait(milliseconds: Int(Self.retryDelays[min(tries, Self.retryDelays.count - 1)] * 1000))
                tries += 1
                continue
            }
            do {
                var fresh: (any FrameSource & ~Copyable)? = try open(wanted)
                state.withLock { state in
                    guard state.selection == selection else { return }
                    state.ready = fresh.take()
                    state.isServed = true
                    state.problem = nil
                }
                // The request has changed meanwhile, so this source is closed.
                guard fresh == nil else { continue }
                (opened, lastReported) = (clock.now(), nil)
                wake.signal()
            } catch {
                let problem = error as? Problem ?? Problem(.system, "\(error)")
                let (isWanted, isBlocked) = state.withLock { state in
                    guard state.selection == selection else { return (false, false) }
                    if state.isBesidePrevious { state.isBlocked = true } else { state.problem = problem }
                    return (true, state.isBesidePrevious)
                }
                // Another source was requested meanwhile.
                guard isWanted else { continue }
                if isBlocked {
                    // The loop returns the previous source, and that wakes this thread.
                    wake.signal()
                    wait(milliseconds: Int(Self.retryDelays[0] * 1000))
                    continue
                }
                if lastReported != problem { failed(problem) }
                lastReported = problem
                wake.signal()
                wait(milliseconds: Int(Self.retryDelays[min(tries, Self.retryDelays.count - 1)] * 1000))
                tries += 1
            }
        }
    }

    private static func close(_ source: consuming (any FrameSource & ~Copyable)?) {}

    private func wait(milliseconds: Int) {
        if clock.waits(for: wakeEvent.descriptor, milliseconds: CInt(milliseconds)) { wakeEvent.drain() }
    }
}
