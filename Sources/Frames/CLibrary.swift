import Glibc

/// The C library's functions for `Float`, under names that do not meet others'.
public func cos(_ radians: Float) -> Float { cosf(radians) }
/// The sine.
public func sin(_ radians: Float) -> Float { sinf(radians) }
/// The angle of the vector (x, y) in radians, -pi...pi.
public func atan2(_ y: Float, _ x: Float) -> Float { atan2f(y, x) }
/// The natural logarithm.
public func log(_ x: Float) -> Float { logf(x) }
/// e to the power of x.
public func exp(_ x: Float) -> Float { expf(x) }
/// The power of a base that is not negative.
public func pow(_ base: Float, _ exponent: Float) -> Float { powf(base, exponent) }
/// The angle whose sine is `s`, radians, -pi/2...pi/2.
public func asin(_ s: Float) -> Float { asinf(s) }
/// Radians as degrees.
public func degrees(_ radians: Float) -> Float { radians * 180 / .pi }
/// Degrees as radians.
public func radians(_ degrees: Float) -> Float { degrees * .pi / 180 }

/// CPU time of this thread, nanoseconds.
public func threadTime() -> UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

/// The CPU time of all of this process's threads, nanoseconds.
public func processTime() -> UInt64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }

/// The monotonic clock, nanoseconds.
public func monotonicTime() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

private func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Now in this place's time, as strftime(3) writes it.
public func localTime(format: String) -> String {
    var now = time(nil)
    var parts = unsafe tm()
    unsafe localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 128)
    let count = unsafe strftime(&text, text.count, format, &parts)
    return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Lets this thread go behind others: frames go first where cores are few.
/// - Parameter nice: added to its nice value, 0 to 19.
public func lowerThreadPriority(by nice: CInt = 5) {
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, nice)
}
