import Compose
import Frames
import JSON
import Publish
import Synchronization
import Track

/// What the frame loop is to do: whole values, handed over between two frames.
struct Settings: Sendable {
    /// When the camera is open.
    var when = CameraUse.watched
    /// The card is shown, and the camera is closed.
    var isPaused = false
    /// The last picture stays.
    var isFrozen = false
    /// What `--source` takes; empty where the source was opened with the daemon, and stays.
    var source = ""
    /// True where another one may be chosen.
    var isSourceKept: Bool { !source.isEmpty }
    /// What a camera is asked for.
    var camera = Configuration.Picture()
    var faces = Tracker.Settings()
    /// Nil: as masks say.
    var onLostFace: LostFacePolicy?
    /// How the picture is shown.
    var view = ViewTransform()
    var recorder: Recorder?

    /// Takes over what a configuration says of them.
    mutating func apply(_ configuration: Configuration) {
        (when, camera, faces) = (configuration.when, configuration.camera, configuration.faces)
        (onLostFace, view) = (configuration.onLostFace, configuration.view)
    }
}

/// When the camera is open.
enum CameraUse: String, CaseIterable, Sendable { case watched, always }

/// What the loop is doing now.
struct LoopStatus: Equatable, Sendable {
    enum Camera: String, Sendable {
        /// Nobody watches, or it is paused.
        case closed
        case opening
        case open
        /// It cannot be opened, or was lost; it is tried again.
        case lost
    }

    var camera = Camera.closed
    /// Somebody watches, or nobody can know.
    var isWatched = false
    /// A program reads the virtual camera: a call, most likely; nil: there is none.
    var isRead: Bool?
    /// Faces in the last frame, and how many of them it did not show.
    var faces = 0
    var predicted = 0
    /// Frames of the source that were dressed and published.
    var frames = 0
    /// Cards and repeated frames.
    var filled = 0
    /// Frames that were let go: they came faster than the output goes.
    var early = 0
    /// Frames that were damaged or short.
    var damaged = 0
    /// In the last second.
    var rate = 0.0
    /// Of the process, in the last second: milliseconds of CPU in each second.
    var load = 0.0
}

/// What each frame cost, since the start.
struct Metrics: Sendable {
    /// From the camera's time stamp to the write.
    var latency = Histogram()
    /// CPU time of the loop for one frame, and of its stages.
    var frame = Histogram()
    var search = Histogram()
    var landmarks = Histogram()
    var fit = Histogram()
    var compose = Histogram()
    var publish = Histogram()
}

/// Where the frame loop and those who control it leave word for each other. The loop never waits here: what it cannot
/// have at once it takes with the next frame.
final class Mailbox: Sendable {
    /// Wakes the loop.
    let wakeEvent: WakeEvent
    private let settings: Mutex<Settings>
    private let generation = Atomic<Int>(1)
    private let loopStatus = Mutex(LoopStatus())
    private let metrics = Mutex(Metrics())
    private let captureRequests = Mutex<[CaptureStore.CaptureRequest]>([])
    private let hasPendingCaptures = Atomic<Bool>(false)
    private let wantsEnd = Atomic<Bool>(false)

    init(_ settings: Settings) throws {
        wakeEvent = try WakeEvent()
        self.settings = Mutex(settings)
    }

    // MARK: - for those who control

    /// Changes what the loop is to do, from the next frame on.
    func change<R: Sendable, E: Error>(_ body: (inout sending Settings) throws(E) -> sending R) throws(E) -> R {
        let result = try settings.withLock(body)
        generation.add(1, ordering: .releasing)
        wakeEvent.signal()
        return result
    }

    var now: Settings { settings.withLock { $0 } }
    var lastStatus: LoopStatus { loopStatus.withLock { $0 } }
    var lastMetrics: Metrics { metrics.withLock { $0 } }

    /// Wants the next picture that is published.
    func requestCapture(_ request: CaptureStore.CaptureRequest) {
        captureRequests.withLock { $0.append(request) }
        hasPendingCaptures.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    /// Ends the loop in order.
    func end() {
        wantsEnd.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    // MARK: - for the loop

    /// - Parameter seen: the loop's count of changes; 0 at first.
    func update(since seen: inout Int) -> Settings? {
        let now = generation.load(ordering: .acquiring)
        guard now != seen else { return nil }
        guard let settings = settings.withLockIfAvailable({ $0 }) else { return nil }
        seen = now
        return settings
    }

    var isEnding: Bool { wantsEnd.load(ordering: .acquiring) }

    func update(_ new: LoopStatus) { loopStatus.withLockIfAvailable { $0 = new } }
    func update(_ new: borrowing Metrics) { metrics.withLockIfAvailable { [copy = copy new] in $0 = copy } }

    var hasCaptureRequests: Bool { hasPendingCaptures.load(ordering: .acquiring) }

    func takeCaptureRequests() -> [CaptureStore.CaptureRequest] {
        hasPendingCaptures.store(false, ordering: .releasing)
        return captureRequests.withLock { captureRequests in
            let taken = captureRequests
            captureRequests = []
            return taken
        }
    }
}
