import Frames
import Glibc
import Synchronization
import SystemKit
import TestSupport

/// A clock that runs by itself: where nothing is ready, the time that somebody would wait is over at once. What is to
/// happen at a certain time happens on the way.
///
/// One thread moves it on. Others follow: they wait until their time has come, and it does not pass while they work.
final class TestClock: Sendable {
    private struct Alarm: Sendable {
        let time: UInt64
        let act: @Sendable () -> Void
    }

    private struct State: Sendable {
        var now: UInt64
        /// The next one last.
        var alarms: [Alarm] = []
        var pauses: [CInt] = []
        var followers: [Sleeper] = []
    }

    /// When it begins, nanoseconds.
    static let start: UInt64 = 1_000_000_000_000

    private let state: Mutex<State>
    /// The thread that moves it on.
    private let leader: Sleeper
    private let idle: @Sendable () -> Void

    /// - Parameter idle: called before time passes.
    init(idle: @escaping @Sendable () -> Void = {}) throws {
        leader = try Sleeper()
        self.idle = idle
        var state = State(now: Self.start)
        // Frames that must not ask for memory come later.
        state.pauses.reserveCapacity(1 << 14)
        self.state = Mutex(state)
    }

    /// Nanoseconds.
    var now: UInt64 { state.withLock { $0.now } }
    /// Since it began.
    var seconds: Double { Double(now - Self.start) / 1e9 }
    /// Milliseconds that the leader waited for in vain, one time after the other.
    var pauses: [CInt] { state.withLock { $0.pauses } }
    /// The leader waits, for ever, for what has not come.
    var isAsleep: Bool { leader.isAsleep }

    /// Lets time pass.
    func pass(seconds: Double) { state.withLock { $0.now += UInt64(seconds * 1e9) } }

    /// Does something at a time, on the leader's thread, while it waits.
    func at(_ time: UInt64, _ act: @escaping @Sendable () -> Void) {
        state.withLock { state in
            // Behind those of the same time, which come first.
            let place = state.alarms.firstIndex { $0.time <= time } ?? state.alarms.count
            state.alarms.insert(Alarm(time: time, act: act), at: place)
        }
    }

    /// For the thread that moves it on.
    var pollClock: PollClock {
        PollClock(
            now: { self.now }, poll: { self.poll(&$0, $1) },
            sleep: { nanoseconds in self.state.withLock { $0.now += nanoseconds } })
    }

    /// For another thread, which waits for one descriptor at a time.
    func follower() throws -> PollClock {
        let follower = try Sleeper()
        state.withLock { $0.followers.append(follower) }
        return PollClock(now: { self.now }, poll: { self.follow(follower, &$0, $1) }, sleep: { _ in })
    }

    private func poll(_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt {
        var ready = PollClock.system.poll(&polled, 0)
        if ready != 0 { return ready }
        guard milliseconds >= 0 else {
            while ready == 0 {
                leader.sleep(until: polled[0].fd)
                ready = PollClock.system.poll(&polled, 0)
            }
            return ready
        }
        idle()
        let end = state.withLock { state -> UInt64 in
            state.pauses.append(milliseconds)
            return state.now + UInt64(milliseconds) * 1_000_000
        }
        while true {
            settle()
            ready = PollClock.system.poll(&polled, 0)
            if ready != 0 { return ready }
            guard let alarm = next(until: end) else { return 0 }
            alarm.act()
        }
    }

    private func follow(_ follower: Sleeper, _ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt {
        let end = milliseconds < 0 ? UInt64.max : now + UInt64(milliseconds) * 1_000_000
        if milliseconds > 0 { at(end) { follower.wakeEvent.signal() } }
        while true {
            let ready = PollClock.system.poll(&polled, 0)
            if ready != 0 || now >= end { return ready }
            follower.sleep(until: polled[0].fd)
        }
    }

    /// Waits until all who follow have nothing to do.
    func settle() {
        let followers = state.withLock { $0.followers }
        for follower in followers { waits { follower.isAsleep } }
    }

    /// Moves on to the next alarm, or to the end.
    private func next(until end: UInt64) -> Alarm? {
        state.withLock { state -> Alarm? in
            guard let alarm = state.alarms.last, alarm.time <= end else {
                state.now = max(state.now, end)
                return nil
            }
            state.now = max(state.now, alarm.time)
            state.alarms.removeLast()
            return alarm
        }
    }
}

/// A thread that waits for a descriptor, and whether it does now.
private final class Sleeper: Sendable {
    /// Wakes it.
    let wakeEvent: WakeEvent
    /// Nil: it is awake.
    private let awaited = Mutex<CInt?>(nil)

    init() throws { wakeEvent = try WakeEvent() }

    /// Waits for the descriptor, or the bell.
    func sleep(until descriptor: CInt) {
        awaited.withLock { $0 = descriptor }
        _ = Self.poll(descriptor, wakeEvent.descriptor, -1)
        // Before anybody hears what woke it: until then it is seen to be ready.
        awaited.withLock { $0 = nil }
        wakeEvent.drain()
    }

    /// It waits, and nothing has come.
    var isAsleep: Bool {
        let wakeEvent = wakeEvent.descriptor
        return awaited.withLock { descriptor -> Bool in
            guard let descriptor else { return false }
            return Self.poll(descriptor, wakeEvent, 0) == 0
        }
    }

    private static func poll(_ one: CInt, _ other: CInt, _ milliseconds: CInt) -> CInt {
        var polled: [2 of pollfd] = [
            pollfd(fd: one, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        var span = polled.mutableSpan
        return PollClock.system.poll(&span, milliseconds)
    }
}
