import CLinux
import Glibc
import SystemKit

/// SIGINT, SIGTERM and SIGHUP as a signalfd, so that the frame loop can poll for them.
///
/// It must be created before any other thread starts, because threads inherit the blocked signals.
package struct Signals: ~Copyable {
    /// The descriptor; readable when a signal is pending.
    package let descriptor: CInt

    /// Blocks the signals for this thread and for those that it starts.
    /// - Parameter isEndingOnly: whether SIGHUP, which does not end the program, is left pending for others.
    /// - Throws: `Problem` of kind `system` if there is no free descriptor.
    package init(isEndingOnly: Bool = false) throws {
        var (blocked, reported) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&blocked)
        unsafe sigemptyset(&reported)
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            unsafe sigaddset(&blocked, signal)
            if signal != SIGHUP || !isEndingOnly { unsafe sigaddset(&reported, signal) }
        }
        unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
        descriptor = unsafe signalfd(-1, &reported, CInt(SFD_CLOEXEC | SFD_NONBLOCK))
        guard descriptor >= 0 else { throw Problem(.system, "signalfd failed: \(errorMessage(of: errno))") }
    }

    deinit { close(descriptor) }

    /// The next pending signal; nil if there is none.
    package func next() -> CInt? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        return unsafe read(descriptor, &info, size) == size ? CInt(info.ssi_signo) : nil
    }
}
