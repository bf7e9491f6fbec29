import Foundation
import Glibc
import Testing

@testable import Page

/// What a server answered.
struct Answer {
    var status = 0
    /// By names in lower case.
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }
    var isJPEG: Bool { body.starts(with: [0xFF, 0xD8, 0xFF]) }
}

/// A browser, as far as these tests need one: a connection, and what HTTP (RFC 9112) and web sockets (RFC 6455) put on it.
final class Visitor {
    private let descriptor: CInt
    private var received: [UInt8] = []

    init(port: Int) throws {
        descriptor = try #require(Self.connect(port: port), "connected")
    }

    /// Nil: it was refused, or there are too many already.
    static func connect(port: Int) -> CInt? {
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

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe Glibc.send(
                    descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Gone() }
            sent += count
        }
    }

    /// The other end is closed.
    struct Gone: Error {}

    /// False at the end.
    private func receive() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 { received += bytes[..<count] }
        return count > 0
    }

    /// Takes so many bytes; nil where they do not come.
    func take(_ count: Int) -> [UInt8]? {
        while received.count < count { guard receive() else { return nil } }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    /// Takes up to and with `end`.
    func take(through end: String) -> [UInt8]? {
        let end = Array(end.utf8)
        var from = 0
        while true {
            if received.count >= end.count {
                for i in from...received.count - end.count where received[i..<i + end.count].elementsEqual(end) {
                    return take(i + end.count)
                }
                from = received.count - end.count + 1
            }
            guard receive() else { return nil }
        }
    }

    /// Sends a request; an empty value takes a header away.
    func request(
        _ method: String = "GET", _ path: String, _ headers: [String: String] = [:], body: [UInt8] = []
    ) throws {
        var all = ["Content-Length": body.isEmpty && method == "GET" ? "" : "\(body.count)"]
        all.merge(headers) { $1 }
        let lines = all.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }.joined()
        try send(Array("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n".utf8) + body)
    }

    /// The status and headers; the body too where its length is said.
    func answer() throws -> Answer {
        let head = String(decoding: try #require(take(through: "\r\n\r\n"), "an answer"), as: UTF8.self)
        var answer = Answer()
        for (i, line) in head.components(separatedBy: "\r\n").enumerated() where !line.isEmpty {
            if i == 0 {
                answer.status = Int(line.split(separator: " ")[1]) ?? 0
            } else if let colon = line.firstIndex(of: ":") {
                answer.headers[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(
                    in: .whitespaces)
            }
        }
        if let length = answer.headers["content-length"].flatMap({ Int($0) }) {
            answer.body = try #require(take(length), "the whole body")
        }
        return answer
    }

    // MARK: - web sockets

    /// Sends a frame, masked as a browser's.
    func say(_ text: String, opcode: UInt8 = 1, isLast: Bool = true) throws {
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
    func hear() -> (opcode: UInt8, code: Int, text: String)? {
        guard let head = take(2) else { return nil }
        var length = Int(head[1] & 127)
        if length >= 126 {
            guard let more = take(length == 126 ? 2 : 8) else { return nil }
            length = more.reduce(0) { $0 << 8 | Int($1) }
        }
        guard let bytes = take(length) else { return nil }
        // The last frame begins with a code.
        let isEnd = head[0] & 15 == 8 && bytes.count >= 2
        let code = isEnd ? Int(bytes[0]) << 8 | Int(bytes[1]) : 0
        return (head[0] & 15, code, String(decoding: bytes.dropFirst(isEnd ? 2 : 0), as: UTF8.self))
    }
}
