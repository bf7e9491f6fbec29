import CLinux
import Glibc

/// A pipe by which another process learns at once that this one was killed: a thread holds its write end in a table of
/// descriptors of its own, which the kernel closes before it frees the memory of the process.
///
/// The unsafe calls are in this file only.
public enum Lifeline {
    /// The read end, which hangs up when this process ends; nil if it can't be made. Open as long as the process. Its
    /// first use waits for the start of a thread.
    public static let descriptor: CInt? = {
        var (reading, writing): (CInt, CInt) = (-1, -1)
        guard unsafe clinux_lifeline_pipe(&reading, &writing) == 0 else { return nil }
        let end = writing
        startThread(named: "lifeline") { clinux_lifeline_hold(end) }
        var isHeld: UInt8 = 0
        let count = retryingInterrupted { unsafe read(reading, &isHeld, 1) }
        close(writing)
        guard count == 1, isHeld == 1 else {
            close(reading)
            return nil
        }
        return reading
    }()
}
