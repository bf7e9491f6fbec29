/// Decides which requests are answered.
///
/// A foreign site can point its own name at 127.0.0.1 (then browsers send that name as Host), or make a browser send requests
/// here (then they say so in Origin and Sec-Fetch-Site). The page's own files are no secret and need no more. All else needs
/// the token of a session, which no browser sends by itself, and which no other port of this computer is given.
struct RequestAuthorizer: Sendable {
    enum Decision: Equatable {
        /// A file of the page, or the web socket, where the handshake follows.
        case open
        /// A session's token is shown.
        case authorized(token: [UInt8])
        /// No valid token is shown.
        case unauthorized
        /// Another site may be behind it: why, for people.
        case forbidden(String)
    }

    let port: Int
    /// The token that an `Authorization` header shows; nil if it opens nothing.
    let token: @Sendable (_ authorization: String?) -> [UInt8]?

    func decide(_ request: PageRequest) -> Decision {
        func header(_ name: String) -> String? { request.headers.first(name: name) }
        guard let host = header("Host")?.lowercased(), ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host)
        else { return .forbidden("That is not this page's name.") }
        if let origin = header("Origin"), origin.lowercased() != "http://\(host)" {
            return .forbidden("Another site asks.")
        }
        let isReading = request.method == .GET
        // A link elsewhere may lead here: the page shows nothing by itself, and in no frame.
        let isVisit =
            isReading && request.path == "/" && header("Sec-Fetch-Mode") == "navigate"
            && header("Sec-Fetch-Dest") == "document"
        if let site = header("Sec-Fetch-Site"), !isVisit, !["same-origin", "none"].contains(site.lowercased()) {
            return .forbidden("Another site asks.")
        }
        if !isReading || request.path == "/socket", header("Origin") == nil {
            return .forbidden("A request without an origin.")
        }
        let isSecret =
            !isReading || ["/stream", "/thumbnail", "/face", "/photo"].contains(request.path)
            || request.path.hasPrefix("/album/")
        guard isSecret else { return .open }
        return token(header("Authorization")).map { .authorized(token: $0) } ?? .unauthorized
    }
}
