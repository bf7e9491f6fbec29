import JSON
import NIOCore
import NIOHTTP1
import Synchronization

/// The router of the page's server: authorizes requests and answers them.
final class PageRouter: Sendable {
    let limits: PageLimits
    let table: ConnectionTable
    let secrets: PageSecretStore
    let sessions: PageSessions
    /// The memory for photos and pictures.
    let uploads: UploadBudget
    private let files: PageFiles
    private let preview: Preview
    private let backend: any PageBackend
    private let listening = Atomic<Int>(0)

    /// The port that the server listens on; 0 until it does.
    var port: Int {
        get { listening.load(ordering: .acquiring) }
        set { listening.store(newValue, ordering: .releasing) }
    }

    init(
        _ limits: PageLimits, _ files: PageFiles, _ secrets: PageSecretStore, _ preview: Preview,
        _ backend: any PageBackend
    ) {
        (self.limits, self.files, self.secrets) = (limits, files, secrets)
        (self.preview, self.backend) = (preview, backend)
        uploads = UploadBudget(limits.maxUploadBytes)
        let table = ConnectionTable(capacity: limits.maxConnections)
        self.table = table
        sessions = PageSessions(secrets, checkedEvery: limits.secretInterval) { table.close(token: $0) }
    }

    /// The authorization decision for a request.
    func decision(_ request: HTTPRequest) -> RequestAuthorizer.Decision {
        RequestAuthorizer(port: port) { [sessions] in sessions.token(in: $0) }.decide(request)
    }

    /// Opens a connection to the control server.
    func connect() throws -> CInt { try backend.connect() }

    /// Sends the response to a request.
    /// - Throws: if the connection is closed.
    func answer(_ request: HTTPRequest, _ writer: ResponseWriter) async throws {
        switch decision(request) {
        case .forbidden(let why): return try await sendForbidden(why, writer)
        case .unauthorized: return try await sendError(Self.unauthorized, writer)
        case .open, .authorized: break
        }
        let response: Response
        do {
            response = try await respond(to: request)
        } catch { return try await sendError(PageError(error), writer) }
        switch response {
        case .whole(let headers, let bytes): try await writer.send(.ok, headers, bytes)
        case .stream(let headers, let stream):
            try await writer.send(.head(.ok, headers))
            try await stream.send(writer)
        case .file(let status, let headers, let file, let range):
            try await file.send(status, headers, range, writer)
        }
    }

    private enum Response {
        case whole(HTTPHeaders, [UInt8])
        case stream(HTTPHeaders, MJPEGStream)
        case file(HTTPResponseStatus, HTTPHeaders, CaptureFile, Range<Int>)
    }

    private func respond(to request: HTTPRequest) async throws -> Response {
        switch request.route {
        case .stream:
            let options = try MJPEGStream.options(request)
            return .stream(headers(MJPEGStream.type), MJPEGStream(preview: preview, options: options))
        case .thumbnail: return try await thumbnail(request)
        case .storeFace:
            return .whole(headers(Self.jsonType), Array(JSON(["faces": JSON(try await backend.storeFace())]).text.utf8))
        case .maskPhoto:
            let masked = try await backend.applyMasks(toPhoto: request.body)
            var headers = headers("image/jpeg")
            headers.add(name: "X-Guise-Photo", value: "\(masked.hash)")
            headers.add(name: "X-Guise-Faces", value: "\(masked.faces)")
            headers.add(name: "X-Guise-Covered", value: "\(masked.coveredCandidates)")
            return .whole(headers, masked.jpeg)
        case .findFaces:
            let faces = try await backend.faces(of: request.body)
            return .whole(headers(Self.jsonType), Array(JSON(encoding: faces).text.utf8))
        case .saveCorrections:
            guard let photo = PhotoHash(hex: request.value("photo") ?? "") else {
                throw PageError(.control(.badValue), "'photo' allows: a photo's SHA-256, 64 hexadecimal digits")
            }
            try await backend.saveCorrections(request.body, of: photo)
            return .whole(headers(Self.jsonType), Array("{}".utf8))
        case .storePicture:
            let name = try await backend.store(picture: request.body, named: request.value("name") ?? "")
            return .whole(headers(Self.jsonType), Array(JSON(["picture": JSON(name)]).text.utf8))
        case .capture: return try capture(request)
        case .socket: throw PageError(.badRequest, "this path is for web sockets (RFC 6455)")
        case .file:
            guard let file = files.file(at: request.path) else { throw PageError(.notFound, "not found") }
            return .whole(headers(file.type), file.bytes)
        case .badMethod: throw PageError(.badMethod, "\(request.method.rawValue) is not allowed here")
        }
    }

    // MARK: - responses

    private static let jsonType = "application/json"

    /// The response headers. They allow the browser to show the response on this page, and nothing else.
    private func headers(_ type: String) -> HTTPHeaders {
        [
            "Content-Type": type,
            // In some browsers, 'self' does not include web sockets.
            "Content-Security-Policy":
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; "
                + "connect-src 'self' blob: ws://127.0.0.1:\(port) ws://localhost:\(port); manifest-src 'self'; "
                + "base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'",
            "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        ]
    }

    /// Sends an error as JSON.
    /// - Throws: if the connection is closed.
    func sendError(_ error: PageError, _ writer: ResponseWriter) async throws {
        let body: JSON = JSON(["error": JSON(["code": JSON(error.code.name), "message": JSON(error.message)])])
        let status = HTTPResponseStatus(statusCode: error.code.status)
        var headers = headers(Self.jsonType)
        if status == .unauthorized { headers.add(name: "WWW-Authenticate", value: "Guise") }
        try await writer.send(status, headers, Array(body.text.utf8))
    }

    private static let unauthorized = PageError(
        .unauthorized, "no session has this token; run `guise page` in a terminal")

    private func sendForbidden(_ why: String, _ writer: ResponseWriter) async throws {
        let page = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="color-scheme" content="light dark">
            <title>Guise: access denied</title>
            <h1>Access denied</h1>
            <p>\(why)</p>
            <p>Run <code>guise page</code> in a terminal, and open the link that it prints.</p>
            </html>

            """
        try await writer.send(.forbidden, headers("text/html; charset=utf-8"), Array(page.utf8))
    }

    // MARK: - pictures

    private func thumbnail(_ request: HTTPRequest) async throws -> Response {
        guard let face = PageFace(rawValue: request.value("face") ?? "sample") else {
            throw PageError(.control(.badValue), "'face' allows: sample, mine")
        }
        let masks: JSON
        if let list = request.value("masks") {
            do { masks = try JSON(Array(list.utf8), file: "masks") } catch {
                throw PageError(.control(.badValue), "'masks' allows: a list of masks, as config.json has it")
            }
        } else {
            masks = JSON([JSON(request.value("mask") ?? "")])
        }
        let jpeg = try await backend.thumbnail(of: masks, on: face)
        var headers = headers("image/jpeg")
        // The address changes its `v` with the face. The short lifetime shows changed masks soon.
        if request.value("v") != nil { headers.replaceOrAdd(name: "Cache-Control", value: "private, max-age=60") }
        return .whole(headers, jpeg)
    }

    private func capture(_ request: HTTPRequest) throws -> Response {
        guard let name = percentDecoded(request.path.dropFirst("/album/".count)), !name.contains("/"),
            let path = backend.capturePath(named: name), let file = CaptureFile(path)
        else {
            throw PageError(.notFound, "no picture or recording of that name was saved since Guise started")
        }
        var headers = headers(CaptureFile.type(of: name))
        headers.add(name: "Accept-Ranges", value: "bytes")
        if request.value("download") == "1" {
            // RFC 6266 and RFC 8187, which allow any name.
            headers.add(name: "Content-Disposition", value: "attachment; filename*=UTF-8''\(percentEncoded(name))")
        }
        switch ByteRange(request.headers.first(name: "Range"), size: file.size) {
        case .all: return .file(.ok, headers, file, 0..<file.size)
        case .part(let range):
            headers.add(
                name: "Content-Range", value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)")
            return .file(.partialContent, headers, file, range)
        case .unsatisfiable:
            headers.add(name: "Content-Range", value: "bytes */\(file.size)")
            return .file(.rangeNotSatisfiable, headers, file, 0..<0)
        }
    }
}
