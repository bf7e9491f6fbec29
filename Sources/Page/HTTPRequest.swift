import NIOCore
import NIOHTTP1

/// An HTTP request, as the router sees it.
struct HTTPRequest: Sendable {
    let method: HTTPMethod
    /// The path as it was sent, without the query.
    let path: String
    /// The query's items, percent-decoded.
    let query: [(name: String, value: String)]
    let route: PageRoute
    let headers: HTTPHeaders
    var body: [UInt8] = []

    init(_ head: HTTPRequestHead) {
        (method, headers) = (head.method, head.headers)
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        route = PageRoute(method, path)
        query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : ""
            return (percentDecoded(parts[0]) ?? "", percentDecoded(value) ?? "")
        }
    }

    /// The first value of a query item with that name.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

/// Replaces %XX in a text with the encoded bytes (RFC 3986, 2.1); nil if it is malformed.
func percentDecoded(_ text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            bytes.append(byte)
            continue
        }
        let digits = rest.prefix(2)
        guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16),
            digits.first != UInt8(ascii: "+")
        else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
}

/// Replaces all but ASCII letters and digits in a text by %XX.
func percentEncoded(_ text: String) -> String {
    text.utf8.map { byte in
        let scalar = Unicode.Scalar(byte)
        if scalar.isASCII, scalar.properties.isAlphabetic || (48...57).contains(byte) { return String(scalar) }
        return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }.joined()
}

/// One part of a response, on its way from a task to the connection.
enum ResponsePart: Sendable {
    case head(HTTPResponseStatus, HTTPHeaders)
    case body(ByteBuffer)
    case end
}

/// A writer that sends a response from a task. Each call returns when its bytes are handed to the kernel, so that
/// nothing queues up.
struct ResponseWriter: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    func send(_ part: ResponsePart) async throws { try await channel.writeAndFlush(part).get() }

    /// Sends a complete response.
    func send(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ bytes: [UInt8]) async throws {
        var headers = headers
        headers.replaceOrAdd(name: "Content-Length", value: "\(bytes.count)")
        channel.write(ResponsePart.head(status, headers), promise: nil)
        if !bytes.isEmpty { channel.write(ResponsePart.body(ByteBuffer(bytes: bytes)), promise: nil) }
        try await send(.end)
    }
}
