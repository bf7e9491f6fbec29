import Dispatch
import Frames
import Privacy
import Synchronization
import SystemKit

/// A recorder of published frames to a file, on its own thread. The frame loop only copies a frame; if the encoder
/// cannot keep up, frames are dropped from the file but not from the live video.
public final class Recorder: Sendable {
    /// The progress of a recording.
    public struct Progress: Equatable, Sendable {
        /// Frames in the file.
        public var frames = 0
        /// Frames dropped because the encoder was busy.
        public var dropped = 0
        /// Seconds since the first frame.
        public var seconds = 0.0
        /// Why the recording ended by itself; nil if it did not.
        public var problem: Problem?
    }

    private struct Queue: ~Copyable {
        /// A quarter of a second of frames, for short delays of the encoder.
        var frames: [8 of PublishableCopy]
        /// The index of the first filled frame, and the number of filled frames.
        var first = 0
        var count = 0
        /// The number of frames that are missing before each: the one before stays for these, so that each frame comes
        /// at its own time, in step with the sound.
        var gaps = [8 of Int](repeating: 0)
        var isOpen = true
    }

    /// The file's path.
    public let path: String
    private let layout: FrameLayout
    private let rate: Double
    private let queue: Mutex<Queue>
    private let state = Mutex(Progress())
    private let filled = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let began = Atomic<UInt64>(0)
    private let due = Atomic<Int>(0)
    private let hasFailed = Atomic<Bool>(false)
    private let sink: Mutex<FileSink?>
    private let sound: SoundTrack?
    private let failed: @Sendable (Problem) -> Void
    /// Returns the monotonic time, nanoseconds.
    private let now: @Sendable () -> UInt64

    /// Starts the encoder.
    /// - Parameters:
    ///   - sound: where the sound comes from; nil: no sound. Waits until there is some.
    ///   - failed: called on the recorder's thread with the problem if the recording ends by itself.
    ///   - now: the monotonic clock, nanoseconds.
    /// - Throws: what `FileSink` throws, or `Problem` of kind `invalid` for a photo's extension or one without
    ///   the wanted sound, `unusable` if there is no sound.
    public init(
        path: String, layout: FrameLayout, rate: Double, sound: SoundInput? = nil,
        failed: @escaping @Sendable (Problem) -> Void = { _ in },
        now: @escaping @Sendable () -> UInt64 = monotonicTime
    ) throws {
        self.path = path
        (self.layout, self.rate) = (layout, rate)
        self.failed = failed
        self.now = now
        let file = try FileSink(path: path, layout: layout, rate: rate, isRecording: true, isPrivate: true)
        guard !file.isPhoto else {
            throw Problem(
                .invalid, "cannot record to \(path): by its extension it is a photo", fix: "use .mp4, .mkv or .webm")
        }
        guard sound == nil || file.canHaveSound else {
            throw Problem(.invalid, "\(path) cannot contain sound", fix: "use .mp4, .mkv or .webm, or no sound")
        }
        self.sound = try sound.map { try SoundTrack($0, beside: path, now: now) }
        sink = Mutex(consume file)
        queue = Mutex(Queue(frames: InlineArray { _ in PublishableCopy(layout) }))
        startThread(named: "recorder") { [self] in
            run()
            ended.signal()
        }
    }

    /// The current progress.
    public var progress: Progress { state.withLock { $0 } }

    /// False once the recording has ended by itself.
    public var isRunning: Bool { !hasFailed.load(ordering: .relaxed) }

    /// Queues a copy of a published frame, for the frame loop. Never waits for the encoder. Frames of another size, as
    /// the first ones may have while the picture gets the file's size, are left out.
    public func enqueue(_ frame: borrowing PublishableFrame) {
        guard frame.layout.size == layout.size else { return }
        let now = self.now()
        if began.load(ordering: .relaxed) == 0 { began.store(now, ordering: .relaxed) }
        let seconds = Double(now - began.load(ordering: .relaxed)) / 1e9
        // Frames in a file have a constant rate. The nearest place is taken: frames that come at the file's own rate,
        // half an interval early or late at most, then have one each.
        let place = Int((seconds * rate).rounded())
        let gap = place - due.load(ordering: .relaxed)
        guard gap >= 0 else { return }
        let isTaken = queue.withLockIfAvailable { (queue) -> Bool in
            guard queue.isOpen, queue.count < queue.gaps.count else { return false }
            let index = (queue.first + queue.count) % queue.gaps.count
            queue.frames[index].copy(frame)
            queue.gaps[index] = gap
            queue.count += 1
            return true
        }
        if isTaken == true {
            due.store(place + 1, ordering: .relaxed)
            filled.signal()
        } else {
            state.withLockIfAvailable { $0.dropped += 1 }
        }
    }

    /// Ends the recording, and waits until the file is complete. Later calls return the same result at once.
    /// - Throws: `Problem` if the file could not be completed.
    public func finish() throws {
        queue.withLock { $0.isOpen = false }
        filled.signal()
        ended.wait()
        // For the next caller.
        ended.signal()
        if let problem = progress.problem { throw problem }
    }

    private func run() {
        guard var file = sink.withLock({ $0.take() }) else { return }
        var spare = PublishableCopy(layout)
        let failure = write(&file, &spare)
        let silence = sound?.stop()
        file.sound = sound?.mix(since: began.load(ordering: .relaxed))
        if let problem = failure {
            // Reported before the file is repaired, which may take long.
            end(with: problem)
            let outcome = keepingSound(file.recover(problem))
            state.withLock { $0.problem = outcome }
            failed(outcome)
            return
        }
        do { try file.finish(placeholder: spare.frame) } catch {
            let problem = keepingSound(error as? Problem ?? Problem(.system, "\(error)"))
            end(with: problem)
            failed(problem)
            return
        }
        sound?.remove()
        if let silence {
            let problem = Problem(silence.kind, "the sound ended before the picture: \(silence.message)")
            state.withLock { $0.problem = problem }
            failed(problem)
        }
    }

    /// Keeps the sound of a recording that it may not have been added to.
    /// - Parameter problem: why.
    /// - Returns: the problem, with the name of the sound's file.
    private func keepingSound(_ problem: Problem) -> Problem {
        guard let kept = sound?.keep(beside: path) else { return problem }
        return Problem(problem.kind, "\(problem.message); its sound is in \(kept)", fix: problem.fix)
    }

    private func end(with problem: Problem) {
        hasFailed.store(true, ordering: .relaxed)
        queue.withLock { $0.isOpen = false }
        state.withLock { $0.problem = problem }
    }

    /// Writes queued frames until the queue is closed and empty.
    /// - Returns: why the encoder ended early; nil if it did not.
    private func write(_ file: inout FileSink, _ spare: inout PublishableCopy) -> Problem? {
        while true {
            filled.wait()
            let (isOpen, next) = queue.withLock { (queue) -> (isOpen: Bool, gap: Int?) in
                (queue.isOpen, queue.count > 0 ? queue.gaps[queue.first] : nil)
            }
            guard let gap = next else {
                guard isOpen else { return nil }
                continue
            }
            do {
                // The last frame, which is in `spare`.
                for _ in 0..<gap { try file.publish(spare.frame) }
                queue.withLock { queue in
                    swap(&queue.frames[queue.first], &spare)
                    queue.first = (queue.first + 1) % queue.gaps.count
                    queue.count -= 1
                }
                try file.publish(spare.frame)
            } catch { return error as? Problem ?? Problem(.system, "\(error)") }
            let seconds = Double(now() - began.load(ordering: .relaxed)) / 1e9
            state.withLock {
                $0.frames += gap + 1
                $0.seconds = seconds
            }
        }
    }
}
