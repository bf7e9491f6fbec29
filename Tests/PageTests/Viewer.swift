import Frames
import TestSupport
import Testing
import Track

@testable import Page

/// Publishes a frame of the next gray to all viewers, a second later by its own clock.
final class Publisher {
    private let preview: Preview
    private let faces: [Face]
    private var step = 0

    init(_ preview: Preview, faces: [Face] = []) { (self.preview, self.faces) = (preview, faces) }

    func publish() {
        var frame = Frame(preview.layout)
        frame.fill(y: UInt8(16 + step % 220), u: 90, v: 240)
        step += 1
        for picture in Preview.Picture.allCases where preview.needsFrame(picture, at: now) {
            preview.update(picture, frame.view, faces: faces, isPlaceholder: false, at: now)
        }
    }

    /// Nanoseconds.
    private var now: UInt64 { UInt64(step) * 1_000_000_000 }
}

/// A viewer of the stream.
struct Viewer {
    let connection: HTTPTestClient

    /// Connects, and returns when the server has registered the viewer.
    init(_ fixture: ServerFixture, _ query: String = "") throws {
        connection = try HTTPTestClient(port: fixture.server.port)
        try connection.request("GET", "/stream?\(query)", fixture.own)
        let answer = try connection.answer()
        #expect(answer.headers["content-type"]?.hasPrefix("multipart/x-mixed-replace") == true)
        fixture.looked.wait()
    }

    func next() throws -> [UInt8] {
        while true {
            let head = String(decoding: try #require(connection.read(through: "\r\n\r\n")), as: UTF8.self)
            // Anything but a head is the end of a chunk.
            guard let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap({ Int($0.1) }) else { continue }
            return try #require(connection.read(length))
        }
    }
}
