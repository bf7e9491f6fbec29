import CCamera
import CLinux
import Glibc
import SystemKit
import USBCamera

/// A local socket on which the service waits for programs that feed the camera.
struct Listener: ~Copyable {
    let descriptor: CInt
    /// The group whose members may feed the camera, in addition to root and the user at the seat.
    private let group: gid_t

    init(_ path: String, group: gid_t) throws(Problem) {
        let descriptor = unsafe clinux_packet_listen(path)
        guard descriptor >= 0 else {
            throw Problem(
                .system, "could not listen on \(path): \(errorMessage(of: -descriptor))", fix: "make its folder")
        }
        (self.descriptor, self.group) = (descriptor, group)
    }

    deinit { close(descriptor) }

    /// Accepts the next connection.
    /// - Parameter feeder: the process that feeds the camera already; nil: none.
    /// - Returns: a connection with its ring; nil if there is none, or it was refused.
    func accept(besides feeder: CInt?) -> Connection? {
        let descriptor = clinux_local_accept(self.descriptor)
        guard descriptor >= 0 else { return nil }
        var (user, process) = (uid_t(), pid_t())
        guard unsafe clinux_local_peer(descriptor, &user, &process) == 0 else {
            close(descriptor)
            return nil
        }
        let refusal: CameraMessage? =
            !mayFeed(descriptor, user)
            ? .refused(.forbidden, process: 0) : feeder.map { .refused(.busy, process: Int($0)) }
        guard refusal == nil else {
            if let refusal { _ = send(refusal, to: descriptor) }
            close(descriptor)
            return nil
        }
        guard let ring = try? Ring(), send(Ring.message, to: descriptor, passing: ring.descriptor) else {
            close(descriptor)
            return nil
        }
        return Connection(descriptor: descriptor, process: process, ring: ring)
    }

    private func mayFeed(_ descriptor: CInt, _ user: uid_t) -> Bool {
        if user == 0 || clinux_peer_in_group(descriptor, group) != 0 { return true }
        var active = uid_t()
        return unsafe ccamera_seat_user(&active) >= 0 && active == user
    }
}

/// A program that feeds the camera.
struct Connection: ~Copyable {
    let descriptor: CInt
    let process: CInt
    let ring: Ring
    /// The read end of the client's pipe, which hangs up when the client is killed, before its socket does; -1: none.
    private(set) var lifeline: CInt = -1

    init(descriptor: CInt, process: CInt, ring: consuming Ring) {
        (self.descriptor, self.process) = (descriptor, process)
        self.ring = ring
    }

    deinit {
        close(descriptor)
        if lifeline >= 0 { close(lifeline) }
    }

    /// Sends a message; false if the client has gone or reads nothing.
    func send(_ message: CameraMessage) -> Bool { guise_camera.send(message, to: descriptor) }

    enum Received {
        case frame(slot: Int, width: Int, height: Int)
        /// `lifeline` is there from now on.
        case lifeline
        case nothing
        /// The client has gone, or sent what no client sends.
        case end
    }

    /// The next message.
    mutating func receive() -> Received {
        var bytes: [32 of UInt8] = .init(repeating: 0)
        var passed: CInt = -1
        var span = bytes.mutableSpan
        let count = unsafe span.withUnsafeMutableBufferPointer { bytes in
            unsafe clinux_packet_receive(descriptor, bytes.baseAddress, bytes.count, &passed)
        }
        if count == -Int(EAGAIN) { return .nothing }
        switch count == CameraMessage.size ? CameraMessage(span.span) : nil {
        case .frame(let slot, let width, let height)?
        where passed < 0 && (0..<FrameScheduler.slots).contains(slot):
            return .frame(slot: slot, width: width, height: height)
        case .lifeline? where lifeline < 0 && isPipe(passed):
            lifeline = passed
            return .lifeline
        default:
            if passed >= 0 { close(passed) }
            return .end
        }
    }
}

/// Whether it is a pipe: polling one never blocks, whoever made it. False for -1.
private func isPipe(_ descriptor: CInt) -> Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
}

private func send(_ message: CameraMessage, to descriptor: CInt, passing passed: CInt = -1) -> Bool {
    let bytes = message.bytes
    return unsafe bytes.span.withUnsafeBufferPointer { bytes in
        unsafe clinux_packet_send(descriptor, bytes.baseAddress, bytes.count, passed) == 0
    }
}
