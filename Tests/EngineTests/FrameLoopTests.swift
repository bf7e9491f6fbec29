import Capture
import Compose
import Foundation
import Frames
import Glibc
import JSON
import Privacy
import Publish
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import SystemKit

/// The loop with a simulated clock and a fake source, sinks and cameras. Times are seconds since its start.
@Suite(.ownThread) struct FrameLoopTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    // MARK: - Files

    @Test(arguments: [false, true])
    func `each frame of a file is published once and in order, and the loop ends with the file`(
        hasDescriptor: Bool
    ) throws {
        let stage = try Stage()
        let steps: [Script.Step] = [
            .gray(60, at: 0), .nothing, .gray(90, at: 0.1), .gray(120, at: 0.2), .nothing, .gray(150, at: 0.3),
        ]
        let file = Script(stage.clock, steps, isLive: false, hasDescriptor: hasDescriptor)
        let (first, second) = (stage.sink(keepsFrames: true), stage.sink(keepsFrames: true))
        try stage.run([first, second], source: Stage.source(file))
        #expect(first.grays == [60, 90, 120, 150] && second.grays == first.grays)
        #expect(first.shots.count == 4, "nothing else is in the file")
        #expect(stage.readies == 1 && stage.mailbox.lastStatus.frames == 4)
        #expect(file.seen.closed == 1 && stage.cameras.wanted.isEmpty)
    }

    @Test func `a paced file is published at its own times`() throws {
        let stage = try Stage()
        let times = [0, 0.1, 0.25, 0.5, 2]
        let steps = times.enumerated().map { Script.Step.gray(UInt8(60 + $0.offset), at: $0.element) }
        let log = stage.sink()
        try stage.run([log], source: Stage.source(Script(stage.clock, steps, isLive: false, rate: 10)), isPaced: true)
        #expect(log.shots.map(\.time) == times)
        #expect(log.grays == [60, 61, 62, 63, 64])
    }

    @Test func `a delayed file continues at its own rate and does not catch up`() throws {
        let stage = try Stage()
        // Writing the second frame takes three seconds.
        let clock = stage.clock
        let log = Published(clock) { count in if count == 2 { clock.pass(seconds: 3) } }
        try stage.run([log], source: Stage.source(stage.file([60, 61, 62, 63], rate: 10)), isPaced: true)
        try #require(log.grays == [60, 61, 62, 63])
        let times = log.shots.map(\.time)
        #expect(times[0] == 0 && times[1] == 0.1)
        #expect((3.1...3.2).contains(times[2]) && (0.09...0.11).contains(times[3] - times[2]), "\(times)")
    }

    @Test func `a signal ends the wait for a paced file's next frame`() throws {
        let stage = try Stage()
        let steps: [Script.Step] = [.gray(60, at: 0), .gray(61, at: 10)]
        let log = stage.sink()
        stage.at(5) { pthread_kill(pthread_self(), SIGTERM) }
        try stage.run([log], source: Stage.source(Script(stage.clock, steps, isLive: false, rate: 10)), isPaced: true)
        #expect(log.grays == [60])
        #expect((5...5.2).contains(stage.clock.seconds))
    }

    // MARK: - Cameras

    @Test func `a late camera's last picture is repeated after a quarter of a second`() throws {
        let stage = try Stage()
        let camera = stage.camera([.gray(100, at: 0.1), .gray(130, at: 1.2)])
        let log = stage.sink()
        stage.end(at: 1.4)
        try stage.run([log])
        let shots = log.shots.filter { $0.gray != nil }
        try #require(shots.compactMap(\.gray) == [100, 100, 100, 100, 100, 130])
        let gaps = zip(shots.dropLast(), shots.dropLast().dropFirst()).map { $1.time - $0.time }
        #expect(gaps.allSatisfy { $0 >= 0.25 && $0 < 0.26 }, "\(gaps)")
        #expect(shots[0].time == 0.1 && shots[5].time == 1.2)
        #expect(camera.seen.opened == 1 && camera.seen.closed == 1 && stage.cameras.failures.isEmpty)
        #expect(stage.mailbox.lastStatus.camera == .open && stage.mailbox.lastStatus.frames == 2)
    }

    @Test func `a camera silent for ten seconds is lost, a placeholder says so, and it is tried again`() throws {
        let stage = try Stage()
        stage.placeholders.draw(.problem, "No picture", "")
        let placeholder = try stage.sum(of: .problem)
        #expect(try placeholder != stage.sum(of: .idle))
        let camera = stage.camera([.gray(100, at: 0.1)])
        let log = stage.sink()
        stage.end(at: 11)
        try stage.run([log])
        let last = try #require(log.shots.lastIndex { $0.gray != nil })
        let lost = try #require(log.shots.dropFirst(last + 1).first)
        #expect(lost.sum == placeholder && (10.1...10.5).contains(lost.time), "\(lost)")
        #expect(log.shots.dropFirst(last + 1).allSatisfy { $0.gray == nil })
        #expect(camera.seen.closed == 1 && stage.cameras.closings == 1)
        #expect(stage.cameras.failures.first?.message.contains("has sent no frames for 10 s") == true)
        // It is asked for again half a second later.
        #expect(stage.cameras.failures.count == 2 && stage.cameras.failures.last == Cameras.absence)
        let times = stage.cameras.times
        #expect(times.count == 2 && times[1] - lost.time > 0.499, "\(times)")
        #expect(stage.said.contains { $0.hasPrefix("no picture") })
    }

    @Test func `a camera that fails is closed, and reopened after a pause`() throws {
        let stage = try Stage()
        let unplugged = Problem(.gone, "it was unplugged")
        let first = stage.camera(Script.frames(9, gray: 100) + [.failure(unplugged, at: 0.31)])
        let second = stage.camera(Script.frames(30, gray: 150))
        let log = stage.sink()
        stage.end(at: 1.5)
        try stage.run([log])
        #expect(stage.cameras.failures == [unplugged])
        #expect(first.seen.closed == 1 && second.seen.opened == 1)
        let again = try #require(log.shots.first { $0.gray == 150 })
        #expect((0.81...0.9).contains(again.time), "\(again.time)")
        #expect(log.shots(from: 0.31, to: again.time).allSatisfy { $0.gray == nil })
    }

    @Test func `without a camera a placeholder says so, and a new one is used`() throws {
        let stage = try Stage()
        stage.placeholders.draw(.problem, "No picture", "")
        let placeholder = try stage.sum(of: .problem)
        for _ in 0..<3 { stage.cameras.add(Cameras.absence) }
        let camera = stage.camera(Script.frames(30, gray: 100))
        let log = stage.sink()
        stage.end(at: 3)
        try stage.run([log])
        #expect(log.shots.contains { $0.sum == placeholder })
        // Retries after half a second, another half and a second.
        #expect(stage.cameras.times == [0, 0.5, 1, 2])
        #expect(stage.cameras.failures == [Cameras.absence] && camera.seen.opened == 1)
        #expect(try #require(log.shots.first { $0.gray != nil }).time > 2)
    }

    @Test func `a pause shows a placeholder and closes the camera, and resume opens it again`() throws {
        let stage = try Stage()
        stage.placeholders.draw(.paused, "Paused", "")
        let placeholder = try stage.sum(of: .paused)
        let first = stage.camera(Script.frames(90, gray: 100))
        let second = stage.camera(Script.frames(90, gray: 150))
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.isPaused = true } }
        let closed = Atomic<Int>(0)
        stage.at(1.5) { closed.store(first.seen.closed, ordering: .relaxed) }
        stage.at(1.51) { mailbox.change { $0.isPaused = false } }
        stage.end(at: 2.5)
        try stage.run([log])
        #expect(closed.load(ordering: .relaxed) == 1, "it is closed while it is paused")
        let paused = log.shots(from: 0.511, to: 1.51)
        #expect((8...11).contains(paused.count) && paused.allSatisfy { $0.sum == placeholder })
        #expect(log.shots(from: 0.5095, to: 0.511).last?.sum == placeholder, "it comes at once")
        #expect(Set(log.shots(from: 0, to: 0.51).compactMap(\.gray)) == [100])
        #expect(Set(log.shots(from: 1.51).compactMap(\.gray)) == [150])
        #expect(first.seen.opened == 1 && second.seen.opened == 1 && stage.cameras.failures.isEmpty)
        #expect(stage.cameras.times == [0, 1.51])
    }

    @Test func `a freeze repeats the last picture, and the camera's frames meanwhile are never shown`() throws {
        let stage = try Stage()
        let camera = stage.camera(Script.frames(60, gray: 60, by: 2))
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.isFrozen = true } }
        stage.at(1.51) { mailbox.change { $0.isFrozen = false } }
        stage.end(at: 1.9)
        try stage.run([log])
        let frozen = log.shots(from: 0.51, to: 1.51)
        // The fifteenth frame came at half a second.
        #expect(frozen.count >= 9 && frozen.allSatisfy { $0.gray == 88 })
        let grays = log.shots(from: 1.51).compactMap(\.gray)
        // The forty-sixth frame is the next.
        #expect(grays.first == 150 && grays == grays.sorted())
        #expect(camera.seen.opened == 1)
    }

    /// What makes faces hidden while a picture stands still.
    enum Hiding: CaseIterable { case mask, setting, crop }

    @Test(arguments: Hiding.allCases, [false, true])
    func `a picture that stands still is not shown any more once more of it is to be hidden`(
        by hiding: Hiding, isFrozen: Bool
    ) throws {
        try scratch.makeBrightMask("hiding", "\"onLostFace\": \"cover\", ")
        let stage = try Stage()
        stage.placeholders.draw(.hidden, "One moment", "")
        let placeholder = try stage.sum(of: .hidden)
        // The camera stalls after half a second; the frozen one goes on.
        _ = stage.camera(Script.frames(isFrozen ? 90 : 15, gray: 100))
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Stage.layout), selections: []
        ) { _ in }
        loader.start(signaling: stage.mailbox.wakeEvent)
        defer { loader.close() }
        let (log, mailbox, capture) = (stage.sink(), stage.mailbox, FakeCapture())
        if isFrozen { stage.at(0.51) { mailbox.change { $0.isFrozen = true } } }
        stage.at(1.01) {
            switch hiding {
            case .mask: loader.select([MaskSelection("hiding")])
            case .setting: mailbox.change { $0.onLostFace = .cover }
            case .crop: mailbox.change { $0.view.crop[2] = 0.2 }
            }
        }
        // The loader's thread has no simulated clock, so the loop waits for it.
        stage.at(1.02) { if hiding == .mask { waits { loader.hasUpdate(since: 0) } } }
        stage.at(1.5) { mailbox.requestCapture(capture) }
        stage.end(at: 2.5)
        try stage.run([log], loader: loader)
        #expect(log.shots(from: 0.6, to: 1.01).contains { $0.gray == 100 })
        let after = log.shots(from: 1.28)
        #expect(after.count > 3 && after.allSatisfy { $0.sum == placeholder })
        #expect(capture.grays.isEmpty && capture.refusals.count == (isFrozen ? 1 : 0))
    }

    @Test(arguments: [nil, LostFacePolicy.show])
    func `from the request for a hiding mask on, no picture is shown until it is loaded`(
        whatever policy: LostFacePolicy?
    ) throws {
        try scratch.makeBrightMask("hiding", "\"onLostFace\": \"cover\", ")
        let stage = try Stage { $0.onLostFace = policy }
        stage.placeholders.draw(.hidden, "One moment", "")
        let placeholder = try stage.sum(of: .hidden)
        _ = stage.camera(Script.frames(60, gray: 100))
        // Its thread doesn't run, as if something else were loaded first.
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Stage.layout), selections: []
        ) { _ in }
        let (log, capture, mailbox) = (stage.sink(), FakeCapture(), stage.mailbox)
        stage.at(0.51) { loader.select([MaskSelection("hiding")], hiding: [.faces, .foundFaces]) }
        stage.at(0.7) { mailbox.requestCapture(capture) }
        stage.at(1.01) { loader.select([], hiding: []) }
        stage.end(at: 1.5)
        try stage.run([log], loader: loader)
        let hidden = log.shots(from: 0.511, to: 1.01)
        #expect(hidden.count > 10 && hidden.allSatisfy { $0.sum == placeholder })
        #expect(log.shots(from: 1.05).contains { $0.gray == 100 })
        #expect(capture.refusals.isEmpty && capture.grays == [100], "it waits")
    }

    @Test func `a freeze before the first picture refuses captures`() throws {
        let stage = try Stage { $0.isFrozen = true }
        _ = stage.camera(Script.frames(60, gray: 100))
        let (log, capture, mailbox) = (stage.sink(), FakeCapture(), stage.mailbox)
        stage.at(0.5) { mailbox.requestCapture(capture) }
        stage.end(at: 1)
        try stage.run([log])
        #expect(capture.grays.isEmpty && capture.refusals.count == 1)
    }

    @Test func `a frozen picture stays if the view changes`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(60, gray: 100))
        let (log, mailbox, capture) = (stage.sink(), stage.mailbox, FakeCapture())
        stage.at(0.51) { mailbox.change { $0.isFrozen = true } }
        stage.at(0.7) { mailbox.change { $0.view.zoom = .face } }
        stage.at(0.9) { mailbox.change { $0.view.isMirrored = true } }
        stage.at(1) { mailbox.change { $0.view.crop = .zero } }
        stage.at(1.1) { mailbox.requestCapture(capture) }
        stage.end(at: 1.5)
        try stage.run([log])
        let frozen = log.shots(from: 0.51)
        #expect(frozen.count > 8 && frozen.allSatisfy { $0.gray == 100 } && capture.grays == [100])
    }

    @Test func `without viewers the camera is closed after five seconds, and reopened for the next one`() throws {
        let stage = try Stage()
        let first = stage.camera(Script.frames(600, gray: 100))
        let second = stage.camera(Script.frames(90, gray: 150))
        let log = stage.sink()
        log.setReaders(true)
        stage.at(1.01) { log.setReaders(false) }
        stage.at(10.01) { log.setReaders(true) }
        stage.end(at: 11)
        try stage.run([log])
        let last = try #require(log.shots.last { $0.gray == 100 })
        #expect((5.9...6.1).contains(last.time), "\(last.time)")
        #expect(first.seen.closed == 1 && stage.cameras.failures.isEmpty)
        // Two frames per second are enough without viewers.
        let placeholders = log.shots(from: last.time, to: 10)
        let gaps = zip(placeholders.dropFirst(), placeholders.dropFirst(2)).map { $1.time - $0.time }
        #expect(gaps.count >= 5 && gaps.allSatisfy { $0 >= 0.5 && $0 < 0.52 }, "\(gaps)")
        #expect(placeholders.allSatisfy { $0.gray == nil })
        let again = try #require(log.shots.first { $0.gray == 150 })
        #expect(again.time > 10.01 && again.time < 10.4 && second.seen.opened == 1)
        #expect(stage.said.contains { $0.hasPrefix("nobody is watching") })
    }

    @Test func `the status for the service manager distinguishes a closed camera from one that is being opened`() {
        var settings = LoopSettings()
        let cameras: [LoopStatus.Camera] = [.closed, .opening, .open, .lost]
        let states = cameras.map { FrameLoop.State(settings, $0) }
        #expect(states == [.idle, .opening, .open, .lost])
        settings.isFrozen = true
        #expect(FrameLoop.State(settings, .open) == .frozen)
        settings.isPaused = true
        #expect(FrameLoop.State(settings, .closed) == .paused)
    }

    @Test func `the placeholder that stays after the end is waited for while it is being replaced`() throws {
        let placeholders = Placeholders(Stage.layout)
        let (begins, ends) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let count = Atomic<Int>(0)
        try placeholders.withPlaceholder(.stopped) { _ in
            Thread.detachNewThread {
                begins.signal()
                try? placeholders.withLastPlaceholder { _ in count.add(1, ordering: .relaxed) }
                ends.signal()
            }
            begins.wait()
        }
        ends.wait()
        #expect(count.load(ordering: .relaxed) == 1)
    }

    @Test(arguments: [false, true])
    func `the camera is open while something is waited for in its picture`(isReported: Bool) throws {
        let stage = try Stage()
        let camera = stage.camera(Script.frames(90, gray: 100))
        let (log, mailbox) = (try isReported ? stage.reportingSink() : stage.sink(), stage.mailbox)
        log.setReaders(false)
        let (isWaiting, isSeen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        stage.at(1.01) {
            Thread {
                mailbox.observe {
                    isWaiting.signal()
                    isSeen.wait()
                }
            }.start()
            isWaiting.wait()
        }
        stage.at(2.01) {
            isSeen.signal()
            waits { !mailbox.hasObservers }
        }
        stage.end(at: 10)
        try stage.run([log])
        let times = log.shots.filter { $0.gray == 100 }.map(\.time)
        #expect(times.count > 20 && times.allSatisfy { $0 > 1 && $0 < 7.1 } && camera.seen.closed == 1)
    }

    @Test func `if the camera should always be open it stays so without viewers`() throws {
        let stage = try Stage { $0.cameraUse = .always }
        let camera = stage.camera(Script.frames(300, gray: 100))
        let log = stage.sink()
        log.setReaders(false)
        stage.end(at: 9)
        try stage.run([log])
        #expect(log.grays.count > 250 && stage.cameras.closings == 0 && camera.seen.opened == 1)
    }

    @Test func `a frame that arrives faster than the output rate is dropped, and counted`() throws {
        let stage = try Stage()
        let steps: [Script.Step] = [
            .gray(100, at: 0.1), .gray(110, at: 0.12), .gray(120, at: 0.14), .gray(130, at: 0.16), .end(at: 0.3),
        ]
        let log = stage.sink()
        try stage.run([log], source: Stage.source(Script(stage.clock, steps, isLive: true)))
        // Frames are a thirtieth of a second apart, and the loop waits three quarters of that.
        #expect(log.grays == [100, 120])
        #expect(stage.mailbox.lastStatus.overRate == 2 && stage.mailbox.lastStatus.frames == 2)
    }

    @Test(arguments: [false, true])
    func `a frame that takes most of an interval counts as late`(isSlow: Bool) throws {
        let stage = try Stage()
        let clock = stage.clock
        let log = Published(clock) { _ in if isSlow { clock.pass(seconds: 0.03) } }
        let script = Script(clock, Script.frames(10, gray: 100) + [.end(at: 1)], isLive: true)
        try stage.run([log], source: Stage.source(script))
        #expect(stage.wasLate == isSlow && log.grays.count > 3)
    }

    // MARK: - At rest

    /// Counts the times that a loop goes to sleep between two times, in seconds since the start.
    private final class WakeUps: Sendable {
        private let counts = Mutex<[Int]>([])

        init(_ stage: Stage, from begin: Double, to end: Double) {
            let clock = stage.clock
            for time in [begin, end] {
                stage.at(time) { [self] in
                    let waits = clock.waits
                    counts.withLock { $0.append(waits) }
                }
            }
        }

        /// Nil before the end.
        var count: Int? { counts.withLock { $0.count == 2 ? $0[1] - $0[0] : nil } }
    }

    @Test func `nothing wakes the loop while nobody watches, and the next reader does`() throws {
        let stage = try Stage()
        let first = stage.camera(Script.frames(600, gray: 100))
        let second = stage.camera(Script.frames(60, gray: 150))
        let (log, mailbox) = (try stage.reportingSink(), stage.mailbox)
        log.setReaders(true)
        stage.at(1.01) { log.setReaders(false) }
        let wakeUps = WakeUps(stage, from: 10, to: 99)
        let status = Mutex(LoopStatus())
        stage.at(99.5) {
            let last = mailbox.lastStatus
            status.withLock { $0 = last }
        }
        stage.at(100) { log.setReaders(true) }
        stage.end(at: 101)
        try stage.run([log])
        #expect(wakeUps.count == 0 && first.seen.closed == 1)
        let last = status.withLock { $0 }
        #expect(last.camera == .closed && !last.hasViewers && last.hasReaders == false && last.rate == 0)
        let again = try #require(log.shots.first { $0.gray == 150 })
        #expect(again.time > 100 && again.time < 100.1 && second.seen.opened == 1)
        #expect(stage.readies >= 1, "the first placeholder comes at once")
    }

    @Test func `a sink that tells of no reader is asked four times a second, whatever the others do`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(60, gray: 100))
        let (reporting, polled) = (try stage.reportingSink(), stage.sink(needsIdlePlaceholder: false))
        for log in [reporting, polled] { log.setReaders(false) }
        let wakeUps = WakeUps(stage, from: 10, to: 20)
        stage.at(30) { polled.setReaders(true) }
        stage.end(at: 31)
        try stage.run([reporting, polled])
        #expect((39...40).contains(wakeUps.count ?? 0), "\(String(describing: wakeUps.count))")
        let first = try #require(polled.shots.first { $0.gray == 100 })
        #expect(first.time > 30 && first.time < 30.3, "\(first.time)")
    }

    @Test func `a loopback gets two placeholders a second, and nothing else wakes the loop`() throws {
        let stage = try Stage()
        let log = try stage.reportingSink(needsIdlePlaceholder: true)
        log.setReaders(false)
        let wakeUps = WakeUps(stage, from: 10, to: 20)
        stage.end(at: 21)
        try stage.run([log])
        let count = log.shots(from: 10, to: 20).count
        #expect((19...20).contains(count) && wakeUps.count == count, "\(count)")
    }

    @Test func `the page's first viewer wakes the loop, which rests again after the last one`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(600, gray: 100))
        let (monitor, mailbox) = (stage.monitor, stage.mailbox)
        let (before, after) = (WakeUps(stage, from: 10, to: 19), WakeUps(stage, from: 40, to: 59))
        stage.at(20) {
            monitor.setViewers(true)
            mailbox.wakeEvent.signal()
        }
        stage.at(22) { monitor.setViewers(false) }
        stage.end(at: 60)
        // Without another output, as with the page alone.
        try stage.run([])
        #expect(before.count == 0 && after.count == 0)
        #expect(monitor.placeholders > 0 && monitor.published.contains { $0 == 100 })
    }

    @Test func `settings and requests reach a loop at rest`() throws {
        let stage = try Stage()
        let (log, mailbox, capture) = (try stage.reportingSink(), stage.mailbox, FakeCapture())
        log.setReaders(false)
        stage.at(10) { mailbox.change { $0.isPaused = true } }
        stage.at(30) { mailbox.requestCapture(capture) }
        let refusals = Atomic<Int>(0)
        stage.at(30.01) { refusals.store(capture.refusals.count, ordering: .relaxed) }
        let wakeUps = WakeUps(stage, from: 35, to: 39)
        stage.end(at: 40)
        try stage.run([log])
        #expect(stage.said.contains { $0.hasPrefix("paused") })
        #expect(capture.refusals == ["there is no picture: Guise is paused"])
        #expect(refusals.load(ordering: .relaxed) == 1 && wakeUps.count == 0)
        #expect(stage.clock.seconds < 40.1)
    }

    @Test func `a recording goes on while the picture is paused and nobody watches`() throws {
        let stage = try Stage()
        let (log, mailbox, clock) = (try stage.reportingSink(), stage.mailbox, stage.clock)
        log.setReaders(false)
        let recorder = try Recorder(
            path: scratch.path("paused.mkv"), layout: Stage.layout, rate: 2, now: { clock.now })
        stage.at(2) {
            mailbox.change {
                $0.isPaused = true
                $0.recorder = recorder
            }
        }
        stage.end(at: 6)
        try stage.run([log])
        let shots = log.shots(from: 2, to: 6)
        #expect(shots.count >= 6, "each placeholder that it gets is published: \(shots.count)")
        try? recorder.finish()
    }

    @Test func `a loop at rest notifies the watchdog in time`() throws {
        let stage = try Stage()
        stage.watchdogDelay = 5_000_000_000
        let log = try stage.reportingSink()
        log.setReaders(false)
        let wakeUps = WakeUps(stage, from: 10, to: 60)
        stage.end(at: 61)
        try stage.run([log])
        #expect((9...10).contains(wakeUps.count ?? 0), "\(String(describing: wakeUps.count))")
    }

    // MARK: - Sinks

    @Test func `a file that fails is closed, and the other sinks continue`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(30, gray: 100))
        let (file, live) = (stage.sink(keepsFrames: true), stage.sink())
        file.fail(after: 5, with: Problem(.gone, "the disk is full"))
        stage.end(at: 0.9)
        try stage.run([file, live])
        #expect(file.shots.count == 5)
        #expect(live.grays.count >= 25)
    }

    @Test func `a file that has failed is completed at the end, since it may be kept as far as it was written`() throws
    {
        let stage = try Stage()
        let file = stage.sink(keepsFrames: true)
        let output = Output(FakeSink(file))
        let card = Placeholder(plain: Stage.layout)
        try output.publish(card.frame)
        output.drop()
        try output.publish(card.frame)
        #expect(file.shots.count == 1 && !file.isFinished && output.hasReaders(at: 0) == false)
        try output.finish(placeholder: card.frame)
        #expect(file.isFinished)
    }

    @Test(arguments: [false, true])
    func `a failing loopback ends the loop, and so does a failing file that is the only sink`(isKept: Bool) throws {
        let stage = try Stage()
        let gone = Problem(.gone, "the virtual camera is gone")
        _ = stage.camera(Script.frames(30, gray: 100))
        let log = stage.sink(keepsFrames: !isKept)
        log.fail(after: 3, with: gone)
        let thrown = problem {
            if isKept {
                try stage.run([log])
            } else {
                try stage.run([log], source: Stage.source(stage.file([60, 61, 62, 63, 64])))
            }
        }
        #expect(thrown == gone && log.shots.count == 3)
    }

    // MARK: - Privacy

    @Test func `if faces are hidden and none is found, only a placeholder is published`() throws {
        let stage = try Stage { $0.onLostFace = .cover }
        stage.placeholders.draw(.hidden, "One moment", "")
        let placeholder = try stage.sum(of: .hidden)
        #expect(try placeholder != stage.sum(of: .idle))
        let log = stage.sink()
        stage.monitor.setViewers(true)
        try stage.run([log], source: Stage.source(stage.file([60, 90, 120, 150])))
        #expect(log.shots.map(\.sum) == [placeholder, placeholder, placeholder, placeholder])
        #expect(stage.monitor.placeholders == 4, "the page knows that they are placeholders")
    }

    @Test func `a late frame that is withheld is not repeated either`() throws {
        let stage = try Stage { $0.onLostFace = .cover }
        stage.placeholders.draw(.hidden, "One moment", "")
        let placeholder = try stage.sum(of: .hidden)
        _ = stage.camera(Script.frames(3, gray: 100))
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(1) { mailbox.change { $0.isFrozen = true } }
        stage.end(at: 2)
        try stage.run([log])
        let shots = log.shots(from: 0.03)
        #expect(log.grays.isEmpty && shots.count > 8 && shots.allSatisfy { $0.sum == placeholder })
    }

    @Test(.needsSample) func `a face is not shown before the whole frame was searched once, and then it is`() throws {
        let stage = try Stage { $0.onLostFace = .cover }
        stage.placeholders.draw(.hidden, "One moment", "")
        let placeholder = try stage.sum(of: .hidden)
        let mailbox = stage.mailbox
        let log = Published(stage.clock) { count in if count == 90 { mailbox.end() } }
        // So large that one frame's budget does not search all of it.
        let source = try Sample(path: Fixtures.sample, width: 1920, height: 1080)
        try stage.run([log], source: source, landmarks: true)
        #expect(log.shots.first?.sum == placeholder)
        #expect(log.shots.contains { $0.sum != placeholder }, "it is found within three seconds")
    }

    private static func sample() throws -> any FrameSource & ~Copyable {
        try Sample(path: Fixtures.sample, width: 640, height: 360)
    }

    /// A person at the left, and from the fourth second on the same one at the right, from a source that keeps no
    /// frame.
    private struct Newcomer: FrameSource, ~Copyable {
        let description = "two people"
        let layout = FrameLayout(width: 1280, height: 360, format: .i420)
        let rate: Double? = 30
        let descriptor: CInt? = nil
        let isLive = false
        let damaged = 0
        private var sample: Sample
        private var frame: Frame

        init() throws {
            sample = try Sample(path: Fixtures.sample, width: 640, height: 360)
            frame = Frame(layout)
        }

        mutating func withFrame(
            _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
        ) throws -> FrameResult {
            var moment = FrameTime(number: 0, seconds: 0)
            var person: [UInt8] = []
            let arrival = try sample.withFrame { view, time in
                moment = time
                let luma = view.luma
                for y in 0..<360 {
                    for x in 0..<640 { person.append(luma.samples[y * luma.rowStride + x * luma.pixelStride]) }
                }
            }
            guard arrival == .frame else { return arrival }
            frame.fill(y: 100, u: 128, v: 128)
            var bytes = frame.mutableBytes
            for (i, value) in person.enumerated() {
                let left = i / 640 * 1280 + i % 640
                bytes[left] = value
                if moment.number >= 120 { bytes[left + 640] = value }
            }
            try body(frame.view, moment)
            return .frame
        }

        mutating func withLastFrame(
            _ body: (borrowing FrameView, _ time: FrameTime) throws -> Void
        ) throws -> Bool { false }
    }

    @Test(.needsSample) func `a newcomer is found beside a known face, also if the source keeps no frame`() throws {
        let stage = try Stage()
        let mailbox = stage.mailbox
        let alone = Mutex(0)
        let log = Published(stage.clock) { count in
            if count == 110 { alone.withLock { $0 = mailbox.lastStatus.faces } }
            if count == 240 { mailbox.end() }
        }
        try stage.run([log], source: Newcomer(), isPaced: true, landmarks: true)
        let before = alone.withLock { $0 }
        #expect(before == 1 && mailbox.lastStatus.faces == 2, "\(before) \(mailbox.lastStatus.faces)")
    }

    // MARK: - Requests and viewers

    @Test func `SIGHUP is passed on, and SIGTERM ends the loop`() throws {
        let stage = try Stage()
        let camera = stage.camera(Script.frames(60, gray: 100))
        let log = stage.sink()
        for time in [0.21, 0.41] { stage.at(time) { pthread_kill(pthread_self(), SIGHUP) } }
        stage.at(0.71) { pthread_kill(pthread_self(), SIGTERM) }
        try stage.run([log])
        #expect(stage.hangups == 2)
        #expect(stage.clock.seconds == 0.71 && log.grays.count == 21)
        #expect(camera.seen.closed == 1)
    }

    @Test func `capture requests get the same next frame, and an error during a pause`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(30, gray: 60, by: 4))
        let log = stage.sink()
        let mailbox = stage.mailbox
        let (one, two, late) = (FakeCapture(), FakeCapture(), FakeCapture())
        stage.at(0.31) { for request in [one, two] { mailbox.requestCapture(request) } }
        stage.at(0.61) { mailbox.change { $0.isPaused = true } }
        stage.at(0.81) { mailbox.requestCapture(late) }
        stage.end(at: 1.2)
        try stage.run([log])
        let next = try #require(log.shots(from: 0.31).first?.gray)
        #expect(one.grays == [next] && two.grays == [next] && one.refusals.isEmpty)
        #expect(late.grays.isEmpty && late.refusals == ["there is no picture: Guise is paused"])
    }

    /// A loader without masks, whose thread runs.
    private func startedLoader(_ stage: Stage) throws -> MaskLoader {
        let loader = try MaskLoader(searchPaths: [], target: ArtTarget(Stage.layout), selections: []) { _ in }
        loader.start(signaling: stage.mailbox.wakeEvent)
        return loader
    }

    @Test func `the picture has the size that its only watcher has chosen, without a gap`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(150, gray: 60))
        let (usb, loopback) = (stage.sink(), stage.sink())
        usb.setReaders(true)
        loopback.setReaders(true)
        let small = FrameSize(width: 32, height: 24)
        usb.choose(small)
        let loader = try startedLoader(stage)
        defer { loader.close() }
        let (monitor, mailbox, capture) = (stage.monitor, stage.mailbox, FakeCapture())
        // The loader's thread has no simulated clock, so the loop waits for it.
        func at(_ seconds: Double, _ act: @escaping @Sendable () -> Void, thenWaitFor changes: Int) {
            stage.at(seconds, act)
            stage.at(seconds + 0.2) { waits { loader.hasUpdate(since: changes - 1) } }
        }
        at(0.5, { loopback.setReaders(false) }, thenWaitFor: 1)
        at(1, { monitor.setViewers(true) }, thenWaitFor: 2)
        at(2, { monitor.setViewers(false) }, thenWaitFor: 3)
        at(3, { mailbox.requestCapture(capture) }, thenWaitFor: 4)
        stage.at(3.5) { waits { loader.hasUpdate(since: 4) } }
        stage.at(4) { usb.setReaders(false) }
        stage.end(at: 4.5)
        try stage.run([usb, loopback], loader: loader)
        let own = Stage.layout.size
        func sizes(_ from: Double, _ to: Double) -> Set<Bool> {
            Set(usb.shots(from: from, to: to).map { $0.size == small })
        }
        #expect(sizes(0, 0.5) == [false], "another output is watched")
        #expect(sizes(0.8, 1) == [true], "its reader is the only one")
        let counts = usb.shots(from: 0.85, to: 1).map(\.allocations)
        #expect(counts.count > 3 && Set(counts).count == 1, "nothing is allocated: \(counts)")
        #expect(sizes(1.3, 2) == [false], "the page is open")
        #expect(sizes(2.3, 3) == [true], "it is closed")
        #expect(capture.sizes == [own], "a photo is not smaller because of the call")
        #expect(sizes(3.6, 4.5) == [true], "the size stays when the reader leaves")
        #expect(loopback.shots.count == usb.shots.count && loopback.shots.allSatisfy { $0.size == own })
        let frames = usb.shots(from: 0.1)
        #expect(frames.allSatisfy { $0.gray == 60 }, "there is no placeholder")
        let longest = zip(frames, frames.dropFirst()).map { $1.time - $0.time }.max() ?? 9
        #expect(longest < 0.04, "each frame is published")
    }

    @Test func `a size that is larger than output and source is not the picture's`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(30, gray: 60))
        let usb = stage.sink()
        usb.setReaders(true)
        usb.choose(FrameSize(width: 66, height: 48))
        let loader = try startedLoader(stage)
        defer { loader.close() }
        stage.end(at: 0.9)
        try stage.run([usb], loader: loader)
        #expect(loader.size == Stage.layout.size && usb.grays.count > 20)
    }

    @Test func `a monitor with viewers gets the published frame, and the frame before masks`() throws {
        let stage = try Stage()
        stage.monitor.setViewers(true)
        let mask = try scratch.brightMask(Stage.layout)
        let log = stage.sink()
        log.setReaders(false)
        try stage.run([log], source: Stage.source(stage.file([100])), masks: [mask])
        #expect(log.grays == [155] && stage.mailbox.lastStatus.hasViewers)
        #expect(stage.monitor.published == [155] && stage.monitor.unmasked == [100])
    }

    @Test func `a monitor without viewers gets no frame`() throws {
        let stage = try Stage()
        try stage.run([stage.sink()], source: Stage.source(stage.file([100])))
        #expect(stage.monitor.published.isEmpty && stage.monitor.unmasked.isEmpty)
    }

    @Test func `a change of the settings takes effect with the next frame`() throws {
        let stage = try Stage()
        _ = stage.camera(Script.frames(30, gray: 100))
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.source = .device("/dev/video7") } }
        stage.end(at: 0.9)
        try stage.run([log])
        // There is no such camera, beside the first one or without it.
        #expect(stage.cameras.wanted.map(\.source) == [.camera, .device("/dev/video7"), .device("/dev/video7")])
        #expect(stage.cameras.failures == [Cameras.absence])
        #expect(log.shots(from: 0.52).allSatisfy { $0.gray == nil })
    }

    /// - Parameter isBlocked: whether the second camera can't be opened beside the first one.
    @Test(arguments: [false, true])
    func `another camera takes over without a placeholder`(isBlocked: Bool) throws {
        let stage = try Stage()
        let first = stage.camera(Script.frames(60, gray: 100))
        if isBlocked { stage.cameras.add(Problem(.busy, "no room on the bus")) }
        // It takes half a second to deliver.
        let second = stage.camera((0..<30).map { .gray(150, at: 0.5 + Double($0) / 30) })
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.source = .device("/dev/video7") } }
        stage.end(at: 1.4)
        try stage.run([log])
        let begin = try #require(log.shots.firstIndex { $0.gray == 100 })
        let grays = log.shots[begin...].map(\.gray)
        #expect(grays.allSatisfy { $0 == 100 || $0 == 150 } && grays.last == 150, "\(grays)")
        let gaps = zip(log.shots[begin...], log.shots[(begin + 1)...]).map { $1.time - $0.time }
        #expect(gaps.allSatisfy { $0 < 0.26 })
        #expect(first.seen.closed == 1 && second.seen.opened == 1 && stage.cameras.failures.isEmpty)
        #expect(stage.cameras.times.count == (isBlocked ? 3 : 2))
    }

    @Test func `for another size the camera is closed first, and the last picture stays meanwhile`() throws {
        let stage = try Stage()
        let first = stage.camera(Script.frames(60, gray: 100))
        let second = stage.camera((0..<30).map { .gray(150, at: 0.5 + Double($0) / 30) })
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.cameraFormat.width = 640 } }
        let closed = Atomic<Int>(0)
        stage.at(0.9) { closed.store(first.seen.closed, ordering: .relaxed) }
        stage.end(at: 1.4)
        try stage.run([log])
        #expect(closed.load(ordering: .relaxed) == 1 && second.seen.opened == 1)
        let begin = try #require(log.shots.firstIndex { $0.gray == 100 })
        let grays = log.shots[begin...].map(\.gray)
        #expect(grays.allSatisfy { $0 == 100 || $0 == 150 } && grays.last == 150, "\(grays)")
    }

    @Test func `if the next camera delivers nothing, a placeholder replaces the picture of the last one`() throws {
        let stage = try Stage()
        stage.placeholders.draw(.problem, "No picture", "")
        _ = stage.camera(Script.frames(60, gray: 100))
        let second = stage.camera([])
        let log = stage.sink()
        let mailbox = stage.mailbox
        stage.at(0.51) { mailbox.change { $0.source = .device("/dev/video7") } }
        stage.end(at: 12)
        try stage.run([log])
        #expect(second.seen.closed == 1 && stage.cameras.failures.first?.kind == .gone)
        #expect(log.shots(from: 11).allSatisfy { $0.gray == nil })
    }

    @Test(arguments: [false, true])
    func `a frame allocates nothing once warm`(isPaced: Bool) throws {
        let stage = try Stage()
        let log = stage.sink()
        let file = stage.file([UInt8](repeating: 100, count: 90))
        try stage.run([log], source: Stage.source(file), isPaced: isPaced)
        let counts = log.shots.map(\.allocations)
        let asked = zip(counts, counts.dropFirst()).map { $1 - $0 }.dropFirst(30)
        #expect(asked.count == 59 && asked.allSatisfy { $0 == 0 }, "\(Array(asked))")
    }
}
