import Foundation
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
        let answer: @Sendable (_ fixture: ServerFixture, _ serverNonce: String, _ older: String) -> String
    }

    private static func client(_ fixture: ServerFixture, _ server: String, port: Int? = nil, secret: PageSecret? = nil)
        -> String
    {
        HTTPTestClient.proof(
            secret?.hex ?? fixture.secret, "guise page client|\(port ?? fixture.server.port)|\(server)|\(nonce)",
            nonce: nonce)
    }

    static let wrongs = [
        Wrong(testDescription: "another secret") { fixture, server, _ in client(fixture, server, secret: PageSecret())
        },
        Wrong(testDescription: "another port") { fixture, server, _ in
            client(fixture, server, port: fixture.server.port + 1)
        },
        Wrong(testDescription: "the server's role") { fixture, server, _ in
            HTTPTestClient.proof(
                fixture.secret, "guise page server|\(fixture.server.port)|\(nonce)|\(server)", nonce: nonce)
        },
        Wrong(testDescription: "an answer to an older nonce") { fixture, _, older in client(fixture, older) },
        Wrong(testDescription: "an invalid nonce") { fixture, server, _ in
            HTTPTestClient.proof(fixture.secret, "guise page client|\(fixture.server.port)|\(server)|", nonce: "")
        },
        Wrong(testDescription: "no proof") { _, _, _ in #"{"nonce": "\#(nonce)"}"# },
        Wrong(testDescription: "an empty proof") { _, _, _ in #"{"nonce": "\#(nonce)", "proof": ""}"# },
        Wrong(testDescription: "a request") { _, _, _ in #"{"id": 1, "request": "status"}"# },
        Wrong(testDescription: "rubbish") { _, _, _ in "rubbish" },
    ]

    @Test(arguments: wrongs) func `a wrong proof opens nothing and is reported by the close code`(wrong: Wrong) throws {
        var limits = PageLimits.patient
        limits.refusalDelay = .milliseconds(1)
        let fixture = try ServerFixture(limits)
        let older = try #require(
            try HTTPTestClient.openSocket(port: fixture.server.port).connection.json()["nonce"]?.string)
        let (connection, _) = try HTTPTestClient.openSocket(port: fixture.server.port)
        let server = try #require(try connection.json()["nonce"]?.string)
        try #require(server != older && server.utf8.count == 64)
        try connection.sendText(wrong.answer(fixture, server, older))
        let end = try #require(connection.receiveFrame())
        #expect(end.opcode == 8 && end.code == 4401, "\(end)")
        #expect(connection.receiveFrame() == nil)
        #expect(fixture.server.sessions == 0)
    }

    @Test func `a valid proof opens requests until its web socket closes`() throws {
        let fixture = try ServerFixture()
        var (connection, token): (HTTPTestClient?, String) = try HTTPTestClient.signIn(
            port: fixture.server.port, secret: fixture.secret)
        #expect(token.utf8.count == 64 && fixture.server.sessions == 1)
        let headers = ["Host": "127.0.0.1:\(fixture.server.port)", "Authorization": "Guise \(token)"]
        #expect(try fixture.ask("GET", "/thumbnail?mask=santa", headers).isJPEG)
        let stream = try HTTPTestClient(port: fixture.server.port)
        try stream.request("GET", "/stream", headers)
        #expect(try stream.answer().status == 200)
        try connection?.sendText(#"{"request": "toggle", "mask": "a"}"#)
        #expect(connection?.receiveFrame()?.text.contains("ok") == true)
        connection = nil
        waits { fixture.server.sessions == 0 }
        #expect(try fixture.ask("GET", "/thumbnail?mask=santa", headers).status == 401)
        #expect(stream.read(1) == nil, "what the token had opened ends too")
        waits { !fixture.preview.hasViewers }
    }

    /// A web socket that has the server's nonce. On a busy machine this may take longer than a short time limit of the
    /// server, so it is retried.
    private func greeted(by fixture: ServerFixture) throws -> HTTPTestClient {
        var greeted: HTTPTestClient?
        waits {
            guard let connection = try? HTTPTestClient.openSocket(port: fixture.server.port).connection,
                (try? connection.json()["nonce"]?.string) != nil
            else { return false }
            greeted = connection
            return true
        }
        return try #require(greeted)
    }

    @Test func `a client that does not answer is disconnected`() throws {
        var limits = PageLimits()
        limits.unauthenticatedTimeout = .milliseconds(100)
        let fixture = try ServerFixture(limits)
        let connection = try greeted(by: fixture)
        // Other messages do not prolong the time limit.
        #expect(connection.receiveFrame() == nil)
        // An authenticated socket stays open. On a busy machine a handshake may take longer than that limit, so it is
        // retried.
        var session: HTTPTestClient?
        waits {
            session = try? HTTPTestClient.signIn(port: fixture.server.port, secret: fixture.secret).connection
            return session != nil
        }
        // One that connected later is disconnected first.
        #expect(try HTTPTestClient(port: fixture.server.port).read(1) == nil)
        try session?.sendText("?", opcode: 9)
        #expect(session?.receiveFrame()?.opcode == 10)
    }

    @Test func `a wrong proof is rejected after a pause`() throws {
        var limits = PageLimits()
        limits.refusalDelay = .hours(1)
        limits.unauthenticatedTimeout = .milliseconds(100)
        let fixture = try ServerFixture(limits)
        let connection = try greeted(by: fixture)
        // On a busy machine the connection may end first.
        try? connection.sendText("rubbish")
        // The connection's time limit ends before the pause: nothing was sent, and nothing more was read.
        #expect(connection.receiveFrame() == nil)
    }

    @Test func `sessions end when the secret is replaced, or its file is gone`() throws {
        var limits = PageLimits.patient
        limits.secretInterval = .milliseconds(20)
        for isReplaced in [true, false] {
            let fixture = try ServerFixture(limits)
            let old = fixture.secret
            let (connection, token) = try HTTPTestClient.signIn(port: fixture.server.port, secret: old)
            let link = try fixture.server.link()
            if isReplaced { try fixture.secrets.revoke() } else { try fixture.removeSecret() }
            #expect(connection.receiveFrame() == nil)
            let headers = ["Host": "127.0.0.1:\(fixture.server.port)", "Authorization": "Guise \(token)"]
            #expect(try fixture.ask("GET", "/thumbnail?mask=santa", headers).status == 401)
            #expect(try fixture.server.link() != link && fixture.secret != old)
            let (again, _) = try HTTPTestClient.signIn(port: fixture.server.port, secret: fixture.secret)
            try again.sendText("?", opcode: 9)
            #expect(again.receiveFrame()?.opcode == 10)
        }
    }

    @Test func `without a secret the web socket closes, and the reason has no path`() throws {
        let fixture = try ServerFixture()
        let state = fixture.folder.appending(path: "state")
        try? FileManager.default.removeItem(at: state)
        try Data().write(to: state)
        let (connection, _) = try HTTPTestClient.openSocket(port: fixture.server.port)
        let end = try #require(connection.receiveFrame())
        #expect(end.opcode == 8 && end.code == 1011 && !end.text.contains("/"), "\(end)")
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
