import CLinux
import FoundationEssentials
import Glibc
import JSON
import SystemKit

/// A client connection to the daemon's control socket, for the command line. The connection closes with the value.
public struct ControlClient: ~Copyable {
    /// The longest wait for a reply unless the caller names another, in seconds.
    public static let replyTimeout = 20

    private let descriptor: CInt
    private var received: [UInt8] = []

    /// Connects to the daemon's control socket.
    /// - Throws: `Problem` of kind `missing` if no daemon is running or XDG_RUNTIME_DIR is not set, or `system`.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(Problem) {
        let path = try ControlSocket.path(environment: environment)
        let connected = unsafe clinux_local_connect(path, 1)
        switch -connected {
        case ENOENT, ECONNREFUSED:
            throw Problem(
                .missing, "Guise isn't running",
                fix: "start it with `systemctl --user start guise`, or `guise run` in a terminal")
        case 1...:
            throw Problem(.system, "could not connect to \(path): \(errorMessage(of: -connected))")
        default: descriptor = connected
        }
    }

    deinit { close(descriptor) }

    /// Sends a command, and waits for its reply.
    /// - Throws: `RequestError` if the daemon refused it, `Problem` if it did not reply, or not as expected.
    public mutating func perform<Reply: Decodable>(_ command: Command, as type: Reply.Type = Reply.self) throws -> Reply
    {
        let reply = try perform(command.json, within: command.replyTimeout)
        do { return try reply.decoded(as: type) } catch {
            throw Problem(
                .unusable, "Guise replied in another way than expected: \(error)",
                fix: "restart Guise, which may be of another version: `systemctl --user restart guise`")
        }
    }

    /// Sends one request and waits for its reply.
    /// - Parameter seconds: the longest wait for each line, in seconds.
    /// - Throws: `RequestError` if the daemon refused the request, `Problem` if it did not reply.
    public mutating func perform(_ request: JSON, within seconds: Int = ControlClient.replyTimeout) throws -> JSON {
        try send(request)
        while true {
            guard let answer = try next(within: seconds) else {
                throw Problem(.gone, "Guise ended without a reply", fix: "see `journalctl --user -u guise`")
            }
            if let ok = answer["ok"] { return ok }
            if let error = answer["error"] { throw RequestError(error) }
        }
    }

    /// Sends one line.
    /// - Throws: `Problem` of kind `gone` if the daemon closed the connection.
    public func send(_ request: JSON) throws {
        let line = Array("\(request.text)\n".utf8)
        var sent = 0
        while sent < line.count {
            let count = unsafe line.withUnsafeBufferPointer {
                unsafe clinux_local_send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
            }
            guard count > 0 else {
                throw Problem(.gone, "Guise closed the connection", fix: "see `journalctl --user -u guise`")
            }
            sent += count
        }
    }

    /// Returns the next line, or nil at the end of the stream.
    /// - Throws: `Problem` of kind `busy` if no line arrives within `seconds`.
    public mutating func next(within seconds: Int) throws -> JSON? {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(received[..<end])
                received.removeSubrange(...end)
                return try JSON(line, file: "answer")
            }
            guard waitUntilReady(descriptor, milliseconds: CInt(seconds) * 1000) else {
                throw Problem(
                    .busy, "Guise did not reply within \(seconds) s", fix: "run `guise doctor` to find the reason")
            }
            var bytes = [UInt8](repeating: 0, count: 16 << 10)
            let count = unsafe clinux_read(descriptor, &bytes, bytes.count)
            guard count > 0 else { return nil }
            received += bytes[..<count]
        }
    }
}
