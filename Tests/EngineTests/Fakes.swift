import CAllocations
import Capture
import Compose
import Foundation
import Frames
import Glibc
import Privacy
import Publish
import Synchronization
import TestSupport
import Track
import V4L2

@testable import Engine
@testable import SystemKit

/// The script of a fake source, and its state.
final class Script: Sendable {
    /// One step after the other; times in seconds since the source was opened, by its own clock.
    enum Step: Sendable {
        /// A frame of one gray.
        case gray(UInt8, at: Double)
        /// No frame yet.
        case nothing
        case end(at: Double)
        case failure(Problem, at: Double)

        var time: Double {
            switch self {
            case .gray(_, let time), .end(let time), .failure(_, let time): time
            case .nothing: 0
            }
        }
    }

    struct Seen: Equatable, Sendable {
        var opened = 0
        /// The number of reads.
        var asked = 0
        var closed = 0
    }

    let clock: TestClock
    let steps: [Step]
    /// Whether it is a camera, which delivers a frame when it is due; otherwise a file, which has all frames ready.
    let isLive: Bool
    let hasDescriptor: Bool
    let rate: Double?
    private let state = Mutex(Seen())

    /// - Parameter hasDescriptor: nil: true for a camera, false for a file.
    init(_ clock: TestClock, _ steps: [Step], isLive: Bool, hasDescriptor: Bool? = nil, rate: Double? = 30) {
        (self.clock, self.steps, self.isLive, self.rate) = (clock, steps, isLive, rate)
        self.hasDescriptor = hasDescriptor ?? isLive
    }

    var seen: Seen { state.withLock { $0 } }

    func noteOpened() { state.withLock { $0.opened += 1 } }
    func noteAsked() { state.withLock { $0.asked += 1 } }
    func noteClosed() { state.withLock { $0.closed += 1 } }

    /// Frames of a camera at 30 per second, the first a thirtieth of a second after it was opened.
    /// - Parameter by: added to the gray from frame to frame.
    static func frames(_ count: Int, gray: Int, by step: Int = 0) -> [Step] {
        (0..<count).map { .gray(UInt8(gray + $0 * step), at: Double($0 + 1) / 30) }
    }
}

/// A source of scripted frames.
struct FakeSource: FrameSource, ~Copyable {
    let description = "a fake source"
    let layout: FrameLayout
    let damaged = 0
    var rate: Double? { script.rate }
    var descriptor: CInt? { wakeEvent?.descriptor }
    var isLive: Bool { script.isLive }

    private let script: Script
    /// Signalled when a step is due.
    private let wakeEvent: WakeEvent?
    /// The time of opening.
    private let origin: UInt64
    private var frame: Frame
    private var last: FrameTime?
    private var next = 0
    private var number = 0

    init(_ script: Script, _ layout: FrameLayout = Stage.layout) throws {
        let wakeEvent: WakeEvent? = try script.hasDescriptor ? WakeEvent() : nil
        let origin = script.clock.now
        self.script = script
        self.layout = layout
        self.wakeEvent = wakeEvent
        self.origin = origin
        frame = Frame(layout)
        script.noteOpened()
        if let wakeEvent, script.isLive {
            for step in script.steps { script.clock.at(origin + UInt64(step.time * 1e9)) { wakeEvent.signal() } }
        } else {
            wakeEvent?.signal()
        }
    }

    deinit { script.noteClosed() }

    /// Whether the next step is due.
    private var isDue: Bool {
        guard next < script.steps.count else { return false }
        return !script.isLive || script.clock.now >= origin + UInt64(script.steps[next].time * 1e9)
    }

    mutating func withFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> FrameResult {
        script.noteAsked()
        if script.isLive { wakeEvent?.drain() }
        guard isDue else { return script.isLive ? .nothing : .end }
        let step = script.steps[next]
        next += 1
        // A frame that was not read in time is still available.
        if script.isLive, isDue { wakeEvent?.signal() }
        switch step {
        case .gray(let gray, let time):
            frame.fill(y: gray, u: 128, v: 128)
            let taken = Double(origin) / 1e9 + time
            let moment = FrameTime(number: number, seconds: time, captureTime: script.isLive ? taken : nil)
            last = moment
            number += 1
            try body(frame.view, moment)
            return .frame
        case .nothing: return .nothing
        case .end: return .end
        case .failure(let problem, _): throw problem
        }
    }

    mutating func withLastFrame(_ body: (borrowing FrameView, _ time: FrameTime) throws -> Void) throws -> Bool {
        guard let last else { return false }
        try body(frame.view, last)
        return true
    }
}

/// The frames of a fake sink, and its state.
final class Published: Sendable {
    struct Shot: Equatable, Sendable {
        /// Time in seconds, by the test's clock.
        let time: Double
        /// The sum of all luma samples.
        let sum: Int
        /// The gray of a uniform frame; nil for a placeholder.
        let gray: UInt8?
        /// The frame's size in pixels.
        let size: FrameSize
        /// The number of this thread's allocations so far.
        let allocations: UInt64
    }

    private struct State: Sendable {
        var shots: [Shot] = []
        var hasReaders: Bool?
        var chosenSize: FrameSize?
        var failure: Problem?
        var timeout = 0
        var isFinished = false
    }

    let keepsFrames: Bool
    let needsIdlePlaceholder: Bool
    /// Tells of readers; nil: they must be polled.
    let readerEvent: WakeEvent?
    private let clock: TestClock
    private let state: Mutex<State>
    private let taken: @Sendable (Int) -> Void

    /// - Parameters:
    ///   - keepsFrames: like a file.
    ///   - needsIdlePlaceholder: like a loopback.
    ///   - readerEvent: tells of readers; nil: they must be polled.
    ///   - taken: called with the number of frames.
    init(
        _ clock: TestClock, keepsFrames: Bool = false, needsIdlePlaceholder: Bool = true,
        readerEvent: WakeEvent? = nil, taken: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        (self.clock, self.keepsFrames, self.taken) = (clock, keepsFrames, taken)
        (self.needsIdlePlaceholder, self.readerEvent) = (needsIdlePlaceholder, readerEvent)
        var state = State()
        // Reserves memory, because later frames must not allocate.
        state.shots.reserveCapacity(1 << 12)
        self.state = Mutex(state)
    }

    var shots: [Shot] { state.withLock { $0.shots } }
    var isFinished: Bool { state.withLock { $0.isFinished } }
    var hasReaders: Bool? { state.withLock { $0.hasReaders } }

    /// The size that the reader has chosen.
    var chosenSize: FrameSize? { state.withLock { $0.chosenSize } }

    /// The grays of all frames that are not placeholders.
    var grays: [UInt8] { shots.compactMap(\.gray) }

    /// The frames published between two times, seconds.
    func shots(from begin: Double, to end: Double = .infinity) -> [Shot] {
        shots.filter { $0.time > begin && $0.time < end }
    }

    /// Sets whether somebody is watching; nil: unknown.
    func setReaders(_ hasReaders: Bool?) {
        state.withLock { $0.hasReaders = hasReaders }
        readerEvent?.signal()
    }

    /// Sets the size that the reader has chosen. The sink takes frames of any size from now on.
    func choose(_ size: FrameSize) { state.withLock { $0.chosenSize = size } }

    /// Makes it fail after a number of frames.
    func fail(after count: Int, with problem: Problem) {
        state.withLock { ($0.timeout, $0.failure) = (count, problem) }
    }

    func finish() { state.withLock { $0.isFinished = true } }

    func take(_ view: borrowing FrameView) throws {
        let sum = Self.sum(of: view)
        let gray = Self.gray(of: view)
        let (now, asked) = (clock.seconds, callocations_count())
        let shot = Shot(time: now, sum: sum, gray: gray, size: view.layout.size, allocations: asked)
        let (failure, count) = state.withLock { state -> (Problem?, Int) in
            if let failure = state.failure, state.shots.count >= state.timeout { return (failure, 0) }
            state.shots.append(shot)
            return (nil, state.shots.count)
        }
        if let failure { throw failure }
        taken(count)
    }

    static func sum(of view: borrowing FrameView) -> Int {
        let luma = view.luma
        var sum = 0
        for y in 0..<luma.height {
            for x in 0..<luma.width { sum += Int(luma.samples[y * luma.rowStride + x * luma.pixelStride]) }
        }
        return sum
    }

    static func gray(of view: borrowing FrameView) -> UInt8? {
        let luma = view.luma
        let first = luma.samples[0]
        for y in 0..<luma.height {
            for x in 0..<luma.width {
                if luma.samples[y * luma.rowStride + x * luma.pixelStride] != first { return nil }
            }
        }
        // Placeholders without text.
        return first == 48 ? nil : first
    }
}

/// A sink that records its frames.
struct FakeSink: FrameSink, ~Copyable {
    let description = "a fake sink"
    let layout: FrameLayout
    var keepsFrames: Bool { log.keepsFrames }
    private let log: Published

    init(_ log: Published, _ layout: FrameLayout = Stage.layout) { (self.log, self.layout) = (log, layout) }

    mutating func hasReaders(at now: UInt64) -> Bool? {
        log.readerEvent?.drain()
        return log.hasReaders
    }

    var readerNotice: ReaderNotice {
        guard let event = log.readerEvent else { return .polled(nil) }
        return .reported(ReaderEvents(descriptor: event.descriptor, events: Int16(POLLIN)))
    }
    var needsIdlePlaceholder: Bool { log.needsIdlePlaceholder }

    var takesAnySize: Bool { log.chosenSize != nil }
    var chosenSize: FrameSize? { log.chosenSize }

    mutating func publish(_ frame: borrowing PublishableFrame) throws {
        precondition(frame.layout == layout || takesAnySize, "the frame must have the sink's layout")
        try log.take(frame.view)
    }

    consuming func finish(placeholder: borrowing PublishableFrame) throws { log.finish() }
}

/// A monitor that records what it is shown while it has viewers.
final class FakeMonitor: FrameMonitor {
    private struct State {
        var hasViewers = false
        var published: [UInt8?] = []
        var unmasked: [UInt8?] = []
        var placeholders = 0
    }

    private let state = Mutex(State())

    var hasViewers: Bool { state.withLock { $0.hasViewers } }
    /// The grays of the published pictures, and of those without masks; nil for a placeholder.
    var published: [UInt8?] { state.withLock { $0.published } }
    var unmasked: [UInt8?] { state.withLock { $0.unmasked } }
    /// The number of published placeholders.
    var placeholders: Int { state.withLock { $0.placeholders } }

    func setViewers(_ hasViewers: Bool) { state.withLock { $0.hasViewers = hasViewers } }

    func update(_ frame: borrowing PublishableFrame, faces: borrowing [Face], bypassesRateLimit: Bool, at now: UInt64) {
        let (gray, isPlaceholder) = (Published.gray(of: frame.view), frame.isPlaceholder)
        state.withLock { state in
            state.published.append(gray)
            if isPlaceholder { state.placeholders += 1 }
        }
    }

    func updateUnmasked(_ view: borrowing FrameView, faces: borrowing [Face], at now: UInt64) {
        let gray = Published.gray(of: view)
        state.withLock { $0.unmasked.append(gray) }
    }

    func updateUnmasked(placeholder: borrowing PublishableFrame, at now: UInt64) {
        state.withLock { $0.unmasked.append(nil) }
    }
}

/// A capture request that records what it is given.
final class FakeCapture: CaptureRequest {
    private let taken = Mutex<(grays: [UInt8?], sizes: [FrameSize], refusals: [String])>(([], [], []))

    var sizes: [FrameSize] { taken.withLock { $0.sizes } }
    var grays: [UInt8?] { taken.withLock { $0.grays } }
    var refusals: [String] { taken.withLock { $0.refusals } }

    func capture(_ frame: borrowing PublishableFrame) {
        let (gray, size) = (Published.gray(of: frame.view), frame.layout.size)
        taken.withLock { taken in
            taken.grays.append(gray)
            taken.sizes.append(size)
        }
    }

    func refuse(_ reason: String) { taken.withLock { $0.refusals.append(reason) } }
}

/// The cameras that a controller opens, one after the other, and its reports; after the last one there is no camera.
final class Cameras: Sendable {
    private struct State: Sendable {
        var left: [Result<Script, Problem>] = []
        var opened: [(wanted: CameraController.Target, time: Double)] = []
        var closings = 0
        var failures: [Problem] = []
    }

    static let absence = Problem(.missing, "there is no camera")

    private let clock: TestClock
    private let state = Mutex(State())

    init(_ clock: TestClock) { self.clock = clock }

    /// The requested camera of each attempt.
    var wanted: [CameraController.Target] { state.withLock { $0.opened.map(\.wanted) } }
    /// The times of the attempts, seconds.
    var times: [Double] { state.withLock { $0.opened.map(\.time) } }
    /// The number of reported closings.
    var closings: Int { state.withLock { $0.closings } }
    /// The reported errors.
    var failures: [Problem] { state.withLock { $0.failures } }

    func add(_ script: Script) { state.withLock { $0.left.append(.success(script)) } }
    func add(_ problem: Problem) { state.withLock { $0.left.append(.failure(problem)) } }

    func open(_ wanted: CameraController.Target) throws -> any FrameSource & ~Copyable {
        let now = clock.seconds
        let script = try state.withLock { state -> Result<Script, Problem> in
            state.opened.append((wanted, now))
            return state.left.isEmpty ? .failure(Self.absence) : state.left.removeFirst()
        }.get()
        return try FakeSource(script)
    }

    func noteClosing() { state.withLock { $0.closings += 1 } }
    func note(_ problem: Problem) { state.withLock { $0.failures.append(problem) } }
}

/// A frame loop with its dependencies, and its reports.
final class Stage {
    /// The layout of sources and sinks.
    static let layout = FrameLayout(width: 64, height: 48, format: .i420)

    let clock: TestClock
    let mailbox: Mailbox
    let placeholders = Placeholders(Stage.layout)
    let monitor = FakeMonitor()
    let cameras: Cameras
    private let cameraController: CameraController
    private(set) var hangups = 0
    /// Whether the last frame counted as late.
    private(set) var wasLate = false
    private(set) var readies = 0
    /// What the service manager's watchdog asks for, nanoseconds.
    var watchdogDelay: UInt64?
    private(set) var said: [String] = []

    init(_ change: (inout LoopSettings) -> Void = { _ in }) throws {
        var settings = LoopSettings()
        settings.source = .camera
        change(&settings)
        let clock = try TestClock()
        let mailbox = try Mailbox(settings)
        let cameras = Cameras(clock)
        (self.clock, self.mailbox, self.cameras) = (clock, mailbox, cameras)
        cameraController = try CameraController(wake: mailbox.wakeEvent, clock: try clock.follower()) { wanted in
            try cameras.open(wanted)
        } closing: {
            cameras.noteClosing()
        } failed: { problem in
            cameras.note(problem)
        }
    }

    deinit { cameraController.close() }

    /// Runs an action a number of seconds after the start, on the loop's thread, while it waits.
    func at(_ seconds: Double, _ act: @escaping @Sendable () -> Void) {
        clock.at(TestClock.start + UInt64(seconds * 1e9), act)
    }

    /// Ends the loop a number of seconds after the start.
    func end(at seconds: Double) {
        let mailbox = mailbox
        at(seconds) { mailbox.end() }
    }

    /// Adds a camera that the controller opens after those before it.
    func camera(_ steps: [Script.Step]) -> Script {
        let script = Script(clock, steps, isLive: true)
        cameras.add(script)
        return script
    }

    /// A file of these grays at a frame rate, which ends after the last.
    func file(_ grays: [UInt8], rate: Double = 30) -> Script {
        let steps: [Script.Step] = grays.enumerated().map { .gray($0.element, at: Double($0.offset) / rate) }
        return Script(clock, steps, isLive: false, rate: rate)
    }

    static func source(_ script: Script) throws -> any FrameSource & ~Copyable { try FakeSource(script) }

    private static func sink(_ log: Published) -> any FrameSink & ~Copyable { FakeSink(log) }

    /// A sink that must be asked for readers.
    func sink(keepsFrames: Bool = false, needsIdlePlaceholder: Bool = true) -> Published {
        Published(clock, keepsFrames: keepsFrames, needsIdlePlaceholder: needsIdlePlaceholder)
    }

    /// A sink that tells of readers.
    func reportingSink(needsIdlePlaceholder: Bool = false) throws -> Published {
        Published(clock, needsIdlePlaceholder: needsIdlePlaceholder, readerEvent: try WakeEvent())
    }

    /// The sum of the current placeholder's luma samples.
    func sum(of placeholder: Placeholders.Kind) throws -> Int {
        var sum = 0
        try placeholders.withPlaceholder(placeholder) { sum = Published.sum(of: $0.view) }
        return sum
    }

    /// - Parameter landmarks: whether to load the data for real faces, which takes time.
    static func tracker(landmarks: Bool = false) throws -> Tracker {
        let catalog = try CascadeCatalog(folder: Fixtures.inPackage("Cascades"))
        let data = landmarks ? LandmarkModel.debianPath : "/nonexistent.dat"
        return Tracker(try FaceDetector(catalog: catalog, landmarks: data, cache: "\(Fixtures.cache)/guise"))
    }

    /// Runs a loop to its end, for an hour at most.
    /// - Parameters:
    ///   - source: nil: the controller's.
    ///   - loader: the source of masks instead of `masks`; nil if they are fixed.
    ///   - rate: the output's frame rate.
    ///   - landmarks: whether to load the data for real faces.
    func run(
        _ logs: [Published], source: consuming (any FrameSource & ~Copyable)? = nil, masks: [Mask] = [],
        loader: MaskLoader? = nil, rate: Double = 30, isPaced: Bool = false, landmarks: Bool = false
    ) throws {
        end(at: 3600)
        let tracker = try Self.tracker(landmarks: landmarks)
        var pipeline =
            if let loader {
                Pipeline(tracker: tracker, loader: loader, output: Self.layout)
            } else {
                Pipeline(tracker: tracker, masks: masks, output: Self.layout)
            }
        pipeline.monitor = monitor
        let outputs = logs.map { Output(Self.sink($0)) }
        let signals = try Signals()
        var loop = FrameLoop(
            signals: signals, outputs: outputs, source: source, rate: rate, isPaced: isPaced,
            FrameLoop.Dependencies(
                clock: clock.pollClock, mailbox: mailbox, cameraController: cameraController,
                placeholders: placeholders, monitor: monitor,
                requestReload: { self.hangups += 1 }, ready: { self.readies += 1 },
                pingWatchdog: { self.watchdogDelay },
                setStatus: { self.said.append($0) }))
        clock.settle()
        try loop.run(&pipeline)
        wasLate = pipeline.missesDeadline
    }
}

extension ScratchFolder {
    /// A folder of masks, with one that makes the whole picture brighter by 55.
    /// - Parameter more: additional keys of its description.
    func makeBrightMask(_ name: String = "bright", _ more: String = "") throws {
        try write(
            """
            {"version": 1, \(more)"layers": [{"kind": "effect", "mode": "adjust", "brightness": 0.5}]}
            """, "Masks/\(name)/mask.json")
    }

    /// The loaded mask.
    func brightMask(_ layout: FrameLayout, _ more: String = "") throws -> Mask {
        try makeBrightMask("bright", more)
        return try MaskLibrary(searchPaths: [path("Masks")]).load("bright", for: ArtTarget(layout))
    }
}
