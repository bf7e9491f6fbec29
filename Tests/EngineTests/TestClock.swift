import Frames
import Glibc
import Synchronization
import SystemKit
import TestSupport

/// A simulated clock: if nothing is ready in a wait, time jumps to its end. Actions that are scheduled for a time
/// before run on the way.
///
/// One thread, the leader, advances it. Others follow: they wait until their time has come, and time does not pass
/// while they work.
final class TestClock: Sendable {
    private struct Alarm: Sendable {
        let time: UInt64
        let act: @Sendable () -> Void
    }

    private struct State: Sendable {
        var now: UInt64
        /// The next one is the last element.
        var alarms: [Alarm] = []
        var pauses: [CInt] = []
        var unlimitedPauses = 0
        var followers: [Sleeper] = []
    }

    /// The start time, nanoseconds.
    static let start: UInt64 = 1_000_000_000_000

    private let state: Mutex<State>
    /// The thread that advances it.
    private let leader: Sleeper

    init() throws {
        leader = try Sleeper()
        var state = State(now: Self.start)
        // Reserves memory, because later frames must not allocate.
        state.pauses.reserveCapacity(1 << 14)
        self.state = Mutex(state)
    }

    /// The current time, nanoseconds.
    var now: UInt64 { state.withLock { $0.now } }
    /// Seconds since the start.
    var seconds: Double { Double(now - Self.start) / 1e9 }
    /// The lengths of the leader's waits for which nothing was ready at first, milliseconds.
    var pauses: [CInt] { state.withLock { $0.pauses } }
    /// The number of the leader's waits for which nothing was ready at first, with and without a time limit.
    var waits: Int { state.withLock { $0.pauses.count + $0.unlimitedPauses } }
    /// Whether the leader waits without a time limit, and no event is pending.
    var isAsleep: Bool { leader.isAsleep }

    /// Advances the time, as work that takes long does. Actions that become due run in the leader's next wait.
    func pass(seconds: Double) { state.withLock { $0.now += UInt64(seconds * 1e9) } }

    /// Runs an action at a time, on the leader's thread, while it waits. Other threads may schedule one too, while the
    /// leader waits without a time limit.
    func at(_ time: UInt64, _ act: @escaping @Sendable () -> Void) {
        state.withLock { state in
            // After earlier actions of the same time.
            let place = state.alarms.firstIndex { $0.time <= time } ?? state.alarms.count
            state.alarms.insert(Alarm(time: time, act: act), at: place)
        }
        leader.wakeEvent.signal()
    }

    /// The leader's poll.
    var pollClock: PollClock {
        PollClock(
            now: { self.now }, poll: { self.poll(&$0, $1) },
            sleep: { nanoseconds in self.state.withLock { $0.now += nanoseconds } })
    }

    /// The poll of another thread, which waits for one descriptor at a time.
    func follower() throws -> PollClock {
        let follower = try Sleeper()
        state.withLock { $0.followers.append(follower) }
        return PollClock(now: { self.now }, poll: { self.follow(follower, &$0, $1) }, sleep: { _ in })
    }

    private func poll(_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt {
        var ready = PollClock.system.poll(&polled, 0)
        if ready != 0 { return ready }
        guard milliseconds >= 0 else {
            state.withLock { $0.unlimitedPauses += 1 }
            while true {
                settle()
                ready = PollClock.system.poll(&polled, 0)
                if ready != 0 { return ready }
                if let alarm = next() { alarm.act() } else { leader.sleep(until: polled[0].fd) }
            }
        }
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

    /// Waits until all followers are idle.
    func settle() {
        let followers = state.withLock { $0.followers }
        for follower in followers { TestSupport.waits { follower.isAsleep } }
    }

    /// Advances to the next action, or to the end of the wait; nil: it has none.
    private func next(until end: UInt64? = nil) -> Alarm? {
        state.withLock { state -> Alarm? in
            guard let alarm = state.alarms.last, alarm.time <= end ?? .max else {
                if let end { state.now = max(state.now, end) }
                return nil
            }
            state.now = max(state.now, alarm.time)
            state.alarms.removeLast()
            return alarm
        }
    }
}

/// A thread that waits for a descriptor, and its state.
private final class Sleeper: Sendable {
    /// Wakes it.
    let wakeEvent: WakeEvent
    /// The end of its wait; nil if it is awake.
    private let awaited = Mutex<CInt?>(nil)

    init() throws { wakeEvent = try WakeEvent() }

    /// Waits for the descriptor, or the wake event.
    func sleep(until descriptor: CInt) {
        awaited.withLock { $0 = descriptor }
        _ = Self.poll(descriptor, wakeEvent.descriptor, -1)
        // Before the descriptor is drained: until then it counts as ready.
        awaited.withLock { $0 = nil }
        wakeEvent.drain()
    }

    /// Whether it waits without an event.
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
