import Capture
import Compose
import Frames
import Glibc
import Privacy
import Publish
import SystemKit
import Track

/// The loop of the main thread. It waits for a frame, has it masked, and publishes it; without a frame to show, it
/// publishes a placeholder. After the warm-up it neither allocates nor logs.
package struct FrameLoop: ~Copyable {
    /// The interfaces of the frame loop to the rest of the program.
    package struct Dependencies {
        /// The clock, for the time and for waiting.
        package let clock: PollClock
        package let mailbox: Mailbox
        package let cameraController: CameraController
        package let placeholders: Placeholders
        package let monitor: any FrameMonitor
        /// Reloads the configuration, after SIGHUP.
        package let requestReload: () -> Void
        /// Reports to the service manager that frames flow.
        package let ready: () -> Void
        /// Reports to the service manager that the loop is alive. Called in each iteration; returns the nanoseconds
        /// after which it must be called again, nil without a limit.
        package let pingWatchdog: () -> UInt64?
        /// Reports a changed state to the service manager.
        package let setStatus: (String) -> Void

        /// Gathers the interfaces.
        package init(
            clock: PollClock, mailbox: Mailbox, cameraController: CameraController, placeholders: Placeholders,
            monitor: any FrameMonitor, requestReload: @escaping () -> Void, ready: @escaping () -> Void,
            pingWatchdog: @escaping () -> UInt64?, setStatus: @escaping (String) -> Void
        ) {
            (self.clock, self.mailbox, self.cameraController) = (clock, mailbox, cameraController)
            (self.placeholders, self.monitor, self.requestReload) = (placeholders, monitor, requestReload)
            (self.ready, self.pingWatchdog, self.setStatus) = (ready, pingWatchdog, setStatus)
        }
    }

    private let signals: Signals
    private let outputs: [Output]
    private let dependencies: Dependencies
    private var settings: LoopSettings
    /// The generation of `settings`, from the mailbox.
    private var settingsVersion = 0
    /// The nominal frame interval in nanoseconds.
    private let interval: UInt64
    /// True if the frames of a file are delayed to the file's own times.
    private var isPaced: Bool

    private var source: (any FrameSource & ~Copyable)?
    /// True if the source is managed by `cameraController`, which opens it again when it is lost.
    private let isSourceManaged: Bool
    private var requested: CameraController.Target?
    private var loopStatus = LoopStatus()
    /// The status that clients see; nil before the first report.
    private var reportedStatus: LoopStatus?
    /// Whether somebody watches, or waits for a picture, as of this iteration.
    private var isWanted = false
    /// The nanoseconds after which the watchdog must be notified again; nil without one.
    private var watchdogDelay: UInt64?
    private var metrics = Metrics()
    /// Whether the source still had its last frame after it was published. Drivers with few buffers need it at once.
    private var keepsLastFrame = true
    /// True if the pipeline's picture is of the current source, or of the one that it replaces, or frozen, so that it
    /// may be published again.
    private var hasPicture = false
    private var replacement = Replacement.none
    /// The revision of the placeholders that the outputs have for a crash.
    private var placeholderRevision = -1

    // Times in nanoseconds of the monotonic clock.
    private var started: UInt64 = 0
    private var published: UInt64 = 0
    /// The time of the last frame of the source. Placeholders do not change it, so that they do not make frames count
    /// as early.
    private var lastComposed: UInt64 = 0
    private var arrived: UInt64 = 0
    /// The time that the next frame of a paced source is due.
    private var next: UInt64 = 0
    private var lastViewed: UInt64 = 0
    private var lastSecond: UInt64 = 0
    private var previousFrames = 0
    private var lastState: State?
    private var previousLoad: UInt64 = 0

    /// A camera without frames for this many seconds is lost.
    private static let timeoutSeconds: UInt64 = 10
    /// The gap after which a late frame's predecessor is published again, in nanoseconds. Readers of a virtual camera
    /// give up after a second without a frame.
    private static let repeatNanoseconds: UInt64 = 250_000_000
    /// If the next frame is due within this many nanoseconds, the last one is not composed again for changed masks:
    /// masking a frame takes as long.
    private static let soonNanoseconds: UInt64 = 4_000_000
    /// A file's frame is read this many nanoseconds before it is due. A decoder writes in pieces, with waits in
    /// between; afterwards it decodes the next frame, which takes CPU time that a camera would not take.
    private static let readAhead: UInt64 = 12_000_000
    /// A file's frame that is later than this many nanoseconds shifts the schedule, so that the frames after it are not
    /// rushed.
    private static let maxLag: UInt64 = 500_000_000
    /// The interval in milliseconds between queries of an output that does not report new readers by itself. Longer
    /// than `repeatNanoseconds`, so that the loop wakes once for both.
    private static let pollInterval = 251
    /// The same, while such an output may have a new reader.
    private static let unsureInterval = 50
    /// The interval between placeholders while there are readers, in nanoseconds: programs expect at least ten frames
    /// per second.
    private static let placeholderInterval: UInt64 = 100_000_000
    /// The interval between placeholders without readers, in nanoseconds: browsers list a camera only while it is
    /// written to.
    private static let idleInterval: UInt64 = 500_000_000
    /// The time in seconds from the last reader's end until the camera is closed: some readers come back at once.
    private static let closeDelay: UInt64 = 5

    /// Creates the loop.
    /// - Parameters:
    ///   - source: a source opened by the caller; nil to use `cameraController`.
    ///   - rate: the nominal frame rate, in frames per second.
    ///   - isPaced: whether the frames of a file are delayed to the file's own times.
    package init(
        signals: consuming Signals, outputs: [Output], source: consuming (any FrameSource & ~Copyable)?, rate: Double,
        isPaced: Bool, _ dependencies: Dependencies
    ) {
        self.signals = signals
        self.outputs = outputs
        self.dependencies = dependencies
        self.isPaced = isPaced
        settings = dependencies.mailbox.settings
        interval = UInt64(1_000_000_000 / max(rate, 0.1))
        isSourceManaged = source == nil
        loopStatus.camera = isSourceManaged ? .closed : .open
        self.source = consume source
    }

    /// Runs until the source ends, a signal arrives, or the mailbox requests the end.
    /// - Throws: `Problem` if waiting fails, or an error of the source, the pipeline or an output.
    @discardableResult
    package mutating func run(_ pipeline: inout Pipeline) throws -> Ending {
        started = dependencies.clock.now()
        (published, arrived, lastSecond) = (0, started, started)
        while !dependencies.mailbox.isEnding {
            if let update = dependencies.mailbox.update(since: &settingsVersion) {
                // A pause takes effect at once, not in a tenth of a second.
                if update.isPaused, !settings.isPaused { published = 0 }
                // A source that was not read counts as having sent its last frame now.
                let wasShowing = isShowing
                settings = update
                if isShowing, !wasShowing { arrived = dependencies.clock.now() }
                if settings.isPaused { forgetFaces() }
                pipeline.faces = settings.faces
                pipeline.onLostFace = settings.onLostFace
                pipeline.setView(settings.view)
            }
            let now = dependencies.clock.now()
            pollReaders(at: now, &pipeline)
            reportStatus(at: now)
            try updateCameraState(at: now, &pipeline)
            guard try wait(at: now) else { return .requested }
            try recomposeLastFrame(&pipeline)
            switch try dequeueFrame(&pipeline) {
            case .end: return .sourceEnded
            case .frame: continue
            case .nothing: try publishPlaceholder(pipeline)
            }
        }
        return .requested
    }

    /// The reason that the loop ended.
    package enum Ending {
        /// A signal or a client requested it.
        case requested
        /// The source has no more frames.
        case sourceEnded
    }

    /// The change to another source, or to another size. The last picture stays until the new source's first frame.
    private enum Replacement {
        case none
        /// The new source is being opened; the previous one may still deliver frames.
        case opening
        /// The new source is open, and has not delivered a frame yet.
        case opened
    }

    /// The loss of a source that `cameraController` manages. It is reported, and the source is opened again.
    private struct SourceLoss: Error {
        let problem: Problem
    }

    // MARK: - one iteration

    /// Updates whether there are readers, and which size they want.
    private mutating func pollReaders(at now: UInt64, _ pipeline: inout Pipeline) {
        var hasReaders: Bool?
        // The outputs that are watched, as far as is known, and the size that the reader of the last one has chosen.
        var (watched, chosenSize): (Int, FrameSize?) = (0, nil)
        for output in outputs {
            let answer = output.hasReaders(at: now)
            if answer ?? true { (watched, chosenSize) = (watched + 1, output.chosenSize) }
            if let answer { hasReaders = hasReaders ?? false || answer }
        }
        let hasViewers = dependencies.monitor.hasViewers || watched > 0
        let mailbox = dependencies.mailbox
        let keepsPicture = mailbox.hasCaptureRequests || mailbox.hasObservers || settings.recorder?.isRunning ?? false
        isWanted = hasViewers || keepsPicture
        if isWanted {
            lastViewed = now
            // The only reader of the picture chooses its size. It stays when the reader leaves, who may come
            // back.
            let isAlone = watched == 1 && !dependencies.monitor.hasViewers && !keepsPicture
            pipeline.requestSize(isAlone ? chosenSize : nil)
        }
        (loopStatus.hasViewers, loopStatus.hasReaders) = (hasViewers, hasReaders)
    }

    /// Reports the loop's state, and once a second the statistics.
    private mutating func reportStatus(at now: UInt64) {
        if now - lastSecond >= 1_000_000_000 {
            let seconds = Double(now - lastSecond) / 1e9
            let load = processTime()
            loopStatus.rate = Double(loopStatus.frames - previousFrames) / seconds
            loopStatus.load = previousLoad > 0 ? Double(load - previousLoad) / 1e6 / seconds : 0
            (lastSecond, previousFrames, previousLoad) = (now, loopStatus.frames, load)
            updateCrashPlaceholders()
            dependencies.mailbox.update(metrics)
        }
        if dependencies.mailbox.update(loopStatus) { reportedStatus = loopStatus }
        watchdogDelay = dependencies.pingWatchdog()
        let state = State(settings, loopStatus.camera)
        if state != lastState { dependencies.setStatus(state.rawValue) }
        lastState = state
    }

    /// The state in words, for `systemctl status`.
    enum State: String {
        case paused = "paused: a placeholder is shown, the camera is closed"
        case frozen = "frozen: the last picture is shown"
        case lost = "no picture: the camera is missing or in use; retrying"
        case opening = "the camera is being opened"
        case open = "the camera is open, frames flow"
        case idle = "nobody is watching, the camera is closed"

        init(_ settings: LoopSettings, _ camera: LoopStatus.Camera) {
            self =
                switch camera {
                case _ where settings.isPaused: .paused
                case _ where settings.isFrozen: .frozen
                case .closed: .idle
                case .opening: .opening
                case .open: .open
                case .lost: .lost
                }
        }
    }

    /// Opens and closes the camera as needed.
    private mutating func updateCameraState(at now: UInt64, _ pipeline: inout Pipeline) throws {
        guard isSourceManaged else { return }
        let isNeeded =
            settings.cameraUse == .always || lastViewed > 0 && now < lastViewed + Self.closeDelay * 1_000_000_000
        let target =
            isNeeded && !settings.isPaused
            ? settings.source.map { CameraController.Target(source: $0, camera: settings.cameraFormat) } : nil
        if target != requested {
            let hasSource = source != nil
            replacement = target != nil && (hasSource || replacement != .none) ? .opening : .none
            // Another device is opened beside this one; the same one must be closed first.
            let opensBeside = target != nil && hasSource && target?.source != requested?.source
            if !opensBeside {
                returnSource(nil)
                loopStatus.camera = target == nil ? .closed : .opening
            }
            dependencies.cameraController.request(target, besidePrevious: opensBeside)
            requested = target
        }
        if replacement == .opening, source != nil, dependencies.cameraController.isBlocked == true {
            returnSource(nil)
            loopStatus.camera = .opening
        }
        if source == nil || replacement == .opening, let fresh = dependencies.cameraController.takeSource() {
            returnSource(nil)
            if replacement == .opening { replacement = .opened }
            // A file that stands in for a camera runs at its own rate, like a camera.
            (isPaced, started, next) = (!fresh.isLive, now, now)
            source = consume fresh
            pipeline.restart()
            forgetPicture()
            arrived = now
            loopStatus.camera = .open
        }
        if source == nil, target != nil, let isFailing = dependencies.cameraController.isFailing {
            loopStatus.camera = isFailing ? .lost : .opening
            if isFailing {
                replacement = .none
                forgetPicture()
            }
        }
    }

    /// Forgets the last picture, unless it is to stay: it shows a previous scene with previous masks.
    private mutating func forgetPicture() { if !settings.isFrozen, replacement == .none { hasPicture = false } }

    private mutating func returnSource(_ problem: Problem?) {
        guard let ending = source.take() else { return }
        // Errors of a source that is being replaced are ignored.
        let isReplaced = replacement == .opening
        if problem != nil {
            if !isReplaced { replacement = .none }
            loopStatus.camera = isReplaced ? .opening : .lost
        }
        forgetPicture()
        dependencies.cameraController.returnSource(ending, isReplaced ? nil : problem)
        forgetFaces()
    }

    /// Reports no faces, while there is no picture of them.
    private mutating func forgetFaces() {
        (loopStatus.faces, loopStatus.predicted, loopStatus.facePlacements) = (0, 0, FacePlacements())
    }

    /// Composes the last frame again if the masks have changed, unless the next frame is due anyway.
    private mutating func recomposeLastFrame(_ pipeline: inout Pipeline) throws {
        guard isShowing, loopStatus.camera == .open, hasPicture, pipeline.hasMaskUpdate,
            dependencies.clock.now() + Self.soonNanoseconds < arrived + interval, var current = source.take()
        else { return }
        guard current.isLive || isPaced else {
            source = consume current
            return
        }
        var isToBeSeen = false
        do {
            let isWhole = try current.withLastFrame { view, time in isToBeSeen = pipeline.recompose(view, at: time)
            }
            if isWhole, isToBeSeen, !pipeline.hidesTooLittle, case .publishable(let frame) = pipeline.gate.outcome {
                for output in outputs where output.isLive { try output.publish(frame) }
                if dependencies.monitor.hasViewers {
                    dependencies.monitor.update(
                        frame, faces: pipeline.monitoredFaces, bypassesRateLimit: true, at: dependencies.clock.now())
                }
            }
        } catch {
            source = consume current
            throw error
        }
        source = consume current
    }

    /// Waits until there may be work. False if a signal requests the end.
    private func wait(at now: UInt64) throws -> Bool {
        let isAtRest = self.isAtRest
        var left = isAtRest ? watchdogDelay ?? .max : Self.repeatNanoseconds
        if fillsGaps, !isAtRest || outputs.contains(where: { $0.needsIdlePlaceholder }) {
            let due = published + fillInterval
            left = due > now ? min(due - now, left) : 0
        }
        // Milliseconds; the largest number: no limit.
        var timeout = left == .max ? Int.max : left > 0 ? Int(left / 1_000_000) + 1 : 0
        var descriptor: CInt = -1
        switch source {
        case .some(let source):
            if isShowing, !isDue(at: now) {
                timeout = min(timeout, Int((next - Self.readAhead - now) / 1_000_000) + 1)
            } else if mayTake {
                // A source without a descriptor always has a frame.
                if let own = source.descriptor { descriptor = own } else { timeout = 0 }
            }
        case .none: break
        }
        // Room for 13 devices with readers of their own.
        var polled = [16 of pollfd](repeating: pollfd(fd: -1, events: 0, revents: 0))
        polled[0] = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
        polled[1] = pollfd(fd: dependencies.mailbox.wakeEvent.descriptor, events: Int16(POLLIN), revents: 0)
        polled[2] = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var index = 3
        for output in outputs {
            let notice = output.readerNotice
            switch notice {
            case .reported where index < polled.count: break
            case .reported, .polled: timeout = min(timeout, Self.pollInterval)
            case .unsure: timeout = min(timeout, Self.unsureInterval)
            }
            guard index < polled.count, let events = notice.events else { continue }
            polled[index] = pollfd(fd: events.descriptor, events: events.events, revents: 0)
            index += 1
        }
        var span = polled.mutableSpan
        let count = dependencies.clock.poll(&span, timeout == .max ? -1 : CInt(clamping: timeout))
        guard count >= 0 else { throw Problem(.system, "poll failed: \(errorMessage(of: errno))") }
        if polled[1].revents != 0 { dependencies.mailbox.wakeEvent.drain() }
        return polled[0].revents == 0 || !receiveSignals()
    }

    /// True if nothing is due before an event: the camera is closed, nobody watches, a placeholder was published, and
    /// clients see all of this. The rate is zero a second after the last frame.
    private var isAtRest: Bool {
        isSourceManaged && requested == nil && source == nil && !isWanted && published > 0 && loopStatus.rate == 0
            && !dependencies.mailbox.hasUpdate(since: settingsVersion) && reportedStatus == loopStatus
    }
    /// True if the source's current picture is shown.
    private var isShowing: Bool { !settings.isPaused && !settings.isFrozen }
    /// True if frames are taken from the source. While they are not shown, a file waits; the frames of a camera are
    /// discarded.
    private var mayTake: Bool { isShowing || isSourceManaged && !isPaced }
    /// True if something is published when the source has no frame. Otherwise the sinks wait for the file.
    private var fillsGaps: Bool { isSourceManaged || !isShowing }
    /// True if the last frame is published in this case.
    private var repeatsLastFrame: Bool {
        hasPicture && ((source != nil || replacement != .none) && isShowing || settings.isFrozen)
    }
    /// The time in nanoseconds from the last published frame to such a frame.
    private var fillInterval: UInt64 {
        repeatsLastFrame && isShowing
            ? Self.repeatNanoseconds : loopStatus.hasViewers ? Self.placeholderInterval : Self.idleInterval
    }

    /// Handles the pending signals. True if one of them requests the end.
    private func receiveSignals() -> Bool {
        var ends = false
        while let signal = signals.next() {
            if signal == SIGHUP { dependencies.requestReload() } else { ends = true }
        }
        return ends
    }

    /// False if the source's next frame is not due yet, so that the loop waits for other events.
    private func isDue(at now: UInt64) -> Bool { !isPaced || now + Self.readAhead >= next }

    /// Takes the source's next frame, masks it and publishes it.
    private mutating func dequeueFrame(_ pipeline: inout Pipeline) throws -> FrameResult {
        guard mayTake, isDue(at: dependencies.clock.now()), var current = source.take() else { return .nothing }
        var isOver = false
        let result: FrameResult
        do {
            result = try processNext(&current, &pipeline, &isOver)
        } catch let loss as SourceLoss {
            source = consume current
            returnSource(loss.problem)
            return .nothing
        } catch {
            source = consume current
            throw error
        }
        if isSourceManaged, result == .nothing,
            dependencies.clock.now() > arrived + Self.timeoutSeconds * 1_000_000_000
        {
            let problem = Problem(
                .gone, "\(current.description) has sent no frames for \(Self.timeoutSeconds) s", fix: "plug it in again"
            )
            source = consume current
            returnSource(problem)
            return .nothing
        }
        source = consume current
        return isOver ? .end : result
    }

    private mutating func processNext(
        _ source: inout any FrameSource & ~Copyable, _ pipeline: inout Pipeline, _ isOver: inout Bool
    ) throws -> FrameResult {
        // If the camera is faster than the output, frames that arrive within three quarters of an interval are
        // discarded.
        let now = dependencies.clock.now()
        let isEarly = source.isLive && now < lastComposed + interval * 3 / 4
        let isInTime = source.isLive || isPaced
        let cpu = threadTime()
        let rate = source.rate ?? 30
        var arrivalTime = now
        var isComposed = false
        let result: FrameResult
        do {
            result = try source.withFrame { view, time in
                guard !isEarly, isShowing else { return }
                guard let arrival = waitForArrival(of: time, at: now, rate: rate) else {
                    isOver = true
                    return
                }
                arrivalTime = arrival
                pipeline.process(view, at: time, isInTime && keepsLastFrame ? .prompt : .following)
                isComposed = true
            }
        } catch let problem as Problem where isSourceManaged {
            throw SourceLoss(problem: problem)
        }
        guard result == .frame else { return result }
        arrived = dependencies.clock.now()
        if isEarly { loopStatus.overRate += 1 }
        loopStatus.damaged = source.damaged
        // While paused or frozen, the loop continues as if no frame had arrived.
        guard isComposed else { return isShowing ? .frame : .nothing }
        hasPicture = true
        if replacement == .opened { replacement = .none }
        let before = threadTime()
        try publishOutcome(of: pipeline)
        // The time of arrival, so that a frame that took long does not make the next one count as early.
        (published, lastComposed) = (now, now)
        let (end, publishing) = (dependencies.clock.now(), threadTime() - before)
        pipeline.missesDeadline = isInTime && end &- min(max(now, arrivalTime), end) > interval * 3 / 4
        // Only sources that are shown in real time defer work; a converted file's frames are complete at once.
        if isInTime { keepsLastFrame = try source.withLastFrame { view, _ in pipeline.drawDeferred(view) } }
        countFrame(of: pipeline)
        recordCost(pipeline.cost, latency: end &- min(arrivalTime, end), publish: publishing, all: threadTime() - cpu)
        return .frame
    }

    /// Waits until a frame of a paced source is due, which stands in for a camera. If it is far behind, the schedule is
    /// shifted.
    /// - Parameter rate: the source's, in frames per second.
    /// - Returns: when the frame counts as having arrived, in nanoseconds of the monotonic clock; nil if the loop is to
    ///   end.
    private mutating func waitForArrival(of time: FrameTime, at now: UInt64, rate: Double) -> UInt64? {
        guard isPaced else { return time.captureTime.map { min(now, UInt64($0 * 1e9)) } ?? now }
        var arrivalTime = started + UInt64(time.seconds * 1_000_000_000)
        if now > arrivalTime + Self.maxLag {
            started += now - arrivalTime
            arrivalTime = now
        }
        guard sleep(until: arrivalTime) else { return nil }
        next = arrivalTime + UInt64(1_000_000_000 / max(rate, 1))
        return arrivalTime
    }

    /// Publishes the frame that has passed the gate, or a placeholder for one that has not.
    private mutating func publishOutcome(of pipeline: borrowing Pipeline) throws {
        // Masks that are still being loaded may hide more than the frame does.
        let isPending = pipeline.hidesTooLittle
        if !isPending, case .publishable(let frame) = pipeline.gate.outcome {
            try publish(frame, faces: pipeline.monitoredFaces)
            answerCaptureRequests(frame, pipeline)
        } else {
            try dependencies.placeholders.withPlaceholder(.hidden) { try publish($0) }
            // A mask that has just come hides in one of the next frames, which answer.
            if !isPending, pipeline.gate.reason != .maskIsNew {
                refuseCaptureRequests("it might show a face that is to be hidden; try again in a moment")
            }
        }
    }

    private mutating func countFrame(of pipeline: borrowing Pipeline) {
        if loopStatus.frames == 0 { dependencies.ready() }
        loopStatus.frames += 1
        loopStatus.faces = pipeline.tracker.faces.count
        loopStatus.facePlacements = pipeline.facePlacements
        loopStatus.predicted = 0
        for i in pipeline.tracker.faces.indices where pipeline.tracker.faces[i].state == .predicted {
            loopStatus.predicted += 1
        }
    }

    private mutating func recordCost(_ cost: Pipeline.Cost, latency: UInt64, publish: UInt64, all: UInt64) {
        metrics.latency.add(nanoseconds: latency)
        metrics.frame.add(nanoseconds: all)
        metrics.search.add(nanoseconds: cost.search)
        metrics.landmarks.add(nanoseconds: cost.landmarks)
        metrics.transform.add(nanoseconds: cost.transform)
        metrics.segmentation.add(nanoseconds: cost.segmentation)
        metrics.compose.add(nanoseconds: cost.compose)
        metrics.publish.add(nanoseconds: publish)
    }

    /// Publishes a frame.
    /// - Parameter isPlaceholder: whether the frame is a placeholder that stands in for a missing camera frame, so that
    ///   there is no unmasked picture either.
    private func publish(
        _ frame: borrowing PublishableFrame, faces: borrowing [Face] = [], isPlaceholder: Bool = false
    ) throws {
        for output in outputs {
            do { try output.publish(frame) } catch  where isSourceManaged && !output.isLive {
                // A full disk ends a file output, but not the call.
                output.drop()
                logError(error)
            }
        }
        settings.recorder?.enqueue(frame)
        if dependencies.monitor.hasViewers {
            let now = dependencies.clock.now()
            dependencies.monitor.update(frame, faces: faces, bypassesRateLimit: isPlaceholder, at: now)
            // The pipeline shows the unmasked picture, if there is one.
            if isPlaceholder { dependencies.monitor.updateUnmasked(placeholder: frame, at: now) }
        }
    }

    /// Answers with a frame, once it has the output's size. A frozen picture keeps its own.
    private func answerCaptureRequests(_ frame: borrowing PublishableFrame, _ pipeline: borrowing Pipeline) {
        guard dependencies.mailbox.hasCaptureRequests, settings.isFrozen || pipeline.hasOutputSize else { return }
        for request in dependencies.mailbox.takeCaptureRequests() { request.capture(frame) }
    }

    private func refuseCaptureRequests(_ reason: String) {
        guard dependencies.mailbox.hasCaptureRequests else { return }
        for request in dependencies.mailbox.takeCaptureRequests() { request.refuse("there is no picture: \(reason)") }
    }

    /// Publishes a substitute if the source has no frame: the last frame if the next one is only late, or else a
    /// placeholder.
    private mutating func publishPlaceholder(_ pipeline: borrowing Pipeline) throws {
        let now = dependencies.clock.now()
        guard fillsGaps, now >= published + fillInterval else { return }
        // Masks that were put on meanwhile can't be drawn on the picture of a source that is gone.
        let isCurrent = repeatsLastFrame && (replacement == .none || !pipeline.hasMaskUpdate)
        // A frozen picture, or that of a stalled camera, must not show what they hide either.
        if isCurrent, !settings.isPaused, !pipeline.hidesTooLittle, case .publishable(let frame) = pipeline.gate.outcome
        {
            try publish(frame, faces: pipeline.monitoredFaces)
            answerCaptureRequests(frame, pipeline)
        } else {
            let kind: Placeholders.Kind =
                settings.isPaused ? .paused : loopStatus.camera == .lost ? .problem : isCurrent ? .hidden : .idle
            try dependencies.placeholders.withPlaceholder(kind) { try publish($0, isPlaceholder: true) }
            switch kind {
            case .paused: refuseCaptureRequests("Guise is paused")
            case .problem: refuseCaptureRequests("the camera is missing or in use")
            case .hidden where settings.isFrozen:
                refuseCaptureRequests("the frozen picture might show what is to be hidden; run `guise resume` first")
            case .idle where settings.isFrozen:
                refuseCaptureRequests("Guise is frozen without one; run `guise resume` first")
            // The next frame answers them.
            case .idle, .hidden, .stopped: break
            }
        }
        loopStatus.repeated += 1
        published = now
        if loopStatus.repeated == 1 { dependencies.ready() }
    }

    private mutating func updateCrashPlaceholders() {
        let revision = dependencies.placeholders.revision
        guard revision != placeholderRevision else { return }
        placeholderRevision = revision
        try? dependencies.placeholders.withPlaceholder(.stopped) { placeholder in
            for output in outputs { output.setCrashPlaceholder(placeholder) }
        }
    }

    /// Sleeps until a time of the monotonic clock. False if the end was requested meanwhile.
    private func sleep(until moment: UInt64) -> Bool {
        while true {
            let now = dependencies.clock.now()
            guard now < moment else { return true }
            let left = moment - now
            guard left >= 1_000_000 else {
                // poll counts whole milliseconds; the rest is slept.
                dependencies.clock.sleep(left)
                return true
            }
            let milliseconds = CInt(clamping: min(left / 1_000_000, 100))
            let isSignalled = dependencies.clock.waits(for: signals.descriptor, milliseconds: milliseconds)
            if isSignalled && receiveSignals() || dependencies.mailbox.isEnding { return false }
            _ = dependencies.pingWatchdog()
        }
    }
}
