import NIOHTTP1
import Testing

@testable import Page

/// Authorization of requests.
struct AuthorizerTests {
    private let authorizer = RequestAuthorizer(port: 8787) { $0 == "Guise abc" ? [1] : nil }

    private func decide(
        _ headers: [String: String], path: String = "/stream", method: HTTPMethod = .GET,
        by authorizer: RequestAuthorizer? = nil
    ) -> RequestAuthorizer.Decision {
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: path)
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        return (authorizer ?? self.authorizer).decide(HTTPRequest(head))
    }

    private let own = ["Host": "127.0.0.1:8787", "Authorization": "Guise abc"]

    private func isForbidden(_ decision: RequestAuthorizer.Decision) -> Bool {
        if case .forbidden = decision { true } else { false }
    }

    @Test func `a session's token opens pictures under both host names`() {
        for path in ["/stream", "/stream?picture=before", "/thumbnail?mask=santa", "/album/a.png"] {
            #expect(decide(own, path: path) == .authorized(token: [1]))
            for shown in [nil, "Guise abd", "abc", "Bearer abc", ""] {
                var headers = own
                headers["Authorization"] = shown
                #expect(decide(headers, path: path) == .unauthorized, "\(path) \(shown ?? "none")")
            }
        }
        #expect(decide(own.merging(["Host": "LocalHost:8787"]) { $1 }) == .authorized(token: [1]))
        #expect(decide(own.merging(["Sec-Fetch-Site": "same-origin"]) { $1 }) == .authorized(token: [1]))
        // Credentials that browsers send automatically don't grant access.
        let cookie = ["Host": "127.0.0.1:8787", "Cookie": "guise-8787=abc; Guise abc"]
        #expect(decide(cookie) == .unauthorized)
    }

    @Test func `the page's own files and the way to the handshake need no token`() {
        let bare = ["Host": "127.0.0.1:8787"]
        for path in ["/", "/page.js", "/style.css", "/icon.svg", "/nothing"] {
            #expect(decide(bare, path: path) == .open)
        }
        #expect(decide(bare.merging(["Origin": "http://127.0.0.1:8787"]) { $1 }, path: "/socket") == .open)
        // A link on another page, or in a file, may open only the page itself.
        let visit = bare.merging([
            "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
        ]) { $1 }
        #expect(decide(visit, path: "/") == .open)
        #expect(isForbidden(decide(visit, path: "/page.js")))
        #expect(isForbidden(decide(visit.merging(["Sec-Fetch-Dest": "iframe"]) { $1 }, path: "/")))
        #expect(isForbidden(decide(visit.merging(["Sec-Fetch-Mode": "no-cors"]) { $1 }, path: "/")))
    }

    @Test(arguments: [
        nil, "evil.example", "evil.example:8787", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:8787",
        "0.0.0.0:8787", "[::1]:8787",
    ])
    func `another host name is forbidden, even with a token`(host: String?) {
        var headers = own
        headers["Host"] = host
        for path in ["/", "/stream", "/socket", "/page.js"] { #expect(isForbidden(decide(headers, path: path))) }
    }

    @Test func `on port 80, which browsers leave out, the page works too, and nobody else's`() {
        let usual = RequestAuthorizer(port: 80) { $0 == "Guise abc" ? [1] : nil }
        func decide(_ host: String, _ origin: String) -> RequestAuthorizer.Decision {
            self.decide(
                ["Host": host, "Origin": origin, "Authorization": "Guise abc"], path: "/photo", method: .POST, by: usual
            )
        }
        for name in ["127.0.0.1", "localhost", "LocalHost"] {
            for (host, origin) in [("", ""), (":80", ""), ("", ":80"), (":80", ":80")] {
                let decision = decide("\(name)\(host)", "http://\(name)\(origin)")
                #expect(decision == .authorized(token: [1]), "\(name)\(host) \(name)\(origin)")
            }
        }
        for host in ["evil.example", "evil.example:80", "127.0.0.1:8787", "127.0.0.1:", "127.0.0.1:80:80", ":80", ""] {
            #expect(isForbidden(decide(host, "http://\(host)")), "\(host)")
        }
        for origin in [
            "http://localhost", "http://127.0.0.1:8787", "https://127.0.0.1", "https://127.0.0.1:80",
            "http://evil.example", "null",
        ] {
            #expect(isForbidden(decide("127.0.0.1", origin)), "\(origin)")
        }
        #expect(isForbidden(self.decide(["Host": "127.0.0.1", "Origin": "http://127.0.0.1"], path: "/")), "port 8787")
    }

    @Test(arguments: ["Host", "Origin", "Sec-Fetch-Site", "Authorization"])
    func `a header that decides may not be repeated`(name: String) {
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/stream")
        let headers = own.merging(["Origin": "http://127.0.0.1:8787", "Sec-Fetch-Site": "same-origin"]) { $1 }
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        #expect(authorizer.decide(HTTPRequest(head)) == .authorized(token: [1]))
        head.headers.add(name: name, value: headers[name] ?? "")
        #expect(isForbidden(authorizer.decide(HTTPRequest(head))))
    }

    @Test func `requests that change something need the page's own origin`() {
        for path in ["/face", "/photo", "/photo/faces", "/corrections"] {
            #expect(isForbidden(decide(own, path: path, method: .POST)))
            let right = own.merging(["Origin": "http://127.0.0.1:8787"]) { $1 }
            #expect(decide(right, path: path, method: .POST) == .authorized(token: [1]))
        }
        #expect(isForbidden(decide(own, path: "/socket")))
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", "https://127.0.0.1:8787", ""] {
            let wrong = own.merging(["Origin": origin]) { $1 }
            for path in ["/socket", "/stream", "/"] { #expect(isForbidden(decide(wrong, path: path)), "\(origin)") }
        }
        // The same computer under its other name is another origin for browsers.
        #expect(isForbidden(decide(own.merging(["Origin": "http://localhost:8787"]) { $1 }, path: "/socket")))
        #expect(isForbidden(decide(own.merging(["Sec-Fetch-Site": "same-site"]) { $1 })))
    }
}
