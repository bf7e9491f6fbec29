import SystemKit

/// A USB Video Class camera as a state machine: takes what the kernel's virtual host controller sends, and gives the
/// replies. It performs no I/O, and offers nothing but the fixed camera.
public struct CameraDevice {
    /// Whether a program streams: the streaming interface has an alternate setting with bandwidth.
    public var isStreaming: Bool { alternate > 0 }
    /// The size that the program chose last.
    public internal(set) var mode = CameraMode.all[0]
    /// The frame interval that the program chose last, in 100 ns.
    public internal(set) var interval = CameraMode.intervals[0]
    /// The bytes of the current picture that were sent; 0 between two pictures.
    public private(set) var position = 0

    /// Bytes of a command that is not complete yet.
    var input: [UInt8] = []
    /// The transfers that wait for video, in their order.
    var waiting: [Transfer] = []
    var configuration = 0
    var alternate = 0
    /// Negotiated by probe requests, and not committed yet.
    var probe = Negotiation(mode: 0, interval: 0)
    var committed = Negotiation(mode: 0, interval: 0)
    /// The reason that the last request of the video function stalled (VC_REQUEST_ERROR_CODE_CONTROL).
    var lastError: UInt8 = 0
    var frameID: UInt8 = 0

    struct Transfer {
        let sequence: UInt32
        let packets: Int
        let packetSize: Int
    }

    /// A mode and an interval, by their places in the descriptors' lists.
    struct Negotiation {
        var mode: Int
        var interval: Int
    }

    /// The most transfers that may wait; uvcvideo submits 5.
    static let maxWaiting = 64

    /// A camera that was just plugged in.
    public init() {}

    /// Whether a transfer waits for video.
    public var isWaiting: Bool { !waiting.isEmpty }

    // MARK: - commands

    /// Processes the next bytes from the kernel, and appends the replies to `replies`. Commands may be split anywhere.
    /// - Throws: `Problem` of kind `invalid` for what no kernel sends; the connection is then useless.
    public mutating func receive(_ bytes: Span<UInt8>, replies: inout [UInt8]) throws(Problem) {
        for i in bytes.indices { input.append(bytes[i]) }
        var start = 0
        while input.count - start >= USBIP.headerSize {
            let body = start + USBIP.headerSize
            switch try USBIP.command(input.span.extracting(start..<body)) {
            case .unlink(let sequence, let victim):
                unlink(victim, sequence, &replies)
                start = body
                continue
            case .submit(let submit):
                let end = body + submit.bodySize
                guard input.count >= end else {
                    input.removeFirst(start)
                    return
                }
                // A copy, because handling a command changes this value.
                let data = Array(input[body..<end])
                if submit.endpoint == 0 {
                    control(submit, data.span, &replies)
                } else {
                    enqueue(submit, data.span, &replies)
                }
                start = end
            }
        }
        input.removeFirst(start)
    }

    private mutating func unlink(_ victim: UInt32, _ sequence: UInt32, _ replies: inout [UInt8]) {
        let index = waiting.firstIndex { $0.sequence == victim }
        if let index { waiting.remove(at: index) }
        USBIP.appendUnlinkReply(to: sequence, isCancelled: index != nil, &replies)
    }

    // MARK: - video

    private mutating func enqueue(_ submit: USBIP.Submit, _ descriptors: Span<UInt8>, _ replies: inout [UInt8]) {
        guard isStreaming, submit.isIn, submit.endpoint == UInt32(Descriptors.endpoint & 0x0F), submit.packets > 0
        else {
            return USBIP.appendReply(to: submit.sequence, status: USBIP.Status.brokenPipe, &replies)
        }
        // A refusal names no packets: the kernel would take what follows it for their descriptors.
        let size = submit.length / submit.packets
        guard size > PayloadHeader.size, Self.isUniform(descriptors, submit.packets, size: size) else {
            return USBIP.appendReply(to: submit.sequence, status: USBIP.Status.invalid, &replies)
        }
        guard waiting.count < Self.maxWaiting else {
            return USBIP.appendReply(to: submit.sequence, status: USBIP.Status.noMemory, &replies)
        }
        waiting.append(Transfer(sequence: submit.sequence, packets: submit.packets, packetSize: size))
    }

    /// Whether the packets follow each other without gaps, each `size` bytes long.
    private static func isUniform(_ descriptors: Span<UInt8>, _ packets: Int, size: Int) -> Bool {
        for i in 0..<packets {
            let offset = i * USBIP.packetDescriptorSize
            guard descriptors.bigEndian32(at: offset) == UInt32(clamping: i * size),
                descriptors.bigEndian32(at: offset + 4) == UInt32(clamping: size)
            else { return false }
        }
        return true
    }

    /// The reply to a transfer for video. On the wire it is `header`; for each packet two bytes of `payloadHeaders` and
    /// up to `packetBytes` bytes of the picture, `byteCount` in all from `start` on; and `descriptors`.
    public struct VideoReply {
        /// The USB/IP header.
        public internal(set) var header: [UInt8] = []
        /// The UVC header of each packet that is not empty.
        public internal(set) var payloadHeaders: [UInt8] = []
        /// The bytes of the picture in each packet but the last.
        public internal(set) var packetBytes = 0
        /// The offset of the first byte in the picture.
        public internal(set) var start = 0
        /// The number of bytes of the picture.
        public internal(set) var byteCount = 0
        /// The descriptors of all packets.
        public internal(set) var descriptors: [UInt8] = []

        /// An empty reply, whose memory is used again for each.
        public init() {}
    }

    /// Fills the first waiting transfer with the next part of the current picture. The picture ends with `position` 0.
    /// - Returns: false if no transfer waits.
    public mutating func fillTransfer(_ reply: inout VideoReply) -> Bool {
        guard !waiting.isEmpty else { return false }
        let transfer = waiting.removeFirst()
        let payload = transfer.packetSize - PayloadHeader.size
        let frameBytes = mode.frameBytes
        reply.header.removeAll(keepingCapacity: true)
        reply.payloadHeaders.removeAll(keepingCapacity: true)
        reply.descriptors.removeAll(keepingCapacity: true)
        (reply.packetBytes, reply.start) = (payload, position)
        var length = 0
        for i in 0..<transfer.packets {
            let count = min(payload, frameBytes - position)
            position += count
            if count > 0 {
                let end = position == frameBytes ? PayloadHeader.endOfFrame : 0
                reply.payloadHeaders.append(UInt8(PayloadHeader.size))
                reply.payloadHeaders.append(PayloadHeader.endOfHeader | frameID | end)
            }
            let packet = count > 0 ? count + PayloadHeader.size : 0
            length += packet
            reply.descriptors.append(bigEndian: UInt32(i * transfer.packetSize))
            reply.descriptors.append(bigEndian: UInt32(transfer.packetSize))
            reply.descriptors.append(bigEndian: UInt32(packet))
            reply.descriptors.append(bigEndian: 0)
        }
        reply.byteCount = position - reply.start
        USBIP.appendReply(to: transfer.sequence, length: length, packets: transfer.packets, &reply.header)
        if position == frameBytes { endPicture() }
        return true
    }

    /// Ends the current picture, so that the next one begins. If only a part of it was sent, the kernel drops it.
    public mutating func endPicture() {
        position = 0
        frameID ^= PayloadHeader.frameID
    }

    private mutating func select(alternate: Int) {
        self.alternate = alternate
        position = 0
        frameID = 0
    }

    // MARK: - control requests

    private mutating func control(_ submit: USBIP.Submit, _ data: Span<UInt8>, _ replies: inout [UInt8]) {
        let setup = submit.setup
        switch answer(setup, data) {
        case .data(let bytes) where setup.type & 0x80 != 0:
            let count = min(bytes.count, setup.length, submit.length)
            USBIP.appendReply(to: submit.sequence, length: count, &replies)
            replies += bytes.prefix(count)
        case .done where setup.type & 0x80 == 0:
            USBIP.appendReply(to: submit.sequence, length: data.count, &replies)
        case .stall, .data, .done:
            USBIP.appendReply(to: submit.sequence, status: USBIP.Status.brokenPipe, &replies)
        }
    }

    private enum Answer {
        case data([UInt8])
        case done
        case stall
    }

    private mutating func answer(_ setup: USBIP.Setup, _ data: Span<UInt8>) -> Answer {
        switch (setup.type, setup.request) {
        // Standard requests (USB 3.2, 9.4).
        case (0x80, 6):
            return Descriptors.descriptor(type: setup.value >> 8, index: setup.value & 0xFF).map { .data($0) } ?? .stall
        case (0x80, 0), (0x81, 0), (0x82, 0): return .data([0, 0])  // GET_STATUS
        case (0x80, 8): return .data([UInt8(configuration)])
        case (0x00, 9) where setup.value <= 1:
            configuration = setup.value
            select(alternate: 0)
            return .done
        case (0x81, 10) where setup.index == Descriptors.controlInterface: return .data([0])
        case (0x81, 10) where setup.index == Descriptors.streamingInterface: return .data([UInt8(alternate)])
        case (0x01, 11) where setup.index == Descriptors.controlInterface && setup.value == 0: return .done
        case (0x01, 11)
        where setup.index == Descriptors.streamingInterface && setup.value <= CameraMode.packetSizes.count:
            select(alternate: setup.value)
            return .done
        // CLEAR_FEATURE and SET_FEATURE (power states and halts), SET_SEL, SET_ISOCH_DELAY: nothing to do.
        case (0x00...0x02, 1), (0x00...0x02, 3), (0x00, 48), (0x00, 49): return .done
        // Requests of the video class (UVC 1.0, 4).
        case (0xA1, _), (0x21, _): return answerVideo(setup, data)
        default: return .stall
        }
    }

    /// UVC's request codes.
    private enum Request {
        static let setCurrent: UInt8 = 0x01
        static let current: UInt8 = 0x81
        static let least: UInt8 = 0x82
        static let most: UInt8 = 0x83
        static let length: UInt8 = 0x85
        static let info: UInt8 = 0x86
        static let standard: UInt8 = 0x87
    }
    /// UVC's reasons for a stall.
    private enum Stall {
        static let outOfRange: UInt8 = 4
        static let invalidControl: UInt8 = 6
        static let invalidRequest: UInt8 = 7
    }

    private mutating func answerVideo(_ setup: USBIP.Setup, _ data: Span<UInt8>) -> Answer {
        let selector = setup.value >> 8
        guard setup.index & 0xFF == Descriptors.streamingInterface else {
            // The camera has no controls but the reason for the last stall.
            guard setup.index == Descriptors.controlInterface, selector == 2, setup.request == Request.current else {
                return stall(Stall.invalidControl)
            }
            return .data([lastError])
        }
        let isCommit = selector == 2
        guard selector == 1 || isCommit else { return stall(Stall.invalidControl) }
        switch (setup.type, setup.request) {
        case (0xA1, Request.current): return .data(Self.bytes(isCommit ? committed : probe))
        case (0xA1, Request.least), (0xA1, Request.standard):
            return .data(Self.bytes(Negotiation(mode: 0, interval: 0)))
        case (0xA1, Request.most):
            let last = Negotiation(mode: CameraMode.all.count - 1, interval: CameraMode.intervals.count - 1)
            return .data(Self.bytes(last))
        case (0xA1, Request.length): return .data([UInt8(Self.negotiationSize), 0])
        case (0xA1, Request.info): return .data([3])  // GET and SET
        case (0x21, Request.setCurrent): return negotiate(data, isCommit: isCommit)
        default: return stall(Stall.invalidRequest)
        }
    }

    private mutating func stall(_ reason: UInt8) -> Answer {
        lastError = reason
        return .stall
    }

    /// The bytes of a negotiation in UVC 1.0; later versions have more fields.
    private static let negotiationSize = 26

    /// A probe of an unknown mode chooses the default one, and that of an unknown interval the nearest; a commit of
    /// what does not exist stalls, and changes nothing.
    private mutating func negotiate(_ data: Span<UInt8>, isCommit: Bool) -> Answer {
        guard data.count >= Self.negotiationSize else { return stall(Stall.invalidControl) }
        let index = Int(data[3]) - 1
        let wanted = data.littleEndian32(at: 4)
        let exists = data[2] == 1 && CameraMode.all.indices.contains(index)
        let interval = CameraMode.intervals.firstIndex(of: wanted)
        if isCommit {
            guard exists, let interval else { return stall(Stall.outOfRange) }
            committed = Negotiation(mode: index, interval: interval)
            probe = committed
            mode = CameraMode.all[index]
            self.interval = CameraMode.intervals[interval]
            position = 0
        } else {
            let nearest = CameraMode.intervals.indices.min {
                distance(CameraMode.intervals[$0], wanted) < distance(CameraMode.intervals[$1], wanted)
            }
            probe = Negotiation(mode: exists ? index : 0, interval: interval ?? nearest ?? 0)
        }
        return .done
    }

    private func distance(_ a: UInt32, _ b: UInt32) -> UInt32 { a > b ? a - b : b - a }

    /// A negotiation as UVC 1.0's video probe and commit controls (4.3.1.1).
    private static func bytes(_ negotiation: Negotiation) -> [UInt8] {
        let mode = CameraMode.all[negotiation.mode]
        var bytes: [UInt8] = [1, 0, 1, UInt8(negotiation.mode + 1)]  // the interval is kept; format 1
        bytes.append(littleEndian: CameraMode.intervals[negotiation.interval])
        bytes += [UInt8](repeating: 0, count: 10)
        bytes.append(littleEndian: UInt32(mode.frameBytes))
        bytes.append(littleEndian: UInt32(mode.packetSize))
        return bytes
    }
}
