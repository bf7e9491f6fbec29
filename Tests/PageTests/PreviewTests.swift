import CAllocations
import Foundation
import Frames
import JPEG
import Synchronization
import TestSupport
import Testing
import Track

@testable import Page
@testable import SystemKit

/// The picture streams of viewers.
@Suite(.serialized, .ownThread) struct PreviewTests {
    @Test func `the stream sends each new picture, in the requested size`() throws {
        let fixture = try ServerFixture()
        let publisher = Publisher(fixture.preview)
        let viewer = try Viewer(fixture)
        let jpegs = try (0..<4).map { _ in
            publisher.publish()
            return try viewer.next()
        }
        #expect(Set(jpegs).count == jpegs.count)
        let header = try #require(PhotoHeader(jpegs[0]))
        #expect((header.width, header.height) == (640, 360))
        for (query, width) in [("rate=3&width=320", 320), ("width=1280&picture=before", 1280)] {
            let viewer = try Viewer(fixture, query)
            publisher.publish()
            #expect(PhotoHeader(try viewer.next())?.width == width, "\(query)")
        }
    }

    @Test(arguments: [(15.0, 15), (3, 3), (60, 30)])
    func `a stream takes no more of 30 frames per second than requested`(rate: Double, most: Int) {
        let preview = Preview(layout: FrameLayout(width: 64, height: 48, format: .i420)) {}
        var look = Preview.StreamOptions()
        look.rate = rate
        let viewer = Preview.Viewer(preview, look)
        let frame = Frame(preview.layout)
        var taken = 0
        for number in 0..<30 {
            let now = UInt64(1_000_000_000 + number * 33_333_333)
            guard preview.needsFrame(.after, at: now) else { continue }
            preview.update(.after, frame.view, faces: [], isPlaceholder: false, at: now)
            taken += 1
        }
        #expect(taken <= most && taken >= most - 1)
        withExtendedLifetime(viewer) {}
    }

    @Test(arguments: [
        (640, 15.0, 15.0), (928, 15.0, 15.0), (1280, 15.0, 7.88), (1920, 15.0, 5.0), (4096, 15.0, 5.0),
        (1280, 3.0, 3.0),
    ])
    func `a large picture keeps its sharpness and comes less often`(width: Int, wanted: Double, rate: Double) {
        let preview = Preview(layout: FrameLayout(width: 1920, height: 1080, format: .i420)) {}
        var options = Preview.StreamOptions()
        (options.width, options.rate) = (width, wanted)
        let viewer = Preview.Viewer(preview, options)
        #expect(viewer.options.width == width)
        #expect(abs(viewer.options.rate - rate) < 0.01, "\(viewer.options.rate)")
    }

    @Test func `a new viewer sees no picture that the last one left behind`() throws {
        let preview = Preview(layout: FrameLayout(width: 64, height: 48, format: .i420)) {}
        let options = Preview.StreamOptions()
        var bright = Frame(preview.layout)
        bright.fill(y: 200, u: 128, v: 128)
        do {
            let viewer = Preview.Viewer(preview, options)
            // It leaves before it has fetched this.
            preview.update(.after, bright.view, faces: [], isPlaceholder: false, at: 1)
            withExtendedLifetime(viewer) {}
        }
        let viewer = Preview.Viewer(preview, options)
        var number = 0
        #expect(try preview.encode(options, &number) == nil, "nothing was copied for it yet")
        preview.update(.after, bright.view, faces: [], isPlaceholder: false, at: 2)
        #expect(try preview.encode(options, &number) != nil)
        withExtendedLifetime(viewer) {}
    }

    @Test func `the tracking overlay is drawn only for viewers who ask for it`() throws {
        let fixture = try ServerFixture()
        var mark = Face.mean
        (mark.id, mark.state) = (42, .tracked)
        mark.box = Rect(x: 400, y: 200, width: 300, height: 300)
        for i in 0..<68 { mark.landmarks[i] = Point(420 + Float(i) * 4, 350) }
        var lost = mark
        (lost.state, lost.box.x, lost.landmarks[0]) = (.predicted, -100_000_000, Point(.nan, .infinity))
        let publisher = Publisher(fixture.preview, faces: [mark, lost])
        let (plain, marked) = (try Viewer(fixture, "overlay=0"), try Viewer(fixture, "overlay=1"))
        publisher.publish()
        // Uniform grays compress to almost nothing; lines do not.
        let sizes = (try plain.next().count, try marked.next().count)
        #expect(sizes.1 > sizes.0 + 1500, "\(sizes)")
    }

    @Test func `viewers with the same options share one picture, and without viewers none is made`() throws {
        let fixture = try ServerFixture()
        let publisher = Publisher(fixture.preview)
        publisher.publish()
        #expect(fixture.preview.encoded == 0)
        let viewers = try (0..<4).map { _ in try Viewer(fixture) }
        for made in 1...3 {
            publisher.publish()
            let jpegs = try viewers.map { try $0.next() }
            #expect(Set(jpegs).count == 1)
            #expect(fixture.preview.encoded == made)
        }
    }

    @Test func `a viewer that leaves is noticed, and nothing more is copied`() throws {
        let fixture = try ServerFixture()
        let publisher = Publisher(fixture.preview)
        do {
            let viewer = try Viewer(fixture)
            publisher.publish()
            _ = try viewer.next()
        }
        // The server notices when it can't send pictures.
        waits {
            publisher.publish()
            return !fixture.preview.hasViewers
        }
        let before = fixture.preview.encoded
        publisher.publish()
        #expect(!fixture.preview.needsFrame(.after, at: .max) && fixture.preview.encoded == before)
    }

    @Test func `a face is stored from the picture without masks, and none from a picture without faces`() async throws {
        for faces in [[Face.mean], []] {
            let preview = Preview(layout: FrameLayout(width: 64, height: 48, format: .i420)) {}
            let publishing = Task {
                let publisher = Publisher(preview, faces: faces)
                while !Task.isCancelled {
                    publisher.publish()
                    await Task.yield()
                }
            }
            let portrait = try await preview.portrait(within: faces.isEmpty ? .milliseconds(200) : .seconds(1000))
            publishing.cancel()
            #expect(portrait?.frame.layout == (faces.isEmpty ? nil : preview.layout))
        }
    }

    @Test func `the faces of a viewer who left are not stored with the next viewer's picture`() async throws {
        let shared = Mutex<Preview?>(nil)
        var options = Preview.StreamOptions()
        options.picture = .before
        let views = Atomic<Int>(0)
        // Both viewers fetch a picture at once, the first one with a face.
        let preview = Preview(layout: FrameLayout(width: 64, height: 48, format: .i420)) { [options] in
            let isFirst = views.add(1, ordering: .relaxed).newValue == 1
            guard let preview = shared.withLock({ $0 }) else { return }
            let frame = Frame(preview.layout)
            preview.update(.before, frame.view, faces: isFirst ? [Face.mean] : [], isPlaceholder: false, at: 1)
            var number = 0
            #expect(throws: Never.self) { try preview.encode(options, &number) }
        }
        shared.withLock { $0 = preview }
        do {
            let viewer = Preview.Viewer(preview, options)
            withExtendedLifetime(viewer) {}
        }
        let portrait = try await preview.portrait(within: .milliseconds(200))
        #expect(portrait == nil)
        shared.withLock { $0 = nil }
    }

    @Test func `a frame that is handed over allocates nothing once warm`() async throws {
        let preview = Preview(layout: FrameLayout(width: 1280, height: 720, format: .yuyv)) {}
        let frame = Frame(preview.layout)
        var options = Preview.StreamOptions()
        options.hasOverlay = true
        let viewer = Preview.Viewer(preview, options)
        let faces = [Face.mean, Face.mean]
        var number = 0
        for round in 0..<6 {
            let before = callocations_count()
            preview.update(.after, frame.view, faces: faces, isPlaceholder: false, at: 1)
            let after = callocations_count()
            #expect(round == 0 || after == before)
            // The viewer takes the copy, and gives back the one before.
            _ = try await viewer.next(after: &number)
        }
    }
}

/// The time that one viewer costs the frame loop. Run by `make bench`.
@Suite(.serialized) struct PreviewBenchmarks {
    /// Fills a packed frame with some thousand edges and a sensor's noise.
    private func fillAsCamera(_ frame: inout Frame) {
        var bytes = frame.mutableBytes
        var random = SystemRandomNumberGenerator()
        for i in stride(from: 0, to: bytes.count, by: 2) {
            bytes[i] = UInt8(truncatingIfNeeded: 90 + i / 2560 % 60 + Int(UInt8.random(in: 0...12, using: &random)))
        }
    }

    @Test func `one viewer`() throws {
        let preview = Preview(layout: FrameLayout(width: 1280, height: 720, format: .yuyv)) {}
        var frame = Frame(preview.layout)
        frame.fill(y: 90, u: 100, v: 140)
        fillAsCamera(&frame)
        let faces = [Face.mean, Face.mean]
        let viewer = Preview.Viewer(preview, Preview.StreamOptions())
        preview.update(.after, frame.view, faces: faces, isPlaceholder: false, at: 1)
        var (start, copy) = (UInt64(0), Double.infinity)
        // The best of several rounds, here and below, because other load on the computer slows some.
        for _ in 0..<10 {
            start = threadTime()
            for _ in 0..<10 { preview.update(.after, frame.view, faces: faces, isPlaceholder: false, at: 2) }
            copy = min(copy, Double(threadTime() - start) / 10 / 1e6)
        }
        start = threadTime()
        var isWanted = false
        for _ in 0..<100_000 { isWanted = preview.needsFrame(.before, at: 1) || isWanted }
        let look = Double(threadTime() - start) / 100_000
        var encoder = try JPEGEncoder(layout: preview.layout, maxWidth: 640)
        var small = Frame(FrameLayout(width: encoder.size.width, height: encoder.size.height, format: .i420))
        halve(packed: frame.view, into: &small)
        var library = try JPEGEncoder(layout: small.layout, maxWidth: 640)
        var (size, encode, least) = (0, Double.infinity, Double.infinity)
        for _ in 0..<10 {
            start = threadTime()
            for _ in 0..<10 { size = encoder.encode(frame.view)?.count ?? 0 }
            encode = min(encode, Double(threadTime() - start) / 10 / 1e6)
            start = threadTime()
            for _ in 0..<10 { _ = library.encode(small.view) }
            least = min(least, Double(threadTime() - start) / 10 / 1e6)
        }
        figure("page, a copy of the frame", copy, "ms")
        figure("page, encoding a picture", encode, "ms")
        figure("page, encoding beside libjpeg", (copy + encode - least) / copy, "copies of the frame")
        figure("page, finding nobody", look, "ns")
        #expect(!isWanted && size > 0)
        withExtendedLifetime(viewer) {}
    }
}
