import CAllocations
import Foundation
import Frames
import TestSupport
import Testing

@testable import Outline

/// Who is the main person, and what is drawn in front of people and behind them.
@Suite struct PersonTests {
    /// A mask of some rectangles of cells; everything else is none.
    private func mask(_ people: [(columns: Range<Int>, rows: Range<Int>)]) -> VectorBuffer<Float> {
        let mask = VectorBuffer<Float>(count: DownsampledFrame.count)
        for (columns, rows) in people {
            for row in rows { for column in columns { unsafe mask.base[row * DownsampledFrame.columns + column] = 1 } }
        }
        return mask
    }

    private func isKept(_ selector: borrowing PersonSelector, _ column: Int, _ row: Int) -> Bool {
        unsafe selector.kept.base[row * DownsampledFrame.columns + column] > 0.5
    }

    /// A head in cells.
    private func head(_ column: Float, _ row: Float, _ size: Float = 8, isMain: Bool = false) -> OutlineHead {
        OutlineHead(center: Point(column, row), size: size, isMain: isMain)
    }

    private let cell = Point(1, 1)

    @Test func `people who do not touch are distinguished, whoever is larger`() {
        var selector = PersonSelector()
        let mask = mask([(20..<80, 30..<144), (150..<190, 60..<144)])
        for (isLeft, heads) in [
            (true, [head(50, 50, isMain: true), head(170, 70)]), (false, [head(50, 50), head(170, 70, isMain: true)]),
        ] {
            selector.select(mask, heads, cell: cell)
            let (left, right) = (isKept(selector, 50, 100), isKept(selector, 170, 100))
            #expect(left == isLeft && right != isLeft)
        }
    }

    @Test func `people who touch are divided between their heads`() {
        var selector = PersonSelector()
        let mask = mask([(40..<120, 30..<144), (110..<200, 40..<144)])
        selector.select(mask, [head(80, 50, isMain: true), head(160, 60)], cell: cell)
        let (own, other, otherHead) = (isKept(selector, 70, 120), isKept(selector, 180, 120), isKept(selector, 160, 60))
        #expect(own && !other && !otherHead)
    }

    @Test func `without a head it is the one before, and at first the largest`() {
        var selector = PersonSelector()
        selector.select(mask([(20..<60, 60..<144), (100..<200, 30..<144)]), [], cell: cell)
        let first = (isKept(selector, 40, 100), isKept(selector, 150, 100))
        #expect(first == (false, true))
        // The other one comes nearer and is larger now.
        selector.select(mask([(0..<90, 10..<144), (120..<190, 50..<144)]), [], cell: cell)
        let second = (isKept(selector, 40, 100), isKept(selector, 150, 100))
        #expect(second == (false, true))
        // The head of the other one is seen, and is not the main one.
        selector.select(mask([(0..<190, 10..<144)]), [head(40, 40)], cell: cell)
        let third = (isKept(selector, 40, 50), isKept(selector, 170, 100))
        #expect(third == (false, true))
        selector.reset()
        selector.select(mask([]), [], cell: cell)
        let isKeeping = selector.isKeeping
        #expect(!isKeeping)
    }

    @Test func `a soft edge belongs to the person, but leads to nobody else`() {
        var selector = PersonSelector()
        let mask = mask([(20..<80, 30..<144), (86..<140, 60..<144)])
        for row in 60..<144 {
            for column in 80..<86 { unsafe mask.base[row * DownsampledFrame.columns + column] = 0.2 }
        }
        selector.select(mask, [head(50, 50, isMain: true)], cell: cell)
        let (edge, other) = unsafe (selector.kept.base[100 * DownsampledFrame.columns + 80], isKept(selector, 100, 100))
        #expect(edge == 0.2 && !other)
    }

    @Test(arguments: [PixelFormat.yuyv, .uyvy, .i420, .i422, .i444, .nv12])
    func `what is drawn behind people changes all but them, in every format`(format: PixelFormat) throws {
        let model = try OutlineModel(TFLiteReader.graph(ModelFile.redPeople))
        let stage = Stage(FrameLayout(width: 640, height: 360, format: format))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        let before = stage.frame
        var frame = Frame(stage.layout)
        outline.update(before, model, at: 0)
        frame.fill(y: 120, u: 100, v: 130)
        painter.restore(before, in: &outline, onto: &frame)
        let (exposed, kept) = (stage.exposed(frame), stage.kept(frame))
        #expect(exposed == 0 && kept == 1)
        var i444 = Frame(FrameLayout(width: 640, height: 360, format: .i444, range: stage.layout.range))
        convert(frame, into: &i444)
        let chroma = i444.bytes[640 * 360 * 2 + 180 * 640 + 260]
        #expect(chroma == 240, "the person's colour")
        // Without the outline of this frame, nothing comes back.
        outline.reset()
        frame.fill(y: 120, u: 100, v: 130)
        painter.restore(before, in: &outline, onto: &frame)
        let nobody = stage.kept(frame)
        #expect(nobody == 0)
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `selecting the main person and restoring people allocate nothing once warm`() throws {
        let model = try OutlineModel(TFLiteReader.graph(ModelFile.redPeople))
        var stage = Stage(FrameLayout(width: 640, height: 360, format: .yuyv))
        var outline = OutlineTracker()
        var painter = BackgroundPainter()
        let heads = [OutlineHead(center: Point(260, 180), size: 30, isMain: true)]
        var counts: Set<UInt64> = []
        for number in 0..<8 {
            stage.corner.x = 180 + number * 3
            let before = stage.frame
            var frame = stage.frame
            let count = callocations_count()
            for subject in [OutlineSubject.allButOthers, .mainPerson, .everybody] {
                outline.update(frame, model, showing: subject, heads: heads, at: Double(number) / 30)
                painter.restore(before, in: &outline, onto: &frame)
            }
            if number > 1 { counts.insert(callocations_count() - count) }
        }
        #expect(counts == [0])
    }
}
