import Capture
import Foundation
import Frames
import TestSupport
import Testing

@testable import guise

/// Cameras are opened and closed beside the loop, and tried again by a clock that runs by itself.
@Suite(.ownThread) struct SourceKeeperTests {
    private static let wanted = SourceKeeper.Wanted(source: "camera", camera: Configuration.Picture())
    private static let unplugged = Problem(.gone, "it was unplugged")
    private static let busy = Problem(.busy, "another program has it")

    private let clock: TestClock
    private let cameras: Cameras
    /// Rung when there is something to take, or nothing can be had.
    private let wake: Bell

    init() throws {
        clock = try TestClock()
        cameras = Cameras(clock)
        wake = try Bell()
    }

    private func keeper() throws -> SourceKeeper {
        let cameras = cameras
        return try SourceKeeper(wake: wake, clock: clock.pollClock) { wanted in
            try cameras.open(wanted)
        } closing: {
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

    /// Waits until the keeper's thread has nothing to do.
    private func settle() { waits { clock.isAsleep } }

    /// Waits for what was opened.
    private func take(_ keeper: SourceKeeper) -> any FrameSource & ~Copyable {
        while true {
            if let source = keeper.take() { return source }
            _ = PollClock.system.waits(for: wake.descriptor, milliseconds: -1)
            wake.hear()
        }
    }

    @Test func `what nobody wanted for a while is opened again at once`() throws {
        let scripts = (0..<4).map { _ in camera() }
        let keeper = try keeper()
        defer { keeper.close() }
        for script in scripts {
            settle()
            keeper.want(Self.wanted)
            let source = take(keeper)
            #expect(script.seen == Script.Seen(opened: 1, asked: 0, closed: 0))
            keeper.giveBack(source, nil)
            keeper.want(nil)
            settle()
            #expect(script.seen.closed == 1)
        }
        #expect(clock.pauses.isEmpty && cameras.failures.isEmpty)
        #expect(cameras.closings == 4 && cameras.wanted == Array(repeating: Self.wanted, count: 4))
        #expect(keeper.problem == nil)
    }

    @Test func `what fails to open is tried again after longer and longer pauses`() throws {
        for _ in 0..<8 { cameras.add(Self.busy) }
        _ = camera()
        let keeper = try keeper()
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        let source = take(keeper)
        #expect(clock.pauses == [500, 500, 1000, 2000, 4000, 4000, 4000, 4000])
        #expect(cameras.times == [0, 0.5, 1, 2, 4, 8, 12, 16, 20])
        settle()
        #expect(keeper.problem == nil)
        keeper.giveBack(source, nil)
    }

    @Test func `what ended by itself is opened again after a pause, a short one where it had lasted`() throws {
        for _ in 0..<3 { cameras.add(Self.busy) }
        for _ in 0..<4 { _ = camera() }
        let keeper = try keeper()
        defer { keeper.close() }
        var first = 0
        func pausesSince() -> [CInt] {
            let all = clock.pauses
            defer { first = all.count }
            return Array(all[first...])
        }
        settle()
        keeper.want(Self.wanted)
        var source = take(keeper)
        let failed = pausesSince()
        #expect(failed == [500, 500, 1000])
        // It ends at once: that is one more failure.
        settle()
        keeper.giveBack(source, Self.unplugged)
        source = take(keeper)
        let atOnce = pausesSince()
        #expect(atOnce == [2000])
        settle()
        clock.pass(seconds: 9)
        keeper.giveBack(source, Self.unplugged)
        source = take(keeper)
        let after9 = pausesSince()
        #expect(after9 == [4000])
        settle()
        clock.pass(seconds: 11)
        keeper.giveBack(source, Self.unplugged)
        source = take(keeper)
        let after11 = pausesSince()
        #expect(after11 == [500])
        settle()
        keeper.giveBack(source, nil)
        #expect(cameras.closings >= 3)
    }

    @Test func `another wish begins with short pauses again`() throws {
        for _ in 0..<4 { cameras.add(Self.busy) }
        _ = camera()
        let keeper = try keeper()
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        keeper.giveBack(take(keeper), nil)
        keeper.want(nil)
        settle()
        #expect(clock.pauses == [500, 500, 1000, 2000])
        for _ in 0..<2 { cameras.add(Self.busy) }
        _ = camera()
        keeper.want(SourceKeeper.Wanted(source: "/dev/video7", camera: Configuration.Picture()))
        keeper.giveBack(take(keeper), nil)
        #expect(clock.pauses == [500, 500, 1000, 2000, 500, 500])
    }

    @Test func `a source that was opened for a wish that has changed meanwhile is closed`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let (first, second) = (camera(), camera())
        let cameras = cameras
        let keeper = try SourceKeeper(wake: wake, clock: clock.pollClock) { wanted in
            entered.signal()
            mayGo.wait()
            return try cameras.open(wanted)
        } closing: {
            cameras.noteClosing()
        } failed: { problem in
            cameras.note(problem)
        }
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        entered.wait()
        let other = SourceKeeper.Wanted(source: "/dev/video7", camera: Configuration.Picture())
        keeper.want(other)
        mayGo.signal()
        entered.wait()
        // The one for the old wish never comes to the loop.
        #expect(first.seen == Script.Seen(opened: 1, asked: 0, closed: 1))
        let isReady = isThere(keeper)
        #expect(!isReady)
        mayGo.signal()
        let source = take(keeper)
        #expect(cameras.wanted == [Self.wanted, other])
        #expect(second.seen == Script.Seen(opened: 1, asked: 0, closed: 0))
        keeper.giveBack(source, nil)
        settle()
        #expect(second.seen.closed == 1 && cameras.failures.isEmpty && clock.pauses.isEmpty)
    }

    private func isThere(_ keeper: SourceKeeper) -> Bool {
        if let source = keeper.take() {
            keeper.giveBack(source, nil)
            return true
        }
        return false
    }

    @Test func `what is ready and not taken is closed when nobody wants it any more`() throws {
        let script = camera()
        let keeper = try keeper()
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        waits { script.seen.opened == 1 && clock.isAsleep }
        keeper.want(nil)
        let isReady = isThere(keeper)
        #expect(!isReady)
        settle()
        #expect(script.seen.closed == 1 && cameras.closings == 1)
    }

    @Test func `each new reason is told once, and again for another wish`() throws {
        for problem in [Self.busy, Self.busy, Cameras.absence, Cameras.absence, Self.busy] { cameras.add(problem) }
        _ = camera()
        let keeper = try keeper()
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        let source = take(keeper)
        let reasons = [Self.busy, Cameras.absence, Self.busy]
        #expect(cameras.failures == reasons)
        settle()
        for problem in [Self.busy, Self.busy] { cameras.add(problem) }
        _ = camera()
        keeper.giveBack(source, Self.unplugged)
        let next = take(keeper)
        #expect(cameras.failures == reasons + [Self.unplugged, Self.busy])
        settle()
        keeper.giveBack(next, nil)
        keeper.want(nil)
        settle()
        cameras.add(Self.busy)
        _ = camera()
        keeper.want(Self.wanted)
        keeper.giveBack(take(keeper), nil)
        #expect(cameras.failures == reasons + [Self.unplugged, Self.busy, Self.busy])
    }

    @Test func `the loop is told why there is no source until there is one`() throws {
        let (entered, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        cameras.add(Self.busy)
        _ = camera()
        let cameras = cameras
        let keeper = try SourceKeeper(wake: wake, clock: clock.pollClock) { wanted in
            entered.signal()
            mayGo.wait()
            return try cameras.open(wanted)
        } closing: {
        } failed: { _ in
        }
        defer { keeper.close() }
        settle()
        keeper.want(Self.wanted)
        entered.wait()
        #expect(keeper.problem == nil)
        mayGo.signal()
        entered.wait()
        #expect(keeper.problem == Self.busy)
        mayGo.signal()
        let source = take(keeper)
        settle()
        #expect(keeper.problem == nil)
        keeper.giveBack(source, Self.unplugged)
        #expect(waitForProblem(keeper) == Self.unplugged)
        // The thread asks once more before it ends.
        keeper.want(nil)
        mayGo.signal()
    }

    /// The desk may be in use just then.
    private func waitForProblem(_ keeper: SourceKeeper) -> Problem? {
        var problem: Problem?
        waits {
            problem = keeper.problem
            return problem != nil
        }
        return problem
    }
}
