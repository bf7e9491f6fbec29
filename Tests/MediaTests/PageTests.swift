import Foundation
import Testing

@testable import Capture
@testable import Frames
@testable import Publish

@Suite(.serialized) struct PageTests {
    let workshop: Workshop
    init() throws { workshop = try Workshop() }

    private let layout = FrameLayout(width: 1280, height: 720, format: .yuyv)

    /// Publishes a frame in changing grays each 20 ms while curl runs, and gives what curl wrote.
    private func visit(_ sink: inout PageSink, _ arguments: String, seconds: Double = 15) throws -> String {
        let out = workshop.path("out")
        var curl = try ChildProcess(
            ["curl", "-s", "-i", "-m", "\(seconds)", "-o", out] + arguments.split(separator: " ").map(String.init),
            .reading)
        var frame = Frame(sink.layout)
        for step in 0..<Int(seconds * 50) + 50 {
            // No brightness comes twice within four seconds.
            frame.fill(y: UInt8(16 + step % 220), u: 90, v: 240)
            try sink.publish(frame.view)
            usleep(20_000)
            var byte = Frame(FrameLayout(width: 1, height: 1, format: .gray))
            if try curl.read(into: &byte, from: 0) == .end { break }
        }
        _ = curl.finish()
        return String(decoding: (try? workshop.read("out")) ?? Data(), as: UTF8.self)
    }

    @Test func `the page is plain, locked down, and shows the stream`() throws {
        var sink = try PageSink(layout: layout, port: 0)
        let page = try visit(&sink, "\(sink.address)/")
        #expect(page.hasPrefix("HTTP/1.1 200") && page.contains("<img src=\"/stream\""))
        #expect(page.contains("default-src 'none'") && page.contains("Cross-Origin-Resource-Policy: same-origin"))
        #expect(page.contains("color-scheme"))
        let style = try visit(&sink, "\(sink.address)/style.css")
        #expect(style.contains("text/css"))
        #expect(try visit(&sink, "\(sink.address)/etc/passwd").hasPrefix("HTTP/1.1 404"))
        #expect(try visit(&sink, "-X POST \(sink.address)/").hasPrefix("HTTP/1.1 405"))
    }

    @Test func `the stream gives different sound pictures of the right size and colour, at most 15 a second`() throws {
        var sink = try PageSink(layout: layout, port: 0)
        _ = try visit(&sink, "\(sink.address)/stream", seconds: 4)
        let data = try workshop.read("out")
        var jpegs: [Data] = []
        var rest = data[...]
        while let start = rest.firstRange(of: Data([0xff, 0xd8, 0xff])),
            let end = rest.firstRange(of: Data([0xff, 0xd9, 13, 10]))
        {
            jpegs.append(Data(rest[start.lowerBound..<end.lowerBound + 2]))
            rest = rest[end.upperBound...]
        }
        #expect((3...64).contains(jpegs.count), "\(jpegs.count)")
        #expect(Set(jpegs).count == jpegs.count)
        var photo = try Clip(path: try workshop.write(try #require(jpegs.last), "last.jpg"))
        let layout = photo.layout
        #expect(layout.width == 640 && layout.height == 360)
        let frame = try #require(try harvest(&photo).frames.first)
        // U and V of 90 and 240 in limited range are 85 and 255 in full.
        #expect(abs(Int(frame[640 * 360 * 3 / 2]) - 85) <= 3 && frame[640 * 360 * 5 / 2] >= 252)
    }

    @Test func `with nobody looking nothing is encoded, and one who goes is noticed`() throws {
        var sink = try PageSink(layout: layout, port: 0)
        let frame = Frame(layout)
        for _ in 0..<50 {
            try sink.publish(frame.view)
            usleep(2_000)
        }
        #expect(sink.encoded == 0)
        _ = try visit(&sink, "\(sink.address)/stream", seconds: 5)
        #expect(sink.encoded > 2)
        for _ in 0..<100 {
            try sink.publish(frame.view)
            usleep(10_000)
        }
        let before = sink.encoded
        for _ in 0..<50 {
            try sink.publish(frame.view)
            usleep(10_000)
        }
        #expect(sink.encoded == before)
    }

    @Test func `a name that is not ours is turned away`() throws {
        var sink = try PageSink(layout: layout, port: 0)
        let port = sink.address.split(separator: ":").last ?? ""
        for host in ["evil.example", "evil.example:\(port)", "127.0.0.1:1", "127.0.0.1.evil.example:\(port)"] {
            for path in ["/", "/stream"] {
                let answer = try visit(&sink, "-H Host:\(host) \(sink.address)\(path)")
                #expect(answer.hasPrefix("HTTP/1.1 403"), "\(host)\(path)")
            }
        }
        #expect(try visit(&sink, "-H Host:localhost:\(port) \(sink.address)/").hasPrefix("HTTP/1.1 200"))
    }

    @Test func `a port that is taken is told`() throws {
        let sink = try PageSink(layout: layout, port: 0)
        let port = try #require(sink.address.split(separator: ":").last.flatMap { UInt16($0) })
        let problem = try #require(problem { _ = try PageSink(layout: layout, port: port) })
        #expect(problem.kind == .busy && problem.what.contains("\(port)") && !problem.cure.isEmpty)
        try sink.finish(card: Frame(layout).view)
    }

    @Test func `a frame of odd size is shown whole`() throws {
        var sink = try PageSink(layout: FrameLayout(width: 1283, height: 721, format: .i420), port: 0, maxWidth: 400)
        _ = try visit(&sink, "\(sink.address)/stream", seconds: 5)
        let data = try workshop.read("out")
        let start = try #require(data.firstRange(of: Data([0xff, 0xd8, 0xff]))).lowerBound
        let photo = try Clip(path: try workshop.write(data[start...], "a.jpg"))
        #expect(photo.layout.width == 321)
        #expect(photo.layout.height == 181)
    }
}
