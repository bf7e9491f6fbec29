import FlyingFox
import FlyingSocks
import Foundation
import Frames
import Synchronization

/// The page's HTTP server: a task beside the frame loop, on 127.0.0.1 and nowhere else.
final class PageServer: Sendable {
    private let running: Task<Void, Never>
    /// The port that it got.
    let port: Int

    /// Starts to listen; waits until it does.
    /// - Throws: `busy` where the port is taken, else `system`.
    init(port: UInt16, exchange: Exchange) throws {
        let handler = PageHandler(exchange: exchange)
        let server = HTTPServer(
            address: try sockaddr_in.inet(ip4: "127.0.0.1", port: port), logger: .disabled, handler: handler)
        let outcome = Outcome()
        running = Task {
            do { try await server.run() } catch { outcome.tell(.failure(error)) }
        }
        Task {
            do {
                try await server.waitUntilListening()
                guard case .ip4(_, let port)? = await server.listeningAddress else { throw SocketError.disconnected }
                handler.port.store(Int(port), ordering: .relaxed)
                outcome.tell(.success(Int(port)))
            } catch { outcome.tell(.failure(error)) }
        }
        switch outcome.wait() {
        case .success(let port): self.port = port
        case .failure(let error):
            running.cancel()
            if case SocketError.failed(_, let number, _)? = error as? SocketError, number == EADDRINUSE {
                throw Problem(
                    .busy, "cannot serve the page on port \(port): another program has it",
                    cure: "name another port, or 0 for any that is free")
            }
            throw Problem(.system, "cannot serve the page on port \(port): \(error.localizedDescription)")
        }
    }

    deinit { running.cancel() }
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

/// Answers requests: the page, its style, the stream; nothing to strangers.
private final class PageHandler: HTTPHandler {
    /// 0 until it is known.
    let port = Atomic<Int>(0)
    private let exchange: Exchange

    init(exchange: Exchange) { self.exchange = exchange }

    /// Names and ranks of everything that a browser may do with what we send: show it, on our own page.
    private static let headers: HTTPHeaders = [
        HTTPHeader("Content-Security-Policy"):
            "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
            + "frame-ancestors 'none'",
        HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
        HTTPHeader("X-Content-Type-Options"): "nosniff",
        HTTPHeader("Referrer-Policy"): "no-referrer",
        .cacheControl: "no-store",
    ]

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        // A foreign site can point its own name at 127.0.0.1; the browser then still sends that name.
        let port = port.load(ordering: .relaxed)
        guard let host = request.headers[.host]?.lowercased(), port != 0,
            ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host)
        else { return answer(.forbidden, "text/plain", "This page is at http://127.0.0.1:\(port)\n") }
        guard request.method == .GET else { return answer(.methodNotAllowed, "text/plain", "GET only\n") }
        switch request.path {
        case "/": return answer(.ok, "text/html; charset=utf-8", Self.page)
        case "/style.css": return answer(.ok, "text/css", Self.style)
        case "/stream": return stream()
        default: return answer(.notFound, "text/plain", "Not here\n")
        }
    }

    private func answer(_ status: HTTPStatusCode, _ type: String, _ text: String) -> HTTPResponse {
        var headers = Self.headers
        headers[.contentType] = type
        return HTTPResponse(statusCode: status, headers: headers, body: Data(text.utf8))
    }

    private func stream() -> HTTPResponse {
        var headers = Self.headers
        headers[.contentType] = "multipart/x-mixed-replace; boundary=\(JPEGStream.boundary)"
        return HTTPResponse(
            statusCode: .ok, headers: headers, body: HTTPBodySequence(from: JPEGStream(exchange: exchange)))
    }

    private static let page = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="color-scheme" content="light dark">
        <title>Guise</title>
        <link rel="stylesheet" href="/style.css">
        <img src="/stream" alt="What the camera sees, masked">
        </html>

        """
    private static let style = """
        html { color-scheme: light dark; height: 100% }
        body { margin: 0; height: 100%; display: grid; place-items: center }
        img { max-width: 100%; max-height: 100vh }

        """
}

/// One viewer's JPEGs, each the newest when the one before has gone out. Who looks is counted by the iterators' lives.
private struct JPEGStream: AsyncBufferedSequence {
    typealias Element = UInt8
    static let boundary = "guise-frame"

    let exchange: Exchange

    func makeAsyncIterator() -> Iterator { Iterator(viewer: Viewer(exchange)) }

    /// Is there as long as somebody looks.
    final class Viewer: Sendable {
        let exchange: Exchange

        init(_ exchange: Exchange) {
            self.exchange = exchange
            exchange.come()
        }

        deinit { exchange.go() }
    }

    struct Iterator: AsyncBufferedIteratorProtocol {
        let viewer: Viewer
        private var number = 0
        private var isFirst = true

        init(viewer: Viewer) { self.viewer = viewer }

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        /// A whole JPEG with what the multipart format wants round it. The boundary follows at once, since browsers
        /// show a part when they see its end.
        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            while true {
                while viewer.exchange.newestNumber == number { try await Task.sleep(for: .milliseconds(10)) }
                let (jpeg, newest) = viewer.exchange.jpeg()
                number = newest
                guard let jpeg else { continue }
                var part: [UInt8] = []
                if isFirst { part += Array("--\(JPEGStream.boundary)\r\n".utf8) }
                isFirst = false
                part += Array("Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8)
                part += jpeg
                part += Array("\r\n--\(JPEGStream.boundary)\r\n".utf8)
                return part
            }
        }
    }
}
