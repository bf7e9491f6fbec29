import SystemKit

/// The USB/IP protocol between the kernel's virtual host controller (vhci-hcd) and a device: what the kernel sends, and
/// the headers of the replies (Documentation/usb/usbip_protocol.rst in Linux).
enum USBIP {
    /// The bytes of every header.
    static let headerSize = 48
    /// The bytes of an isochronous packet's descriptor.
    static let packetDescriptorSize = 16
    /// The most bytes of data that the host sends with a control request; uvcvideo sends 26.
    static let maxControlBytes = 4096
    /// The most bytes of a transfer: 32 packets of 48 KiB, and room.
    static let maxTransferBytes = 4 << 20
    /// The most packets of an isochronous transfer; uvcvideo uses 32.
    static let maxPackets = 128

    /// Linux's error numbers, which are on the wire whatever the machine.
    enum Status {
        static let ok: Int32 = 0
        static let brokenPipe: Int32 = -32  // EPIPE: the endpoint stalls
        static let invalid: Int32 = -22  // EINVAL
        static let noMemory: Int32 = -12  // ENOMEM
        static let reset: Int32 = -104  // ECONNRESET: a transfer was cancelled
    }

    /// The header of a transfer that the host submits (CMD_SUBMIT).
    struct Submit {
        /// The number under which the reply and a cancellation refer to it.
        let sequence: UInt32
        let isIn: Bool
        let endpoint: UInt32
        /// The bytes to receive, or that follow.
        let length: Int
        /// The isochronous packets, whose descriptors follow; 0 for other transfers.
        let packets: Int
        /// The setup packet of a control request.
        let setup: Setup

        /// The bytes that follow the header.
        var bodySize: Int { (isIn ? 0 : length) + packets * packetDescriptorSize }
    }

    /// A control request's setup packet (USB 2.0, 9.3).
    struct Setup: Equatable {
        let type: UInt8
        let request: UInt8
        let value: Int
        let index: Int
        let length: Int
    }

    enum Command {
        case submit(Submit)
        /// Cancels the transfer with the number `victim` (CMD_UNLINK).
        case unlink(sequence: UInt32, victim: UInt32)
    }

    /// Parses a header.
    /// - Throws: `Problem` for what no kernel sends.
    static func command(_ header: Span<UInt8>) throws(Problem) -> Command {
        let sequence = header.bigEndian32(at: 4)
        switch header.bigEndian32(at: 0) {
        case 1:
            let packets = header.bigEndian32(at: 32)
            let submit = Submit(
                sequence: sequence, isIn: header.bigEndian32(at: 12) == 1, endpoint: header.bigEndian32(at: 16),
                length: Int(header.bigEndian32(at: 24)),
                // 0xFFFFFFFF marks a transfer that is not isochronous.
                packets: packets == .max ? 0 : Int(packets),
                setup: Setup(
                    type: header[40], request: header[41], value: header.littleEndian16(at: 42),
                    index: header.littleEndian16(at: 44), length: header.littleEndian16(at: 46)))
            guard submit.packets <= maxPackets, submit.length <= maxTransferBytes,
                submit.isIn || submit.length <= maxControlBytes
            else {
                throw Problem(
                    .invalid, "the kernel sent a transfer of \(submit.length) bytes in \(submit.packets) packets")
            }
            return .submit(submit)
        case 2: return .unlink(sequence: sequence, victim: header.bigEndian32(at: 20))
        case let command: throw Problem(.invalid, "the kernel sent an unknown USB/IP command, \(command)")
        }
    }

    /// Appends the header of a reply to a transfer (RET_SUBMIT).
    /// - Parameters:
    ///   - length: the bytes that were transferred.
    ///   - packets: the number of isochronous packets.
    static func appendReply(
        to sequence: UInt32, status: Int32 = Status.ok, length: Int = 0, packets: Int = 0, _ bytes: inout [UInt8]
    ) {
        bytes.append(bigEndian: 3)
        bytes.append(bigEndian: sequence)
        for _ in 0..<3 { bytes.append(bigEndian: 0) }
        bytes.append(bigEndian: UInt32(bitPattern: status))
        bytes.append(bigEndian: UInt32(clamping: length))
        bytes.append(bigEndian: 0)
        bytes.append(bigEndian: UInt32(clamping: packets))
        for _ in 0..<3 { bytes.append(bigEndian: 0) }
    }

    /// Appends the reply to a cancellation (RET_UNLINK).
    /// - Parameter isCancelled: false if the transfer was already answered.
    static func appendUnlinkReply(to sequence: UInt32, isCancelled: Bool, _ bytes: inout [UInt8]) {
        bytes.append(bigEndian: 4)
        bytes.append(bigEndian: sequence)
        for _ in 0..<3 { bytes.append(bigEndian: 0) }
        bytes.append(bigEndian: UInt32(bitPattern: isCancelled ? Status.reset : Status.ok))
        for _ in 0..<6 { bytes.append(bigEndian: 0) }
    }
}
