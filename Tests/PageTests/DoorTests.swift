import Testing

@testable import Page

/// Who is let in.
struct DoorTests {
    private let door = Door(port: 8787, token: PageToken())

    private func judge(
        _ headers: [String: String], path: String = "/stream", isReading: Bool = true, token: String? = nil
    ) -> Door.Verdict {
        door.judge(Door.Knock(isReading: isReading, path: path, token: token) { headers[$0] })
    }

    private var own: [String: String] { ["Host": "127.0.0.1:8787", "Cookie": "guise-8787=\(door.token.text)"] }

    private func isStranger(_ verdict: Door.Verdict) -> Bool {
        if case .stranger = verdict { true } else { false }
    }

    @Test func `a browser with the cookie is let in, by both of the page's names`() {
        #expect(judge(own) == .welcome)
        #expect(judge(own.merging(["Host": "LocalHost:8787"]) { $1 }) == .welcome)
        let several = ["Cookie": "a=b; guise-1=\(door.token.text); guise-8787=\(door.token.text); c=d"]
        #expect(judge(own.merging(several) { $1 }) == .welcome)
        #expect(judge(own.merging(["Sec-Fetch-Site": "same-origin"]) { $1 }) == .welcome)
    }

    @Test func `a right token gives the cookie, a wrong one does not, cookie or none`() {
        #expect(judge(["Host": "127.0.0.1:8787"], path: "/", token: door.token.text) == .known)
        let other = PageToken().text
        let near = String(door.token.text.dropLast()) + (door.token.text.hasSuffix("0") ? "1" : "0")
        for wrong in ["", other, near, door.token.text + "0", String(door.token.text.dropLast())] {
            #expect(isStranger(judge(own, path: "/", token: wrong)), "\(wrong)")
            #expect(isStranger(judge(own.merging(["Cookie": "guise-8787=\(wrong)"]) { $1 })), "\(wrong)")
        }
        #expect(isStranger(judge(["Host": "127.0.0.1:8787"], token: door.token.text)))
        #expect(isStranger(judge(["Host": "127.0.0.1:8787"], path: "/", isReading: false, token: door.token.text)))
        #expect(isStranger(judge(["Host": "127.0.0.1:8787", "Cookie": "guise-8788=\(door.token.text)"])))
    }

    @Test(arguments: [
        nil, "evil.example", "evil.example:8787", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:8787",
        "0.0.0.0:8787", "[::1]:8787",
    ])
    func `a name that is not the page's is turned away, with the cookie too`(host: String?) {
        var headers = own
        headers["Host"] = host
        #expect(isStranger(judge(headers)))
        #expect(isStranger(judge(headers, path: "/", token: door.token.text)))
    }

    @Test func `what changes something comes from the page's own origin`() {
        for path in ["/face", "/photo"] {
            #expect(isStranger(judge(own, path: path, isReading: false)))
            let right = own.merging(["Origin": "http://127.0.0.1:8787"]) { $1 }
            #expect(judge(right, path: path, isReading: false) == .welcome)
        }
        #expect(isStranger(judge(own, path: "/socket")))
        for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", "https://127.0.0.1:8787", ""] {
            let wrong = own.merging(["Origin": origin]) { $1 }
            #expect(isStranger(judge(wrong, path: "/socket")), "\(origin)")
            #expect(isStranger(judge(wrong)), "\(origin)")
        }
        // The same computer by its other name is another origin for browsers.
        #expect(isStranger(judge(own.merging(["Origin": "http://localhost:8787"]) { $1 }, path: "/socket")))
        #expect(isStranger(judge(own.merging(["Sec-Fetch-Site": "same-site"]) { $1 })))
    }
}
