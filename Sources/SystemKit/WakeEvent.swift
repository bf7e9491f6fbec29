import CLinux
import Glibc

/// An event that wakes a waiting thread (eventfd); any thread may signal it.
public final class WakeEvent: Sendable {
    /// The eventfd, readable once the event was signalled.
    public let descriptor: CInt

    /// Creates an event that is not signalled.
    /// - Throws: `system` if the process has no descriptor left.
    public init() throws(Problem) {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw Problem(.system, "eventfd failed: \(errorMessage(of: errno))") }
    }

    deinit { close(descriptor) }

    /// Signals the event; never blocks.
    public func signal() { eventfd_write(descriptor, 1) }

    /// Resets the event after it was signalled.
    public func drain() {
        var count = eventfd_t()
        unsafe eventfd_read(descriptor, &count)
    }
}
