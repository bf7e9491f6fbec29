import Capture
import Foundation
import Frames
import Synchronization

/// Opens and closes cameras on a thread of its own, for either may take long, and tries again where it fails: after half
/// a second at first, then less and less often.
final class SourceKeeper: Sendable {
    /// What is to be open.
    struct Wanted: Equatable, Sendable {
        /// What `--source` takes.
        var source: String
        var camera: Configuration.Picture
    }

    private struct Desk: ~Copyable {
        /// Nil: nothing is to be open.
        var wanted: Wanted?
        var ready: (any FrameSource & ~Copyable)?
        var spent: (any FrameSource & ~Copyable)?
        /// Why the last source ended, or could not be opened.
        var problem: Problem?
        /// The same, to be told by the thread: cards are drawn with it, which takes longer than a frame.
        var untold: Problem?
        /// Counts what was wanted.
        var wish = 0
        /// The loop has a source, or it waits on the desk.
        var isServed = false
        var isOpen = true
    }

    private let clock: PollClock
    private let bell: Bell
    private let wake: Bell
    private let desk = Mutex(Desk())
    /// Whether something is ready, for the loop to know without the desk; set and cleared with it.
    private let isReady = Atomic<Bool>(false)
    private let open: @Sendable (Wanted) throws -> any FrameSource & ~Copyable
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
        wake: Bell, clock: PollClock = .system,
        open: @escaping @Sendable (Wanted) throws -> any FrameSource & ~Copyable,
        closing: @escaping @Sendable () -> Void, failed: @escaping @Sendable (Problem) -> Void
    ) throws {
        bell = try Bell()
        (self.wake, self.clock, self.open, self.closing, self.failed) = (wake, clock, open, closing, failed)
        let thread = Thread { [self] in work() }
        thread.name = "camera"
        thread.start()
    }

    // MARK: - for the loop

    /// Changes what is to be open. What the loop has it gives back itself.
    func want(_ wanted: Wanted?) {
        desk.withLock { desk in
            desk.wanted = wanted
            desk.wish += 1
            desk.problem = nil
            if desk.ready != nil { desk.spent = desk.ready.take() }
            desk.isServed = false
            isReady.store(false, ordering: .releasing)
        }
        bell.ring()
    }

    /// The source that was opened, once.
    func take() -> (any FrameSource & ~Copyable)? {
        guard isReady.exchange(false, ordering: .acquiring) else { return nil }
        return desk.withLock { $0.ready.take() }
    }

    /// Takes a source that is done with, to close it beside the loop.
    /// - Parameter problem: why it ended; it is opened again then. Nil: it is no longer wanted.
    func giveBack(_ source: consuming any FrameSource & ~Copyable, _ problem: Problem?) {
        var giving: (any FrameSource & ~Copyable)? = consume source
        desk.withLock { desk in
            desk.spent = giving.take()
            if let problem {
                desk.problem = problem
                desk.untold = problem
                desk.isServed = false
            }
        }
        bell.ring()
    }

    /// Why there is no source; nil: it is being opened, or none is wanted.
    var problem: Problem? { desk.withLockIfAvailable { $0.problem } ?? nil }

    func close() {
        desk.withLock { $0.isOpen = false }
        bell.ring()
    }

    // MARK: - the thread

    private func work() {
        var (tries, wish) = (0, 0)
        var opened: UInt64 = 0
        var told: Problem?
        while true {
            var spent: (any FrameSource & ~Copyable)?
            let (wanted, isOpen, current, untold) = desk.withLock { desk in
                spent = desk.spent.take()
                defer { desk.untold = nil }
                return (desk.isServed ? nil : desk.wanted, desk.isOpen, desk.wish, desk.untold)
            }
            // Outside of the lock.
            if spent != nil { closing() }
            Self.close(spent.take())
            if let untold { failed(untold) }
            guard isOpen else { return }
            // What was closed because nobody wanted it is no failure.
            if current != wish { (wish, tries, told, opened) = (current, 0, nil, 0) }
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
                desk.withLock { desk in
                    guard desk.wish == wish else { return }
                    desk.ready = fresh.take()
                    desk.isServed = true
                    desk.problem = nil
                    isReady.store(true, ordering: .releasing)
                }
                // Somebody wants another by now: this one is closed.
                guard fresh == nil else { continue }
                (opened, told) = (clock.now(), nil)
                wake.ring()
            } catch {
                let problem = error as? Problem ?? Problem(.system, "\(error)")
                desk.withLock { if $0.wish == wish { $0.problem = problem } }
                if told != problem { failed(problem) }
                told = problem
                wake.ring()
                wait(milliseconds: Int(Self.pauses[min(tries, Self.pauses.count - 1)] * 1000))
                tries += 1
            }
        }
    }

    private static func close(_ source: consuming (any FrameSource & ~Copyable)?) {}

    private func wait(milliseconds: Int) {
        if clock.waits(for: bell.descriptor, milliseconds: CInt(milliseconds)) { bell.hear() }
    }
}
