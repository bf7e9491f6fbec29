// The only file of this module that handles the camera service's memory.
import CLinux
import Frames
import Glibc
import Privacy
import SystemKit
import USBCamera

/// A connection to the camera service, and the ring of pictures that it shares.
@safe struct CameraLink: ~Copyable, @unchecked Sendable {
    /// The socket; readable when the service has sent a message.
    let descriptor: CInt
    /// A pipe that hangs up when this process is killed; nil: none.
    private let lifeline: CInt?
    private var ring: UnsafeMutablePointer<UInt8>?
    private var slots = 0
    private var slotBytes = 0
    /// The slots that the service does not use, a bit for each.
    private var free: UInt32 = 0
    /// What the reader chose; nil: nobody reads.
    private(set) var wanted: FrameSize?
    /// Why the service ended the connection; nil: it has not, or it gave no reason.
    private(set) var refusal: Problem?

    /// The most slots: one bit each.
    private static let maxSlots = 32
    /// The most bytes of a slot: a picture of 4096 x 4096 pixels.
    private static let maxSlotBytes = 32 << 20

    /// Connects, without waiting for the service's first message.
    /// - Parameters:
    ///   - path: the service's socket.
    ///   - lifeline: a pipe that hangs up when this process is killed, for a service that takes one; nil: none.
    /// - Throws: `missing` if no service listens at `path`, `busy` if too many connections wait for it.
    init(_ path: String, lifeline: CInt? = nil) throws(Problem) {
        let descriptor = unsafe clinux_packet_connect(path)
        guard descriptor != -EAGAIN else {
            throw Problem(
                .busy,
                "could not reach the camera service at \(path) yet: connections of other programs fill its queue, "
                    + "and it is tried again",
                fix: "end the program that connects to it all the time; `sudo ss -xp` lists them")
        }
        guard descriptor >= 0 else {
            throw Problem(
                .missing, "could not reach the camera service at \(path): \(errorMessage(of: -descriptor))",
                fix: "start it with `sudo systemctl start guise-camera`, or install it with `guise install`")
        }
        (self.descriptor, self.lifeline) = (descriptor, lifeline)
        unsafe ring = nil
    }

    deinit {
        if let ring = unsafe ring { unsafe clinux_ring_unmap(ring, slots * slotBytes) }
        close(descriptor)
    }

    /// Whether the service has accepted the connection.
    var isReady: Bool { unsafe ring != nil }

    /// Handles all messages of the service.
    /// - Returns: false if the connection has ended.
    mutating func receiveMessages() -> Bool {
        while true {
            var bytes = [32 of UInt8](repeating: 0)
            var passed: CInt = -1
            var span = bytes.mutableSpan
            let count = unsafe span.withUnsafeMutableBufferPointer {
                unsafe clinux_packet_receive(descriptor, $0.baseAddress, $0.count, &passed)
            }
            if count == -Int(EAGAIN) { return true }
            defer { if passed >= 0 { close(passed) } }
            guard count > 0, let message = CameraMessage(span.span.extracting(first: count)) else { return false }
            switch message {
            case .ring(let version, let slots, let slotBytes, let takesLifeline):
                guard version == CameraMessage.version, map(passed, slots, slotBytes) else { return false }
                if takesLifeline, let lifeline, send(.lifeline, passing: lifeline) != 0 { return false }
            case .stream(let isWatched, let width, let height):
                wanted = isWatched ? FrameSize(width: width, height: height) : nil
            case .released(let slot):
                guard slot < slots else { return false }
                free |= 1 << UInt32(slot)
            case .refused(let reason, let process):
                refusal =
                    switch reason {
                    case .busy:
                        Problem(
                            .busy, "could not feed the camera: \(RunningProcess(CInt(clamping: process))) feeds it",
                            fix: "stop that program")
                    case .forbidden:
                        Problem(
                            .forbidden, "could not feed the camera: permission denied",
                            fix: "join the group video with `sudo usermod -aG video $USER`, then log out and in")
                    }
                return false
            case .frame, .lifeline: return false
            }
        }
    }

    private mutating func map(_ descriptor: CInt, _ slots: Int, _ slotBytes: Int) -> Bool {
        guard unsafe ring == nil, descriptor >= 0, (1...Self.maxSlots).contains(slots),
            (1...Self.maxSlotBytes).contains(slotBytes),
            let mapped = unsafe clinux_ring_map(descriptor, slots * slotBytes, 1)
        else { return false }
        unsafe ring = mapped
        (self.slots, self.slotBytes) = (slots, slotBytes)
        free = UInt32.max >> UInt32(Self.maxSlots - slots)
        return true
    }

    /// Copies a picture into a free slot and offers it to the service. Does nothing if all slots are in use.
    /// - Precondition: the picture is YUYV without padding.
    /// - Returns: false if the connection has ended.
    mutating func offer(_ frame: borrowing PublishableFrame) -> Bool {
        let layout = frame.layout
        let size = layout.byteCount
        let slot = free.trailingZeroBitCount
        guard let ring = unsafe ring, slot < slots, size <= slotBytes else { return true }
        unsafe frame.view.bytes.withUnsafeBufferPointer { bytes in
            if let first = bytes.baseAddress { unsafe (ring + slot * slotBytes).update(from: first, count: size) }
        }
        let code = send(.frame(slot: slot, width: layout.width, height: layout.height))
        guard code == 0 else { return code == -EAGAIN }
        free &= ~(1 << UInt32(slot))
        return true
    }

    /// - Returns: 0, or a negative errno.
    private func send(_ message: CameraMessage, passing passed: CInt = -1) -> CInt {
        let bytes = message.bytes
        return unsafe bytes.span.withUnsafeBufferPointer {
            unsafe clinux_packet_send(descriptor, $0.baseAddress, $0.count, passed)
        }
    }
}
