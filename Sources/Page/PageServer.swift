import FlyingFox
import FlyingSocks
import Foundation
import Frames
import JSON
import Synchronization

/// The page's HTTP server: tasks beside the frame loop, on 127.0.0.1 and nowhere else. It ends with this value.
public final class PageServer: Sendable {
    private let running: Task<Void, Never>
    /// The port that it got.
    public let port: Int
    private let token: PageToken

    /// Starts to listen; waits until it does.
    /// - Parameters:
    ///   - port: 0: any that is free.
    ///   - files: the folder with the page.
    /// - Throws: `busy` where the port is taken, else `system`.
    public init(
        port: UInt16, files: String, token: PageToken, preview: Preview, host: any PageHost
    ) throws(Problem) {
        let pool = HTTPServer.defaultPool()
        let handler = PageHandler(files: PageFiles(folder: files), token: token, preview: preview, host: host, pool)
        let outcome = Outcome()
        @Sendable func makeServer(on port: UInt16) throws -> HTTPServer {
            HTTPServer(
                address: try sockaddr_in.inet(ip4: "127.0.0.1", port: port), timeout: Self.patience, pool: pool,
                logger: .disabled, handler: handler)
        }
        do {
            let server = try makeServer(on: port)
            running = Task {
                do { try await server.run() } catch { outcome.tell(.failure(error)) }
                // More connections than there are descriptors end it, and are let go of: it begins anew.
                while (try? await Task.sleep(for: Self.pause)) != nil, handler.port > 0 {
                    try? await makeServer(on: UInt16(handler.port)).run()
                }
            }
            Task {
                do {
                    try await server.waitUntilListening()
                    guard case .ip4(_, let port)? = await server.listeningAddress else {
                        throw SocketError.disconnected
                    }
                    handler.listen(on: Int(port))
                    outcome.tell(.success(Int(port)))
                } catch { outcome.tell(.failure(error)) }
            }
        } catch { throw Problem(.system, "cannot serve the page: \(error.localizedDescription)") }
        self.token = token
        switch outcome.wait() {
        case .success(let port): self.port = port
        case .failure(let error):
            running.cancel()
            if case SocketError.failed(_, let number, _)? = error as? SocketError, number == EADDRINUSE {
                throw Problem(
                    .busy, "cannot serve the page on port \(port): another program has it",
                    cure: "set page.port to another, or to 0 for any that is free")
            }
            throw Problem(.system, "cannot serve the page on port \(port): \(error.localizedDescription)")
        }
    }

    deinit { running.cancel() }

    /// "http://127.0.0.1:8787/": for logs, which others may read.
    public var place: String { "http://127.0.0.1:\(port)/" }
    /// The same with the token: for this user alone.
    public var address: String { "\(place)?token=\(token.text)" }

    /// Seconds for an answer to begin: a large photo takes some, and gives way to frames on a machine that has much to do.
    private static let patience = 300.0
    /// Between two tries to listen.
    private static let pause = Duration.seconds(1)
}

/// What a task found out, told once to the thread that waits for it.
private final class Outcome: Sendable {
    private let result = Mutex<Result<Int, any Error>?>(nil)
    private let told = DispatchSemaphore(value: 0)

    func tell(_ new: Result<Int, any Error>) {
        result.withLock { if $0 == nil { $0 = new } }
        told.signal()
    }

    func wait() -> Result<Int, any Error> {
        told.wait()
        return result.withLock { $0 } ?? .failure(CancellationError())
    }
}

/// Answers requests.
private final class PageHandler: HTTPHandler {
    private let files: PageFiles
    private let token: PageToken
    private let preview: Preview
    private let host: any PageHost
    private let pool: any AsyncSocketPool
    private let listening = Atomic<Int>(0)
    /// 0 until it is known.
    var port: Int { listening.load(ordering: .acquiring) }

    /// Bytes of a photo.
    private static let largestPhoto = 24 << 20
    /// Bytes that are read of one that is larger, so that its sender hears why it is not taken.
    private static let mostIgnored = 256 << 20
    /// Bytes of an album's file that are read at once.
    private static let piece = 64 << 10

    init(
        files: PageFiles, token: PageToken, preview: Preview, host: any PageHost, _ pool: any AsyncSocketPool
    ) {
        (self.files, self.token, self.preview, self.host, self.pool) = (files, token, preview, host, pool)
    }

    func listen(on port: Int) { listening.store(port, ordering: .releasing) }

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let door = Door(port: port, token: token)
        let knock = Door.Knock(
            isReading: request.method == .GET, path: request.path,
            token: request.query.first { $0.name == "token" }?.value
        ) { request.headers[HTTPHeader($0)] }
        switch door.judge(knock) {
        case .stranger(let why): return stranger(why)
        case .known:
            var response = answer(.seeOther, "text/plain", [])
            response.headers[.location] = "/"
            response.headers[.setCookie] = door.cookie
            return response
        case .welcome: break
        }
        do {
            switch (request.method, request.path) {
            case (.GET, "/stream"): return try stream(request)
            case (.GET, "/socket"): return try await socket(request)
            case (.GET, "/thumbnail"): return try await thumbnail(request)
            case (.POST, "/face"):
                return json(.ok, JSON(["faces": JSON(try await host.keepFace())]))
            case (.POST, "/photo"): return try await photo(request)
            case (.GET, let path) where path.hasPrefix("/album/"): return try album(request)
            case (.GET, let path):
                guard let file = files.file(at: path) else { throw PageRefusal(404, "not-found", "not here") }
                return answer(.ok, file.type, file.bytes)
            default: throw PageRefusal(405, "bad-method", "\(request.method.rawValue) is not for this")
            }
        } catch {
            let refusal = PageRefusal(error)
            let body = JSON(["error": JSON(["code": JSON(refusal.code), "message": JSON(refusal.message)])])
            return json(HTTPStatusCode(refusal.status, phrase: Self.phrases[refusal.status] ?? "Refused"), body)
        }
    }

    private static let phrases = [
        400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 413: "Content Too Large",
        415: "Unsupported Media Type", 422: "Unprocessable Content", 503: "Service Unavailable",
    ]

    // MARK: - answers

    /// What a browser may do with what we send: show it, on our own page.
    private var headers: HTTPHeaders {
        return [
            // 'self' alone does not let web sockets through everywhere.
            HTTPHeader("Content-Security-Policy"):
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; "
                + "connect-src 'self' ws://127.0.0.1:\(port) ws://localhost:\(port); base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'",
            HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
            HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
            HTTPHeader("X-Content-Type-Options"): "nosniff",
            HTTPHeader("Referrer-Policy"): "no-referrer",
            .cacheControl: "no-store",
        ]
    }

    private func answer(_ status: HTTPStatusCode, _ type: String, _ bytes: [UInt8]) -> HTTPResponse {
        var headers = headers
        headers[.contentType] = type
        return HTTPResponse(statusCode: status, headers: headers, body: Data(bytes))
    }

    private func json(_ status: HTTPStatusCode, _ json: JSON) -> HTTPResponse {
        answer(status, "application/json", Array(json.text.utf8))
    }

    private func stranger(_ why: String) -> HTTPResponse {
        let page = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="color-scheme" content="light dark">
            <title>Guise: closed</title>
            <h1>This page is closed</h1>
            <p>\(why)</p>
            <p>Run <code>guise page</code> in a terminal, and open the address that it prints.</p>
            </html>

            """
        return answer(.forbidden, "text/html; charset=utf-8", Array(page.utf8))
    }

    // MARK: - pictures

    private func stream(_ request: HTTPRequest) throws -> HTTPResponse {
        var look = Preview.Look()
        func wrong(_ key: String, _ allowed: String) -> PageRefusal {
            PageRefusal(400, "bad-value", "'\(key)' allows: \(allowed)")
        }
        for item in request.query {
            switch item.name {
            case "picture":
                guard let picture = Preview.Picture(rawValue: item.value) else {
                    throw wrong("picture", Preview.Picture.allCases.map(\.rawValue).joined(separator: ", "))
                }
                look.picture = picture
            case "marks": look.isMarked = item.value == "1"
            case "width":
                guard let width = Int(item.value), (64...4096).contains(width) else {
                    throw wrong("width", "64 to 4096")
                }
                look.width = width
            case "rate":
                guard let rate = Double(item.value), (1...60).contains(rate) else { throw wrong("rate", "1 to 60") }
                look.rate = rate
            // What breaks caches.
            default: break
            }
        }
        var headers = headers
        headers[.contentType] = "multipart/x-mixed-replace; boundary=\(JPEGStream.boundary)"
        let stream = JPEGStream(preview: preview, look: look)
        return HTTPResponse(statusCode: .ok, headers: headers, body: HTTPBodySequence(from: stream))
    }

    private func thumbnail(_ request: HTTPRequest) async throws -> HTTPResponse {
        func value(_ name: String) -> String? { request.query.first { $0.name == name }?.value }
        guard let face = PageFace(rawValue: value("face") ?? "sample") else {
            throw PageRefusal(400, "bad-value", "'face' allows: sample, mine")
        }
        let jpeg = try await host.thumbnail(of: value("mask") ?? "", on: face)
        var response = answer(.ok, "image/jpeg", jpeg)
        // The address of another face has another `v`; art that is being worked on is soon seen.
        if value("v") != nil { response.headers[.cacheControl] = "private, max-age=60" }
        return response
    }

    private func photo(_ request: HTTPRequest) async throws -> HTTPResponse {
        let announced = request.bodySequence.count
        guard announced ?? 0 <= Self.mostIgnored else { throw Self.tooLarge }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(min(announced ?? 0, Self.largestPhoto))
        var count = 0
        do {
            for try await piece in request.bodySequence {
                count += piece.count
                guard count <= Self.mostIgnored else { throw Self.tooLarge }
                if count <= Self.largestPhoto { bytes.append(contentsOf: piece) }
            }
        } catch  where !(error is PageRefusal) {
            throw PageRefusal(400, "bad-request", "the photo did not arrive whole; send it again")
        }
        guard count <= Self.largestPhoto else { throw Self.tooLarge }
        let dressed = try await host.dress(photo: bytes)
        var response = answer(.ok, "image/jpeg", dressed.jpeg)
        response.headers[HTTPHeader("X-Guise-Faces")] = "\(dressed.faces)"
        return response
    }

    private static let tooLarge = PageRefusal(
        413, "too-large", "a photo of more than \(largestPhoto >> 20) MiB; make it smaller")

    private func album(_ request: HTTPRequest) throws -> HTTPResponse {
        let missing = PageRefusal(404, "not-found", "no picture or recording of that name was made since guise began")
        guard let name = request.path.dropFirst("/album/".count).removingPercentEncoding, !name.contains("/"),
            let path = host.path(inAlbum: name), let size = size(of: path)
        else { throw missing }
        var headers = headers
        headers[.contentType] = Self.type(of: name)
        headers[.acceptRanges] = "bytes"
        if request.query.contains(where: { $0.name == "download" && $0.value == "1" }) {
            // By RFC 6266 and 8187: any name, whatever is in it.
            let safe = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\u{0}"..."\u{7F}"))
            let escaped = name.addingPercentEncoding(withAllowedCharacters: safe) ?? "guise"
            headers[HTTPHeader("Content-Disposition")] = "attachment; filename*=UTF-8''\(escaped)"
        }
        let file = URL(fileURLWithPath: path)
        switch ByteRange(request.headers[.range], size: size) {
        case .all:
            return HTTPResponse(
                statusCode: .ok, headers: headers,
                body: try HTTPBodySequence(file: file, range: 0..<size, suggestedBufferSize: Self.piece))
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
            return HTTPResponse(
                statusCode: .partialContent, headers: headers,
                body: try HTTPBodySequence(file: file, range: range, suggestedBufferSize: Self.piece))
        case .unsatisfiable:
            headers[.contentRange] = "bytes */\(size)"
            return HTTPResponse(statusCode: .rangeNotSatisfiable, headers: headers)
        }
    }

    private func size(of path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? nil
    }

    private static func type(of name: String) -> String {
        switch name.split(separator: ".").last?.lowercased() {
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "webp": "image/webp"
        case "gif": "image/gif"
        case "mp4", "mov": "video/mp4"
        case "webm": "video/webm"
        case "mkv": "video/x-matroska"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }

    // MARK: - the socket

    private func socket(_ request: HTTPRequest) async throws -> HTTPResponse {
        let host = host
        let bridge = SocketBridge(connect: { try host.connect() }, pool: pool)
        return try await WebSocketHTTPHandler(handler: bridge).handleRequest(request)
    }
}

/// One viewer's JPEGs, each the newest when the one before has gone out. Who looks is counted by the iterators' lives.
private struct JPEGStream: AsyncBufferedSequence {
    typealias Element = UInt8
    static let boundary = "guise-frame"

    let preview: Preview
    let look: Preview.Look

    func makeAsyncIterator() -> Iterator { Iterator(viewer: Preview.Viewer(preview, look)) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        let viewer: Preview.Viewer
        private var number = 0
        private var sent: ContinuousClock.Instant?

        init(viewer: Preview.Viewer) { self.viewer = viewer }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        /// A whole JPEG with what the multipart format wants round it. The boundary follows at once, since browsers
        /// show a part when they see its end.
        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            var part: [UInt8] = []
            if let sent {
                // With room for an uneven loop, as the loop has.
                let due = sent + .seconds(0.9 / viewer.look.rate)
                if due > .now { try await Task.sleep(until: due, clock: .continuous) }
            } else {
                part += Array("--\(JPEGStream.boundary)\r\n".utf8)
            }
            let jpeg = try await viewer.next(after: &number)
            sent = .now
            part += Array("Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8)
            part += jpeg
            part += Array("\r\n--\(JPEGStream.boundary)\r\n".utf8)
            return part
        }
    }
}
