import Frames
import Testing
import Track

@testable import Compose

/// Frames, a few per second. If not said otherwise they have 320 x 180 pixels, and covered places are recognised by the
/// grid's cells, 10 pixels wide.
@Suite struct FaceCoverTests {
    /// One frame, and its expected result.
    struct Step: Sendable {
        let time: Double
        let faces: [Face]
        /// Heads of candidates.
        var candidateHeads: [Rect] = []
        /// Ids of refuted faces.
        var refuted: [Int] = []
        /// Whether the tracker has searched everywhere once.
        var hasSearchedAll = true
        /// The bright parts of the frame; the rest is grey.
        var light: PixelRect?
        let mayBeSeen: Bool
        /// Places that must be covered. If there are none, no pixel may change.
        var covered: [[Point]] = []
        /// Places that must not be covered.
        var bare: [[Point]] = []
    }

    struct Story: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [Step]
        var testDescription: String { name }
    }

    /// A mean head, 2.72 times as wide as the distance between the eyes and 4.12 times as high: 54 and 82 pixels.
    private static func person(
        _ id: Int, at place: Point, _ state: Face.State = .tracked, scale: Float = 20
    ) -> Face {
        let head = HeadPlacement(x: [scale, 0, 0], y: [0, scale, 0], origin: place)
        var face = Face.mean
        (face.id, face.state, face.head, face.landmarks) = (id, state, head, head.landmarks)
        face.box = Rect(x: place.x - scale, y: place.y - scale / 2, width: 2 * scale, height: 2.5 * scale)
        return face
    }

    private static let middle = Point(160, 90)
    private static let right = Point(270, 90)
    private static let edge = Point(5, 90)
    private static let ada = person(1, at: middle)
    private static let bob = person(2, at: right)
    private static let eve = person(3, at: edge)
    /// Somebody whose head overlaps Ada's.
    private static let neighbour = person(4, at: Point(186, 100))

    /// As many faces as can be tracked, other ones for each number, outside the picture.
    private static func outside(_ number: Int) -> [Face] {
        (1...Tracker.maxFaces).map {
            let id = 10 + number * Tracker.maxFaces + $0
            return person(id, at: Point(Float(id) * 100, 2000))
        }
    }

    /// The middle and the corners of the box around Ada's head.
    private static let head = [middle, Point(134, 50), Point(186, 50), Point(134, 130), Point(186, 130)]
    /// Half a head's width next to it, covered a second later, and places that are not covered then either.
    private static let beside = [Point(105, 90), Point(215, 90)]
    private static let beyond = [Point(85, 90), Point(235, 90)]

    /// A head that enters far from Ada.
    private static let visitor = PixelRect(x: 264, y: 24, width: 48, height: 48)
    private static let visit = [Point(288, 48), Point(270, 30), Point(305, 65)]
    /// Points around the visitor, and a face of 20 pixels.
    private static let door = Rect(x: 264, y: 24, width: 48, height: 48)
    private static let tiny = Rect(x: 30, y: 130, width: 20, height: 26)

    /// Something half as wide as a head, moving to the right.
    private static func strip(_ x: Int) -> PixelRect { PixelRect(x: x, y: 60, width: 40, height: 60) }

    /// A small face near the upper edge, moved from where it was found; its head is 27 pixels wide.
    private static func entering(_ x: Float, _ y: Float) -> [Face] {
        [person(7, at: Point(160 + x, 30 + y), scale: 10)]
    }
    /// What else moves then.
    private static func passing(_ number: Int) -> PixelRect {
        PixelRect(x: 20 + 40 * number, y: 120, width: 60, height: 50)
    }

    static let stories: [Story] = [
        Story(
            name: "a face that moves down from the upper edge ends the placeholder after a second",
            steps: [Step(time: 0, faces: [], light: passing(0), mayBeSeen: false)]
                + (1...10).map {
                    Step(
                        time: Double($0) / 8, faces: entering(0, 1.5 * Float($0)), light: passing($0 % 7),
                        mayBeSeen: $0 >= 9)
                }),
        Story(
            name: "a face that moves sideways or slowly ends the placeholder in its second frame",
            steps: [
                Step(time: 0, faces: [], light: passing(0), mayBeSeen: false),
                Step(time: 0.1, faces: entering(0, 0), light: passing(1), mayBeSeen: false),
                Step(time: 0.2, faces: entering(10, 0.5), light: passing(2), mayBeSeen: true),
                Step(time: 0.3, faces: entering(18, 6), light: passing(3), mayBeSeen: true),
            ]),
        Story(
            name: "a picture without faces is shown two seconds after the whole frame was searched",
            steps: [
                Step(time: 0, faces: [], hasSearchedAll: false, mayBeSeen: false),
                Step(time: 0.5, faces: [], hasSearchedAll: false, mayBeSeen: false),
                Step(time: 0.75, faces: [], mayBeSeen: false),
                Step(time: 2.25, faces: [], mayBeSeen: false),
                Step(time: 2.5, faces: [], mayBeSeen: true),
                Step(time: 2.75, faces: [], hasSearchedAll: false, mayBeSeen: false),
                Step(time: 3, faces: [], mayBeSeen: false),
            ]),
        Story(
            name: "a single face lost inside the picture is waited for half a minute",
            steps: [Step(time: 0, faces: [ada], mayBeSeen: true)]
                + (1...15).map { Step(time: 2 * Double($0), faces: [], mayBeSeen: $0 == 1, covered: [head]) }
                + [
                    Step(time: 32, faces: [], mayBeSeen: false, covered: [head]),
                    Step(time: 33, faces: [], mayBeSeen: false),
                    Step(time: 34.25, faces: [], mayBeSeen: true),
                ]),
        Story(
            name: "a candidate is covered as long as it is one, and nothing else is",
            steps: [
                Step(
                    time: 0, faces: [ada], candidateHeads: [door], mayBeSeen: true, covered: [visit],
                    bare: [head, beside]),
                Step(time: 0.25, faces: [ada], candidateHeads: [door], mayBeSeen: true, covered: [visit], bare: [head]),
                Step(time: 0.5, faces: [ada], mayBeSeen: true),
                Step(
                    time: 0.75, faces: [ada], candidateHeads: [tiny], mayBeSeen: true, covered: [[tiny.center]],
                    bare: [visit, head]),
            ]),
        Story(
            name: "a candidate in an empty room is covered, and the room is shown",
            steps: [
                Step(time: 0, faces: [], mayBeSeen: false), Step(time: 1.75, faces: [], mayBeSeen: false),
                Step(time: 2.25, faces: [], candidateHeads: [door], mayBeSeen: true, covered: [visit], bare: [head]),
            ]),
        Story(
            name: "a refuted face is covered for a moment longer, and withholds no picture",
            steps: [
                Step(time: 0, faces: [ada, bob], mayBeSeen: true),
                Step(time: 0.25, faces: [bob], refuted: [1], mayBeSeen: true, covered: [head]),
                Step(time: 1.75, faces: [bob], mayBeSeen: true, covered: [head]),
                Step(time: 2, faces: [bob], mayBeSeen: true),
            ]),
        Story(
            name: "a place that a track leaves at once is covered for a moment longer",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [person(1, at: right)], mayBeSeen: true, covered: [head]),
                Step(time: 1.75, faces: [person(1, at: right)], mayBeSeen: true, covered: [head]),
                Step(time: 2, faces: [person(1, at: right)], mayBeSeen: true),
            ]),
        Story(
            name: "a head that moves by less than half its width leaves nothing behind",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [person(1, at: middle + Point(25, 0))], mayBeSeen: true),
            ]),
        Story(
            name: "nothing is shown before the whole frame was searched once",
            steps: [
                Step(time: 0, faces: [], hasSearchedAll: false, mayBeSeen: false),
                Step(time: 0.25, faces: [ada], hasSearchedAll: false, mayBeSeen: false),
                Step(time: 0.5, faces: [ada], mayBeSeen: true),
            ]),
        Story(
            name: "tracked and predicted faces are covered by masks only",
            steps: [
                Step(time: 0, faces: [ada, bob], mayBeSeen: true),
                Step(time: 0.25, faces: [person(1, at: middle, .predicted), bob], mayBeSeen: true),
                Step(time: 0.5, faces: [person(1, at: Point(60, 90)), bob], mayBeSeen: true),
            ]),
        Story(
            name: "a lost face's place is covered, wider and wider, and then nothing is shown until it is detected",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head], bare: [beside]),
                Step(time: 1.25, faces: [], mayBeSeen: true, covered: [head, beside], bare: [beyond]),
                Step(time: 1.75, faces: [], mayBeSeen: true, covered: [head, beside]),
                Step(time: 2, faces: [], mayBeSeen: false, covered: [head, beside]),
                Step(time: 4, faces: [], mayBeSeen: false, covered: [head, beside, beyond]),
                Step(time: 4.25, faces: [ada], mayBeSeen: true),
            ]),
        Story(
            name: "a face that comes back near its place is the same, whatever its id",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 0.5, faces: [person(7, at: Point(180, 100))], mayBeSeen: true),
            ]),
        Story(
            name: "a face that comes back elsewhere with its id is the same",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 0.5, faces: [person(1, at: Point(60, 90))], mayBeSeen: true),
            ]),
        Story(
            name: "with another face present the picture is shown, and a lost face's place is covered for ten seconds",
            steps: [
                Step(time: 0, faces: [ada, bob], mayBeSeen: true),
                Step(time: 0.25, faces: [bob], mayBeSeen: true, covered: [head], bare: [beside, [right]]),
                Step(time: 2.25, faces: [bob], mayBeSeen: true, covered: [head, beside]),
                Step(time: 4.25, faces: [bob], mayBeSeen: true, covered: [head]),
                Step(time: 6.25, faces: [bob], mayBeSeen: true, covered: [head]),
                Step(time: 8.25, faces: [bob], mayBeSeen: true, covered: [head]),
                Step(time: 10.25, faces: [bob], mayBeSeen: true, covered: [head]),
                Step(time: 10.5, faces: [bob], mayBeSeen: true),
            ]),
        Story(
            name: "another face elsewhere is not the lost one",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 0.5, faces: [bob], mayBeSeen: true, covered: [head], bare: [[right]]),
                Step(time: 0.75, faces: [ada, bob], mayBeSeen: true),
            ]),
        Story(
            name: "a neighbour who was there before is not the lost face",
            steps: [
                Step(time: 0, faces: [ada, neighbour], mayBeSeen: true),
                Step(time: 0.25, faces: [neighbour], mayBeSeen: true, covered: [head]),
                Step(time: 1, faces: [neighbour], mayBeSeen: true, covered: [head]),
            ]),
        Story(
            name: "a face that had two tracks is still covered by its mask when one of them ends",
            steps: [
                Step(time: 0, faces: [ada, person(5, at: Point(165, 92))], mayBeSeen: true),
                Step(time: 0.25, faces: [person(5, at: Point(165, 92))], mayBeSeen: true),
            ]),
        Story(
            name: "who passes in front of a face is not that face",
            steps: [
                Step(time: 0, faces: [ada, person(2, at: middle + Point(50, 0))], mayBeSeen: true),
                Step(
                    time: 0.25, faces: [person(1, at: middle, .predicted), person(2, at: middle + Point(25, 0))],
                    mayBeSeen: true),
                Step(time: 0.5, faces: [person(1, at: middle, .predicted), person(2, at: middle)], mayBeSeen: true),
                Step(time: 0.75, faces: [person(2, at: middle)], mayBeSeen: true, covered: [head]),
                Step(time: 1, faces: [person(2, at: middle - Point(25, 0))], mayBeSeen: true, covered: [head]),
                Step(time: 1.25, faces: [ada, person(2, at: middle - Point(50, 0))], mayBeSeen: true),
            ]),
        Story(
            name: "who is behind somebody else is covered until after that one moves",
            steps: [
                Step(time: 0, faces: [ada, person(2, at: middle + Point(25, 0))], mayBeSeen: true),
                Step(time: 0.25, faces: [person(2, at: middle)], mayBeSeen: true, covered: [head]),
            ]
                + (1...30).map {
                    Step(time: Double($0), faces: [person(2, at: middle)], mayBeSeen: true, covered: [head])
                }
                + [
                    Step(time: 30.25, faces: [person(2, at: middle - Point(25, 0))], mayBeSeen: true, covered: [head]),
                    Step(time: 30.5, faces: [person(2, at: middle - Point(50, 0))], mayBeSeen: true, covered: [head]),
                    Step(time: 30.75, faces: [person(2, at: middle - Point(75, 0))], mayBeSeen: true, covered: [head]),
                    Step(
                        time: 31, faces: [ada, person(2, at: middle - Point(75, 0))], mayBeSeen: true),
                ]),
        Story(
            name: "if more faces are lost than can be covered, nothing is shown for a moment",
            steps: [
                Step(time: 0, faces: outside(0), mayBeSeen: true),
                Step(time: 0.25, faces: outside(1), mayBeSeen: true),
                Step(time: 0.5, faces: outside(2), mayBeSeen: true),
                Step(time: 0.75, faces: [ada], mayBeSeen: false),
                Step(time: 2, faces: [ada], mayBeSeen: false),
                Step(time: 2.5, faces: [ada], mayBeSeen: true),
            ]),
        Story(
            name: "two lost faces are both covered, and the picture is shown when one is detected",
            steps: [
                Step(time: 0, faces: [ada, eve], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head, [edge]], bare: [[right]]),
                Step(time: 1.75, faces: [], mayBeSeen: true, covered: [head, [edge]]),
                Step(time: 2, faces: [], mayBeSeen: false, covered: [head], bare: [[edge]]),
                Step(time: 2.25, faces: [eve], mayBeSeen: true, covered: [head]),
                Step(time: 2.5, faces: [ada, eve], mayBeSeen: true),
            ]),
        Story(
            name: "a face that leaves over the edge while another stays is soon forgotten",
            steps: [
                Step(time: 0, faces: [eve, bob], mayBeSeen: true),
                Step(time: 0.25, faces: [bob], mayBeSeen: true, covered: [[edge]], bare: [[middle, right]]),
                Step(time: 1.75, faces: [bob], mayBeSeen: true, covered: [[edge]], bare: [[right]]),
                Step(time: 2, faces: [bob], mayBeSeen: true),
            ]),
        Story(
            name: "when a single face leaves over the edge, the empty room is shown after a while",
            steps: [
                Step(time: 0, faces: [eve], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [[edge]], bare: [[middle]]),
                Step(time: 1.75, faces: [], mayBeSeen: true, covered: [[edge]]),
                Step(time: 2, faces: [], mayBeSeen: false), Step(time: 3.5, faces: [], mayBeSeen: false),
                Step(time: 3.75, faces: [], mayBeSeen: true), Step(time: 4, faces: [eve], mayBeSeen: true),
            ]),
        Story(
            name: "motion far from a lost face's place is not covered",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 0.5, faces: [], light: visitor, mayBeSeen: true, covered: [head], bare: [visit]),
                Step(time: 0.75, faces: [ada], light: visitor, mayBeSeen: true),
            ]),
        Story(
            name: "motion away from a lost face's place is covered for a moment, wherever it goes",
            steps: [
                Step(time: 0, faces: [ada, eve], mayBeSeen: true),
                Step(time: 0.25, faces: [eve], light: strip(150), mayBeSeen: true, covered: [head]),
                Step(time: 0.5, faces: [eve], light: strip(170), mayBeSeen: true, covered: [head, [Point(205, 90)]]),
                Step(time: 0.75, faces: [eve], light: strip(190), mayBeSeen: true, covered: [head, [Point(225, 90)]]),
                Step(time: 1, faces: [eve], light: strip(210), mayBeSeen: true, covered: [head, [Point(245, 90)]]),
                Step(time: 1.25, faces: [ada, eve], light: strip(210), mayBeSeen: true, covered: [[Point(245, 90)]]),
                Step(time: 2, faces: [ada, eve], light: strip(210), mayBeSeen: true),
            ]),
        Story(
            name: "a face that moved on before it was missed is covered at once",
            steps: [
                Step(time: 0, faces: [ada, eve], mayBeSeen: true),
                Step(
                    time: 0.25, faces: [eve], light: PixelRect(x: 192, y: 60, width: 20, height: 60), mayBeSeen: true,
                    covered: [head, [Point(205, 90)]], bare: [beyond]),
            ]),
        Story(
            name: "what moves away from a predicted face is covered, until it is found again",
            steps: [
                Step(time: 0, faces: [ada, bob], mayBeSeen: true),
                Step(
                    time: 0.25, faces: [person(1, at: middle, .predicted), bob],
                    light: PixelRect(x: 160, y: 50, width: 54, height: 82), mayBeSeen: true,
                    covered: [[Point(190, 90), Point(205, 60), Point(205, 120)]], bare: [[Point(110, 90), right]]),
                Step(
                    time: 0.5, faces: [person(1, at: middle + Point(27, 0)), bob],
                    light: PixelRect(x: 160, y: 50, width: 54, height: 82), mayBeSeen: true),
            ]),
        Story(
            name: "a known face that moves is not a new one",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(
                    time: 0.25, faces: [ada], light: PixelRect(x: 138, y: 78, width: 42, height: 42), mayBeSeen: true),
            ]),
        Story(
            name: "who was alone before a gap may be anywhere, until somebody is found",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 2.5, faces: [], mayBeSeen: false, covered: [head]),
                Step(time: 2.75, faces: [bob], mayBeSeen: true),
            ]),
        Story(
            name: "of two people before a gap the one who is not found afterwards stays covered",
            steps: [
                Step(time: 0, faces: [ada, bob], mayBeSeen: true),
                Step(time: 3, faces: [person(8, at: right)], hasSearchedAll: false, mayBeSeen: false, covered: [head]),
                Step(
                    time: 3.25, faces: [person(8, at: right)], mayBeSeen: true, covered: [head], bare: [[right]]),
                Step(time: 5, faces: [person(8, at: right)], mayBeSeen: true, covered: [head], bare: [[right]]),
                Step(time: 5.25, faces: [person(8, at: right), person(9, at: middle)], mayBeSeen: true),
            ]),
        Story(
            name: "somebody who was there before a gap is waited for half a minute",
            steps: [
                Step(time: 0, faces: [eve], mayBeSeen: true),
                Step(time: 3, faces: [], hasSearchedAll: false, mayBeSeen: false, covered: [[edge]]),
            ] + (2...16).map { Step(time: 2 * Double($0), faces: [], mayBeSeen: false, covered: [[edge]]) }
                + [Step(time: 33.25, faces: [], mayBeSeen: false), Step(time: 34.25, faces: [], mayBeSeen: true)]),
        Story(
            name: "a gap of two seconds is ignored",
            steps: [
                Step(time: 0, faces: [ada], mayBeSeen: true),
                Step(time: 0.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 2.25, faces: [], mayBeSeen: false, covered: [head]),
            ]),
        Story(
            name: "when time goes back, that is a gap",
            steps: [
                Step(time: 5, faces: [ada], mayBeSeen: true),
                Step(time: 5.25, faces: [], mayBeSeen: true, covered: [head]),
                Step(time: 5, faces: [], mayBeSeen: false, covered: [head]),
                Step(time: 5.25, faces: [bob], mayBeSeen: true),
            ]),
    ]

    private struct Stage: ~Copyable {
        var cover = FaceCover()
        private var canvas: Canvas
        private let picture: Frame
        private let placement: Affine

        /// - Parameters:
        ///   - placement: from the searched frame to the canvas.
        ///   - samples: the picture.
        init(
            placement: Affine = .identity,
            _ samples: Samples = Samples(noise: FrameLayout(width: 320, height: 180, format: .gray))
        ) {
            canvas = Canvas(samples.layout)
            picture = samples.frame
            self.placement = placement
        }

        /// Processes a frame of that size.
        /// - Returns: whether it may be published.
        mutating func process(_ step: Step, width: Int = 320, height: Int = 180) -> Bool {
            var searched = Frame(FrameLayout(width: width, height: height, format: .gray))
            searched.fill(y: 100, u: 128, v: 128)
            if let light = step.light {
                var bytes = searched.mutableBytes
                for y in light.y..<light.y + light.height {
                    for x in light.x..<light.x + light.width { bytes[y * width + x] = 200 }
                }
            }
            convert(picture, into: &canvas.frame)
            cover.measureMotion(searched.view.luma, faces: step.faces)
            return cover.cover(
                &canvas, faces: step.faces, candidateHeads: step.candidateHeads, refuted: step.refuted,
                placement: placement,
                hasSearchedAll: step.hasSearchedAll, at: step.time)
        }

        /// The changed pixels of the mosaic's cell around a place, of 100.
        func changes(at place: Point) -> Int {
            let (left, top) = (Int(place.x) / 10 * 10, Int(place.y) / 10 * 10)
            return Self.changes(canvas.frame, picture, columns: left..<left + 10, rows: top..<top + 10)
        }

        /// The rows, or columns, in whose middle the level differs from the one before.
        func borders(_ range: Range<Int>, isDown: Bool) -> [Int] {
            let after = Samples(canvas.frame)
            let layout = after.layout
            func level(_ at: Int) -> Int {
                isDown ? after[layout.width / 2, at].x : after[at, layout.height / 2].x
            }
            return range.filter { level($0) != level($0 - 1) }
        }

        /// All changed pixels.
        var changes: Int { Self.changes(canvas.frame, picture, columns: 0..<320, rows: 0..<180) }

        private static func changes(
            _ frame: borrowing Frame, _ picture: borrowing Frame, columns: Range<Int>, rows: Range<Int>
        ) -> Int {
            let stride = frame.layout.planes[0].stride
            let now = frame.bytes
            let before = picture.bytes
            var count = 0
            for y in rows {
                for x in columns where now[y * stride + x] != before[y * stride + x] { count += 1 }
            }
            return count
        }
    }

    @Test(arguments: stories)
    func `frames are shown and covered according to their faces`(story: Story) {
        var stage = Stage()
        for (number, step) in story.steps.enumerated() {
            let mayBeSeen = stage.process(step)
            #expect(mayBeSeen == step.mayBeSeen, "frame \(number)")
            for place in step.covered.joined() {
                let changes = stage.changes(at: place)
                // Noise meets its mean by chance.
                #expect(changes > 80, "frame \(number) at \(place)")
            }
            for place in step.bare.joined() {
                let changes = stage.changes(at: place)
                #expect(changes == 0, "frame \(number) at \(place)")
            }
            let changes = stage.changes
            #expect(changes > 0 || step.covered.isEmpty, "frame \(number)")
            #expect(changes == 0 || !step.covered.isEmpty, "frame \(number)")
        }
    }

    /// A picture that becomes brighter from row to row, or from column to column: each cell has a level of its own.
    private static func ramp(_ size: FrameSize, isDown: Bool) -> Samples {
        var samples = Samples(noise: FrameLayout(width: size.width, height: size.height, format: .gray))
        for y in 0..<size.height {
            for x in 0..<size.width {
                let level = isDown ? y * 255 / size.height : x * 255 / size.width
                samples.bytes[samples.places(x, y).y] = UInt8(level)
            }
        }
        return samples
    }

    @Test(
        arguments: [FrameSize(width: 1280, height: 720), FrameSize(width: 720, height: 1280)],
        [0.2, 0.4, 0.6] as [Float])
    func `at most six cells lie along the head of a lost face or candidate, however large`(
        size: FrameSize, part: Float
    ) {
        let middle = Point(Float(size.width), Float(size.height)) / 2
        let face = Self.person(1, at: middle, scale: part * Float(size.height) / 4.12)
        let half = HeadOutline(face).halfSize
        let head = Rect(x: middle.x - half.x, y: middle.y - half.y, width: 2 * half.x, height: 2 * half.y)
        let stories = [
            [Step(time: 0, faces: [face], mayBeSeen: true), Step(time: 0.25, faces: [], mayBeSeen: true)],
            [Step(time: 0, faces: [], candidateHeads: [head], mayBeSeen: false)],
        ]
        for steps in stories {
            for isDown in [true, false] {
                var stage = Stage(Self.ramp(size, isDown: isDown))
                for step in steps { _ = stage.process(step, width: size.width, height: size.height) }
                let (center, reach) = isDown ? (size.height / 2, Int(half.y)) : (size.width / 2, Int(half.x))
                let borders = stage.borders(center - reach + 1..<center + reach, isDown: isDown)
                #expect((2...6).contains(borders.count), "\(borders)")
                // Whatever the head's size, the cells consist of whole smallest ones: of 44 pixels here.
                let side = borders.count > 1 ? borders[1] - borders[0] : 1
                let isOnGrid = borders.allSatisfy { $0 % side == 0 }
                #expect([44, 88, 176].contains(side) && isOnGrid, "\(borders)")
            }
        }
    }

    @Test func `what still moves when a large face is found again keeps its large cells`() {
        let size = FrameSize(width: 1280, height: 720)
        let face = Self.person(1, at: Point(640, 360), scale: 105)
        // Inside the head.
        let light = PixelRect(x: 540, y: 260, width: 200, height: 200)
        var stage = Stage(Self.ramp(size, isDown: true))
        for step in [
            Step(time: 0, faces: [face], mayBeSeen: true), Step(time: 0.25, faces: [], light: light, mayBeSeen: true),
            Step(time: 0.5, faces: [face], light: light, mayBeSeen: true),
        ] { _ = stage.process(step, width: size.width, height: size.height) }
        let borders = stage.borders(262..<458, isDown: true)
        #expect(borders == [264, 352, 440])
    }

    @Test func `a reset forgets lost faces`() {
        var stage = Stage()
        for step in [
            Step(time: 0, faces: [Self.ada], mayBeSeen: true), Step(time: 0.25, faces: [], mayBeSeen: true),
        ] { _ = stage.process(step) }
        let before = stage.changes
        #expect(before > 0)
        stage.cover.reset()
        let mayBeSeen = stage.process(Step(time: 0.5, faces: [], mayBeSeen: false))
        let after = stage.changes
        #expect(!mayBeSeen && after == 0)
        // It doesn't know a face from before the reset either.
        _ = stage.process(Step(time: 0.75, faces: [Self.ada], mayBeSeen: true))
        stage.cover.reset()
        let isSeen = stage.process(Step(time: 1, faces: [Self.bob], mayBeSeen: true))
        let changes = stage.changes
        #expect(isSeen && changes == 0)
    }

    @Test func `a source of another size resets the cover`() {
        var stage = Stage()
        _ = stage.process(Step(time: 0, faces: [Self.ada], mayBeSeen: true))
        _ = stage.process(Step(time: 0.25, faces: [], mayBeSeen: true))
        let before = stage.changes
        #expect(before > 0)
        let mayBeSeen = stage.process(Step(time: 0.5, faces: [], mayBeSeen: false), width: 160, height: 90)
        let after = stage.changes
        #expect(!mayBeSeen && after == 0)
    }

    @Test func `who is lost when the picture is turned stays covered, although others are found`() {
        // Each map, and where the middle and the points at the right are after it, in a picture of this size.
        let (width, height) = (320, 180)
        var (mirrored, turned) = (ViewTransform(), ViewTransform())
        (mirrored.isMirrored, turned.rotation) = (true, .quarter)
        for (view, ada, bob, size) in [
            (mirrored, Point(220, 90), Point(50, 90), (width, height)),
            (turned, Point(90, 100), Point(90, 270), (height, width)),
        ] {
            var stage = Stage(Samples(noise: FrameLayout(width: width, height: width, format: .gray)))
            let people = [Self.person(1, at: Point(100, 90)), Self.bob]
            _ = stage.process(Step(time: 0, faces: people, mayBeSeen: true))
            // One face is missing when the picture is turned, and the other one afterwards.
            _ = stage.process(Step(time: 0.25, faces: [people[1]], mayBeSeen: true))
            stage.cover.movePlaces(by: view.map(of: FrameSize(width: width, height: height)))
            for (time, faces, isAdaCovered) in [
                (0.5, [Self.person(7, at: bob)], true), (0.75, [Self.person(7, at: bob)], true),
                (1, [Self.person(7, at: bob), Self.person(8, at: ada)], false),
                (1.25, [Self.person(8, at: ada)], false),
            ] {
                let isSeen = stage.process(
                    Step(time: time, faces: faces, mayBeSeen: true), width: size.0, height: size.1)
                let (onAda, onBob) = (stage.changes(at: ada), stage.changes(at: bob))
                #expect(isSeen && (onAda > 80) == isAdaCovered, "\(view) at \(time): \(onAda)")
                #expect((onBob > 80) == (faces.count == 1 && !isAdaCovered), "\(view) at \(time): \(onBob)")
            }
        }
    }

    @Test func `covered places are mapped from the searched frame to the canvas`() {
        // Half as large, and next to its place.
        var stage = Stage(placement: Affine(a: 0.5, b: 0, c: 0, d: 0.5, tx: 100, ty: 20))
        _ = stage.process(Step(time: 0, faces: [Self.ada], mayBeSeen: true))
        _ = stage.process(Step(time: 0.25, faces: [], candidateHeads: [Self.door], mayBeSeen: true))
        // Ada's head, and a possible new face.
        for place in [Point(180, 65), Point(170, 50), Point(190, 80), Point(244, 44)] {
            let changes = stage.changes(at: place)
            #expect(changes > 80, "\(place)")
        }
        for place in [Point(160, 90), Point(215, 65), Point(145, 65), Point(288, 48)] {
            let changes = stage.changes(at: place)
            #expect(changes == 0, "\(place)")
        }
    }
}
