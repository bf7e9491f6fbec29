import CAllocations
import CLinux
import Glibc
import TestSupport
import Testing
import USBCamera

@testable import Frames
@testable import Privacy
@testable import Publish
@testable import SystemKit

/// The camera service's side of a socket, step by step.
private final class Service {
    let path: String
    private var listener: CInt
    private var client: CInt = -1
    private let ring: CInt
    private let slotBytes: Int
    private let slots: Int
    var takesLifeline = false
    /// The descriptor that came with the last message; -1: none.
    private(set) var passed: CInt = -1

    init(_ path: String, slots: Int = 3, slotBytes: Int = 640 * 480 * 2) {
        (self.path, self.slots, self.slotBytes) = (path, slots, slotBytes)
        ring = clinux_ring_create(slots * slotBytes)
        listener = unsafe clinux_packet_listen(path)
    }

    deinit {
        for descriptor in [client, listener, ring, passed] where descriptor >= 0 { close(descriptor) }
    }

    /// Accepts a client and sends it the ring, or another first message without one.
    func accept(_ first: CameraMessage? = nil) {
        client = clinux_local_accept(listener)
        send(
            first
                ?? .ring(
                    version: CameraMessage.version, slots: slots, slotBytes: slotBytes, takesLifeline: takesLifeline),
            passing: first == nil ? ring : -1)
    }

    func send(_ message: CameraMessage, passing passed: CInt = -1) {
        _ = unsafe message.bytes.span.withUnsafeBufferPointer {
            unsafe clinux_packet_send(client, $0.baseAddress, $0.count, passed)
        }
    }

    /// Sends the first message as soon as a client connects, as `USBCameraSink.init` waits for it.
    func acceptLater(_ first: CameraMessage? = nil) {
        let service = Unchecked(self)
        startThread(named: "service") {
            _ = PollClock.system.waits(for: service.value.listener, milliseconds: -1)
            service.value.accept(first)
        }
    }

    /// Accepts a client and hangs up.
    func refuse() { close(clinux_local_accept(listener)) }

    func hangUp() {
        // A process that another test is just starting may have a copy of the descriptor.
        shutdown(client, CInt(SHUT_RDWR))
        close(client)
        client = -1
    }

    /// The next message of the client; nil if there is none.
    func received() -> CameraMessage? {
        var bytes = [UInt8](repeating: 0, count: 64)
        if passed >= 0 { close(passed) }
        let count = unsafe clinux_packet_receive(client, &bytes, bytes.count, &passed)
        return count > 0 ? CameraMessage(bytes.span.extracting(first: count)) : nil
    }

    /// The first bytes of a slot.
    func picture(_ slot: Int, count: Int = 4) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        _ = unsafe pread(ring, &bytes, count, slot * slotBytes)
        return bytes
    }
}

private struct Unchecked: @unchecked Sendable {
    let value: Service
    init(_ value: Service) { self.value = value }
}

@Suite(.ownThread) struct USBCameraSinkTests {
    let scratch: ScratchFolder
    private let service: Service
    private let layout = FrameLayout(width: 640, height: 480, format: .yuyv)
    private let second: UInt64 = 1_000_000_000

    init() throws {
        scratch = try ScratchFolder()
        service = Service(scratch.path("socket"))
    }

    private func frame(_ y: UInt8) -> Frame {
        var frame = Frame(layout)
        frame.fill(y: y, u: 90, v: 240)
        return frame
    }

    private func connected() throws -> USBCameraSink {
        service.acceptLater()
        return try USBCameraSink(layout: layout, path: service.path)
    }

    @Test func `frames are copied only while somebody watches, in the reader's size`() throws {
        var sink = try connected()
        #expect(sink.hasReaders(at: 0) == false)
        try sink.publish(PublishableFrame(frame(100).view))
        #expect(service.received() == nil)
        service.send(.stream(isWatched: true, width: 640, height: 480))
        #expect(sink.hasReaders(at: 0) == true)
        try sink.publish(PublishableFrame(frame(101).view))
        #expect(service.received() == .frame(slot: 0, width: 640, height: 480))
        #expect(service.picture(0) == [101, 90, 101, 240])
        service.send(.stream(isWatched: true, width: 320, height: 240))
        try sink.publish(PublishableFrame(frame(102).view))
        #expect(service.received() == .frame(slot: 1, width: 320, height: 240))
        #expect(service.picture(1) == [102, 90, 102, 240])
        // A picture that has the reader's size already.
        #expect(sink.chosenSize == FrameSize(width: 320, height: 240))
        var small = Frame(layout.resized(to: FrameSize(width: 320, height: 240)))
        small.fill(y: 103, u: 90, v: 240)
        try sink.publish(PublishableFrame(small.view))
        #expect(service.received() == .frame(slot: 2, width: 320, height: 240))
        #expect(service.picture(2) == [103, 90, 103, 240])
        service.send(.released(slot: 2))
        let before = callocations_count()
        try sink.publish(PublishableFrame(small.view))
        #expect(callocations_count() == before, "it allocates nothing")
        #expect(service.received() == .frame(slot: 2, width: 320, height: 240))
        service.send(.stream(isWatched: false, width: 320, height: 240))
        #expect(sink.hasReaders(at: 0) == false)
    }

    @Test func `a slot is not written before the service has released it`() throws {
        var sink = try connected()
        service.send(.stream(isWatched: true, width: 640, height: 480))
        for number in 0..<5 { try sink.publish(PublishableFrame(frame(UInt8(50 + number)).view)) }
        let offers = (0..<3).compactMap { _ in service.received() }
        #expect(offers == (0..<3).map { .frame(slot: $0, width: 640, height: 480) })
        #expect(service.received() == nil && service.picture(0)[0] == 50)
        service.send(.released(slot: 1))
        try sink.publish(PublishableFrame(frame(60).view))
        #expect(service.received() == .frame(slot: 1, width: 640, height: 480))
        #expect(service.picture(1)[0] == 60 && service.picture(2)[0] == 52)
    }

    @Test func `a service that ends is forgotten, and its successor is fed`() throws {
        var sink = try connected()
        service.send(.stream(isWatched: true, width: 640, height: 480))
        #expect(sink.hasReaders(at: 0) == true)
        service.hangUp()
        #expect(sink.hasReaders(at: 0) == false && sink.readerNotice == .polled(nil))
        try sink.publish(PublishableFrame(frame(100).view))
        // Not tried again at once.
        #expect(sink.hasReaders(at: second / 10) == false && sink.readerNotice == .polled(nil))
        #expect(sink.hasReaders(at: 2 * second) == false && sink.readerNotice != .polled(nil))
        service.accept()
        service.send(.stream(isWatched: true, width: 640, height: 480))
        #expect(sink.hasReaders(at: 2 * second) == true)
        try sink.publish(PublishableFrame(frame(101).view))
        #expect(service.received() == .frame(slot: 0, width: 640, height: 480))
    }

    @Test func `a service that takes a lifeline gets a pipe, and an older one gets nothing`() throws {
        service.takesLifeline = true
        let sink = try connected()
        #expect(service.received() == .lifeline)
        var status = stat()
        _ = unsafe fstat(service.passed, &status)
        #expect(status.st_mode & S_IFMT == S_IFIFO)
        #expect(service.received() == nil && sink.readerNotice != .polled(nil))
        let older = Service(scratch.path("older"))
        older.acceptLater()
        let second = try USBCameraSink(layout: layout, path: older.path)
        #expect(older.received() == nil && second.readerNotice != .polled(nil))
    }

    @Test func `a service that starts later is fed from then on`() throws {
        let path = scratch.path("later")
        var sink = try USBCameraSink(layout: layout, path: path, isExpected: true)
        #expect(sink.hasReaders(at: second) == false && sink.readerNotice == .polled(nil))
        try sink.publish(PublishableFrame(frame(100).view))
        let later = Service(path)
        #expect(sink.hasReaders(at: 2 * second) == false && sink.readerNotice != .polled(nil))
        later.accept()
        later.send(.stream(isWatched: true, width: 640, height: 480))
        #expect(sink.hasReaders(at: 2 * second) == true)
        try sink.publish(PublishableFrame(frame(101).view))
        #expect(later.received() == .frame(slot: 0, width: 640, height: 480))
        // One that is there refuses it at once.
        service.acceptLater(.refused(.forbidden, process: 0))
        #expect(throws: Problem.self) {
            _ = try USBCameraSink(layout: layout, path: service.path, isExpected: true)
        }
    }

    @Test func `the service belongs to a machine that starts it and whose kernel can plug it in`() throws {
        let root = scratch.path("root")
        #expect(!USBCameraSink.isSetUp(root: root))
        try scratch.write("", "root/etc/systemd/system/multi-user.target.wants/guise-camera.service")
        try scratch.write("6.1.0-31-cloud-amd64\n", "root/proc/sys/kernel/osrelease")
        try scratch.write("kernel/drivers/usb/core/usbcore.ko:\n", "root/lib/modules/6.1.0-31-cloud-amd64/modules.dep")
        #expect(!USBCameraSink.isSetUp(root: root))
        try scratch.write("6.1.0-31-amd64\n", "root/proc/sys/kernel/osrelease")
        try scratch.write("kernel/drivers/usb/usbip/vhci-hcd.ko:\n", "root/lib/modules/6.1.0-31-amd64/modules.dep")
        #expect(USBCameraSink.isSetUp(root: root))
    }

    @Test(arguments: [
        (CameraMessage.refused(.busy, process: Int(getpid())), Problem.Kind.busy, "feeds it"),
        (.refused(.forbidden, process: 0), .forbidden, "permission denied"),
        (.released(slot: 3), .unusable, "does not answer as expected"),
        (.ring(version: 2, slots: 3, slotBytes: 100, takesLifeline: false), .unusable, "does not answer as expected"),
    ])
    func `a refusal is an error that says why`(_ first: CameraMessage, _ kind: Problem.Kind, _ text: String) throws {
        service.acceptLater(first)
        let problem = #expect(throws: Problem.self) { _ = try USBCameraSink(layout: layout, path: service.path) }
        #expect(problem?.kind == kind && problem?.message.contains(text) == true, "\(String(describing: problem))")
    }

    @Test func `a service whose queue is full is tried again, and the error says so`() throws {
        var others: [CInt] = []
        defer { for other in others { close(other) } }
        while true {
            let other = unsafe clinux_packet_connect(service.path)
            guard other >= 0 else { break }
            others.append(other)
        }
        let path = service.path
        let problem = #expect(throws: Problem.self) { _ = try CameraLink(path) }
        #expect(problem?.kind == .busy && problem?.message.contains("fill its queue") == true)
        #expect(problem?.fix.contains("systemctl start") == false)
        var sink = try USBCameraSink(layout: layout, path: path)
        #expect(sink.hasReaders(at: second) == false && sink.readerNotice == .polled(nil))
        for _ in others { service.refuse() }
        #expect(sink.hasReaders(at: 2 * second) == false && sink.readerNotice != .polled(nil))
        service.accept()
        service.send(.stream(isWatched: true, width: 640, height: 480))
        #expect(sink.hasReaders(at: 2 * second) == true)
    }

    @Test func `without the service the error says how to get it`() throws {
        let problem = #expect(throws: Problem.self) {
            _ = try USBCameraSink(layout: layout, path: scratch.path("nothing"))
        }
        #expect(problem?.kind == .missing && problem?.fix.contains("systemctl start guise-camera") == true)
    }
}
