import CLinux
import Glibc

/// Wakes the thread that waits for it (eventfd); rung by any.
public final class WakeEvent: Sendable {
    /// Readable once it was rung.
    public let descriptor: CInt

    /// - Throws: `system` where no descriptor is left.
    public init() throws(Problem) {
        descriptor = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw Problem(.system, "eventfd failed: \(errorMessage(of: errno))") }
    }

    deinit { close(descriptor) }

    /// Never waits.
    public func signal() { eventfd_write(descriptor, 1) }

    /// Silences it, after it was heard.
    public func drain() {
        var count = eventfd_t()
        unsafe eventfd_read(descriptor, &count)
    }
}
