import Compose
import Frames
import JSON
import Publish
import Synchronization
import SystemKit
import Track

/// The settings of the frame loop. They are passed as a whole, between two frames.
struct Settings: Sendable {
    /// The condition for opening the camera.
    var when = CameraUse.watched
    /// True if a placeholder is shown and the camera is closed.
    var isPaused = false
    /// True if the last picture stays.
    var isFrozen = false
    /// The source, as `--source` takes it; empty if it was opened at the start and cannot be changed.
    var source = ""
    /// True if the source can be changed.
    var isSourceKept: Bool { !source.isEmpty }
    /// The requested camera mode.
    var camera = Configuration.Picture()
    var faces = Tracker.Settings()
    /// The policy for a face that is lost; nil for each mask's own.
    var onLostFace: LostFacePolicy?
    /// The mirroring, rotation, crop and zoom of the picture.
    var view = ViewTransform()
    var recorder: Recorder?

    /// Copies the loop's settings from a configuration.
    mutating func apply(_ configuration: Configuration) {
        (when, camera, faces) = (configuration.when, configuration.camera, configuration.faces)
        (onLostFace, view) = (configuration.onLostFace, configuration.view)
    }
}

/// The condition for opening the camera.
enum CameraUse: String, CaseIterable, Sendable { case watched, always }

/// The current state of the frame loop.
struct LoopStatus: Equatable, Sendable {
    enum Camera: String, Sendable {
        /// Nobody watches, or Guise is paused.
        case closed
        case opening
        case open
        /// The camera cannot be opened, or was lost; opening is retried.
        case lost
    }

    var camera = Camera.closed
    /// True if somebody watches, or that cannot be known.
    var isWatched = false
    /// Whether a program reads the virtual camera, most likely for a call; nil if there is no virtual camera.
    var isRead: Bool?
    /// The number of faces in the last frame, and how many of them are predicted.
    var faces = 0
    var predicted = 0
    /// The number of frames of the source that were masked and published.
    var frames = 0
    /// The number of placeholders and repeated frames.
    var filled = 0
    /// The number of discarded frames, which arrived faster than the output rate.
    var early = 0
    /// The number of damaged or truncated frames.
    var damaged = 0
    /// Frames per second, in the last second.
    var rate = 0.0
    /// The CPU time of the process in the last second, in milliseconds per second.
    var load = 0.0
}

/// The cost of frames since the start.
struct Metrics: Sendable {
    /// The latency from the camera's time stamp to the write.
    var latency = Histogram()
    /// The CPU time of the loop for one frame, and of its stages.
    var frame = Histogram()
    var search = Histogram()
    var landmarks = Histogram()
    var fit = Histogram()
    var outline = Histogram()
    var compose = Histogram()
    var publish = Histogram()
}

/// The exchange between the frame loop and the threads that control it. The loop never blocks here: what is not
/// available at once, it gets with the next frame.
final class Mailbox: Sendable {
    /// The event that wakes the loop.
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

    // MARK: - for the controlling threads

    /// Changes the loop's settings, from the next frame on.
    func change<R: Sendable, E: Error>(_ body: (inout sending Settings) throws(E) -> sending R) throws(E) -> R {
        let result = try settings.withLock(body)
        generation.add(1, ordering: .releasing)
        wakeEvent.signal()
        return result
    }

    var now: Settings { settings.withLock { $0 } }
    var lastStatus: LoopStatus { loopStatus.withLock { $0 } }
    var lastMetrics: Metrics { metrics.withLock { $0 } }

    /// Requests a copy of the next published picture.
    func requestCapture(_ request: CaptureStore.CaptureRequest) {
        captureRequests.withLock { $0.append(request) }
        hasPendingCaptures.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    /// Ends the loop.
    func end() {
        wantsEnd.store(true, ordering: .releasing)
        wakeEvent.signal()
    }

    // MARK: - for the frame loop

    /// Returns the settings if they have changed.
    /// - Parameter seen: the generation that the loop has; 0 at first.
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
