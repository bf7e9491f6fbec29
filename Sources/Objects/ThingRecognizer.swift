import Dispatch
import Frames
import Synchronization
import SystemKit

/// Recognises things on a thread of its own, so that frames don't wait for it. Thread and process are started for the
/// first thing, and end after some time without one.
public final class ThingRecognizer: Sendable {
    /// What a thing was recognised as.
    struct Answer {
        /// The number that the request had.
        let track: Int
        /// The index of the thing that it is; nil if it is none of them.
        let thing: Int?
    }

    private struct State {
        var cutout = Cutout()
        var taught: TaughtThings?
        var track = 0
        /// Whether `cutout` waits, or is being worked on.
        var isBusy = false
        var answer: Answer?
        var hasThread = false
        var lesson: Lesson?
    }

    /// The cut-outs by which a thing is being taught. Each lesson has a semaphore of its own, so that what comes too
    /// late for one doesn't end the next.
    private struct Lesson {
        var cutouts: [Cutout] = []
        let wanted: Int
        let isComplete: DispatchSemaphore
    }

    private let state = Mutex(State())
    /// The process, and whether it works; nil if none is running.
    private let process = Mutex<FeatureProcess?>(nil)
    private let isWanted = DispatchSemaphore(value: 0)
    private let learning = Atomic<Bool>(false)
    /// Held by the one that collects.
    private let collecting = Mutex<Void>(())

    /// Seconds without a thing after which the process and the thread end.
    private static let idleTimeout = 10.0

    public init() {}

    /// Describes a thing. Waits for it.
    /// - Throws: `missing` if guise-objects is not installed, `system` if it can't be started, `gone` if it ends.
    public func describe(_ cutout: borrowing Cutout) throws(Problem) -> ThingAppearance {
        // A `Result`, because `withLock` can't infer the closure's typed throws. The process is put back only if it
        // works.
        let cutout = copy cutout
        let result = process.withLock { slot -> Result<ThingAppearance, Problem> in
            do throws(Problem) {
                var running: FeatureProcess
                if let process = slot.take() { running = process } else { running = try FeatureProcess() }
                let appearance = try running.describe(cutout)
                slot = consume running
                return .success(appearance)
            } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Ends the process, if there is one, until the next thing.
    public func shutDown() {
        process.withLock { slot in slot = nil }
    }

    /// Collects pictures of the thing that is held up while a mask in use needs things, some time apart. Waits for
    /// them.
    /// - Returns: fewer than wanted after a timeout; nil if others are being collected.
    public func collect(_ count: Int, seconds: Double) -> [Cutout]? {
        collecting.withLockIfAvailable { _ in
            let isComplete = DispatchSemaphore(value: 0)
            state.withLock { $0.lesson = Lesson(wanted: count, isComplete: isComplete) }
            learning.store(true, ordering: .releasing)
            _ = isComplete.wait(timeout: .now() + seconds)
            learning.store(false, ordering: .releasing)
            return state.withLock { state in
                defer { state.lesson = nil }
                return state.lesson?.cutouts ?? []
            }
        }
    }

    // MARK: - For the frame loop

    /// Whether `learn` wants a cut-out.
    var isLearning: Bool { learning.load(ordering: .acquiring) }

    /// Takes a cut-out of the thing that is being taught. Doesn't wait.
    /// - Returns: false if it wasn't taken, and another one should follow.
    func learn(_ cutout: borrowing Cutout) -> Bool {
        let copy = copy cutout
        return state.withLockIfAvailable { state in
            guard let lesson = state.lesson, lesson.cutouts.count < lesson.wanted else { return true }
            state.lesson?.cutouts.append(copy)
            if lesson.cutouts.count + 1 == lesson.wanted {
                learning.store(false, ordering: .releasing)
                lesson.isComplete.signal()
            }
            return true
        } ?? false
    }

    /// Whether a request would be taken.
    var isIdle: Bool { state.withLockIfAvailable { !$0.isBusy && $0.answer == nil } ?? false }

    /// Requests to recognise a thing, in exchange for an outdated cut-out. Neither waits nor allocates.
    func request(_ cutout: inout Cutout, _ taught: TaughtThings, track: Int) {
        let isStarted: Bool? =
            state.withLockIfAvailable { state in
                guard !state.isBusy else { return nil }
                swap(&cutout, &state.cutout)
                (state.taught, state.track, state.isBusy) = (taught, track, true)
                defer { state.hasThread = true }
                return state.hasThread
            } ?? nil
        guard let isStarted else { return }
        if !isStarted { startThread(named: "objects") { [self] in run() } }
        isWanted.signal()
    }

    /// The answer to the last request; nil if there is none yet. Doesn't wait.
    func takeAnswer() -> Answer? {
        state.withLockIfAvailable { state in
            defer { state.answer = nil }
            return state.answer
        } ?? nil
    }

    /// Tells what a thing is. Waits for it.
    func recognize(_ cutout: borrowing Cutout, _ taught: TaughtThings) -> Int? {
        guard let appearance = try? describe(cutout) else { return nil }
        return taught.match(appearance)?.thing
    }

    // MARK: - The thread

    private func run() {
        lowerThreadPriority()
        while true {
            let isSignalled = isWanted.wait(timeout: .now() + Self.idleTimeout) == .success
            let request = state.withLock { state -> (Cutout, TaughtThings, Int)? in
                guard state.isBusy, let taught = state.taught else {
                    if !isSignalled { (state.hasThread, state.taught) = (false, nil) }
                    return nil
                }
                return (state.cutout, taught, state.track)
            }
            guard let (cutout, taught, track) = request else {
                if isSignalled { continue }
                shutDown()
                return
            }
            let thing = recognize(cutout, taught)
            state.withLock { $0.answer = Answer(track: track, thing: thing) }
            // Only now, so that the frame loop finds its cut-out's memory its own again.
            _ = consume request
            state.withLock { $0.isBusy = false }
        }
    }
}
