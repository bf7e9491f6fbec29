/// Decides which requests are answered.
///
/// A foreign site can point its own name at 127.0.0.1, in which case browsers send that name as Host. It can also make
/// a browser send requests here, in which case browsers say so in Origin and Sec-Fetch-Site. The page's own files are
/// not secret and need no further check. Everything else needs a session token, which browsers do not send by
/// themselves, and do not send to other ports of this computer.
struct RequestAuthorizer: Sendable {
    enum Decision: Equatable {
        /// The request is for a file of the page, or for the web socket, where the handshake follows.
        case open
        /// The request has a valid session token.
        case authorized(token: [UInt8])
        /// The request has no valid token.
        case unauthorized
        /// The request may come from another site. The reason is for people.
        case forbidden(String)
    }

    let port: Int
    /// Returns the session token in an `Authorization` header; nil if it is not valid.
    let token: @Sendable (_ authorization: String?) -> [UInt8]?

    func decide(_ request: HTTPRequest) -> Decision {
        // RFC 9112 (3.2) forbids a second host. Of other headers the first and the last one are trusted by different
        // programs.
        guard ["Host", "Origin", "Sec-Fetch-Site", "Authorization"].allSatisfy({ request.headers[$0].count <= 1 })
        else { return .forbidden("A header is repeated.") }
        func header(_ name: String) -> String? { request.headers.first(name: name) }
        // Browsers leave out port 80, which is HTTP's own, in Host and Origin.
        func withoutUsualPort(_ text: String) -> String {
            port == 80 && text.hasSuffix(":80") ? String(text.dropLast(3)) : text
        }
        let names = ["127.0.0.1:\(port)", "localhost:\(port)"].map(withoutUsualPort)
        guard let host = header("Host").map({ withoutUsualPort($0.lowercased()) }), names.contains(host) else {
            return .forbidden("The request's host name is not this page's.")
        }
        if let origin = header("Origin"), withoutUsualPort(origin.lowercased()) != "http://\(host)" {
            return .forbidden("The request comes from another site.")
        }
        let isReading = request.method == .GET || request.method == .HEAD
        // Links from other sites to the page are allowed: it shows nothing before the handshake, and not inside a
        // frame.
        let isVisit =
            isReading && request.path == "/" && header("Sec-Fetch-Mode") == "navigate"
            && header("Sec-Fetch-Dest") == "document"
        if let site = header("Sec-Fetch-Site"), !isVisit, !["same-origin", "none"].contains(site.lowercased()) {
            return .forbidden("The request comes from another site.")
        }
        if !isReading || request.route == .socket, header("Origin") == nil {
            return .forbidden("The request has no origin.")
        }
        if request.route.isOpen { return .open }
        return token(header("Authorization")).map { .authorized(token: $0) } ?? .unauthorized
    }
}
