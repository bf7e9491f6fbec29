import CAllocations
import Foundation
import Frames
import Synchronization
import Testing

@testable import Page

/// What those who look get, and what it costs.
@Suite(.serialized) struct PreviewTests {
    /// Publishes frames in changing grays 50 times a second, as long as it is there.
    private final class Publisher {
        private let isOver = Flag()

        private final class Flag: Sendable {
            let isSet = Atomic<Bool>(false)
        }

        init(_ preview: Preview, marks: [FaceMark] = []) {
            let isOver = isOver
            let thread = Thread {
                var frame = Frame(preview.layout)
                var step = 0
                while !isOver.isSet.load(ordering: .relaxed) {
                    // No brightness comes twice within four seconds.
                    frame.fill(y: UInt8(16 + step % 220), u: 90, v: 240)
                    step += 1
                    let now = monotonicTime()
                    for picture in Preview.Picture.allCases where preview.wants(picture, at: now) {
                        preview.put(picture, frame.view, marks: marks, isCard: false, at: now)
                    }
                    usleep(20_000)
                }
            }
            thread.start()
        }

        deinit { isOver.isSet.store(true, ordering: .relaxed) }
    }

    private func watch(_ place: Place, _ query: String, pictures: Int) throws -> (jpegs: [[UInt8]], seconds: Double) {
        let visitor = try Visitor(port: place.server.port)
        try visitor.request("GET", "/stream?\(query)", place.own)
        let answer = try visitor.answer()
        #expect(answer.headers["content-type"]?.hasPrefix("multipart/x-mixed-replace") == true)
        var jpegs: [[UInt8]] = []
        var began = Date()
        while jpegs.count < pictures {
            let head = String(decoding: try #require(visitor.take(through: "\r\n\r\n")), as: UTF8.self)
            // What is no head is the end of a chunk.
            guard let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap({ Int($0.1) }) else { continue }
            if jpegs.isEmpty { began = Date() }
            jpegs.append(try #require(visitor.take(length)))
        }
        return (jpegs, Date().timeIntervalSince(began))
    }

    private func waits(_ holds: () -> Bool) -> Bool {
        for _ in 0..<300 {
            if holds() { return true }
            usleep(20_000)
        }
        return false
    }

    @Test func `the stream gives different pictures of the right size, at most 15 a second`() throws {
        let place = try Place()
        let publisher = Publisher(place.preview)
        let (jpegs, seconds) = try watch(place, "", pictures: 20)
        let rate = Double(jpegs.count - 1) / seconds
        print("\(rate) pictures a second")
        #expect((4...17).contains(rate))
        #expect(Set(jpegs).count == jpegs.count)
        let header = try #require(PhotoHeader(jpegs[0]))
        #expect((header.width, header.height) == (640, 360))
        let slow = try watch(place, "rate=3&width=320", pictures: 4)
        #expect(slow.seconds > 0.8, "\(slow.seconds) s")
        #expect(PhotoHeader(slow.jpegs[0])?.width == 320)
        let whole = try watch(place, "width=1280&picture=before", pictures: 1)
        #expect(PhotoHeader(whole.jpegs[0])?.width == 1280)
        withExtendedLifetime(publisher) {}
    }

    @Test func `marks are drawn for those who want them alone`() throws {
        let place = try Place()
        var mark = FaceMark()
        mark.number = 42
        mark.box = Rect(x: 400, y: 200, width: 300, height: 300)
        for i in 0..<68 { mark.landmarks[i] = Point(420 + Float(i) * 4, 350) }
        var lost = mark
        (lost.isPredicted, lost.box.x, lost.landmarks[0]) = (true, -100_000_000, Point(.nan, .infinity))
        let publisher = Publisher(place.preview, marks: [mark, lost])
        let plain = try watch(place, "marks=0", pictures: 2).jpegs[1]
        let marked = try watch(place, "marks=1", pictures: 2).jpegs[1]
        // Grays compress to nothing; lines do not.
        print("\(plain.count) bytes without marks, \(marked.count) with them")
        #expect(marked.count > plain.count + 1500)
        withExtendedLifetime(publisher) {}
    }

    @Test func `two who look alike share one picture, and with nobody looking none is made`() throws {
        let place = try Place()
        let publisher = Publisher(place.preview)
        usleep(200_000)
        #expect(place.preview.encoded == 0)
        let visitors = try (0..<4).map { _ in
            let visitor = try Visitor(port: place.server.port)
            try visitor.request("GET", "/stream", place.own)
            return visitor
        }
        #expect(waits { place.preview.encoded > 10 })
        let before = place.preview.encoded
        sleep(1)
        let many = place.preview.encoded - before
        #expect(many <= 18, "\(many) pictures in a second for four who look")
        withExtendedLifetime((visitors, publisher)) {}
    }

    @Test func `one who goes is noticed, and costs nothing any more`() throws {
        let place = try Place()
        let publisher = Publisher(place.preview)
        _ = try watch(place, "", pictures: 2)
        #expect(waits { !place.preview.isWatched })
        let before = place.preview.encoded
        usleep(300_000)
        #expect(place.preview.encoded == before)
        withExtendedLifetime(publisher) {}
    }

    @Test func `a face is kept from the undressed picture, and none from a card`() async throws {
        let preview = Preview(layout: FrameLayout(width: 64, height: 48, format: .i420)) {}
        let publisher = Publisher(preview, marks: [FaceMark()])
        let portrait = try await preview.portrait(within: .seconds(5))
        #expect(portrait?.frame.layout == preview.layout)
        withExtendedLifetime(publisher) {}
        let empty = Preview(layout: preview.layout) {}
        let nobody = Publisher(empty)
        #expect(try await empty.portrait(within: .seconds(1)) == nil)
        withExtendedLifetime(nobody) {}
    }

    /// Fills a packed frame with some thousand edges and a sensor's noise.
    private func fillAsCamera(_ frame: inout Frame) {
        var bytes = frame.mutableBytes
        var random = SystemRandomNumberGenerator()
        for i in stride(from: 0, to: bytes.count, by: 2) {
            bytes[i] = UInt8(truncatingIfNeeded: 90 + i / 2560 % 60 + Int(UInt8.random(in: 0...12, using: &random)))
        }
    }

    @Test func `one who looks costs the loop a copy, and little else`() throws {
        let preview = Preview(layout: FrameLayout(width: 1280, height: 720, format: .yuyv)) {}
        var frame = Frame(preview.layout)
        frame.fill(y: 90, u: 100, v: 140)
        fillAsCamera(&frame)
        let marks = [FaceMark(), FaceMark()]
        let viewer = Preview.Viewer(preview, Preview.Look())
        preview.put(.after, frame.view, marks: marks, isCard: false, at: 1)
        let asked = callocations_count()
        var (start, copy) = (UInt64(0), Double.infinity)
        // The best of some rounds, here and below: what else the computer does makes others slower.
        for _ in 0..<10 {
            start = threadTime()
            for _ in 0..<10 { preview.put(.after, frame.view, marks: marks, isCard: false, at: 2) }
            copy = min(copy, Double(threadTime() - start) / 10 / 1e6)
        }
        #expect(callocations_count() == asked, "a warm frame allocates nothing")
        start = threadTime()
        var isWanted = false
        for _ in 0..<100_000 { isWanted = preview.wants(.before, at: 1) || isWanted }
        let look = Double(threadTime() - start) / 100_000
        var encoder = try JPEGEncoder(layout: preview.layout, maxWidth: 640)
        var small = Frame(FrameLayout(width: encoder.size.width, height: encoder.size.height, format: .i420))
        halve(packed: frame.view, into: &small)
        var library = try JPEGEncoder(layout: small.layout, maxWidth: 640)
        var (size, encode, least) = (0, Double.infinity, Double.infinity)
        for _ in 0..<10 {
            start = threadTime()
            for _ in 0..<10 { size = encoder.encode(frame)?.count ?? 0 }
            encode = min(encode, Double(threadTime() - start) / 10 / 1e6)
            start = threadTime()
            for _ in 0..<10 { _ = library.encode(small) }
            least = min(least, Double(threadTime() - start) / 10 / 1e6)
        }
        print(
            "copy \(copy) ms, encoding \(encode) ms to \(size) bytes, of which libjpeg takes \(least); "
                + "a look that finds nobody \(look) ns")
        #expect(!isWanted && size > 0)
        #expect(look < 100)
        // 0.5 to 0.7 where it was measured; what is asked for is 1 ms on a computer that is not twice as slow or busy.
        #expect(copy + encode < 1.5, "one who looks costs \(copy + encode) ms a frame")
        // What libjpeg takes for the picture that is shown differs between computers. All else is reading and writing:
        // 3.6 to 5 copies were measured, busy or not.
        let own = copy + encode - least
        #expect(own < 6 * copy, "beside libjpeg, one who looks costs \(own / copy) copies of the frame")
        withExtendedLifetime(viewer) {}
    }
}
