import Capture
import Frames
import Synchronization

/// Opens and closes cameras on a thread of its own, for either may take long, and tries again where it fails: after half
/// a second at first, then less and less often.
final class CameraController: Sendable {
    /// What is to be open.
    struct CameraRequest: Equatable, Sendable {
        /// What `--source` takes.
        var source: String
        var camera: Configuration.Picture
    }

    private struct State: ~Copyable {
        /// Nil: nothing is to be open.
        var wanted: CameraRequest?
        var ready: (any FrameSource & ~Copyable)?
        var spent: (any FrameSource & ~Copyable)?
        /// Why the last source ended, or could not be opened.
        var problem: Problem?
        /// The same, to be told by the thread: cards are drawn with it, which takes longer than a frame.
        var unreported: Problem?
        /// Counts what was wanted.
        var selection = 0
        /// The loop has a source, or it waits on the desk.
        var isServed = false
        var isOpen = true
    }

    private let clock: PollClock
    private let wakeEvent: WakeEvent
    private let wake: WakeEvent
    private let state = Mutex(State())
    /// Whether something is ready, for the loop to know without the desk; set and cleared with it.
    private let isReady = Atomic<Bool>(false)
    private let open: @Sendable (CameraRequest) throws -> any FrameSource & ~Copyable
    private let closing: @Sendable () -> Void
    private let failed: @Sendable (Problem) -> Void

    /// Seconds between tries; the last goes on.
    private static let pauses = [0.5, 0.5, 1, 2, 4]
    /// A source that lasted so long was no failure of the opening, seconds.
    private static let lasting: UInt64 = 10

    /// - Parameters:
    ///   - wake: rung when a source is ready.
    ///   - clock: by which it waits between tries.
    ///   - closing: called before a source is closed, on the thread.
    ///   - failed: is told each new reason, on the thread.
    init(
        wake: WakeEvent, clock: PollClock = .system,
        open: @escaping @Sendable (CameraRequest) throws -> any FrameSource & ~Copyable,
        closing: @escaping @Sendable () -> Void, failed: @escaping @Sendable (Problem) -> Void
    ) throws {
        wakeEvent = try WakeEvent()
        (self.wake, self.clock, self.open, self.closing, self.failed) = (wake, clock, open, closing, failed)
        startThread(named: "camera") { [self] in run() }
    }

    // MARK: - for the loop

    /// Changes what is to be open. What the loop has it gives back itself.
    func request(_ wanted: CameraRequest?) {
        state.withLock { state in
            state.wanted = wanted
            state.selection += 1
            state.problem = nil
            if state.ready != nil { state.spent = state.ready.take() }
            state.isServed = false
            isReady.store(false, ordering: .releasing)
        }
        wakeEvent.signal()
    }

    /// The source that was opened, once.
    func takeSource() -> (any FrameSource & ~Copyable)? {
        guard isReady.exchange(false, ordering: .acquiring) else { return nil }
        return state.withLock { $0.ready.take() }
    }

    /// Takes a source that is done with, to close it beside the loop.
    /// - Parameter problem: why it ended; it is opened again then. Nil: it is no longer wanted.
    func returnSource(_ source: consuming any FrameSource & ~Copyable, _ problem: Problem?) {
        var giving: (any FrameSource & ~Copyable)? = consume source
        state.withLock { state in
            state.spent = giving.take()
            if let problem {
                state.problem = problem
                state.unreported = problem
                state.isServed = false
            }
        }
        wakeEvent.signal()
    }

    /// Why there is no source; nil: it is being opened, or none is wanted.
    var problem: Problem? { state.withLockIfAvailable { $0.problem } ?? nil }

    func close() {
        state.withLock { $0.isOpen = false }
        wakeEvent.signal()
    }

    // MARK: - the thread

    private func run() {
        var (tries, selection) = (0, 0)
        var opened: UInt64 = 0
        var lastReported: Problem?
        while true {
            var spent: (any FrameSource & ~Copyable)?
            let (wanted, isOpen, current, unreported) = state.withLock { state in
                spent = state.spent.take()
                defer { state.unreported = nil }
                return (state.isServed ? nil : state.wanted, state.isOpen, state.selection, state.unreported)
            }
            // Outside of the lock.
            if spent != nil { closing() }
            Self.close(spent.take())
            if let unreported { failed(unreported) }
            guard isOpen else { return }
            // What was closed because nobody wanted it is no failure.
            if current != selection { (selection, tries, lastReported, opened) = (current, 0, nil, 0) }
            guard let wanted else {
                wait(milliseconds: -1)
                continue
            }
            if opened > 0 {
                // The one before ended.
                if clock.now() - opened > Self.lasting * 1_000_000_000 { tries = 0 }
                opened = 0
                wait(milliseconds: Int(Self.pauses[min(tries, Self.pauses.count - 1)] * 1000))
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
                    isReady.store(true, ordering: .releasing)
                }
                // Somebody wants another by now: this one is closed.
                guard fresh == nil else { continue }
                (opened, lastReported) = (clock.now(), nil)
                wake.signal()
            } catch {
                let problem = error as? Problem ?? Problem(.system, "\(error)")
                state.withLock { if $0.selection == selection { $0.problem = problem } }
                if lastReported != problem { failed(problem) }
                lastReported = problem
                wake.signal()
                wait(milliseconds: Int(Self.pauses[min(tries, Self.pauses.count - 1)] * 1000))
                tries += 1
            }
        }
    }

    private static func close(_ source: consuming (any FrameSource & ~Copyable)?) {}

    private func wait(milliseconds: Int) {
        if clock.waits(for: wakeEvent.descriptor, milliseconds: CInt(milliseconds)) { wakeEvent.drain() }
    }
}
