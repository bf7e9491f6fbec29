// The one file of this module that handles the memory that is shared with the guard: of the frame's size, for as long as
// this value.
import CLinux
import Frames
import Privacy
import V4L2

/// A small process that leaves a card on a loopback when this one dies without doing so: no face stays in the driver's
/// buffers. Ends with this value.
@safe struct CrashPlaceholder: ~Copyable, @unchecked Sendable {
    private var handle: clinux_guard

    /// - Parameters:
    ///   - writes: how often the card is written, for it to be in all of the driver's buffers.
    ///   - lock: held by the guard too, until it is done.
    /// - Throws: `system` where no process can be made.
    init(
        device: borrowing Device, format: FourCC, _ layout: FrameLayout, writes: Int, lock: borrowing DeviceLock
    ) throws(Problem) {
        var handle = unsafe clinux_guard()
        let result = unsafe clinux_guard_start(
            device.path, format.rawValue, CInt(layout.width), CInt(layout.height), layout.byteCount, CInt(writes),
            lock.descriptor, &handle)
        guard result == 0 else {
            throw Problem(.system, "could not start the guard of \(device.path): \(errorMessage(of: -result))")
        }
        unsafe self.handle = unsafe handle
    }

    deinit {
        var ending = unsafe handle
        unsafe clinux_guard_end(&ending)
    }

    /// What it would leave.
    /// - Precondition: the frame is the device's layout.
    func update(_ placeholder: borrowing PublishableFrame) {
        let size = unsafe handle.size
        precondition(placeholder.view.bytes.count >= size, "a placeholder has its device's layout")
        unsafe placeholder.view.bytes.withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { unsafe handle.placeholder.update(from: first, count: size) }
        }
    }
}
