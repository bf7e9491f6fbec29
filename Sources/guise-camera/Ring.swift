// The only file of the service that handles shared memory.
import CLinux
import Glibc
import SystemKit
import USBCamera

/// The memory into which a client writes pictures: one for each connection, so that none sees another's pictures. Its
/// size is sealed, and nothing but pixels is read from it.
@safe struct Ring: ~Copyable {
    /// The descriptor for the client.
    let descriptor: CInt
    private let bytes: UnsafeMutablePointer<UInt8>
    private static let slotBytes = CameraMode.maxFrameBytes
    private static let size = FrameScheduler.slots * slotBytes

    /// The bytes of the file behind a ring.
    static var fileSize: Int { size }

    init() throws(Problem) {
        let descriptor = clinux_ring_create(Self.size)
        guard descriptor >= 0 else {
            throw Problem(.system, "could not make memory for pictures: \(errorMessage(of: -descriptor))")
        }
        guard let bytes = unsafe clinux_ring_map(descriptor, Self.size, 0) else {
            _ = close(descriptor)
            throw Problem(.system, "could not map memory for pictures")
        }
        self.descriptor = descriptor
        unsafe self.bytes = unsafe bytes
    }

    deinit {
        unsafe clinux_ring_unmap(bytes, Self.size)
        _ = close(descriptor)
    }

    /// The first message to a client.
    static var message: CameraMessage {
        .ring(
            version: CameraMessage.version, slots: FrameScheduler.slots, slotBytes: slotBytes, takesLifeline: true)
    }

    /// Passes the picture in a slot to `body`.
    func withPicture<Result>(_ slot: Int, _ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        precondition((0..<FrameScheduler.slots).contains(slot), "the ring has no such slot")
        return unsafe body(bytes + slot * Self.slotBytes)
    }
}
