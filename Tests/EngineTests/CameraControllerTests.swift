import Capture
import Foundation
import Frames
import TestSupport
import Testing

@testable import Engine
@testable import SystemKit

/// Opening, closing and retrying of cameras on a separate thread, with a simulated clock.
@Suite(.ownThread) struct CameraControllerTests {
    private static let wanted = CameraController.Target(source: .camera, camera: VideoFormat())
    private static let unplugged = Problem(.gone, "it was unplugged")
    private static let busy = Problem(.busy, "another program has it")

    private let clock: TestClock
    private let cameras: Cameras
    /// Signalled when a source is ready, or opening failed.
    private let wake: WakeEvent

    init() throws {
        clock = try TestClock()
        cameras = Cameras(clock)
        wake = try WakeEvent()
    }

    /// - Parameters:
    ///   - beforeOpening: called on the controller's thread before each opening.
    ///   - beforeClosing: called there before sources are closed.
    private func cameraController(
        beforeOpening: @escaping @Sendable () -> Void = {}, beforeClosing: @escaping @Sendable () -> Void = {}
    ) throws -> CameraController {
        let cameras = cameras
        return try CameraController(wake: wake, clock: clock.pollClock) { wanted in
            beforeOpening()
            return try cameras.open(wanted)
        } closing: {
            beforeClosing()
            cameras.noteClosing()
        } failed: { problem in
            cameras.note(problem)
        }
    }

    private func camera() -> Script {
        let script = Script(clock, [], isLive: true)
        cameras.add(script)
        return script
    }

    /// Waits until the controller's thread is idle.
    private func settle() { waits { clock.isAsleep } }

    /// Waits for an opened source.
    private func take(_ cameraController: CameraController) -> any FrameSource & ~Copyable {
        while true {
            if let source = cameraController.takeSource() { return source }
            _ = PollClock.system.waits(for: wake.descriptor, milliseconds: -1)
            wake.drain()
        }
    }

    @Test func `a camera that was not needed for a while is reopened at once`() throws {
        let scripts = (0..<4).map { _ in camera() }
        let cameraController = try cameraController()
        defer { cameraController.close() }
        for script in scripts {
            settle()
            cameraController.request(Self.wanted)
            let source = take(cameraController)
            #expect(script.seen == Script.Seen(opened: 1, asked: 0, closed: 0))
            cameraController.returnSource(source, nil)
            cameraController.request(nil)
            settle()
            #expect(script.seen.closed == 1)
        }
        #expect(clock.pauses.isEmpty && cameras.failures.isEmpty)
        #expect(cameras.closings == 4 && cameras.wanted == Array(repeating: Self.wanted, count: 4))
        #expect(!isFailing(cameraController))
    }

    @Test func `a camera that fails to open is retried after longer and longer pauses`() throws {
        for _ in 0..<8 { cameras.add(Self.busy) }
        _ = camera()
        let cameraController = try cameraController()
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        let source = take(cameraController)
        #expect(clock.pauses == [500, 500, 1000, 2000, 4000, 4000, 4000, 4000])
        #expect(cameras.times == [0, 0.5, 1, 2, 4, 8, 12, 16, 20])
        settle()
        #expect(!isFailing(cameraController))
        cameraController.returnSource(source, nil)
    }

    @Test func `a camera that ended is reopened after a pause, a short one if it had run for long`() throws {
        for _ in 0..<3 { cameras.add(Self.busy) }
        for _ in 0..<4 { _ = camera() }
        let cameraController = try cameraController()
        defer { cameraController.close() }
        var first = 0
        func pausesSince() -> [CInt] {
            let all = clock.pauses
            defer { first = all.count }
            return Array(all[first...])
        }
        settle()
        cameraController.request(Self.wanted)
        var source = take(cameraController)
        let failed = pausesSince()
        #expect(failed == [500, 500, 1000])
        // It ends at once, which is one more failure.
        settle()
        cameraController.returnSource(source, Self.unplugged)
        source = take(cameraController)
        let atOnce = pausesSince()
        #expect(atOnce == [2000])
        settle()
        clock.pass(seconds: 9)
        cameraController.returnSource(source, Self.unplugged)
        source = take(cameraController)
        let after9 = pausesSince()
        #expect(after9 == [4000])
        settle()
        clock.pass(seconds: 11)
        cameraController.returnSource(source, Self.unplugged)
        source = take(cameraController)
        let after11 = pausesSince()
        #expect(after11 == [500])
        settle()
        cameraController.returnSource(source, nil)
        #expect(cameras.closings >= 3)
    }

    @Test func `another request starts with short pauses again`() throws {
        for _ in 0..<4 { cameras.add(Self.busy) }
        _ = camera()
        let cameraController = try cameraController()
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        cameraController.returnSource(take(cameraController), nil)
        cameraController.request(nil)
        settle()
        #expect(clock.pauses == [500, 500, 1000, 2000])
        for _ in 0..<2 { cameras.add(Self.busy) }
        _ = camera()
        cameraController.request(CameraController.Target(source: .device("/dev/video7"), camera: VideoFormat()))
        cameraController.returnSource(take(cameraController), nil)
        #expect(clock.pauses == [500, 500, 1000, 2000, 500, 500])
    }

    @Test func `a source opened for an outdated request is closed`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (first, second) = (camera(), camera())
        let cameraController = try cameraController {
            entered.signal()
            mayGo.wait()
        }
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        entered.wait()
        let other = CameraController.Target(source: .device("/dev/video7"), camera: VideoFormat())
        cameraController.request(other)
        mayGo.signal()
        entered.wait()
        // The source for the old request never reaches the loop.
        #expect(first.seen == Script.Seen(opened: 1, asked: 0, closed: 1))
        let isReady = isThere(cameraController)
        #expect(!isReady)
        mayGo.signal()
        let source = take(cameraController)
        #expect(cameras.wanted == [Self.wanted, other])
        #expect(second.seen == Script.Seen(opened: 1, asked: 0, closed: 0))
        cameraController.returnSource(source, nil)
        settle()
        #expect(second.seen.closed == 1 && cameras.failures.isEmpty && clock.pauses.isEmpty)
    }

    @Test func `a failure of an outdated request is not reported, and delays nothing`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        cameras.add(Self.busy)
        let second = camera()
        let cameraController = try cameraController {
            entered.signal()
            mayGo.wait()
        }
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        entered.wait()
        cameraController.request(CameraController.Target(source: .sample, camera: VideoFormat()))
        mayGo.signal()
        entered.wait()
        mayGo.signal()
        cameraController.returnSource(take(cameraController), nil)
        #expect(cameras.failures.isEmpty && clock.pauses.isEmpty && second.seen.opened == 1)
    }

    private func isThere(_ cameraController: CameraController) -> Bool {
        if let source = cameraController.takeSource() {
            cameraController.returnSource(source, nil)
            return true
        }
        return false
    }

    @Test func `a source that is ready but not needed any more is closed`() throws {
        let script = camera()
        let cameraController = try cameraController()
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        waits { script.seen.opened == 1 && clock.isAsleep }
        cameraController.request(nil)
        let isReady = isThere(cameraController)
        #expect(!isReady)
        settle()
        #expect(script.seen.closed == 1 && cameras.closings == 1)
    }

    @Test func `a source is closed on the controller's thread, however many come at once`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let scripts = (0..<3).map { _ in camera() }
        let cameraController = try cameraController(beforeClosing: {
            entered.signal()
            mayGo.wait()
        })
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        let first = take(cameraController)
        settle()
        cameraController.request(CameraController.Target(source: .sample, camera: VideoFormat()), besidePrevious: true)
        let second = take(cameraController)
        settle()
        cameraController.request(Self.wanted, besidePrevious: true)
        waits { scripts[2].seen.opened == 1 && clock.isAsleep }
        cameraController.returnSource(first, nil)
        entered.wait()
        // The thread is busy while one more is returned, and the third, which nobody took, is not wanted any more.
        cameraController.returnSource(second, nil)
        cameraController.request(nil)
        #expect(scripts.map(\.seen.closed) == [0, 0, 0])
        mayGo.signal()
        entered.wait()
        mayGo.signal()
        settle()
        #expect(scripts.map(\.seen.closed) == [1, 1, 1])
    }

    @Test func `each new reason is reported once, and again for another request`() throws {
        for problem in [Self.busy, Self.busy, Cameras.absence, Cameras.absence, Self.busy] { cameras.add(problem) }
        _ = camera()
        let cameraController = try cameraController()
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        let source = take(cameraController)
        let reasons = [Self.busy, Cameras.absence, Self.busy]
        #expect(cameras.failures == reasons)
        settle()
        for problem in [Self.busy, Self.busy] { cameras.add(problem) }
        _ = camera()
        cameraController.returnSource(source, Self.unplugged)
        let next = take(cameraController)
        #expect(cameras.failures == reasons + [Self.unplugged, Self.busy])
        settle()
        cameraController.returnSource(next, nil)
        cameraController.request(nil)
        settle()
        cameras.add(Self.busy)
        _ = camera()
        cameraController.request(Self.wanted)
        cameraController.returnSource(take(cameraController), nil)
        #expect(cameras.failures == reasons + [Self.unplugged, Self.busy, Self.busy])
    }

    @Test func `the loop learns that there is no source until there is one`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        cameras.add(Self.busy)
        _ = camera()
        let cameraController = try cameraController {
            entered.signal()
            mayGo.wait()
        }
        defer { cameraController.close() }
        settle()
        cameraController.request(Self.wanted)
        entered.wait()
        #expect(!isFailing(cameraController))
        mayGo.signal()
        entered.wait()
        #expect(isFailing(cameraController))
        mayGo.signal()
        let source = take(cameraController)
        settle()
        #expect(!isFailing(cameraController))
        cameraController.returnSource(source, Self.unplugged)
        #expect(isFailing(cameraController))
        // The thread checks once more before it ends.
        cameraController.request(nil)
        mayGo.signal()
    }

    /// Waits until the controller's state can be read.
    private func isFailing(_ cameraController: CameraController) -> Bool {
        var isFailing: Bool?
        waits {
            isFailing = cameraController.isFailing
            return isFailing != nil
        }
        return isFailing ?? false
    }
}
