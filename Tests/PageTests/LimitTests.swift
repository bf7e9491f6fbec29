import Foundation
import Glibc
import NIOCore
import TestSupport
import Testing

@testable import Page

/// Limits on a client's connections, time and memory.
@Suite(.ownThread) struct LimitTests {
    @Test func `300 silent connections neither keep a browser out nor use up descriptors`() throws {
        let fixture = try ServerFixture()
        let silent = try (0..<300).map { _ in try HTTPTestClient(port: fixture.server.port) }
        // The oldest connections were closed for the others.
        for connection in silent.prefix(300 - PageLimits().maxConnections) { #expect(connection.read(1) == nil) }
        #expect(try fixture.ask("GET", "/").status == 200)
        #expect(fixture.server.connections <= PageLimits().maxConnections)
        withExtendedLifetime(silent) {}
    }

    @Test func `a connection with a valid credential makes room for no other`() throws {
        var limits = PageLimits.patient
        limits.maxConnections = 4
        let fixture = try ServerFixture(limits)
        // One of four belongs to the session.
        let viewers = try (0..<3).map { _ in
            let connection = try HTTPTestClient(port: fixture.server.port)
            try connection.request("GET", "/stream", fixture.own)
            #expect(try connection.answer().status == 200)
            return connection
        }
        #expect(try HTTPTestClient(port: fixture.server.port).read(1) == nil)
        #expect(fixture.server.connections == 4)
        withExtendedLifetime(viewers) {}
    }

    @Test func `a connection without a valid credential is disconnected, whatever it sends`() throws {
        var limits = PageLimits.patient
        limits.unauthenticatedTimeout = .milliseconds(200)
        let fixture = try ServerFixture(limits)
        let silent = try HTTPTestClient(port: fixture.server.port)
        let slow = try HTTPTestClient(port: fixture.server.port)
        let stranger = try HTTPTestClient(port: fixture.server.port)
        // On a busy machine the connection may end first.
        try? stranger.request("GET", "/stream", ["Host": "evil.example"])
        _ = try? stranger.answer()
        try? slow.send(Array("GET / HTTP/1.1\r\nHost: ".utf8))
        while (try? slow.send([UInt8(ascii: "x")])) != nil { usleep(1000) }
        #expect(slow.read(1) == nil && silent.read(1) == nil && stranger.read(1) == nil)
    }

    @Test func `an idle connection and an unfinished request head are closed`() throws {
        var limits = PageLimits.patient
        limits.idleTimeout = .milliseconds(100)
        let resting = try ServerFixture(limits)
        let connection = try HTTPTestClient(port: resting.server.port)
        try connection.request("GET", "/thumbnail?mask=santa", resting.own)
        #expect(try connection.answer().isJPEG)
        #expect(connection.read(1) == nil)

        limits = PageLimits.patient
        limits.headTimeout = .milliseconds(100)
        let fixture = try ServerFixture(limits)
        let slow = try HTTPTestClient(port: fixture.server.port)
        try slow.request("GET", "/thumbnail?mask=santa", fixture.own)
        #expect(try slow.answer().isJPEG)
        // It may be idle without limit, but a started request head must be completed.
        try slow.send(Array("GET /thumb".utf8))
        #expect(slow.read(1) == nil)
    }

    @Test func `a photo whose upload stalls is not waited for`() throws {
        var limits = PageLimits.patient
        limits.idleTimeout = .milliseconds(100)
        let fixture = try ServerFixture(limits)
        let connection = try HTTPTestClient(port: fixture.server.port)
        try connection.request(
            "POST", "/photo", fixture.posting.merging(["Content-Length": "1000"]) { $1 }, body: [0xFF])
        #expect(connection.read(1) == nil)
        #expect(fixture.backend.photos.withLock { $0.isEmpty })
    }

    @Test func `uploads share a bounded memory, and get it back when they end`() throws {
        var limits = PageLimits.patient
        #expect(limits.maxUploadBytes == 192 << 20)
        limits.maxUploadBytes = 250_000
        let fixture = try ServerFixture(limits)
        func start(_ headers: [String: String], _ bytes: Int) throws -> HTTPTestClient {
            let connection = try HTTPTestClient(port: fixture.server.port)
            try connection.request(
                "POST", "/photo", fixture.posting.merging(headers) { $1 }, body: [UInt8](repeating: 0, count: bytes))
            return connection
        }
        // One announces its size, the other does not: a chunk of 100 000 bytes.
        var announced: HTTPTestClient? = try start(["Content-Length": "100000"], 1)
        let chunked = try start(["Content-Length": "", "Transfer-Encoding": "chunked"], 0)
        try chunked.send(Array("186a0\r\n".utf8) + [UInt8](repeating: 0, count: 100_000) + Array("\r\n".utf8))
        let photo = [UInt8](repeating: 0, count: 100_000)
        waits { (try? fixture.ask("POST", "/photo", fixture.posting, body: photo).status) == 503 }
        let refused = try start(["Content-Length": "100000"], 0)
        let answer = try refused.answer()
        #expect(answer.status == 503 && answer.text.contains("try again when they are done"), "\(answer.text)")
        // It is refused as it grows, too.
        try chunked.send(Array("f4240\r\n".utf8) + [UInt8](repeating: 0, count: 200_000))
        #expect(try chunked.answer().status == 503)
        // Small requests and other answers need none of it.
        #expect(try fixture.ask("GET", "/").status == 200)
        announced = nil
        // What it is not: a photo, but it was read.
        waits { (try? fixture.ask("POST", "/photo", fixture.posting, body: photo).status) == 415 }
        for _ in 0..<5 {
            waits { (try? fixture.ask("POST", "/photo", fixture.posting, body: photo).status) == 415 }
        }
        withExtendedLifetime(announced) {}
    }

    @Test func `a request head with too many bytes or fields is rejected`() throws {
        let fixture = try ServerFixture()
        let long = String(repeating: "x", count: PageLimits().maxHeadBytes)
        let many = (0...PageLimits().maxHeaderFields).map { ("X-\($0)", "1") }
        for headers in [["X-Long": long], Dictionary(uniqueKeysWithValues: many)] {
            let answer = try fixture.ask("GET", "/", fixture.own.merging(headers) { $1 })
            #expect(answer.status == 431 && answer.headers["connection"] == "close")
        }
        #expect(try fixture.ask("GET", "/\(long)").status == 431)
        let garbage = try HTTPTestClient(port: fixture.server.port)
        try garbage.send(Array("\u{1}\u{2}\r\n\r\n".utf8))
        #expect(try garbage.answer().status == 400)
        let large = [UInt8](repeating: 0, count: PageLimits().maxBodyBytes + 1)
        #expect(try fixture.ask("POST", "/face", fixture.posting, body: large).status == 413)
    }

    @Test func `a web socket frame of 282 MB is rejected by its header`() throws {
        let fixture = try ServerFixture()
        let connection = try fixture.open()
        // Final text frame, masked, 282 million bytes: none of them is read.
        try connection.send([0x81, 0xFF, 0, 0, 0, 0, 0x10, 0xCE, 0xFA, 0x80, 1, 2, 3, 4])
        let end = try #require(connection.receiveFrame())
        #expect(end.opcode == 8 && end.code == 1009 && end.text.contains("64 KiB"))
        #expect(connection.receiveFrame() == nil)
    }

    @Test(arguments: [(40 << 10, 2), (1, 300)])
    func `a fragmented message has the same limit`(size: Int, count: Int) throws {
        let fixture = try ServerFixture()
        let connection = try fixture.open()
        for i in 0..<count {
            try connection.sendText(String(repeating: "x", count: size), opcode: i == 0 ? 1 : 0, isLast: false)
        }
        let end = try #require(connection.receiveFrame())
        #expect(end.opcode == 8 && end.code == 1009)
    }

    @Test func `no answers to pings queue for a client that does not read`() throws {
        let fixture = try ServerFixture()
        let connection = try fixture.open()
        let ping: [UInt8] = [0x89, 0x80 | 125] + [UInt8](repeating: 0, count: 4 + 125)
        let pings = Array(repeatElement(ping, count: 500).joined())
        let limit = 128 << 20
        // Until the server's thread has answered others twenty times without reading any more of these.
        var (sent, refusals) = (0, 0)
        while refusals < 20, sent < limit {
            let count = try connection.sendWithoutWaiting(Array(pings[(sent % pings.count)...]))
            refusals = count == 0 ? refusals + 1 : 0
            sent += count
            #expect(try fixture.ask("GET", "/").status == 200)
        }
        // At most as many as fit into the kernel's buffers.
        #expect(sent < limit)
    }

    @Test func `no answers queue for a client that sends requests and does not read`() throws {
        let fixture = try ServerFixture()
        let file = Data(repeating: UInt8(ascii: "x"), count: 64 << 10)
        try file.write(to: fixture.folder.appending(path: "style.css"))
        let connection = try HTTPTestClient(port: fixture.server.port)
        let request = "GET /style.css HTTP/1.1\r\nHost: 127.0.0.1:\(fixture.server.port)\r\n\r\n"
        let requests = Array(repeatElement(Array(request.utf8), count: 3000).joined())
        // Twice what NIO lets wait, 64 KiB, and the answer by which that is exceeded.
        let limit = 256 << 10
        // Until answers wait, and the server's thread has answered others twenty times without adding one.
        var (sent, most, turns) = (0, 0, 0)
        while turns < 20, most <= limit {
            if sent < requests.count { sent += try connection.sendWithoutWaiting(Array(requests[sent...])) }
            #expect(try fixture.ask("GET", "/").status == 200)
            let unsent = fixture.server.unsentBytes
            turns = unsent == 0 || unsent > most ? 0 : turns + 1
            most = max(most, unsent)
        }
        #expect(most <= limit)
        // Once it reads, the answers continue, over more than the connection's buffers hold.
        for _ in 0..<100 {
            let answer = try connection.answer()
            #expect(answer.status == 200 && answer.body.count == file.count)
        }
    }

    @Test func `no pictures queue for a client that does not read`() throws {
        let fixture = try ServerFixture()
        let publisher = Publisher(fixture.preview)
        let slow = try Viewer(fixture, "rate=60&width=1280")
        let fast = try Viewer(fixture, "rate=60")
        let pictures = 150
        var first = 0
        for _ in 0..<pictures {
            publisher.publish()
            first = try fast.next().count
        }
        #expect(first > 0)
        // At most as many as fit into the kernel's buffers.
        let slowPictures = fixture.preview.encoded - pictures
        #expect(slowPictures < pictures * 2 / 3, "\(slowPictures)")
        withExtendedLifetime(slow) {}
    }
}
