import CCamera
import CLinux
import Glibc
import SystemKit
import USBCamera

/// The loop of the service: between the kernel, which asks for pictures, and the program that feeds the camera.
struct Service: ~Copyable {
    private let port: Port
    private let listener: Listener
    private let signals: CInt
    private var camera = CameraDevice()
    private var scheduler = FrameScheduler()
    private var connection: Connection?
    /// The picture that is being sent.
    private var sending: FrameScheduler.Picture?
    /// The placeholder in the current size, once it was needed.
    private var placeholder: (mode: CameraMode, bytes: [UInt8])?
    private var isStreaming = false
    private var mode = CameraMode.all[0]

    // Memory that is used again.
    private var replies: [UInt8] = []
    private var reply = CameraDevice.VideoReply()

    /// The most messages of a client that are handled in one turn of the loop.
    private static let maxMessages = 16

    /// - Parameter camera: the camera in its present state; nil: it was just plugged in.
    init(port: consuming Port, camera: CameraDevice?, listener: consuming Listener, signals: CInt) {
        self.port = port
        self.listener = listener
        self.signals = signals
        guard let camera else { return }
        self.camera = camera
        (isStreaming, mode) = (camera.isStreaming, camera.mode)
        _ = scheduler.setStream(isStreaming ? mode : nil, interval: camera.interval, at: monotonicTime())
        // The program that fed the camera connects again at once.
        scheduler.awaitFeeder()
    }

    /// Runs until a signal ends the service.
    /// - Throws: `Problem` if the kernel unplugs the camera.
    mutating func run() throws(Problem) {
        while true {
            var polled: [5 of pollfd] = .init(repeating: pollfd(fd: -1, events: Int16(POLLIN), revents: 0))
            polled[0].fd = signals
            polled[1].fd = port.descriptor
            polled[2].fd = listener.descriptor
            (polled[3].fd, polled[4].fd) = connectionDescriptors
            polled[4].events = 0  // its hang-up is reported in any case
            var span = polled.mutableSpan
            let count = PollClock.system.poll(&span, timeout())
            guard count >= 0 else {
                throw Problem(.system, "poll failed: \(errorMessage(of: errno))")
            }
            if polled[0].revents != 0 { break }
            if polled[1].revents != 0 { try receiveCommands() }
            if polled[4].revents != 0, connection != nil { disconnect() }
            if polled[3].revents != 0 { receiveMessages() }
            if polled[2].revents != 0 { acceptConnection() }
            try sendPictures()
        }
        connection = nil
    }

    /// Leaves the camera to the next process, or else unplugs it.
    func end(_ handover: borrowing Handover) {
        guard !handover.store(port, camera) else { return report("the camera is left to the next process") }
        port.unplug()
        report("the camera is unplugged")
    }

    private var connectionDescriptors: (socket: CInt, lifeline: CInt) {
        switch connection {
        case .some(let connection): (connection.descriptor, connection.lifeline)
        case .none: (-1, -1)
        }
    }

    /// Milliseconds until a picture is due; without a limit if none is, or no transfer waits for it.
    private func timeout() -> CInt {
        guard sending == nil, camera.isWaiting, let due = scheduler.due else { return -1 }
        let now = monotonicTime()
        return due > now ? CInt(clamping: (due - now) / 1_000_000 + 1) : 0
    }

    // MARK: - the kernel

    private mutating func receiveCommands() throws(Problem) {
        var bytes = [4096 of UInt8](repeating: 0)
        var span = bytes.mutableSpan
        let count = unsafe span.withUnsafeMutableBytes { bytes in
            retryingInterrupted { unsafe recv(port.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT)) }
        }
        if count < 0, errno == EAGAIN { return }
        guard count > 0 else { throw Problem(.gone, "the kernel unplugged the camera", fix: "start the service again") }
        replies.removeAll(keepingCapacity: true)
        try camera.receive(span.span.extracting(first: count), replies: &replies)
        let sent = unsafe replies.withUnsafeBufferPointer {
            unsafe ccamera_send(port.descriptor, $0.baseAddress, $0.count)
        }
        guard sent == 0 else { throw Self.gone(sent) }
        guard camera.isStreaming != isStreaming || camera.mode != mode else { return }
        (isStreaming, mode) = (camera.isStreaming, camera.mode)
        sending = nil
        let now = monotonicTime()
        for slot in scheduler.setStream(isStreaming ? mode : nil, interval: camera.interval, at: now) { release(slot) }
        sendStream()
    }

    private static func gone(_ code: CInt) -> Problem {
        Problem(.gone, "the kernel unplugged the camera: \(errorMessage(of: -code))", fix: "start the service again")
    }

    /// Sends what is due into the waiting transfers.
    private mutating func sendPictures() throws(Problem) {
        while camera.isWaiting {
            if sending == nil {
                guard let next = scheduler.begin(at: monotonicTime()) else { return }
                sending = next.picture
                if let unused = next.unused { release(unused) }
            }
            guard let picture = sending, camera.fillTransfer(&reply) else { return }
            let sent = send(picture)
            guard sent == 0 else { throw Self.gone(sent) }
            if camera.position == 0 { sending = nil }
        }
    }

    private mutating func send(_ picture: FrameScheduler.Picture) -> CInt {
        if case .slot(let slot) = picture {
            switch connection {
            case .some(let connection):
                return unsafe connection.ring.withPicture(slot) { unsafe Self.send(reply, $0, to: port.descriptor) }
            case .none: break
            }
        }
        if placeholder?.mode != mode { placeholder = (mode, ServicePlaceholder.frame(mode)) }
        guard let placeholder else { return 0 }
        return unsafe placeholder.bytes.withUnsafeBufferPointer {
            guard let base = $0.baseAddress else { return 0 }
            return unsafe Self.send(reply, base, to: port.descriptor)
        }
    }

    private static func send(
        _ reply: borrowing CameraDevice.VideoReply, _ picture: UnsafePointer<UInt8>, to descriptor: CInt
    ) -> CInt {
        unsafe reply.header.withUnsafeBufferPointer { header in
            unsafe reply.payloadHeaders.withUnsafeBufferPointer { payloadHeaders in
                unsafe reply.descriptors.withUnsafeBufferPointer { descriptors in
                    var parts = unsafe ccamera_reply()
                    unsafe (parts.header, parts.header_size) = (header.baseAddress, header.count)
                    unsafe (parts.payload_headers, parts.payload_headers_size) = (
                        payloadHeaders.baseAddress, payloadHeaders.count
                    )
                    unsafe (parts.picture, parts.picture_size) = (picture + reply.start, reply.byteCount)
                    unsafe parts.packet_bytes = reply.packetBytes
                    unsafe (parts.descriptors, parts.descriptors_size) = (descriptors.baseAddress, descriptors.count)
                    return unsafe ccamera_send_reply(descriptor, &parts)
                }
            }
        }
    }

    // MARK: - the client

    private mutating func acceptConnection() {
        var feeder: CInt?
        switch connection {
        case .some(let connection): feeder = connection.process
        case .none: break
        }
        guard let fresh = listener.accept(besides: feeder) else { return }
        connection = consume fresh
        scheduler.setFed(true, at: monotonicTime())
        sendStream()
    }

    private mutating func receiveMessages() {
        for _ in 0..<Self.maxMessages {
            guard let received = connection?.receive() else { return }
            switch received {
            case .nothing: return
            case .end: return disconnect()
            case .lifeline: continue
            case .frame(let slot, let width, let height):
                guard !scheduler.holds(slot) else { return disconnect() }
                if let unused = scheduler.offer(slot, width: width, height: height, at: monotonicTime()) {
                    release(unused)
                }
            }
        }
    }

    private mutating func disconnect() {
        connection = nil
        // The rest of a picture that is half sent was in the client's memory.
        if sending != nil {
            sending = nil
            camera.endPicture()
        }
        scheduler.setFed(false, at: monotonicTime())
    }

    private mutating func release(_ slot: Int) { sendMessage(.released(slot: slot)) }

    private mutating func sendStream() {
        sendMessage(.stream(isWatched: isStreaming, width: mode.width, height: mode.height))
    }

    /// Sends a message to the client, if there is one. One that does not read its messages is disconnected.
    private mutating func sendMessage(_ message: CameraMessage) {
        var isSent = true
        switch connection {
        case .some(let connection): isSent = connection.send(message)
        case .none: break
        }
        if !isSent { disconnect() }
    }
}
