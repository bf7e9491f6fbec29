import Glibc

/// The monotonic clock, and waiting by it, which tests replace.
///
/// The unsafe call to poll(2) is in this file alone.
public struct PollClock: Sendable {
    /// The time, nanoseconds.
    public let now: @Sendable () -> UInt64
    /// poll(2): waits for descriptors, at most so many milliseconds; less than 0: however long it takes.
    public let poll: @Sendable (_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt
    /// Sleeps so many nanoseconds.
    public let sleep: @Sendable (_ nanoseconds: UInt64) -> Void

    /// A clock of its own.
    public init(
        now: @escaping @Sendable () -> UInt64,
        poll: @escaping @Sendable (_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt,
        sleep: @escaping @Sendable (_ nanoseconds: UInt64) -> Void
    ) {
        self.now = now
        self.poll = poll
        self.sleep = sleep
    }

    /// The system's.
    public static let system = PollClock(
        now: { monotonicTime() }, poll: { pollDescriptors(&$0, $1) },
        sleep: { usleep(UInt32(clamping: $0 / 1000)) })

    /// Waits until there is something to read.
    /// - Returns: false where there is nothing.
    public func waits(for descriptor: CInt, milliseconds: CInt) -> Bool {
        var polled: [1 of pollfd] = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        var span = polled.mutableSpan
        return poll(&span, milliseconds) > 0
    }
}

private func pollDescriptors(_ polled: inout MutableSpan<pollfd>, _ milliseconds: CInt) -> CInt {
    unsafe polled.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds) }
}
