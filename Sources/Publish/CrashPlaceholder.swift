// The only file of this module that handles the memory shared with the guard process: one frame, for the lifetime of
// this value.
import CLinux
import Frames
import Privacy
import SystemKit
import V4L2

/// A child process that writes a placeholder to a loopback if this process dies without doing so, so that no face
/// remains in the driver's buffers. Ends with this value.
@safe struct CrashPlaceholder: ~Copyable, @unchecked Sendable {
    private var handle: clinux_guard

    /// Starts the guard process.
    /// - Parameters:
    ///   - writeCount: how often to write the placeholder, so that it is in all of the driver's buffers.
    ///   - lock: also held by the guard process, until it is done.
    /// - Throws: `Problem` of kind `system` if no process can be created.
    init(
        device: borrowing Device, format: FourCC, _ layout: FrameLayout, writeCount: Int, lock: borrowing DeviceLock
    ) throws(Problem) {
        var handle = unsafe clinux_guard()
        let result = unsafe clinux_guard_start(
            device.path, format.rawValue, CInt(layout.width), CInt(layout.height), layout.byteCount, CInt(writeCount),
            lock.descriptor, &handle)
        guard result == 0 else {
            throw Problem(
                .system, "could not start the placeholder process for \(device.path): \(errorMessage(of: -result))")
        }
        unsafe self.handle = unsafe handle
    }

    deinit {
        var ending = unsafe handle
        unsafe clinux_guard_end(&ending)
    }

    /// Sets the placeholder.
    /// - Precondition: the frame is the device's layout.
    func update(_ placeholder: borrowing PublishableFrame) {
        let size = unsafe handle.size
        precondition(placeholder.view.bytes.count >= size, "the placeholder must have the device's layout")
        unsafe placeholder.view.bytes.withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { unsafe handle.placeholder.update(from: first, count: size) }
        }
    }
}
