import Control
import Foundation
import Frames
import Glibc
import JSON
import NIOCore
import TestSupport
import Testing
import Track

@testable import Page
@testable import SystemKit

/// The page's server with valid and untrusted clients: real requests to a running server.
@Suite(.ownThread) struct ServerTests {
    @Test func `the page's own files are served to anyone, with their security headers`() throws {
        let fixture = try ServerFixture()
        #expect(try fixture.server.link() == "http://127.0.0.1:\(fixture.server.port)/#\(fixture.secret)")
        #expect(!fixture.server.address.contains(fixture.secret))
        let page = try fixture.ask("GET", "/", ["Host": "127.0.0.1:\(fixture.server.port)"])
        #expect(page.status == 200 && page.text == "<p>Guise" && page.headers["set-cookie"] == nil)
        let policy = page.headers["content-security-policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        #expect(!policy.contains("unsafe") && !policy.contains("*"))
        #expect(page.headers["x-content-type-options"] == "nosniff")
        #expect(page.headers["cross-origin-resource-policy"] == "same-origin")
        #expect(page.headers["referrer-policy"] == "no-referrer")
    }

    @Test func `HEAD has GET's answer without its body, for the page's own files only`() throws {
        let fixture = try ServerFixture()
        let connection = try HTTPTestClient(port: fixture.server.port)
        // On one connection: a body would be taken for the next answer.
        for (path, status, hasBody) in [("/", 200, true), ("/nothing.js", 404, true), ("/", 200, true)] {
            try connection.request("HEAD", path, fixture.own)
            let head = try connection.answerHead()
            try connection.request("GET", path, fixture.own)
            let whole = try connection.answer()
            #expect(head.status == status && whole.status == status, "\(path)")
            #expect(head.headers == whole.headers && whole.body.isEmpty != hasBody, "\(path)")
        }
        for path in ["/stream", "/thumbnail?mask=santa", "/album/a%20b.mp4"] {
            try connection.request("HEAD", path, fixture.own)
            #expect(try connection.answerHead().status == 405, "\(path)")
            try connection.request("HEAD", path, fixture.own.merging(["Authorization": ""]) { $1 })
            #expect(try connection.answerHead().status == 401, "\(path)")
        }
        try connection.request("HEAD", "/socket", fixture.posting)
        #expect(try connection.answerHead().status == 405)
    }

    @Test func `without a session's token there is no picture, and other sites get nothing at all`() throws {
        let fixture = try ServerFixture()
        let port = fixture.server.port
        let own = fixture.own
        let pictures = ["/stream", "/thumbnail?mask=santa", "/album/a%20b.mp4"]
        let secret = fixture.secret
        for shown in ["", "Guise \(secret)", "Guise \(PageSecret().hex)", "Bearer \(secret)", "Guise"] {
            for path in pictures + ["/stream?token=\(secret)"] {
                let answer = try fixture.ask("GET", path, own.merging(["Authorization": shown]) { $1 })
                #expect(answer.status == 401 && !answer.isJPEG, "\(shown) \(path)")
                #expect(answer.text.contains("guise page") && answer.headers["www-authenticate"] == "Guise")
            }
            let posting = fixture.posting.merging(["Authorization": shown]) { $1 }
            for path in ["/photo", "/photo/faces", "/corrections?photo=\(PhotoHash(of: []))"] {
                #expect(try fixture.ask("POST", path, posting, body: [1]).status == 401)
            }
        }
        let cookie = own.merging(["Authorization": "", "Cookie": "guise-\(port)=\(secret)"]) { $1 }
        #expect(try fixture.ask("GET", "/stream", cookie).status == 401)
        let foreign = own.merging(["Host": "evil.example:\(port)"]) { $1 }
        let other = own.merging(["Origin": "http://evil.example"]) { $1 }
        for headers in [foreign, other] {
            for path in pictures + ["/", "/x"] {
                let answer = try fixture.ask("GET", path, headers)
                #expect(answer.status == 403, "\(path)")
                #expect(answer.text.contains("<code>guise page</code>") && !answer.isJPEG, "\(path)")
            }
        }
        for path in ["/photo", "/photo/faces", "/corrections", "/picture", "/face"] {
            #expect(try fixture.ask("POST", path, own, body: [1]).status == 403, "without an origin")
            #expect(try fixture.ask("POST", path, other, body: [1]).status == 403, "another origin")
        }
        #expect(fixture.backend.photos.withLock { $0 }.isEmpty)
        #expect(fixture.backend.corrections.withLock { $0 }.isEmpty)
        #expect(fixture.preview.encoded == 0 && !fixture.preview.hasViewers)
    }

    @Test func `failed requests have a code and a message`() throws {
        let fixture = try ServerFixture()
        #expect(try fixture.ask("GET", "/thumbnail?mask=santa&face=mine").isJPEG)
        for (method, path, status, code) in [
            ("GET", "/thumbnail?mask=snata", 404, "unknown-mask"),
            ("GET", "/thumbnail?mask=santa&face=x", 400, "bad-value"),
            ("POST", "/face", 409, "not-now"), ("GET", "/nothing.js", 404, "not-found"),
            ("DELETE", "/", 405, "bad-method"), ("GET", "/stream?width=9", 400, "bad-value"),
            ("GET", "/stream?picture=x", 400, "bad-value"), ("GET", "/stream?overlay=yes", 400, "bad-value"),
            ("GET", "/album/c.png", 404, "not-found"),
            ("GET", "/album/..%2Findex.html", 404, "not-found"),
        ] {
            let answer = try fixture.ask(method, path, fixture.posting)
            #expect(answer.status == status, "\(method) \(path)")
            let error = try JSON(answer.body, file: path)["error"]
            #expect(error?["code"]?.string == code && error?["message"]?.string?.isEmpty == false, "\(answer.text)")
        }
    }

    @Test func `the faces of a photo come with its hash, by which they are corrected`() throws {
        let fixture = try ServerFixture()
        // The example of FIPS 180-2, B.1.
        let abc = PhotoHash(of: Array("abc".utf8))
        #expect(abc.description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, 0, 0, 4, 0, 0, 0, 3]
        let hash = PhotoHash(of: png)
        let masked = try fixture.ask("POST", "/photo", fixture.posting, body: png)
        #expect(masked.headers["x-guise-photo"] == hash.description)
        let found = try fixture.ask("POST", "/photo/faces", fixture.posting, body: png)
        #expect(found.status == 200 && found.headers["content-type"] == "application/json")
        let face = #"{"box":[0,1,2,3],"landmarks":[[1,2.5]],"corrected":true}"#
        let mean = HeadPlacement.meanHead.map { "[\($0.x),\($0.y)]" }.joined(separator: ",")
        let place = #"{"eyes":[0.25,0.5],"eyeDistance":0.25,"roll":2}"#
        let text =
            #"{"photo":"\#(hash)","width":4,"height":3,"faces":[\#(face)],"places":[\#(place)],"meanFace":[\#(mean)]}"#
        #expect(try JSON(found.body, file: "answer") == JSON(Array(text.utf8), file: "answer"))
        // A photo for its faces may be as large as one for its masks.
        let large = png + [UInt8](repeating: 0, count: 1 << 20)
        #expect(try fixture.ask("POST", "/photo/faces", fixture.posting, body: large).status == 200)
        #expect(try fixture.ask("POST", "/photo/faces", fixture.posting, body: Array("GIF".utf8)).status == 415)

        let kept = try fixture.ask("POST", "/corrections?photo=\(hash)", fixture.posting, body: [1, 2])
        #expect(kept.status == 200)
        let digits = "\(hash)"
        for wrong in [
            "", "?photo=", "?photo=\(digits.dropLast())", "?photo=\(digits)0", "?photo=..%2F\(digits.dropLast(3))",
        ] {
            let answer = try fixture.ask("POST", "/corrections\(wrong)", fixture.posting, body: [3])
            #expect(answer.status == 400 && answer.text.contains("64 hexadecimal digits"), "\(wrong): \(answer.text)")
        }
        let long = [UInt8](repeating: 32, count: 64 << 10 + 1)
        #expect(try fixture.ask("POST", "/corrections?photo=\(hash)", fixture.posting, body: long).status == 413)
        #expect(fixture.backend.corrections.withLock { $0 } == [hash: [1, 2]])
    }

    @Test func `a photo with a broken upload is a clear error`() throws {
        let fixture = try ServerFixture()
        let connection = try HTTPTestClient(port: fixture.server.port)
        try connection.request(
            "POST", "/photo", fixture.posting.merging(["Content-Length": "", "Transfer-Encoding": "chunked"]) { $1 })
        try connection.send(Array("zz\r\nJFIF\r\n".utf8))
        let answer = try connection.answer()
        #expect(answer.status == 400)
        let words = answer.text
        #expect(words.contains("arrived incomplete") && !words.contains("Error"), "\(words)")
    }

    @Test func `a photo comes back with masks, 24 MiB is the limit, and each error arrives`() throws {
        let fixture = try ServerFixture(.forUploads)
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, 0, 0, 4, 0, 0, 0, 4]
        let good = try fixture.ask("POST", "/photo", fixture.posting, body: png)
        #expect(good.status == 200 && good.headers["x-guise-faces"] == "3" && good.isJPEG)
        #expect(good.headers["content-type"] == "image/jpeg")
        let most = 24 << 20
        let full = png + [UInt8](repeating: 0, count: most - png.count)
        #expect(try fixture.ask("POST", "/photo", fixture.posting, body: full).status == 200)
        let over = try fixture.ask("POST", "/photo", fixture.posting, body: full + [0])
        #expect(over.status == 413 && over.text.contains("24 MiB"))
        #expect(try fixture.ask("POST", "/photo", fixture.posting, body: Array("GIF89a".utf8)).status == 415)
        #expect(fixture.backend.photos.withLock { $0 } == [png.count, most, 6])
        // An absurd length is not waited for.
        let connection = try HTTPTestClient(port: fixture.server.port)
        try connection.request("POST", "/photo", fixture.posting.merging(["Content-Length": "99999999999"]) { $1 })
        #expect(try connection.answer().status == 413)
    }

    @Test func `a picture or clip to keep may have 64 MiB, and not a byte more`() throws {
        let fixture = try ServerFixture(.forUploads)
        let start: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [0, 0, 0, 4, 0, 0, 0, 4]
        let full = start + [UInt8](repeating: 0, count: 64 << 20 - start.count)
        #expect(try fixture.ask("POST", "/picture?name=a.mp4", fixture.posting, body: full).status == 200)
        let over = try fixture.ask("POST", "/picture?name=b.mp4", fixture.posting, body: full + [0])
        #expect(over.status == 413 && over.text.contains("the file is larger than 64 MiB"), "\(over.text)")
    }

    @Test func `a recording is served whole, in ranges, and for download`() throws {
        let fixture = try ServerFixture()
        let whole = try fixture.ask("GET", "/album/a%20b.mp4")
        #expect(whole.status == 200 && whole.body.count == 200_000 && whole.headers["content-type"] == "video/mp4")
        #expect(whole.headers["accept-ranges"] == "bytes")
        let part = try fixture.ask(
            "GET", "/album/a%20b.mp4", fixture.own.merging(["Range": "bytes=100000-170000"]) { $1 })
        #expect(part.status == 206 && part.headers["content-range"] == "bytes 100000-170000/200000")
        #expect(part.body == Array(whole.body[100_000...170_000]))
        let end = try fixture.ask("GET", "/album/a%20b.mp4", fixture.own.merging(["Range": "bytes=-5"]) { $1 })
        #expect(end.status == 206 && end.body == Array(whole.body.suffix(5)))
        let beyond = try fixture.ask("GET", "/album/a%20b.mp4", fixture.own.merging(["Range": "bytes=200000-"]) { $1 })
        #expect(beyond.status == 416 && beyond.headers["content-range"] == "bytes */200000")
        let download = try fixture.ask("GET", "/album/a%20b.mp4?download=1")
        #expect(download.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b%2Emp4")
    }

    @Test func `a web socket is a client of the control protocol`() throws {
        let fixture = try ServerFixture()
        let connection = try fixture.open()
        try connection.sendText(#"{"id": 1, "request": "toggle", "mask": "santa"}"#)
        #expect(connection.receiveFrame()?.text == #"{"id":1,"ok":{"mask":"santa"}}"#)
        // A line may arrive in fragments, and have line ends where JSON allows space.
        try connection.sendText("{\"request\":\n", isLast: false)
        try connection.sendText("\"next\"}", opcode: 0)
        #expect(connection.receiveFrame()?.text.contains("not-now") == true)
        try connection.sendText("rubbish")
        #expect(connection.receiveFrame()?.text.contains("bad-line") == true)
        try connection.sendText("?", opcode: 9)
        let pong = connection.receiveFrame()
        #expect(pong?.opcode == 10 && pong?.text == "?")
        try connection.sendText(#"{"request": "subscribe", "events": ["faces"]}"#)
        #expect(connection.receiveFrame()?.text.contains("faces") == true)
        #expect(connection.receiveFrame()?.text == #"{"event":"faces","faces":1}"#)
        try connection.sendText("", opcode: 8)
        while let frame = connection.receiveFrame() { #expect(frame.opcode == 8 || frame.text.contains("faces")) }
    }

    /// Frames that RFC 6455 does not allow a client: without a mask (5.1), with a reserved bit, or with a reserved
    /// opcode (5.2).
    static let invalidFrames: [[UInt8]] = [
        [0x81, 1, 0x3F], [0x82, 0], [0x88, 0], [0x89, 0],
        [0xC1, 0x80, 1, 2, 3, 4], [0xA9, 0x80, 1, 2, 3, 4], [0x98, 0x80, 1, 2, 3, 4],
        [0x83, 0x80, 1, 2, 3, 4], [0x07, 0x80, 1, 2, 3, 4], [0x8B, 0x80, 1, 2, 3, 4], [0x8F, 0x80, 1, 2, 3, 4],
    ]

    @Test(arguments: invalidFrames)
    func `a frame that no browser sends ends its web socket, before the handshake and after it`(frame: [UInt8]) throws {
        var limits = PageLimits.patient
        limits.closeDelay = .milliseconds(1)
        let fixture = try ServerFixture(limits)
        let stranger = try HTTPTestClient.openSocket(port: fixture.server.port).connection
        _ = try stranger.json()
        let page = try fixture.open()
        for connection in [stranger, page] {
            // The ping behind it is not answered.
            try connection.send(frame + [0x89, 0x80, 1, 2, 3, 4])
            let end = connection.receiveFrame()
            #expect(end?.opcode == 8 && end?.code == 1002, "\(end as Any)")
            #expect(connection.receiveFrame() == nil)
        }
    }

    @Test func `a binary message ends its web socket as data of the wrong kind`() throws {
        let fixture = try ServerFixture()
        let page = try fixture.open()
        try page.sendText("?", opcode: 2)
        let end = page.receiveFrame()
        #expect(end?.opcode == 8 && end?.code == 1003, "\(end as Any)")
    }

    @Test func `a web socket of another origin is not opened`() throws {
        let fixture = try ServerFixture()
        for headers in [
            ["Origin": ""], ["Origin": "http://evil.example"], ["Origin": "http://127.0.0.1:1"],
            ["Host": "evil.example"], ["Sec-Fetch-Site": "same-site"],
        ] {
            #expect(try HTTPTestClient.openSocket(port: fixture.server.port, headers).status == 403)
        }
        // A request that is no web socket gets an error.
        #expect(try fixture.ask("GET", "/socket", fixture.posting).status == 400)
    }

    @Test func `an endless line ends its connection, and others continue`() throws {
        let fixture = try ServerFixture()
        let long = try fixture.open()
        try long.sendText(String(repeating: "x", count: ControlLimits.longestLine + 1))
        let word = long.receiveFrame()
        #expect(word?.opcode == 8 && word?.text.contains("64 KiB") == true)
        #expect(long.receiveFrame() == nil)
        // More connect and leave than the control server has room for at once.
        for _ in 0..<150 { _ = try fixture.open() }
        // A client that connects while those are being closed may be refused, with or without a message.
        waits {
            guard let connection = try? fixture.open(),
                (try? connection.sendText(#"{"request": "toggle", "mask": "a"}"#)) != nil
            else { return false }
            return connection.receiveFrame()?.text.contains("ok") == true
        }
    }

    @Test func `a port in use is an error`() throws {
        let fixture = try ServerFixture()
        let problem = #expect(throws: Problem.self) {
            _ = try PageServer(
                port: UInt16(fixture.server.port), files: "/", secrets: fixture.secrets, preview: fixture.preview,
                backend: fixture.backend)
        }
        #expect(problem?.kind == .busy && problem?.message.contains("\(fixture.server.port)") == true)
        #expect(problem?.fix.contains("page.port") == true)
    }
}
