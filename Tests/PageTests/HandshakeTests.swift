import Glibc
import NIOCore
import TestSupport
import Testing

@testable import Page

/// The handshake at the start of a web socket.
@Suite(.ownThread) struct HandshakeTests {
    private static let nonce = String(repeating: "ab", count: 32)

    /// An invalid proof for the server's nonce.
    struct Wrong: CustomTestStringConvertible, Sendable {
        var testDescription: String
        let answer: @Sendable (_ place: Place, _ serverNonce: String, _ older: String) -> String
    }

    private static func client(_ place: Place, _ server: String, port: Int? = nil, secret: PageSecret? = nil) -> String
    {
        Visitor.proof(
            secret?.hex ?? place.secret, "guise page client|\(port ?? place.server.port)|\(server)|\(nonce)",
            nonce: nonce)
    }

    static let wrongs = [
        Wrong(testDescription: "another secret") { place, server, _ in client(place, server, secret: PageSecret()) },
        Wrong(testDescription: "another port") { place, server, _ in
            client(place, server, port: place.server.port + 1)
        },
        Wrong(testDescription: "the server's role") { place, server, _ in
            Visitor.proof(
                place.secret, "guise page server|\(place.server.port)|\(nonce)|\(server)", nonce: nonce)
        },
        Wrong(testDescription: "an answer to an older nonce") { place, _, older in client(place, older) },
        Wrong(testDescription: "an invalid nonce") { place, server, _ in
            Visitor.proof(place.secret, "guise page client|\(place.server.port)|\(server)|", nonce: "")
        },
        Wrong(testDescription: "no proof") { _, _, _ in #"{"nonce": "\#(nonce)"}"# },
        Wrong(testDescription: "an empty proof") { _, _, _ in #"{"nonce": "\#(nonce)", "proof": ""}"# },
        Wrong(testDescription: "a request") { _, _, _ in #"{"id": 1, "request": "status"}"# },
        Wrong(testDescription: "rubbish") { _, _, _ in "rubbish" },
    ]

    @Test(arguments: wrongs) func `a wrong proof opens nothing and is reported by the close code`(wrong: Wrong) throws {
        var limits = PageLimits.patient
        limits.refusalPause = .milliseconds(1)
        let place = try Place(limits)
        let older = try #require(try Visitor.openSocket(port: place.server.port).visitor.json()["nonce"]?.string)
        let (visitor, _) = try Visitor.openSocket(port: place.server.port)
        let server = try #require(try visitor.json()["nonce"]?.string)
        try #require(server != older && server.utf8.count == 64)
        try visitor.say(wrong.answer(place, server, older))
        let end = try #require(visitor.hear())
        #expect(end.opcode == 8 && end.code == 4401, "\(end)")
        #expect(visitor.hear() == nil)
        #expect(place.server.sessions == 0)
    }

    @Test func `a valid proof opens requests until its web socket closes`() throws {
        let place = try Place()
        var (visitor, token): (Visitor?, String) = try Visitor.signIn(port: place.server.port, secret: place.secret)
        #expect(token.utf8.count == 64 && place.server.sessions == 1)
        let headers = ["Host": "127.0.0.1:\(place.server.port)", "Authorization": "Guise \(token)"]
        #expect(try place.ask("GET", "/thumbnail?mask=santa", headers).isJPEG)
        let stream = try Visitor(port: place.server.port)
        try stream.request("GET", "/stream", headers)
        #expect(try stream.answer().status == 200)
        try visitor?.say(#"{"request": "toggle", "mask": "a"}"#)
        #expect(visitor?.hear()?.text.contains("ok") == true)
        visitor = nil
        waits { place.server.sessions == 0 }
        #expect(try place.ask("GET", "/thumbnail?mask=santa", headers).status == 401)
        #expect(stream.take(1) == nil, "what the token had opened ends too")
        waits { !place.preview.hasViewers }
    }

    @Test func `a client that does not answer is disconnected`() throws {
        var limits = PageLimits()
        limits.unauthenticated = .milliseconds(100)
        let place = try Place(limits)
        let (visitor, _) = try Visitor.openSocket(port: place.server.port)
        _ = try visitor.json()
        // Other messages do not prolong the time limit.
        #expect(visitor.hear() == nil)
        // An authenticated socket stays open. On a busy machine a handshake may take longer than that limit, so it is
        // retried.
        var session: Visitor?
        waits {
            session = try? Visitor.signIn(port: place.server.port, secret: place.secret).visitor
            return session != nil
        }
        usleep(200_000)
        try session?.say("?", opcode: 9)
        #expect(session?.hear()?.opcode == 10)
    }

    @Test func `a wrong proof is rejected after a pause`() throws {
        var limits = PageLimits()
        limits.refusalPause = .hours(1)
        limits.unauthenticated = .milliseconds(100)
        let place = try Place(limits)
        let (visitor, _) = try Visitor.openSocket(port: place.server.port)
        _ = try visitor.json()
        try visitor.say("rubbish")
        // The connection's time limit ends before the pause: nothing was sent, and nothing more was read.
        #expect(visitor.hear() == nil)
    }

    @Test func `sessions end when the secret is replaced, or its file is gone`() throws {
        var limits = PageLimits.patient
        limits.secretInterval = .milliseconds(20)
        for isReplaced in [true, false] {
            let place = try Place(limits)
            let old = place.secret
            let (visitor, token) = try Visitor.signIn(port: place.server.port, secret: old)
            let link = try place.server.link()
            if isReplaced { try place.secrets.revoke() } else { try place.removeSecret() }
            #expect(visitor.hear() == nil)
            let headers = ["Host": "127.0.0.1:\(place.server.port)", "Authorization": "Guise \(token)"]
            #expect(try place.ask("GET", "/thumbnail?mask=santa", headers).status == 401)
            #expect(try place.server.link() != link && place.secret != old)
            let (again, _) = try Visitor.signIn(port: place.server.port, secret: place.secret)
            try again.say("?", opcode: 9)
            #expect(again.hear()?.opcode == 10)
        }
    }

    @Test func `the code is HMAC-SHA-256`() throws {
        // Computed with Python's hmac: 32 bytes 0x0b, "Hi There".
        let secret = try #require(PageSecret(hex: String(repeating: "0b", count: 32)))
        #expect(
            hexEncoded(secret.authenticate("Hi There"))
                == "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7")
        #expect(isEqualInConstantTime([1, 2], [1, 2]) && !isEqualInConstantTime([1, 2], [1, 3]))
        #expect(!isEqualInConstantTime([1], [1, 2]) && isEqualInConstantTime([], []))
    }
}
