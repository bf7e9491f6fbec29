import CAllocations
import Foundation
import Frames
import JSON
import Testing
import Track

@testable import Compose
@testable import SystemKit

/// A layer that records its draw calls.
private final class Diary: Layer, @unchecked Sendable {
    struct Entry {
        let id: Int
        let appearance: Appearance
        let light: FaceLight
    }
    var entries: [Entry] = []

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        entries.append(Entry(id: tracked.face.id, appearance: appearance, light: tracked.light))
    }

    var last: Appearance? { entries.last?.appearance }
    func take() -> [Entry] {
        defer { entries = [] }
        return entries
    }
}

/// A layer that draws and allocates nothing.
private struct Nothing: Layer {
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {}
}

private func style(_ text: String) throws -> LayerStyle {
    var fields = try Fields(try JSON(Array(text.utf8), file: "mask.json"), file: "mask.json")
    return try LayerStyle(&fields, ArtTarget(FrameLayout(width: 640, height: 360, format: .yuyv)))
}

private func mask(_ layers: [(String, any Layer)]) throws -> Mask {
    Mask(
        name: "test", title: "", author: "", licence: "", tags: [],
        layers: try layers.map { MaskLayer(style: try style($0.0), content: .face($0.1)) })
}

/// A mean head at a place of a 640x360 frame.
private func face(
    _ id: Int = 1, at place: Point = Point(320, 180), scale: Float = 50, roll: Float = 0,
    state: Face.State = .tracked
) -> Face {
    let (c, s) = (Frames.cos(radians(roll)) * scale, Frames.sin(radians(roll)) * scale)
    let head = HeadPlacement(x: [c, -s, 0], y: [s, c, 0], origin: place)
    var face = Face.mean
    (face.id, face.state, face.head, face.landmarks) = (id, state, head, head.landmarks)
    face.box = Rect(x: place.x - scale, y: place.y - scale * 0.5, width: 2 * scale, height: 2.5 * scale)
    return face
}

extension Face {
    /// A copy with some landmarks moved, in eye distances of an upright head.
    fileprivate func moving(_ points: [Int], by way: Point) -> Face {
        var face = self
        for i in points { face.landmarks[i] += way * head.scale }
        return face
    }
    fileprivate var openMouthed: Face { moving([65, 66, 67, 55, 56, 57, 58, 59], by: Point(0, 0.35)) }
    fileprivate var smiling: Face {
        moving([48, 60], by: Point(-0.12, -0.05)).moving([54, 64], by: Point(0.12, -0.05))
    }
    fileprivate func blinking(right: Bool, left: Bool) -> Face {
        var face = self
        if right { face = face.moving([37, 38], by: Point(0, 0.05)).moving([40, 41], by: Point(0, -0.05)) }
        if left { face = face.moving([43, 44], by: Point(0, 0.05)).moving([46, 47], by: Point(0, -0.05)) }
        return face
    }
    fileprivate var raised: Face { moving(Array(17...26), by: Point(0, -0.12)) }
}

private let layout = FrameLayout(width: 640, height: 360, format: .yuyv)

/// Frames of one compositor, 30 per second.
private struct Show: ~Copyable {
    var compositor: Compositor
    var canvas = Canvas(layout)
    var time = 0.0
    var interval = 1.0 / 30

    init(_ masks: [Mask], seed: UInt64 = 1) { compositor = Compositor(masks: masks, seed: seed) }

    mutating func run(_ faces: [Face], frames: Int = 1) {
        for _ in 0..<frames {
            compositor.compose(&canvas, faces, placement: .identity, at: time)
            time += interval
        }
    }
}

struct CompositorTests {
    private static let acts: [(String, Face)] = [
        ("mouth open", face().openMouthed), ("smile", face().smiling),
        ("blink right", face().blinking(right: true, left: false)),
        ("blink left", face().blinking(right: false, left: true)), ("blink", face().blinking(right: true, left: true)),
        ("brows up", face().raised), ("head tilted", face(roll: 24)), ("face near", face(scale: 100)),
        ("face lost", face(state: .predicted)),
    ]

    @Test func `animations go on when the source's clock begins again, as after its cable was pulled`() throws {
        let diary = Diary()
        var show = Show([try mask([("{}", diary)])])
        show.time = 1000
        show.run([face()], frames: 31)
        show.time = 0
        show.run([face()], frames: 31)
        let times = diary.take().map(\.appearance.time)
        let isOrdered = zip(times, times.dropFirst()).allSatisfy { $0 <= $1 }
        #expect(times.count == 62 && isOrdered, "\(times)")
        #expect(abs((times.last ?? 0) - 2000) < 1, "2 s of frames: \(times.last ?? 0) ms")
    }

    @Test(arguments: FacialExpression.allCases)
    func `a layer is shown while its face has the expression, and for no other face`(doing: FacialExpression) throws {
        let diary = Diary()
        var show = Show([try mask([("{\"when\": \"\(doing.rawValue)\"}", diary)])])
        show.run([face()], frames: 30)
        #expect(diary.take().isEmpty, "shown on a still face")
        for (name, face) in Self.acts {
            show.run([face], frames: 10)
            let entries = diary.take()
            // Both eyes make three blinks.
            let isMeant = name == doing.rawValue || name == "blink" && doing.rawValue.hasPrefix("blink")
            #expect((entries.last?.appearance.opacity == 1) == isMeant, "\(doing) while \(name)")
            if isMeant {
                let opacities = entries.map(\.appearance.opacity)
                #expect(opacities[0] > 0.3 && opacities[0] < 0.9, "fades in over some frames: \(opacities)")
            }
            show.run([Self.still], frames: 60)
            #expect((diary.take().last?.appearance.opacity ?? 0) < 0.7, "goes when it is over")
        }
    }

    private static var still: Face { face() }

    @Test func `masks shared out among people stay with each person, whoever comes and goes`() throws {
        let diaries = (0..<3).map { _ in Diary() }
        var masks = try diaries.map { try mask([("{}", $0)]) }
        for i in 0..<3 { masks[i].personSlot = PersonSlot(i, of: 3) }
        var compositor = Compositor(masks: masks, seed: 1)
        var canvas = Canvas(layout)
        func dress(_ faces: [Face], at time: Double) -> [[Int]] {
            compositor.compose(&canvas, faces, placement: .identity, at: time)
            return diaries.map { $0.take().map(\.id).sorted() }
        }
        let (ada, bob, cleo) = (face(1), face(2, at: Point(100, 180)), face(3, at: Point(540, 180)))
        #expect(dress([ada, bob, cleo], at: 0) == [[1], [2], [3]])
        // A person who stays keeps the mask; a fourth one gets the first one's again.
        #expect(dress([cleo, bob], at: 0.1) == [[], [2], [3]])
        #expect(dress([face(4), cleo, bob], at: 0.2) == [[4], [2], [3]])
    }

    @Test func `after the source's clock began again, people keep their masks beside many who were there before`()
        throws
    {
        let diaries = (0..<3).map { _ in Diary() }
        var masks = try diaries.map { try mask([("{}", $0)]) }
        for i in 0..<3 { masks[i].personSlot = PersonSlot(i, of: 3) }
        var show = Show(masks)
        show.time = 1000
        for id in 1...40 { show.run([face(id)]) }
        show.time = 0
        for diary in diaries { _ = diary.take() }
        show.run([face(41)])
        let before = diaries.map { $0.take().count }
        show.run([face(42)])
        for diary in diaries { _ = diary.take() }
        show.run([face(41)])
        let after = diaries.map { $0.take().count }
        #expect(before == after)
    }

    @Test func `a person's neutral face is no expression`() throws {
        let diary = Diary()
        var show = Show([try mask([(#"{"when": "blink"}"#, diary), (#"{"when": "smile"}"#, diary)])])
        // Narrow eyes, a wide mouth: an expression at first, after a while this person's neutral face.
        let person = face().blinking(right: true, left: true).smiling
        show.run([person], frames: 30)
        #expect(!diary.take().isEmpty)
        show.run([person], frames: 1800)
        _ = diary.take()
        show.run([person], frames: 30)
        #expect(diary.take().isEmpty)
    }

    @Test func `triggers do not flicker between on and off`() throws {
        let diary = Diary()
        var show = Show([try mask([(#"{"when": "head tilted"}"#, diary)])])
        for i in 0..<60 { show.run([face(roll: i % 2 == 0 ? 14 : 17)]) }
        #expect(diary.take().isEmpty)
        show.run([face(roll: 20)], frames: 10)
        _ = diary.take()
        for i in 0..<60 { show.run([face(roll: i % 2 == 0 ? 14 : 17)]) }
        #expect(diary.take().count { $0.appearance.opacity == 1 } == 60)
    }

    @Test func `an animation starts with what starts it, and stops with what stops it`() throws {
        let (starts, stops) = (Diary(), Diary())
        var show = Show([
            try mask([
                (#"{"when": {"is": "mouth open", "then": "start"}}"#, starts),
                (#"{"when": {"is": "mouth open", "then": "stop"}}"#, stops),
            ])
        ])
        show.run([face()], frames: 15)
        #expect(starts.last?.time == 0 && starts.last?.opacity == 1)
        #expect(abs((stops.last?.time ?? 0) - 467) < 1)
        show.run([face().openMouthed], frames: 4)
        #expect(abs((starts.last?.time ?? 0) - 100) < 1 && stops.last?.time == 0)
        show.run([face()], frames: 7)
        #expect(abs((starts.last?.time ?? 0) - 333) < 1 && abs((stops.last?.time ?? 0) - 200) < 1)
    }

    @Test func `the largest face keeps its layer until another is clearly larger`() throws {
        let diary = Diary()
        var show = Show([try mask([(#"{"on": "largest"}"#, diary)])])
        let places = [Point(160, 180), Point(480, 180)]
        for i in 0..<20 {
            show.run([face(1, at: places[0], scale: i % 2 == 0 ? 50 : 47), face(2, at: places[1], scale: 48)])
        }
        #expect(Set(diary.take().map(\.id)) == [1])
        show.run([face(1, at: places[0]), face(2, at: places[1], scale: 70)], frames: 10)
        #expect(diary.take().last?.id == 2)
    }

    @Test func `layers by order of arrival, at random, and shared out`() throws {
        let (second, half, first, other) = (Diary(), Diary(), Diary(), Diary())
        let worn = try mask([
            (#"{"on": {"nth": 2}}"#, second), (#"{"on": {"chance": 0.5}}"#, half),
            (#"{"on": {"draw": 1, "of": 2}}"#, first), (#"{"on": {"draw": 2, "of": 2}}"#, other),
        ])
        var (chosen, people) = (0, 0)
        for seed in 1...50 {
            var show = Show([worn], seed: UInt64(seed))
            show.run([face(7, at: Point(100, 180))])
            let faces = [
                face(9, at: Point(300, 180), scale: 40), face(7, at: Point(100, 180)), face(8, at: Point(500, 180)),
            ]
            for diary in [second, half, first, other] { _ = diary.take() }
            show.run(faces, frames: 5)
            // 9 is smaller than 8, so it is processed first.
            #expect(Set(second.take().map(\.id)) == [9])
            let (a, b, c) = (half.take(), first.take(), other.take())
            #expect(Set(b.map(\.id)).isDisjoint(with: Set(c.map(\.id))) && Set((b + c).map(\.id)) == [7, 8, 9])
            for id in 7...9 { #expect([0, 5].contains(a.count { $0.id == id }), "kept") }
            chosen += Set(a.map(\.id)).count
            people += 3
        }
        print("chance 0.5: \(chosen) of \(people) people")
        #expect((45...105).contains(chosen))
    }

    @Test(arguments: [10.0, 24, 30, 60, 144])
    func `dangling parts lag, overshoot and come to rest exactly, at any frame rate`(rate: Double) throws {
        let diary = Diary()
        var show = Show([
            try mask([(#"{"motion": {"swing": {"frequency": 1.5, "damping": 0.2, "limit": 30}}}"#, diary)])
        ])
        show.interval = 1 / rate
        let still = Int(rate)
        // At rest, with landmarks that jitter by half a pixel: exactly still.
        for i in 0..<2 * still {
            show.run([face(at: Point(200 + (i % 2 == 0 ? 0.2 : -0.2), 180), roll: i % 3 == 0 ? 0.3 : -0.2)])
        }
        #expect(diary.take().allSatisfy { $0.appearance.swing == .zero })
        // Half a second to the right at 6 eye distances per second, then a stop.
        for i in 0..<still / 2 { show.run([face(at: Point(200 + 300 * Float(i) / Float(rate), 180))]) }
        let moving = diary.take().map(\.appearance.swing.x)
        show.run([face(at: Point(350, 180))], frames: still)
        let after = diary.take().map(\.appearance.swing.x)
        print("\(rate) frames a second: lags \(moving.max() ?? 0), swings over to \(after.min() ?? 0) degrees")
        #expect((moving.max() ?? 0) > 4, "what hangs lags to the left, clockwise")
        #expect((after.min() ?? 0) < -2, "and swings on to the right when the head stops")
        #expect((moving + after).allSatisfy { abs($0) <= 30 })
        show.run([face(at: Point(350, 180))], frames: 6 * still)
        let rest = diary.take().suffix(still).map(\.appearance.swing)
        #expect(Set(rest).count == 1 && rest.first == .zero, "\(rest.last ?? .zero)")
    }

    @Test func `gravity pulls hanging parts, not standing ones`() throws {
        let (hangs, stands) = (Diary(), Diary())
        var show = Show([
            try mask([
                (#"{"motion": {"swing": {}}}"#, hangs), (#"{"motion": {"swing": {"stands": true}}}"#, stands),
            ])
        ])
        show.run([face()], frames: 30)
        show.run([face(roll: 20)], frames: 300)
        #expect(abs((hangs.last?.swing.x ?? 0) + 20) < 3, "\(hangs.last?.swing.x ?? 0)")
        #expect(stands.last?.swing == .zero)
    }

    @Test func `frames allocate nothing once warm, with people who come and go`() throws {
        let worn = try mask([
            (#"{"when": "smile", "motion": {"swing": {}}}"#, Nothing()), (#"{"on": "largest"}"#, Nothing()),
            (#"{"on": {"chance": 0.5}, "blend": "multiply"}"#, Nothing()),
        ])
        var show = Show([worn])
        let crowds = (0..<40).map { n in
            (0..<4).map { face(n / 5 * 4 + $0, at: Point(100 + 140 * Float($0), 180), roll: Float(n)) }
        }
        var bare = Show([])
        // The test's own code, which is not optimised, allocates too: as much as without a mask.
        func asked(_ show: inout Show) -> UInt64 {
            for crowd in crowds { show.run(crowd) }
            let before = callocations_count()
            for crowd in crowds { show.run(crowd) }
            return callocations_count() - before
        }
        let difference = Int64(asked(&show)) - Int64(asked(&bare))
        print("people who come and go: \(difference) calls for memory in 40 frames")
        #expect(difference == 0)
    }
}
