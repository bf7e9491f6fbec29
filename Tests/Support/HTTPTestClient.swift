import CSodium
import Foundation
import Glibc
import JSON
import Testing

/// A server's response.
public struct Answer {
    public var status = 0
    /// Headers by lower-case names.
    public var headers: [String: String] = [:]
    public var body: [UInt8] = []

    public var text: String { String(decoding: body, as: UTF8.self) }
    public var isJPEG: Bool { body.starts(with: [0xFF, 0xD8, 0xFF]) }
}

/// A minimal browser for tests: a connection with HTTP (RFC 9112) and web sockets (RFC 6455).
public final class HTTPTestClient {
    private let descriptor: CInt
    private var received: [UInt8] = []

    public init(port: Int) throws {
        descriptor = try Self.needed(Self.connect(port: port))
    }

    /// Nil if the connection was refused, or there are too many.
    private static func connect(port: Int) -> CInt? {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    deinit { close(descriptor) }

    public func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ConnectionClosed() }
            sent += count
        }
    }

    /// Sends as many bytes as fit into the connection's buffers.
    /// - Returns: their number.
    public func sendWithoutWaiting(_ bytes: [UInt8]) throws -> Int {
        let count = unsafe Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        guard count > 0 || errno == EAGAIN else { throw ConnectionClosed() }
        return max(0, count)
    }

    /// The other end is closed, or sent something else.
    struct ConnectionClosed: Error {}

    private static func needed<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw ConnectionClosed() }
        return value
    }

    /// False at the end.
    private func receive() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 { received += bytes[..<count] }
        return count > 0
    }

    /// Reads a number of bytes; nil if they do not arrive.
    public func read(_ count: Int) -> [UInt8]? {
        while received.count < count { guard receive() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Reads up to and including `end`.
    public func read(through end: String) -> [UInt8]? {
        let end = Array(end.utf8)
        var from = 0
        while true {
            if received.count >= end.count {
                for i in from...received.count - end.count where received[i..<i + end.count].elementsEqual(end) {
                    return read(i + end.count)
                }
                from = received.count - end.count + 1
            }
            guard receive() else { return nil }
        }
    }

    /// Sends a request; an empty value removes a header.
    public func request(
        _ method: String = "GET", _ path: String, _ headers: [String: String] = [:], body: [UInt8] = []
    ) throws {
        var all = ["Content-Length": body.isEmpty && method == "GET" ? "" : "\(body.count)"]
        all.merge(headers) { $1 }
        let lines = all.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }.joined()
        try send(Array("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n".utf8) + body)
    }

    /// Reads the status and headers, and the body if its length is given.
    public func answer() throws -> Answer {
        var answer = try answerHead()
        if let length = answer.headers["content-length"].flatMap({ Int($0) }) {
            answer.body = try Self.needed(read(length))
        }
        return answer
    }

    /// Reads the status and headers only, as of an answer to HEAD.
    public func answerHead() throws -> Answer {
        let head = String(decoding: try Self.needed(read(through: "\r\n\r\n")), as: UTF8.self)
        var answer = Answer()
        for (i, line) in head.components(separatedBy: "\r\n").enumerated() where !line.isEmpty {
            if i == 0 {
                answer.status = Int(line.split(separator: " ")[1]) ?? 0
            } else if let colon = line.firstIndex(of: ":") {
                answer.headers[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(
                    in: .whitespaces)
            }
        }
        return answer
    }

    // MARK: - Web sockets

    /// Sends a frame, masked like a browser's.
    public func sendText(_ text: String, opcode: UInt8 = 1, isLast: Bool = true) throws {
        let bytes = Array(text.utf8)
        var head: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        switch bytes.count {
        case ..<126: head.append(0x80 | UInt8(bytes.count))
        case ..<65536: head += [0x80 | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
        default: head += [0x80 | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) }
        }
        let mask: [UInt8] = [1, 2, 3, 4]
        try send(head + mask + bytes.enumerated().map { $1 ^ mask[$0 & 3] })
    }

    /// The next frame; nil at the end.
    public func receiveFrame() -> (opcode: UInt8, code: Int, text: String)? {
        guard let head = read(2) else { return nil }
        var length = Int(head[1] & 127)
        if length >= 126 {
            guard let more = read(length == 126 ? 2 : 8) else { return nil }
            length = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let bytes = read(length) else { return nil }
        // The close frame begins with a code.
        let isEnd = head[0] & 15 == 8 && bytes.count >= 2
        let code = isEnd ? Int(bytes[0]) << 8 | Int(bytes[1]) : 0
        return (head[0] & 15, code, String(decoding: bytes.dropFirst(isEnd ? 2 : 0), as: UTF8.self))
    }

    // MARK: - The page's handshake

    /// Opens a web socket.
    /// - Parameter headers: additional headers; an empty value removes one.
    public static func openSocket(
        port: Int, _ headers: [String: String] = [:]
    ) throws -> (connection: HTTPTestClient, status: Int) {
        let connection = try HTTPTestClient(port: port)
        let own = [
            "Host": "127.0.0.1:\(port)", "Origin": "http://127.0.0.1:\(port)", "Upgrade": "websocket",
            "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": Data((0..<16).map { UInt8($0) }).base64EncodedString(),
        ]
        try connection.request("GET", "/socket", own.merging(headers) { $1 })
        return (connection, try connection.answer().status)
    }

    /// A connection that has proved to know the secret, with an open session for as long as it lives.
    /// - Parameter secret: 64 hexadecimal digits.
    /// - Returns: the connection, and the token of its session.
    public static func signIn(port: Int, secret: String) throws -> (connection: HTTPTestClient, token: String) {
        let (connection, status) = try openSocket(port: port)
        guard status == 101 else { throw ConnectionClosed() }
        let server = try needed(connection.json()["nonce"]?.string)
        let own = String(repeating: "5c", count: 32)
        try connection.sendText(
            proof(secret, "guise page client|\(port)|\(server)|\(own)", nonce: own))
        let answer = try connection.json()
        try #require(answer["proof"]?.string == code(secret, "guise page server|\(port)|\(own)|\(server)"))
        return (connection, try needed(answer["session"]?.string))
    }

    /// A page's proof for a nonce.
    public static func proof(_ secret: String, _ text: String, nonce: String) -> String {
        #"{"nonce": "\#(nonce)", "proof": "\#(code(secret, text))"}"#
    }

    /// HMAC-SHA-256 in hexadecimal digits.
    public static func code(_ secret: String, _ text: String) -> String {
        let digits = Array(secret.utf8)
        let key = stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) ?? 0
        }
        let message = Array(text.utf8)
        var code = [UInt8](repeating: 0, count: 32)
        _ = unsafe crypto_auth_hmacsha256(&code, message, UInt64(message.count), key)
        return code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The next text message.
    public func json() throws -> JSON {
        let frame = try Self.needed(receiveFrame())
        guard frame.opcode == 1 else { throw ConnectionClosed() }
        return try JSON(Array(frame.text.utf8), file: "message")
    }
}
