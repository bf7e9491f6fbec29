import CLinux
import CTestSupport
import Glibc
import SystemKit
import TestSupport
import Testing

@testable import USBCamera
@testable import guise_camera

/// The service, with a kernel that the test plays and a program that streams. It ends with the value.
private final class RunningService {
    let path: String
    /// The kernel's end of the USB socket.
    private let kernel: CInt
    private let stop: WakeEvent
    private let ended: WakeEvent
    private var sequence: UInt32 = 0

    /// The smallest size, of which one transfer has a whole picture.
    static let mode = CameraMode.all[5]

    init(_ path: String) throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let device = ends[1]
        let (ready, stop, ended) = (try WakeEvent(), try WakeEvent(), try WakeEvent())
        (self.path, kernel, self.stop, self.ended) = (path, ends[0], stop, ended)
        startThread(named: "service") {
            do throws(Problem) {
                let port = Port(descriptor: device, number: 0)
                let listener = try Listener(path, group: getgid())
                ready.signal()
                var service = Service(
                    port: port, camera: RunningService.streaming, listener: listener, signals: stop.descriptor)
                try service.run()
            } catch {
                log("\(error)", .error)
                ready.signal()
            }
            ended.signal()
        }
        _ = PollClock.system.waits(for: ready.descriptor, milliseconds: -1)
    }

    deinit {
        stop.signal()
        _ = PollClock.system.waits(for: ended.descriptor, milliseconds: -1)
        close(kernel)
    }

    private static var streaming: CameraDevice {
        var camera = CameraDevice()
        let index = CameraMode.all.firstIndex(of: mode) ?? 0
        camera.committed = CameraDevice.Negotiation(mode: index, interval: 0)
        (camera.configuration, camera.mode) = (1, mode)
        camera.alternate = (CameraMode.packetSizes.firstIndex(of: mode.packetSize) ?? 0) + 1
        return camera
    }

    /// Submits a transfer, and waits for the first bytes of the picture in it.
    func nextPicture() throws -> [UInt8] {
        sequence += 1
        let (packets, size) = (Self.mode.frameBytes / Self.mode.packetBytes, Self.mode.packetSize)
        var words: [UInt32] = [1, sequence, 0, 1, 1, 0, UInt32(packets * size), 0, UInt32(packets), 1, 0, 0]
        for i in 0..<packets { words += [UInt32(i * size), UInt32(size), 0, 0] }
        var command: [UInt8] = []
        for word in words { command.append(bigEndian: word) }
        let isSent = writeAll(command.span, to: kernel)
        try #require(isSent)
        let header = try read(USBIP.headerSize)
        let body = try read(Int(header.span.bigEndian32(at: 24)) + packets * USBIP.packetDescriptorSize)
        return Array(body[PayloadHeader.size..<PayloadHeader.size + 4])
    }

    private func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = unsafe recv(kernel, &bytes, count, CInt(MSG_WAITALL))
        try #require(found == count)
        return bytes
    }
}

/// A program that feeds the camera. It hangs up with the value.
private final class Client {
    private let descriptor: CInt
    private var ring: CInt = -1

    /// Connects, and waits for the ring.
    init(_ service: RunningService) throws {
        descriptor = unsafe clinux_packet_connect(service.path)
        try #require(descriptor >= 0)
        let first = next()
        guard case .ring(let version, _, _, let takesLifeline)? = first, version == CameraMessage.version,
            takesLifeline
        else {
            throw Problem(.unusable, "the first message is \(String(describing: first))")
        }
        try #require(ring >= 0)
    }

    deinit {
        for descriptor in [descriptor, ring] where descriptor >= 0 { close(descriptor) }
    }

    /// Waits for the next message; nil at the end.
    func next() -> CameraMessage? {
        var bytes = [UInt8](repeating: 0, count: 64)
        var passed: CInt = -1
        _ = PollClock.system.waits(for: descriptor, milliseconds: -1)
        let count = unsafe clinux_packet_receive(descriptor, &bytes, bytes.count, &passed)
        if passed >= 0 { ring = passed }
        return count > 0 ? CameraMessage(bytes.span.extracting(first: count)) : nil
    }

    /// Waits until the service has closed the connection.
    func waitForEnd() { while next() != nil {} }

    func send(_ message: CameraMessage, _ passed: [CInt] = []) {
        let bytes = message.bytes
        _ = unsafe bytes.span.withUnsafeBufferPointer { bytes in
            unsafe passed.withUnsafeBufferPointer { passed in
                unsafe ctest_send(descriptor, bytes.baseAddress, bytes.count, passed.baseAddress, passed.count)
            }
        }
    }

    static let picture: [UInt8] = [120, 128, 120, 128]

    /// Sends a picture.
    func feed() {
        _ = unsafe pwrite(ring, Self.picture, Self.picture.count, 0)
        send(.frame(slot: 0, width: RunningService.mode.width, height: RunningService.mode.height))
    }
}

private struct Pipe {
    let (reading, writing): (CInt, CInt)

    init() throws {
        var (reading, writing): (CInt, CInt) = (-1, -1)
        try #require(unsafe ctest_pipe(&reading, &writing) == 0)
        (self.reading, self.writing) = (reading, writing)
    }
}

@Suite(.ownThread) struct ServiceTests {
    let scratch: ScratchFolder
    private let service: RunningService
    private let placeholder = Array(ServicePlaceholder.frame(RunningService.mode).prefix(4))

    init() throws {
        scratch = try ScratchFolder()
        service = try RunningService(scratch.path("socket"))
    }

    /// Whether a client can feed the camera.
    private func isFree() throws -> Bool {
        let client = try Client(service)
        client.feed()
        while try service.nextPicture() != Client.picture {}
        return true
    }

    @Test func `a client whose lifeline hangs up gives way to the placeholder, though its socket is open`() throws {
        let (client, pipe) = (try Client(service), try Pipe())
        client.send(.lifeline, [pipe.reading])
        close(pipe.reading)
        client.feed()
        while try service.nextPicture() != Client.picture {}
        close(pipe.writing)
        client.waitForEnd()
        #expect(try service.nextPicture() == placeholder)
        #expect(try isFree())
    }

    @Test func `a client without a lifeline is served until it hangs up`() throws {
        #expect(try isFree())
        while try service.nextPicture() != placeholder {}
    }

    @Test(arguments: ["nothing", "a file", "a socket", "two pipes", "many pipes", "a second pipe", "a picture's"])
    func `a client that passes anything but one pipe ends its own connection alone`(_ kind: String) throws {
        let (client, pipe) = (try Client(service), try Pipe())
        var passed: [CInt] = []
        switch kind {
        case "nothing": break
        case "a file": passed = [unsafe ctest_unnamed_file(scratch.path("."))]
        case "a socket": passed = [socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)]
        case "two pipes": passed = [pipe.reading, pipe.reading]
        case "many pipes": passed = [CInt](repeating: pipe.reading, count: 8)
        case "a second pipe":
            client.send(.lifeline, [pipe.reading])
            passed = [pipe.reading]
        default: client.send(.frame(slot: 0, width: 1, height: 1), [pipe.reading])
        }
        if kind != "a picture's" { client.send(.lifeline, passed) }
        client.waitForEnd()
        close(pipe.reading)
        // The service has kept none of them.
        #expect(waitUntilReady(pipe.writing, for: 0))
        close(pipe.writing)
        for descriptor in passed where descriptor != pipe.reading { close(descriptor) }
        #expect(try isFree())
    }
}
