import Capture
import Compose
import Foundation
import Frames
import TestSupport
import Testing
import Track

@testable import Engine
@testable import SystemKit

/// A frame's path from the source's picture to the picture with masks.
@Suite(.ownThread) struct PipelineTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    private static let canvas = FrameLayout(width: 64, height: 48, format: .i420)

    private func pipeline(
        _ masks: [Mask] = [], output: FrameLayout = PipelineTests.canvas, landmarks: Bool = false
    ) throws -> Pipeline {
        Pipeline(tracker: try Stage.tracker(landmarks: landmarks), masks: masks, output: output)
    }

    private func flat(_ gray: UInt8, _ layout: FrameLayout = PipelineTests.canvas) -> Frame {
        var frame = Frame(layout)
        frame.fill(y: gray, u: 128, v: 128)
        return frame
    }

    /// Dark at the left and bright at the right.
    private func halves(_ layout: FrameLayout = PipelineTests.canvas) -> Frame {
        var planes = Frame(FrameLayout(width: layout.width, height: layout.height, format: .gray, range: layout.range))
        var bytes = planes.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width { bytes[y * layout.width + x] = x < layout.width / 2 ? 60 : 200 }
        }
        var frame = Frame(layout)
        convert(planes.view, into: &frame)
        return frame
    }

    private func luma(_ frame: borrowing Frame, _ x: Int, _ y: Int) -> Int {
        let view = frame.view
        let luma = view.luma
        return Int(luma.samples[y * luma.rowStride + x * luma.pixelStride])
    }

    private func moment(_ number: Int) -> FrameTime { FrameTime(number: number, seconds: Double(number) / 30) }

    @Test(arguments: [nil, LostFacePolicy.show, .cover], ["", "\"onLostFace\": \"cover\", "])
    func `a picture is too bare for a mask that makes faces unrecognisable, whatever lost faces were promised`(
        policy: LostFacePolicy?, worn: String
    ) throws {
        try scratch.makeBrightMask("bright", worn)
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Self.canvas), selections: [MaskSelection("bright")]
        ) { _ in }
        var pipeline = Pipeline(tracker: try Stage.tracker(landmarks: false), loader: loader, output: Self.canvas)
        pipeline.onLostFace = policy
        pipeline.process(flat(100).view, at: moment(0))
        let before = pipeline.hidesTooLittle
        loader.select(["bright", "veil"].map(MaskSelection.init), hiding: [.faces, .foundFaces])
        let after = pipeline.hidesTooLittle
        #expect(!before && after)
    }

    @Test(arguments: [nil, LostFacePolicy.show, .cover])
    func `a picture is too bare for a mask that draws over faces, although the configuration covers lost ones`(
        policy: LostFacePolicy?
    ) throws {
        try scratch.makeBrightMask("bright")
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Self.canvas), selections: [MaskSelection("bright")]
        ) { _ in }
        var pipeline = Pipeline(tracker: try Stage.tracker(landmarks: false), loader: loader, output: Self.canvas)
        pipeline.onLostFace = policy
        pipeline.process(flat(100).view, at: moment(0))
        let before = pipeline.hidesTooLittle
        loader.select(["bright", "marble"].map(MaskSelection.init), hiding: .faces)
        let after = pipeline.hidesTooLittle
        #expect(!before && after)
    }

    @Test func `a picture in which the room is blurred less than a loaded mask does is too bare`() throws {
        for (name, strength) in [("weak", 0), ("strong", 1)] {
            try scratch.write(
                """
                {"version": 1, "layers": [{"kind": "background", "mode": "blur", "strength": \(strength)}]}
                """, "Masks/\(name)/mask.json")
        }
        let wakeEvent = try WakeEvent()
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Self.canvas), selections: [MaskSelection("weak")]
        ) { _ in }
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var pipeline = Pipeline(tracker: try Stage.tracker(landmarks: false), loader: loader, output: Self.canvas)
        pipeline.process(flat(100).view, at: moment(0))
        let before = pipeline.hidesTooLittle
        loader.select([MaskSelection("strong")])
        waits { loader.masks.map(\.name) == ["strong"] }
        let after = pipeline.hidesTooLittle
        pipeline.process(flat(100).view, at: moment(1))
        let adopted = pipeline.hidesTooLittle
        #expect(!before && after && !adopted)
    }

    // MARK: - Layouts

    @Test(arguments: PixelFormat.allCases, [PixelFormat.yuyv, .i420, .nv12])
    func `each source layout is converted to the output's`(from: PixelFormat, to: PixelFormat) throws {
        let output = FrameLayout(width: 64, height: 48, format: to)
        var pipeline = try pipeline(output: output)
        for (width, height) in [(64, 48), (128, 96), (33, 25)] {
            let frame = flat(100, FrameLayout(width: width, height: height, format: from))
            pipeline.process(frame.view, at: moment(0))
            let layout = pipeline.gate.canvas.frame.layout
            #expect(layout == output)
            let middle = luma(pipeline.gate.canvas.frame, 32, 24)
            #expect(abs(middle - 100) <= 1, "\(width)x\(height): \(middle)")
        }
    }

    @Test func `a picture of another shape is letterboxed, and full range is converted to the output's`() throws {
        var pipeline = try pipeline()
        let square = flat(200, FrameLayout(width: 96, height: 96, format: .i444, range: .full))
        pipeline.process(square.view, at: moment(0))
        let seen = [2, 10, 32, 53, 61].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        // 200 of 255 is 188 between 16 and 235.
        #expect(zip(seen, [16, 188, 188, 188, 16]).allSatisfy { abs($0 - $1) <= 1 }, "\(seen)")
    }

    @Test func `frames may change their size and format at any time`() throws {
        var pipeline = try pipeline()
        let layouts = [
            Self.canvas, FrameLayout(width: 320, height: 240, format: .yuyv),
            FrameLayout(width: 66, height: 50, format: .i422, range: .full), Self.canvas,
            FrameLayout(width: 48, height: 64, format: .nv12),
        ]
        for (number, layout) in layouts.enumerated() {
            let frame = flat(UInt8(80 + number * 20), layout)
            pipeline.process(frame.view, at: moment(number))
            let middle = luma(pipeline.gate.canvas.frame, 32, 24)
            let wanted = layout.range == .full ? 16 + (80 + number * 20) * 219 / 255 : 80 + number * 20
            #expect(abs(middle - wanted) <= 1, "\(layout): \(middle)")
        }
    }

    // MARK: - View

    @Test func `mirroring applies to the shown and searched picture from the next frame on`() throws {
        var pipeline = try pipeline()
        let frame = halves()
        pipeline.process(frame.view, at: moment(0))
        let plain = [10, 54].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        let searched = pipeline.tracker.hasSearchedAll
        #expect(plain == [60, 200] && searched)
        var viewTransform = ViewTransform()
        viewTransform.isMirrored = true
        pipeline.setView(viewTransform)
        let isSearched = pipeline.tracker.hasSearchedAll
        #expect(!isSearched, "everybody is elsewhere then")
        pipeline.process(frame.view, at: moment(1))
        let mirrored = [10, 54].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        let isSearchedAgain = pipeline.tracker.hasSearchedAll
        #expect(mirrored == [200, 60] && isSearchedAgain)
        pipeline.setView(ViewTransform())
        pipeline.process(frame.view, at: moment(2))
        let back = [10, 54].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        #expect(back == plain)
    }

    @Test func `a rotated picture is upright between bars`() throws {
        var pipeline = try pipeline()
        let frame = halves()
        var viewTransform = ViewTransform()
        viewTransform.rotation = .quarter
        pipeline.setView(viewTransform)
        pipeline.process(frame.view, at: moment(0))
        // The left side is on top now, 36 pixels wide.
        let seen = [(32, 10), (32, 40), (5, 24), (60, 24)].map { luma(pipeline.gate.canvas.frame, $0.0, $0.1) }
        #expect(zip(seen, [60, 200, 16, 16]).allSatisfy { abs($0 - $1) <= 1 }, "\(seen)")
    }

    @Test func `a crop shows a part, and does not restart the search`() throws {
        var pipeline = try pipeline()
        let frame = halves()
        pipeline.process(frame.view, at: moment(0))
        var viewTransform = ViewTransform()
        // Most of the dark half is cropped, and as much at the top.
        viewTransform.crop = [0.4375, 0.4375, 0, 0]
        pipeline.setView(viewTransform)
        let isSearched = pipeline.tracker.hasSearchedAll
        #expect(isSearched)
        pipeline.process(frame.view, at: moment(1))
        let seen = [2, 12, 32, 60].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        #expect(zip(seen, [60, 200, 200, 200]).allSatisfy { abs($0 - $1) <= 2 }, "\(seen)")
        // Setting the same again changes nothing.
        pipeline.setView(viewTransform)
        pipeline.process(frame.view, at: moment(2))
        let again = [2, 12, 32, 60].map { luma(pipeline.gate.canvas.frame, $0, 24) }
        #expect(again == seen)
    }

    // MARK: - Masks

    /// - Parameter wakeEvent: signalled when the loader has new masks.
    private func loader(_ selections: [MaskSelection], _ wakeEvent: WakeEvent) throws -> MaskLoader {
        try scratch.makeBrightMask()
        try scratch.makeBrightMask("other")
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(Self.canvas), selections: selections, log: { _ in })
        loader.start(signaling: wakeEvent)
        return loader
    }

    private func listen(_ wakeEvent: WakeEvent) {
        _ = PollClock.system.waits(for: wakeEvent.descriptor, milliseconds: -1)
        wakeEvent.drain()
    }

    @Test func `masks are put on and taken off between frames`() throws {
        let wakeEvent = try WakeEvent()
        let loader = try loader([], wakeEvent)
        defer { loader.close() }
        var pipeline = Pipeline(tracker: try Stage.tracker(), loader: loader, output: Self.canvas)
        let frame = flat(60)
        var seen: [Int] = []
        let steps: [[String]] = [[], ["bright"], ["bright", "other"], []]
        for (number, names) in steps.enumerated() {
            if number > 0 {
                loader.select(names.map { MaskSelection($0) })
                listen(wakeEvent)
                let hasMaskUpdate = pipeline.hasMaskUpdate
                #expect(hasMaskUpdate)
            }
            pipeline.process(frame.view, at: moment(number))
            let hasMaskUpdate = pipeline.hasMaskUpdate
            #expect(!hasMaskUpdate)
            seen.append(luma(pipeline.gate.canvas.frame, 32, 24))
        }
        #expect(seen == [60, 115, 170, 60])
    }

    @Test(.needsSample) func `another size of the picture keeps the faces, and shows none that is hidden`() throws {
        try scratch.makeBrightMask("hiding", "\"onLostFace\": \"cover\", ")
        let wakeEvent = try WakeEvent()
        let (large, small) = (FrameLayout(width: 640, height: 360, format: .i420), FrameSize(width: 320, height: 240))
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Masks")], target: ArtTarget(large), selections: [MaskSelection("hiding")],
            log: { _ in })
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var pipeline = Pipeline(tracker: try Stage.tracker(landmarks: true), loader: loader, output: large)
        var sample = try Sample(path: Fixtures.sample, width: 640, height: 360)
        var ids: Set<Int> = []
        var seen: [(isShown: Bool, size: FrameSize)] = []
        for number in 0..<120 {
            if number == 60 {
                pipeline.requestSize(small)
                listen(wakeEvent)
            }
            _ = try sample.withFrame { view, time in pipeline.process(view, at: time) }
            seen.append((pipeline.gate.reason == nil, pipeline.gate.canvas.frame.layout.size))
            if number >= 50 { ids.formUnion(pipeline.tracker.faces.map(\.id)) }
        }
        #expect(seen[59].isShown && seen[59].size == large.size)
        #expect(seen[60...].allSatisfy { $0.isShown && $0.size == small }, "there is no gap")
        #expect(ids.count == 1)
        let eyes = try #require(pipeline.facePlacements.all.first?.eyes)
        #expect((0.3...0.7).contains(eyes.x) && (0.2...0.7).contains(eyes.y), "\(eyes)")
    }

    @Test func `the last frame is composed again if there is one and no face is hidden`() throws {
        let wakeEvent = try WakeEvent()
        let loader = try loader([], wakeEvent)
        defer { loader.close() }
        var pipeline = Pipeline(tracker: try Stage.tracker(), loader: loader, output: Self.canvas)
        let frame = flat(60)
        let early = pipeline.recompose(frame.view, at: moment(0))
        #expect(!early, "nobody was looked for yet")
        pipeline.process(frame.view, at: moment(0))
        loader.select([MaskSelection("bright")])
        listen(wakeEvent)
        let isSeen = pipeline.recompose(frame.view, at: moment(0))
        let bright = luma(pipeline.gate.canvas.frame, 32, 24)
        #expect(isSeen && bright == 115)
        pipeline.onLostFace = .cover
        let isHidden = !pipeline.recompose(frame.view, at: moment(0))
        #expect(isHidden)
        pipeline.onLostFace = nil
        pipeline.restart()
        let isAnothers = !pipeline.recompose(frame.view, at: moment(0))
        #expect(isAnothers, "the next frame is another source's")
    }

    @Test func `a mask that hides faces hides them from its first frame on`() throws {
        try scratch.makeBrightMask("hiding", "\"onLostFace\": \"cover\", ")
        let wakeEvent = try WakeEvent()
        let loader = try loader([], wakeEvent)
        defer { loader.close() }
        var pipeline = Pipeline(tracker: try Stage.tracker(), loader: loader, output: Self.canvas)
        let frame = flat(60)
        pipeline.process(frame.view, at: moment(0))
        let before = pipeline.gate.reason == nil
        loader.select([MaskSelection("hiding")])
        listen(wakeEvent)
        let isSeen = pipeline.recompose(frame.view, at: moment(0))
        let after = pipeline.gate.reason == nil
        #expect(before && !isSeen && !after)
        // Independent of the mask.
        pipeline.onLostFace = .show
        pipeline.process(frame.view, at: moment(1))
        let shown = pipeline.gate.reason == nil
        #expect(shown)
    }

    @Test(.needsSample) func `with a mask that hides faces nothing is shown before the whole frame was searched`()
        throws
    {
        let mask = try scratch.brightMask(Self.canvas, "\"onLostFace\": \"cover\", ")
        var pipeline = try pipeline([mask], landmarks: true)
        // So large that one frame's budget does not search all of it.
        var sample = try Sample(path: Fixtures.sample, width: 1920, height: 1080)
        var (seen, searched): ([Bool], [Bool]) = ([], [])
        for _ in 0..<90 {
            _ = try sample.withFrame { view, time in pipeline.process(view, at: time) }
            seen.append(pipeline.gate.reason == nil)
            searched.append(pipeline.tracker.hasSearchedAll)
        }
        #expect(!seen[0] && !searched[0])
        #expect(seen.contains(true) && zip(seen, searched).allSatisfy { !$0 || $1 })
    }

    @Test(.needsSample) func `a face that was hidden stays so when the picture is turned over`() throws {
        let mask = try scratch.brightMask(Self.canvas, "\"onLostFace\": \"cover\", ")
        var pipeline = try pipeline([mask], landmarks: true)
        pipeline.faces.max = 1
        var sample = try Sample(path: Fixtures.sample, width: 640, height: 360)
        var (seen, faces): ([Bool], [Int]) = ([], [])
        for number in 0..<240 {
            if number == 60 {
                var view = ViewTransform()
                view.rotation = .half
                pipeline.setView(view)
            }
            _ = try sample.withFrame { view, time in pipeline.process(view, at: time) }
            seen.append(pipeline.gate.reason == nil)
            faces.append(pipeline.tracker.faces.count)
        }
        let bare = seen.indices.dropFirst(60).filter { seen[$0] && faces[$0] == 0 }
        #expect(seen[59] && bare.isEmpty, "faces on their head are rarely found: \(bare)")
        let most = pipeline.tracker.settings.max
        #expect(most == Tracker.Settings.allowed.upperBound, "to hide faces, all are looked for")
    }

    @Test(.needsSample) func `after a cut no face is carried on into the new scene`() throws {
        let mask = try scratch.brightMask(Self.canvas, "\"onLostFace\": \"cover\", ")
        var pipeline = try pipeline([mask], landmarks: true)
        var sample = try Sample(path: Fixtures.sample, width: 640, height: 360)
        var last = FrameTime(number: 0, seconds: 0)
        for _ in 0..<60 {
            _ = try sample.withFrame { view, time in
                pipeline.process(view, at: time)
                last = time
            }
        }
        let (before, isSeen) = (pipeline.tracker.faces.count, pipeline.gate.reason == nil)
        try #require(before == 1 && isSeen)
        let other = halves(sample.layout)
        pipeline.process(other.view, at: FrameTime(number: 60, seconds: last.seconds + 1 / 30.0))
        let (after, isSeenStill) = (pipeline.tracker.faces.count, pipeline.gate.reason == nil)
        #expect(after == 0 && !isSeenStill)
    }

    // MARK: - The monitor

    @Test func `the monitor is shown the picture without masks, while it has viewers`() throws {
        let mask = try scratch.brightMask(Self.canvas)
        var pipeline = try pipeline([mask])
        let monitor = FakeMonitor()
        pipeline.monitor = monitor
        let frame = flat(60)
        pipeline.process(frame.view, at: moment(0))
        #expect(monitor.unmasked.isEmpty)
        monitor.setViewers(true)
        pipeline.process(frame.view, at: moment(1))
        let masked = luma(pipeline.gate.canvas.frame, 32, 24)
        #expect(masked == 115 && monitor.unmasked == [60])
    }
}
