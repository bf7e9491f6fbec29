import CAllocations
import COutline
import Foundation
import Frames
import TestSupport
import Testing

@testable import Outline

/// A room with a fine pattern, and a red square for a person.
struct Stage {
    let layout: FrameLayout
    let side: Int
    /// The upper left corner of the person, pixels.
    var corner: (x: Int, y: Int)
    /// Whether the pattern's bright and dark fields are exchanged, as if the camera had been moved.
    var isShifted = false

    init(_ layout: FrameLayout, corner: (x: Int, y: Int) = (200, 120)) {
        self.layout = layout
        side = layout.height / 3
        self.corner = corner
    }

    func holds(_ x: Int, _ y: Int, margin: Int) -> Bool {
        x >= corner.x - margin && y >= corner.y - margin && x < corner.x + side + margin
            && y < corner.y + side + margin
    }

    /// Luma of the room's pattern: fields of 4 x 4 pixels.
    func room(_ x: Int, _ y: Int) -> UInt8 { (x / 4 + y / 4 + (isShifted ? 1 : 0)) % 2 == 0 ? 60 : 190 }

    var frame: Frame {
        var frame = Frame(layout)
        let (luma, chroma, shift) = (layout.luma, layout.chroma, layout.format.chromaShift)
        var bytes = frame.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let isRed = holds(x, y, margin: 0)
                bytes[luma.offset + y * luma.stride + x * luma.step] = isRed ? 81 : room(x, y)
                guard let (u, v) = chroma else { continue }
                let start = (y >> shift.y) * u.stride + (x >> shift.x) * u.step
                bytes[u.offset + start] = isRed ? 90 : 128
                bytes[v.offset + start] = isRed ? 240 : 128
            }
        }
        return frame
    }

    /// The part of the room's pixels, some pixels away from the person, at which the pattern can be seen.
    func exposed(_ frame: borrowing Frame, margin: Int = 30) -> Double {
        let site = layout.luma
        let bytes = frame.bytes
        func luma(_ x: Int, _ y: Int) -> Int {
            Int(bytes[site.offset + y * site.stride + x * site.step])
        }
        var (seen, all) = (0, 0)
        for y in stride(from: 1, to: layout.height, by: 3) {
            for x in stride(from: 1, to: layout.width - 4, by: 3) where !holds(x, y, margin: margin) {
                all += 1
                if abs(luma(x, y) - luma(x + 4, y)) > 25 { seen += 1 }
            }
        }
        return Double(seen) / Double(max(1, all))
    }

    /// The part of the person's pixels, some pixels inside, that is unchanged.
    func kept(_ frame: borrowing Frame, margin: Int = 16) -> Double {
        let luma = frame.view.luma
        var (same, all) = (0, 0)
        for y in corner.y + margin..<corner.y + side - margin {
            for x in corner.x + margin..<corner.x + side - margin {
                all += 1
                if luma.samples[y * luma.rowStride + x * luma.pixelStride] == 81 { same += 1 }
            }
        }
        return Double(same) / Double(max(1, all))
    }
}

@Suite struct OutlineTrackerTests {
    private let model: OutlineModel

    init() throws { model = try OutlineModel(TFLiteReader.graph(ModelFile.redPeople)) }

    private static let hiding: [Background] = [
        .blur(radius: 0.04), .gradient([70, 120, 140], [110, 140, 120]),
        .picture(
            BackgroundPicture(
                width: 640, height: 360, pixels: [UInt32](repeating: 0x80_80_50, count: 640 * 360).span)),
    ]

    @Test(arguments: [PixelFormat.yuyv, .uyvy, .i420, .i422, .i444, .nv12])
    func `people are kept and the room is hidden, in every format`(format: PixelFormat) {
        let stage = Stage(FrameLayout(width: 640, height: 360, format: format))
        for background in Self.hiding {
            var outline = OutlineTracker()
            var painter = BackgroundPainter()
            var frame = stage.frame
            let before = stage.exposed(frame)
            outline.update(frame, model, at: 0)
            let isFresh = outline.isFresh
            #expect(before > 0.9 && isFresh)
            painter.draw(background, behind: &outline, onto: &frame)
            let (exposed, kept) = (stage.exposed(frame), stage.kept(frame))
            #expect(exposed == 0 && kept == 1, "\(background)")
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .uyvy], [640, 642, 50])
    func `packed frames get the same background as planar ones`(format: PixelFormat, width: Int) throws {
        // Chroma varies too, and the last run of a row is no multiple of any vector.
        func drawn(_ format: PixelFormat, _ background: Background) -> Frame {
            let layout = FrameLayout(width: width, height: 90, format: format)
            var frame = Stage(layout, corner: (20, 30)).frame
            if let (u, v) = layout.chroma {
                var bytes = frame.mutableBytes
                for y in 0..<layout.height {
                    for x in 0..<layout.width / 2 where !(10..<25).contains(x) {
                        bytes[u.offset + y * u.stride + x * u.step] = UInt8(60 + x % 130)
                        bytes[v.offset + y * v.stride + x * v.step] = UInt8(70 + (x + y) % 120)
                    }
                }
            }
            var outline = OutlineTracker()
            var painter = BackgroundPainter()
            outline.update(frame, model, at: 0)
            painter.draw(background, behind: &outline, onto: &frame)
            return frame
        }
        for background in Self.hiding.prefix(2) {
            let packed = drawn(format, background)
            let planar = drawn(.i422, background)
            let layouts = [packed.layout, planar.layout]
            var different = 0
            for y in 0..<90 {
                for x in 0..<width {
                    let sites = try layouts.map { layout in
                        let (u, v) = try #require(layout.chroma)
                        let (luma, pair) = (layout.luma, x / 2)
                        return (
                            luma.offset + y * luma.stride + x * luma.step, u.offset + y * u.stride + pair * u.step,
                            v.offset + y * v.stride + pair * v.step
                        )
                    }
                    let (a, b) = (sites[0], sites[1])
                    for (i, j) in [(a.0, b.0), (a.1, b.1), (a.2, b.2)] where packed.bytes[i] != planar.bytes[j] {
                        different += 1
                    }
                }
            }
            #expect(different == 0, "\(background)")
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .uyvy, .i420, .i422, .i444, .nv12])
    func `a frame is laid behind people like a picture, and where nobody is, as it is`(format: PixelFormat) {
        let layout = FrameLayout(width: 642, height: 361, format: format)
        let stage = Stage(layout)
        var back = Frame(layout)
        back.fill(y: 80, u: 100, v: 150)
        let picture = BackgroundPicture(
            width: 642, height: 361, pixels: [UInt32](repeating: 0x96_64_50, count: 642 * 361).span)
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var frame = stage.frame
        var other = stage.frame
        outline.update(frame, model, at: 0)
        painter.draw(back, behind: &outline, onto: &frame)
        painter.draw(.picture(picture), behind: &outline, onto: &other)
        let (exposed, kept, isSame) = (stage.exposed(frame), stage.kept(frame), frame.bytes.hasSameBytes(other.bytes))
        #expect(exposed == 0 && kept == 1 && isSame)

        // With each sample different from its neighbours.
        var samples = back.mutableBytes
        for i in samples.indices { samples[i] = UInt8(truncatingIfNeeded: i * 7 + i / 642 * 3) }
        outline.reset()
        outline.update(frame, nil, at: 1)
        painter.draw(back, behind: &outline, onto: &frame)
        let isWhole = frame.bytes.hasSameBytes(back.bytes)
        #expect(isWhole)
    }

    @Test(arguments: [(1280, 720), (642, 361), (320, 240), (64, 48), (17, 9)])
    func `all sizes of frames work`(width: Int, height: Int) {
        let stage = Stage(FrameLayout(width: width, height: height, format: .yuyv), corner: (width / 4, height / 4))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var frame = stage.frame
        outline.update(frame, model, at: 0)
        painter.draw(.blur(radius: 0.05), behind: &outline, onto: &frame)
        // A frame smaller than the network's has no cells to tell the person by; it must only do no harm.
        if width > 300 { #expect(stage.exposed(frame, margin: height / 10) < 0.001) }
        painter.draw(.adjusted(gain: [0.3, 1, 1], offset: .zero), behind: &outline, onto: &frame)
        if width > 300 { #expect(stage.kept(frame) > 0.9, "the person stays") }
    }

    @Test(arguments: [(640, 360), (1280, 720), (501, 499), (320, 200)])
    func `a blurred edge of black and white has no white specks in the black, nor black ones in the white`(
        width: Int, height: Int
    ) {
        let layout = FrameLayout(width: width, height: height, format: .i420, range: .full)
        var frame = Frame(layout)
        frame.fill(y: 0, u: 128, v: 128)
        var bytes = frame.mutableBytes
        let site = layout.luma
        for y in height / 2..<height {
            for x in 0..<width { bytes[site.offset + y * site.stride + x * site.step] = 255 }
        }
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        // Without a model everything is blurred.
        outline.update(frame, nil, at: 0)
        painter.draw(.blur(radius: 0.04), behind: &outline, onto: &frame)
        let luma = frame.view.luma
        var worst = 0
        for x in stride(from: 0, to: width, by: 7) {
            for y in 1..<height {
                let (upper, lower) = (luma.samples[(y - 1) * luma.rowStride + x], luma.samples[y * luma.rowStride + x])
                worst = max(worst, Int(upper) - Int(lower))
            }
        }
        let isBlurred = (1..<254).contains(luma.samples[height / 2 * luma.rowStride])
        #expect(worst <= 1 && isBlurred, "\(worst) levels darker below than above")
    }

    @Test(arguments: [false, true])
    func `the room never shows, from the first frame on, when people move, and after cuts`(isMissing: Bool) {
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var exposed = 0
        for number in 0..<90 {
            stage.corner.x = 100 + (number * 3) % 240
            if number == 40 {
                (stage.corner, stage.isShifted) = ((360, 40), true)
                outline.reset()
            }
            var frame = stage.frame
            // The model comes late.
            outline.update(frame, isMissing && number < 60 ? nil : model, at: Double(number) / 30)
            painter.draw(.blur(radius: 0.04), behind: &outline, onto: &frame)
            if stage.exposed(frame) > 0 { exposed += 1 }
            let kept = stage.kept(frame)
            #expect(isMissing && number < 60 || kept == 1, "frame \(number)")
        }
        #expect(exposed == 0)
    }

    @Test func `dimming and greying change the room alone`() {
        let stage = Stage(FrameLayout(width: 640, height: 360, format: .i420))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var frame = stage.frame
        outline.update(frame, model, at: 0)
        painter.draw(.adjusted(gain: [0.5, 1, 1], offset: .zero), behind: &outline, onto: &frame)
        let luma = frame.view.luma
        let kept = stage.kept(frame)
        #expect(kept == 1)
        let levels: Set<UInt8> = [luma.samples[0], luma.samples[4]]
        #expect(levels == [38, 103])
    }

    @Test func `the network runs at most 16 times a second while nothing moves, and at most 31 times`() {
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        let still = stage.frame
        for number in 0..<60 { outline.update(still, model, at: Double(number) / 60) }
        let before = outline.runs
        #expect((14...16).contains(before))
        for number in 60..<120 {
            stage.corner.x = 100 + number * 37 % 200
            outline.update(stage.frame, model, at: Double(number) / 60)
        }
        let runs = outline.runs
        #expect((28...31).contains(runs - before))
        outline.update(stage.frame, model, at: 119 / 60)
        let again = outline.runs
        #expect(again == runs, "the same frame again")
    }

    @Test func `the network runs as often if the times of frames vary by some milliseconds`() {
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        for number in 0..<30 {
            stage.corner.x = 100 + number * 83 % 200
            outline.update(stage.frame, model, at: Double(number) / 30 + (number % 2 == 0 ? 0 : 0.004))
        }
        let runs = outline.runs
        #expect(runs == 30)
    }

    @Test func `while frames are late the network runs at most 8 times a second, and the room stays hidden`() {
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var (runs, exposed) = ([Int](), 0)
        for number in 0..<120 {
            outline.missesDeadline = number < 60
            stage.corner.x = 100 + number * 3
            var frame = stage.frame
            outline.update(frame, model, at: Double(number) / 30)
            painter.draw(.blur(radius: 0.04), behind: &outline, onto: &frame)
            if stage.exposed(frame) > 0 { exposed += 1 }
            runs.append(outline.runs)
        }
        #expect(exposed == 0)
        #expect((15...17).contains(runs[59]), "\(runs)")
        // The tracker waits a second after the last late frame.
        #expect(runs[119] - runs[89] > 12, "\(runs)")
    }

    @Test func `a mask does not flicker where nothing changed`() throws {
        // Everything from a grey on is a person, and the light flickers around it by one level.
        var file = ModelFile(height: 144, width: 256, channels: 3)
        var weights = [Float](repeating: 0, count: 27)
        weights[12] = 1
        file.convolve(weights, [0], size: 3, stride: 2)
        file.doubleUp([200, 200, 200, 200], -0.5 * 200)
        let model = try OutlineModel(TFLiteReader.graph(file.bytes))
        var outline = OutlineTracker()
        var frame = Frame(FrameLayout(width: 256, height: 144, format: .i420))
        var (mattes, generator) = ([Double](), SeededGenerator(9))
        for number in 0..<60 {
            frame.fill(y: UInt8(125 + generator.next() % 2), u: 128, v: 128)
            outline.update(frame, model, at: Double(number) / 15)
            mattes.append(Double(outline.wholeMatte()[100 * 256 + 100]))
        }
        let steps = zip(mattes.dropFirst(20), mattes.dropFirst(21)).map { abs($0 - $1) }.reduce(0, +) / 39
        #expect(mattes.contains { $0 > 20 && $0 < 235 }, "the test is of an edge")
        #expect(steps < 40)
    }

    @Test(arguments: [PixelFormat.yuyv, .i420])
    func `the camera's noise does not flicker in an edge`(format: PixelFormat) {
        // A person whose edge is a slope of luma, 24 pixels wide, so that noise shows in the matte.
        let layout = FrameLayout(width: 640, height: 360, format: format)
        let stage = Stage(layout)
        var outline = OutlineTracker()
        var (last, generator, changes, edges) = ([UInt8](), SeededGenerator(5), 0, 0)
        for number in 0..<40 {
            var frame = stage.frame
            var bytes = frame.mutableBytes
            for y in 0..<layout.height {
                for x in 0..<layout.width {
                    let outside = max(
                        stage.corner.x - x, x - stage.corner.x - stage.side, stage.corner.y - y,
                        y - stage.corner.y - stage.side, 0)
                    let luma = 80 + 4 * min(outside, 24) + Int(generator.next() % 7) - 3
                    bytes[layout.luma.offset + y * layout.luma.stride + x * layout.luma.step] = UInt8(luma)
                }
            }
            outline.update(frame, model, at: Double(number) / 30)
            let matte = outline.wholeMatte()
            if number >= 20 {
                for i in 0..<layout.width * layout.height where (20..<236).contains(matte[i]) {
                    edges += 1
                    changes += abs(Int(matte[i]) - Int(last[i]))
                }
            }
            last = matte
        }
        #expect(edges > 1000, "the test is of an edge")
        let mean = Double(changes) / Double(max(1, edges))
        #expect(mean < 4, "\(mean)")
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `a warm tracker and painter allocate nothing`() {
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        var counts: Set<UInt64> = []
        for number in 0..<12 {
            stage.corner.x = 100 + number * 7
            for background in Self.hiding {
                var frame = stage.frame
                let time = Double(number) / 30
                let before = callocations_count()
                outline.update(frame, model, at: time)
                painter.draw(background, behind: &outline, onto: &frame)
                if number > 1 { counts.insert(callocations_count() - before) }
            }
        }
        #expect(counts == [0])
    }
}

extension Span<UInt8> {
    fileprivate func hasSameBytes(_ other: Span<UInt8>) -> Bool {
        count == other.count && indices.allSatisfy { self[$0] == other[$0] }
    }
}
