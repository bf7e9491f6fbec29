/// Who may come in: browsers that were shown the token, on pages of ours.
///
/// A foreign site can point its own name at 127.0.0.1 (then the browser sends that name as Host), can make a browser send
/// requests here (then it sends that site's Origin, and no cookie that is SameSite=Strict), and other users of this
/// computer can connect (they have no token).
struct Door: Sendable {
    /// What becomes of one who knocks.
    enum Verdict: Equatable {
        case welcome
        /// The token is right: the browser gets the cookie.
        case known
        /// Why not, for people.
        case stranger(String)
    }

    /// What of a request matters here.
    struct Knock {
        /// GET.
        var isReading: Bool
        /// Without the query.
        var path: String
        /// As the address bears it.
        var token: String?
        /// By its name.
        var header: (String) -> String?
    }

    let port: Int
    let token: PageToken

    var cookieName: String { "guise-\(port)" }
    /// For Set-Cookie: kept by the browser until it ends, sent to no script and with no other site's requests.
    var cookie: String { "\(cookieName)=\(token.text); HttpOnly; SameSite=Strict; Path=/" }

    func judge(_ knock: Knock) -> Verdict {
        guard let host = knock.header("Host")?.lowercased(), ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host)
        else { return .stranger("That is not this page's name.") }
        if let origin = knock.header("Origin"), origin.lowercased() != "http://\(host)" {
            return .stranger("Another site asks.")
        }
        if knock.path == "/", knock.isReading, let shown = knock.token {
            return token.matches(shown) ? .known : .stranger("The token in the address is not, or no longer, right.")
        }
        // Browsers say where a request comes from; nothing of ours is shown on another page.
        if let site = knock.header("Sec-Fetch-Site"), !["same-origin", "none"].contains(site.lowercased()) {
            return .stranger("Another site asks.")
        }
        let needsOrigin = !knock.isReading || knock.path == "/socket"
        if needsOrigin, knock.header("Origin") == nil { return .stranger("A request without an origin.") }
        guard let shown = cookie(in: knock.header("Cookie")), token.matches(shown) else {
            return .stranger("This browser was not let in yet.")
        }
        return .welcome
    }

    private func cookie(in header: String?) -> Substring? {
        for pair in (header ?? "").split(separator: ";") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0] == cookieName { return parts[1] }
        }
        return nil
    }
}
