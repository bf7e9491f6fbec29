import Glibc

/// Makes a system call, again if a signal interrupted it (EINTR).
/// - Returns: the call's result; a negative one is a failure, and `errno` gives the reason.
@inlinable public func retryingInterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// Waits until one of the descriptors is ready (poll(2)). An interrupted wait starts again.
/// - Parameter milliseconds: the maximum time to wait; negative: no limit.
/// - Returns: the number of ready descriptors, 0 after that time, or a negative number with the reason in `errno`.
public func pollDescriptors(_ polled: inout MutableSpan<pollfd>, milliseconds: CInt) -> CInt {
    unsafe polled.withUnsafeMutableBufferPointer { buffer in
        retryingInterrupted { unsafe poll(buffer.baseAddress, nfds_t(buffer.count), milliseconds) }
    }
}

/// Waits until a descriptor is ready.
/// - Parameters:
///   - events: the events of poll(2) to wait for.
///   - milliseconds: the maximum time to wait; negative: no limit.
/// - Returns: false if it did not become ready in time, or can't be polled.
@discardableResult
public func waitUntilReady(_ descriptor: CInt, for events: CInt = POLLIN, milliseconds: CInt = -1) -> Bool {
    var polled: [1 of pollfd] = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
    var span = polled.mutableSpan
    return pollDescriptors(&span, milliseconds: milliseconds) > 0
}
