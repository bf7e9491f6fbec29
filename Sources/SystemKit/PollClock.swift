import Glibc

/// The monotonic clock and the functions that wait by it, which tests replace.
public struct PollClock: Sendable {
    /// The current time, nanoseconds.
    public let now: @Sendable () -> UInt64
    /// Waits for descriptors (poll(2)) for at most the given milliseconds; a negative number waits without a limit.
    public let poll: @Sendable (_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt
    /// Sleeps for the given nanoseconds.
    public let sleep: @Sendable (_ nanoseconds: UInt64) -> Void

    /// A clock with the given functions.
    public init(
        now: @escaping @Sendable () -> UInt64,
        poll: @escaping @Sendable (_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt,
        sleep: @escaping @Sendable (_ nanoseconds: UInt64) -> Void
    ) {
        self.now = now
        self.poll = poll
        self.sleep = sleep
    }

    /// The system's clock.
    public static let system = PollClock(
        now: { monotonicTime() }, poll: { pollDescriptors(&$0, milliseconds: $1) },
        sleep: { usleep(UInt32(clamping: $0 / 1000)) })

    /// Waits until a descriptor is readable.
    /// - Returns: false if nothing became readable in time.
    public func waits(for descriptor: CInt, milliseconds: CInt) -> Bool {
        var polled: [1 of pollfd] = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        var span = polled.mutableSpan
        return poll(&span, milliseconds) > 0
    }
}
