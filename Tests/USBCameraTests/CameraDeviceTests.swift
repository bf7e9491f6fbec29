import SystemKit
import TestSupport
import Testing

@testable import USBCamera

/// The kernel's side of a camera: submits transfers, and reads the replies.
private struct Host {
    var camera = CameraDevice()
    private var sequence: UInt32 = 0

    struct Reply {
        let command: UInt32
        let sequence: UInt32
        let status: Int32
        let data: [UInt8]
    }

    static func header(_ words: [UInt32], setup: [UInt8] = [UInt8](repeating: 0, count: 8)) -> [UInt8] {
        var bytes: [UInt8] = []
        for word in words { bytes.append(bigEndian: word) }
        return bytes + setup
    }

    mutating func next() -> UInt32 {
        sequence += 1
        return sequence
    }

    mutating func send(_ bytes: [UInt8]) throws -> [Reply] {
        var replies: [UInt8] = []
        try camera.receive(bytes.span, replies: &replies)
        return Self.parse(replies)
    }

    static func parse(_ bytes: [UInt8]) -> [Reply] {
        var found: [Reply] = []
        var place = 0
        while place < bytes.count {
            let header = bytes.span.extracting(place..<place + USBIP.headerSize)
            let command = header.bigEndian32(at: 0)
            // A reply to a cancellation has no data.
            let length = command == 3 && header.bigEndian32(at: 32) == 0 ? Int(header.bigEndian32(at: 24)) : 0
            let start = place + USBIP.headerSize
            let data = start + length <= bytes.count ? Array(bytes[start..<start + length]) : []
            found.append(
                Reply(
                    command: command, sequence: header.bigEndian32(at: 4),
                    status: Int32(bitPattern: header.bigEndian32(at: 20)), data: data))
            place = start + data.count
        }
        return found
    }

    /// A control request from the host to the device, or back (`type` 0x80 and more).
    mutating func control(
        _ type: UInt8, _ request: UInt8, value: Int, index: Int = 0, length: Int = 255, sending data: [UInt8] = []
    ) throws -> Reply {
        let isIn = type & 0x80 != 0
        var setup = [type, request]
        for number in [value, index, isIn ? length : data.count] { setup.append(littleEndian16: number) }
        let size = UInt32(isIn ? length : data.count)
        let bytes = Self.header([1, next(), 0, isIn ? 1 : 0, 0, 0, size, 0, .max, 0], setup: setup) + data
        let replies = try send(bytes)
        // The host's answer to data that it sent has a length, but no data.
        return try #require(replies.first)
    }

    mutating func submitVideo(_ mode: CameraMode, packets: Int = 32, size: Int? = nil) throws -> [Reply] {
        let size = size ?? mode.packetSize
        var bytes = Self.header([1, next(), 0, 1, 1, 0, UInt32(packets * size), 0, UInt32(packets), 1])
        for i in 0..<packets { for word in [UInt32(i * size), UInt32(size), 0, 0] { bytes.append(bigEndian: word) } }
        return try send(bytes)
    }

    mutating func unlink(_ victim: UInt32) throws -> Reply {
        let replies = try send(Self.header([2, next(), 0, 0, 0, victim, 0, 0, 0, 0]))
        return try #require(replies.first)
    }

    /// Bytes of a probe or commit control, as uvcvideo sends them.
    static func negotiation(frame: UInt8, interval: UInt32, format: UInt8 = 1) -> [UInt8] {
        var bytes: [UInt8] = [1, 0, format, frame]
        bytes.append(littleEndian: interval)
        return bytes + [UInt8](repeating: 0, count: 18)
    }

    mutating func start(_ place: Int, interval: UInt32 = 333_333) throws {
        let mode = CameraMode.all[place]
        let wanted = Self.negotiation(frame: UInt8(place + 1), interval: interval)
        #expect(try control(0x21, 1, value: 0x200, index: 1, sending: wanted).status == 0)
        let alternate = try #require(CameraMode.packetSizes.firstIndex(of: mode.packetSize)) + 1
        #expect(try control(0x01, 11, value: alternate, index: 1).status == 0)
    }
}

private let stalled = USBIP.Status.brokenPipe

@Suite struct CameraDeviceTests {
    @Test func `the descriptors are complete, and their lengths agree`() throws {
        var host = Host()
        let device = try host.control(0x80, 6, value: 0x100).data
        #expect(device.count == 18 && device[8...11] == [0x55, 0xF0, 0x43, 0x67])
        let configuration = try host.control(0x80, 6, value: 0x200, length: 4096).data
        #expect(configuration.span.littleEndian16(at: 2) == configuration.count)
        var place = 0
        var kinds: [[UInt8]] = []
        while place < configuration.count {
            let size = Int(configuration[place])
            try #require(size >= 3 && place + size <= configuration.count)
            kinds.append(Array(configuration[place..<place + size]))
            place += size
        }
        let frames = kinds.filter { $0[1] == 0x24 && $0[2] == 5 && $0.count == 34 }
        #expect(frames.map { $0.span.littleEndian16(at: 5) } == [1280, 1920, 960, 640, 640, 320])
        #expect(frames.allSatisfy { $0[25] == 2 })
        // Each alternate setting has an endpoint with its companion.
        #expect(kinds.count { $0[1] == 5 } == kinds.count { $0[1] == 0x30 })
        let name = try host.control(0x80, 6, value: 0x302).data
        #expect(name.count == 26 && name[2] == UInt8(ascii: "G"))
        #expect(try host.control(0x80, 6, value: 0xF00).data.count == 22)
        #expect(try host.control(0x80, 6, value: 0x100, length: 8).data == Array(device.prefix(8)))
        for missing in [0x201, 0x309, 0x700] { #expect(try host.control(0x80, 6, value: missing).status == stalled) }
    }

    @Test func `no packet is larger than the endpoint allows, and transfers of uvcvideo are full`() {
        for mode in CameraMode.all {
            #expect(mode.packetSize <= 48 << 10)
            #expect(mode.frameBytes % mode.packetBytes == 0)
            let packets = mode.frameBytes / mode.packetBytes
            // As uvc_alloc_urb_buffers counts them.
            let transfer = min(32, (mode.frameBytes + mode.packetSize - 1) / mode.packetSize)
            #expect(packets % transfer == 0, "\(mode)")
        }
    }

    @Test func `a commit selects the size and rate, and a size that does not exist stalls and changes nothing`() throws
    {
        var host = Host()
        let wanted = Host.negotiation(frame: 4, interval: 666_666)
        #expect(try host.control(0x21, 1, value: 0x100, index: 1, sending: wanted).status == 0)
        let probed = try host.control(0xA1, 0x81, value: 0x100, index: 1, length: 26).data
        #expect(probed.count == 26 && probed[3] == 4 && probed.span.littleEndian32(at: 18) == 640 * 480 * 2)
        #expect(host.camera.mode == CameraMode.all[0])
        #expect(try host.control(0x21, 1, value: 0x200, index: 1, sending: wanted).status == 0)
        #expect(host.camera.mode == CameraMode.of(width: 640, height: 480) && host.camera.interval == 666_666)
        for wrong in [
            Host.negotiation(frame: 7, interval: 333_333), Host.negotiation(frame: 0, interval: 333_333),
            Host.negotiation(frame: 1, interval: 400_000), Host.negotiation(frame: 1, interval: 333_333, format: 2),
            Array(wanted.prefix(25)), [],
        ] {
            #expect(try host.control(0x21, 1, value: 0x200, index: 1, sending: wrong).status == stalled)
            #expect(try host.control(0xA1, 0x81, value: 0x200, index: 0, length: 1).data != [0])
        }
        #expect(host.camera.mode == CameraMode.of(width: 640, height: 480) && host.camera.interval == 666_666)
        // A probe is answered with the nearest instead.
        let strange = Host.negotiation(frame: 99, interval: 600_000)
        #expect(try host.control(0x21, 1, value: 0x100, index: 1, sending: strange).status == 0)
        let nearest = try host.control(0xA1, 0x81, value: 0x100, index: 1, length: 26).data
        #expect(nearest[3] == 1 && nearest.span.littleEndian32(at: 4) == 666_666)
    }

    @Test func `the probe control answers all that uvcvideo asks`() throws {
        var host = Host()
        for request: UInt8 in [0x81, 0x82, 0x83, 0x87] {
            #expect(try host.control(0xA1, request, value: 0x100, index: 1).data.count == 26)
        }
        #expect(try host.control(0xA1, 0x85, value: 0x100, index: 1).data == [26, 0])
        #expect(try host.control(0xA1, 0x86, value: 0x100, index: 1).data == [3])
        #expect(try host.control(0xA1, 0x81, value: 0x300, index: 1).status == stalled)
        // The reason for the stall.
        #expect(try host.control(0xA1, 0x81, value: 0x200, index: 0).data == [6])
        // Requests in the wrong direction and of vendors.
        #expect(try host.control(0x21, 0x81, value: 0x100, index: 1).status == stalled)
        #expect(try host.control(0xC0, 1, value: 0).status == stalled)
        #expect(try host.control(0x40, 1, value: 0).status == stalled)
    }

    @Test func `alternate settings start and stop the stream, and others are refused`() throws {
        var host = Host()
        #expect(try host.control(0x00, 9, value: 1).status == 0)
        #expect(try host.control(0x01, 11, value: 3, index: 1).status == 0)
        #expect(host.camera.isStreaming)
        #expect(try host.control(0x81, 10, value: 0, index: 1, length: 1).data == [3])
        #expect(try host.control(0x01, 11, value: 6, index: 1).status == stalled)
        #expect(try host.control(0x01, 11, value: 1, index: 0).status == stalled)
        #expect(try host.control(0x01, 11, value: 0, index: 2).status == stalled)
        #expect(host.camera.isStreaming)
        #expect(try host.control(0x01, 11, value: 0, index: 1).status == 0)
        #expect(!host.camera.isStreaming)
        #expect(try host.submitVideo(CameraMode.all[0]).first?.status == stalled)
    }

    @Test(arguments: CameraMode.all.indices)
    func `a picture is sent in full transfers, of which the last marks its end`(_ place: Int) throws {
        var host = Host()
        try host.start(place)
        let mode = CameraMode.all[place]
        let perTransfer = min(32, mode.frameBytes / mode.packetBytes)
        var reply = CameraDevice.VideoReply()
        var identities: Set<UInt8> = []
        for _ in 0..<2 {
            var sent = 0
            repeat {
                #expect(try host.submitVideo(mode, packets: perTransfer).isEmpty)
                let isFilled = host.camera.fillTransfer(&reply)
                #expect(isFilled)
                #expect(reply.start == sent && reply.byteCount == perTransfer * mode.packetBytes)
                #expect(reply.payloadHeaders.count == 2 * perTransfer)
                #expect(reply.descriptors.count == 16 * perTransfer)
                let length = Int(reply.header.span.bigEndian32(at: 24))
                #expect(length == perTransfer * mode.packetSize)
                sent += reply.byteCount
                let last = try #require(reply.payloadHeaders.last)
                #expect((last & 2 != 0) == (sent == mode.frameBytes))
                identities.insert(last & 1)
            } while host.camera.position > 0
            #expect(sent == mode.frameBytes)
        }
        #expect(identities == [0, 1])
        let isFilled = host.camera.fillTransfer(&reply)
        #expect(!isFilled)
    }

    @Test func `packets after the end of a picture are empty`() throws {
        var host = Host()
        try host.start(5)
        #expect(try host.submitVideo(CameraMode.all[5], packets: 6).isEmpty)
        var reply = CameraDevice.VideoReply()
        let isFilled = host.camera.fillTransfer(&reply)
        #expect(isFilled && host.camera.position == 0)
        #expect(reply.payloadHeaders.count == 8 && reply.byteCount == CameraMode.all[5].frameBytes)
        let lengths = (0..<6).map { reply.descriptors.span.bigEndian32(at: $0 * 16 + 8) }
        #expect(lengths == [38402, 38402, 38402, 38402, 0, 0])
        #expect(reply.header.span.bigEndian32(at: 24) == 4 * 38402)
    }

    @Test func `a transfer is cancelled once, and unknown ones are answered as done`() throws {
        var host = Host()
        try host.start(0)
        #expect(try host.unlink(77).status == 0)
        #expect(try host.submitVideo(CameraMode.all[0]).isEmpty)
        #expect(try host.submitVideo(CameraMode.all[0]).isEmpty)
        let number = host.next() - 1
        let reply = try host.unlink(number)
        #expect(reply.command == 4 && reply.status == USBIP.Status.reset)
        #expect(try host.unlink(number).status == 0)
        var video = CameraDevice.VideoReply()
        let isFilled = host.camera.fillTransfer(&video)
        #expect(isFilled)
        #expect(video.header.span.bigEndian32(at: 4) == number - 1)
        #expect(!host.camera.isWaiting)
    }

    @Test func `another process goes on with the camera, and the kernel drops the picture of which a part was sent`()
        throws
    {
        var host = Host()
        try host.start(1, interval: 666_666)
        let mode = CameraMode.all[1]
        for _ in 0..<3 { #expect(try host.submitVideo(mode).isEmpty) }
        var reply = CameraDevice.VideoReply()
        let isBegun = host.camera.fillTransfer(&reply)
        #expect(isBegun)
        let identity = reply.payloadHeaders[1] & 1
        // A command of which half has arrived.
        let command = Host.header([1, host.next(), 0, 1, 0, 0, 18, 0, .max, 0], setup: [0x80, 6, 0, 1, 0, 0, 18, 0])
        #expect(try host.send(Array(command.prefix(20))).isEmpty)

        let (state, camera) = (host.camera.state, Self.camera(host.camera.state))
        #expect(Self.camera(state)?.state.count == state.count)
        host.camera = try #require(camera)
        #expect(host.camera.isStreaming && host.camera.mode == mode && host.camera.interval == 666_666)
        let answers = try host.send(Array(command.dropFirst(20)))
        #expect(answers.count == 1 && answers.first?.data.count == 18)
        for _ in 0..<2 {
            let isFilled = host.camera.fillTransfer(&reply)
            #expect(isFilled && reply.payloadHeaders[1] & 1 != identity)
        }
        #expect(reply.start > 0 && reply.byteCount > 0 && !host.camera.isWaiting)
        #expect(try host.control(0x81, 10, value: 0, index: 1, length: 1).data != [0], "the alternate setting stays")
    }

    @Test func `a state that is cut, changed or of another version is refused`() throws {
        var host = Host()
        try host.start(0)
        #expect(try host.submitVideo(CameraMode.all[0]).isEmpty)
        let state = host.camera.state
        #expect(Self.camera(state) != nil)
        for count in 0..<state.count { #expect(Self.camera(Array(state.prefix(count))) == nil) }
        #expect(Self.camera(state + [0]) == nil)
        // The format's version, the configuration, the alternate setting, the mode, and the number of transfers.
        for place in [0, 4, 8, 24, 40] {
            var changed = state
            changed[place] = 200
            #expect(Self.camera(changed) == nil, "\(place)")
        }
    }

    private static func camera(_ state: [UInt8]) -> CameraDevice? { CameraDevice(state: state.span) }

    @Test func `commands may arrive in pieces and together`() throws {
        var host = Host()
        var bytes: [UInt8] = []
        for number: UInt32 in 1...3 {
            bytes += Host.header([1, number, 0, 1, 0, 0, 18, 0, .max, 0], setup: [0x80, 6, 0, 1, 0, 0, 18, 0])
        }
        let together = try host.send(bytes)
        #expect(together.map(\.sequence) == [1, 2, 3] && together.allSatisfy { $0.data.count == 18 })
        var replies: [Host.Reply] = []
        for byte in bytes { replies += try host.send([byte]) }
        #expect(replies.map(\.sequence) == [1, 2, 3])
    }

    @Test func `what no kernel sends is an error, and nothing that arrives crashes the camera`() throws {
        for words: [UInt32] in [
            [0, 1, 0, 1, 0, 0, 0, 0, 0, 0], [3, 1, 0, 1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 5000, 0, .max, 0],
            [1, 1, 0, 1, 1, 0, 64 << 20, 0, 32, 1], [1, 1, 0, 1, 1, 0, 64, 0, 129, 1],
            [1, 1, 0, 0, 0, 0, .max, 0, .max, 0],
        ] {
            var host = Host()
            #expect(throws: Problem.self) { try host.send(Host.header(words)) }
        }
        var host = Host()
        try host.start(0)
        // Packets that leave gaps, are empty, or are too many.
        #expect(try host.submitVideo(CameraMode.all[0], packets: 2, size: 2).first?.status == USBIP.Status.invalid)
        var gaps = Host.header([1, 9, 0, 1, 1, 0, 2000, 0, 2, 1])
        for word: UInt32 in [0, 500, 0, 0, 1000, 1000, 0, 0] { gaps.append(bigEndian: word) }
        #expect(try host.send(gaps).first?.status == USBIP.Status.invalid)
        let full = try (0..<65).map { _ in try host.submitVideo(CameraMode.all[0]).first?.status }
        #expect(full.last == USBIP.Status.noMemory && full.dropLast().allSatisfy { $0 == nil })
        // The kernel reads a descriptor for each packet that a reply names.
        var refusal: [UInt8] = []
        try host.camera.receive(gaps.span, replies: &refusal)
        #expect(refusal.count == USBIP.headerSize && refusal.span.bigEndian32(at: 32) == 0)
        var random = RepeatableGenerator(1)
        for _ in 0..<2000 {
            var camera = CameraDevice()
            var bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            // Mostly a plausible command.
            let start: [UInt8] = [0, 0, 0, UInt8.random(in: 0...4, using: &random)]
            for (i, byte) in start.enumerated() where i < bytes.count { bytes[i] = byte }
            for i in 16..<40 where i < bytes.count && i % 4 != 3 { bytes[i] = 0 }
            var replies: [UInt8] = []
            try? camera.receive(bytes.span, replies: &replies)
        }
    }
}

@Suite struct CameraMessageTests {
    @Test func `messages survive the way, and everything else is refused`() {
        let messages: [CameraMessage] = [
            .ring(version: 1, slots: 3, slotBytes: 4_147_200, takesLifeline: true),
            .ring(version: 1, slots: 3, slotBytes: 4_147_200, takesLifeline: false), .lifeline,
            .stream(isWatched: true, width: 1280, height: 720),
            .released(slot: 2), .refused(.busy, process: 4711), .frame(slot: 1, width: 640, height: 480),
        ]
        for message in messages {
            let bytes = (0..<CameraMessage.size).map { message.bytes[$0] }
            #expect(CameraMessage(bytes.span) == message)
            #expect(CameraMessage(Array(bytes.dropLast()).span) == nil)
            #expect(CameraMessage((bytes + [0]).span) == nil)
        }
        #expect(CameraMessage([UInt8](repeating: 0, count: 32).span) == nil)
        #expect(CameraMessage([UInt8](repeating: 255, count: 32).span) == nil)
        var unknown = CameraMessage.refused(.busy, process: 1).bytes
        unknown[4] = 9
        #expect(CameraMessage(unknown.span) == nil)
    }
}
