import Glibc

/// The CPU time of this thread, in nanoseconds.
public func threadTime() -> UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

/// The CPU time of all threads of this process, in nanoseconds.
public func processTime() -> UInt64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

/// The monotonic clock, in nanoseconds.
public func monotonicTime() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

private func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The current local time, formatted by strftime(3).
public func localTime(format: String) -> String {
    var now = time(nil)
    var parts = unsafe tm()
    unsafe localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 128)
    let count = unsafe strftime(&text, text.count, format, &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Sets the scheduling priority of this thread, so that frames are processed first when there are few cores.
/// - Parameter nice: the thread's new nice value, 0 to 19.
public func lowerThreadPriority(toNice nice: CInt = 5) {
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, nice)
}
