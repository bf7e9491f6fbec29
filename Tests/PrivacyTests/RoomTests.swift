import Compose
import Frames
import Foundation
import Outline
import TestSupport
import Testing

@testable import Privacy
@testable import Track

/// Masks that hide the room, from the mask's file to the gate.
@Suite struct RoomTests {
    private static let layout = FrameLayout(width: 640, height: 360, format: .yuyv)

    private func tracker() throws -> Tracker {
        let catalog = try CascadeCatalog(folder: Fixtures.inPackage("Cascades"))
        return Tracker(
            try FaceDetector(catalog: catalog, landmarks: "/nonexistent.dat", cache: "\(Fixtures.cache)/guise"))
    }

    /// The layers of a mask's description.
    private static func layers(_ text: String) -> String { "\"layers\": [\(text)]" }

    private func mask(_ text: String, _ outline: OutlineFile?, in scratch: ScratchFolder) throws -> Mask {
        try scratch.makeFolder("room")
        _ = try scratch.write("{\"version\": 1, \(text)}", "room/mask.json")
        _ = try scratch.write(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><path fill='#405060' d='M0 0h8v8H0z'/></svg>",
            "room/wall.svg")
        var target = ArtTarget(Self.layout)
        target.outline = outline
        return try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)
    }

    /// A person with the room's pattern on, so that it can be seen whether anything is left.
    private struct Person {
        let (x, y, side): (Int, Int, Int)
        /// Whether the person's clothes have the pattern too; else they are plain.
        var isPatterned = false

        var columns: Range<Int> { x..<x + side }
        var rows: Range<Int> { y..<y + side }
    }

    /// Two rows of fields of 4 x 4 pixels in two brightnesses, the second shifted by a field; `chroma` in between.
    private static func fields(_ one: UInt8, _ other: UInt8, chroma: (UInt8, UInt8)) -> [[UInt8]] {
        [0, 1].map { shift in
            var row: [UInt8] = []
            for x in 0..<layout.width {
                row.append((x / 4 + shift) % 2 == 0 ? one : other)
                row.append(x % 2 == 0 ? chroma.0 : chroma.1)
            }
            return row
        }
    }
    private static let room = fields(190, 60, chroma: (128, 128))
    private static let (plain, patterned) = (
        fields(81, 81, chroma: (90, 240)), fields(66, 98, chroma: (90, 240))
    )

    /// Fills a frame with the room's fields, and red people.
    private func fill(_ frame: inout Frame, _ people: [Person] = []) {
        let (height, stride) = (frame.layout.height, frame.layout.planes[0].stride)
        var bytes = frame.mutableBytes
        for y in 0..<height {
            var painted = [(Self.room, 0..<Self.layout.width)]
            for person in people where person.rows.contains(y) {
                painted.append((person.isPatterned ? Self.patterned : Self.plain, person.columns))
            }
            for (fields, columns) in painted {
                let row = fields[y / 4 % 2]
                for at in 2 * columns.lowerBound..<2 * columns.upperBound { bytes[y * stride + at] = row[at] }
            }
        }
    }

    /// Whether the pattern is seen anywhere but at the edges of people, in every other row: fields are 4 rows high.
    private func shows(_ frame: borrowing Frame, outside people: [Person] = []) -> Bool {
        let luma = frame.view.luma
        for y in Swift.stride(from: 0, to: luma.height, by: 2) {
            let skipped = people.filter { $0.y - 32 <= y && y < $0.y + $0.side + 32 }
                .map { $0.x - 32..<$0.x + $0.side + 32 }
            let row = luma.samples.extracting(y * luma.rowStride..<y * luma.rowStride + 2 * luma.width)
            for x in 0..<luma.width - 4
            where abs(Int(row[2 * x]) - Int(row[2 * x + 8])) > 25 && !skipped.contains(where: { $0.contains(x) }) {
                return true
            }
        }
        return false
    }

    /// The largest difference of neighbouring fields inside a person, in samples.
    private func contrast(_ frame: borrowing Frame, in person: Person) -> Int {
        let luma = frame.view.luma
        var most = 0
        for y in person.y + 12..<person.y + person.side - 12 {
            for x in person.x + 12..<person.x + person.side - 16 {
                let at = y * luma.rowStride + x * luma.pixelStride
                most = max(most, abs(Int(luma.samples[at]) - Int(luma.samples[at + 8])))
            }
        }
        return most
    }

    /// Layers that hide the room, each with what might show it again.
    private static let hiding = [
        #"{"kind": "background", "mode": "blur", "opacity": 0.2}"#,
        #"{"kind": "background", "mode": "blur", "people": "largest"}"#,
        #"{"kind": "background", "mode": "picture", "art": "wall.svg"}"#,
        #"{"kind": "background", "mode": "picture", "pictures": {"wall": "wall.svg"}, "people": "largest"}"#,
        ##"{"kind": "background", "mode": "color", "to": {"name": "bottom", "color": "#203040"}}"##,
        #"{"kind": "background", "mode": "blur"}, {"kind": "frame", "art": "wall.svg", "opacity": 0.5, "behind": true}"#,
        #"{"kind": "effect", "mode": "grey", "behind": true}, {"kind": "background", "mode": "color"}"#,
    ]

    /// A compositor of a mask, with the model of people who are red.
    private func compositor(_ text: String, in scratch: ScratchFolder) throws -> Compositor {
        let path = try scratch.write(Data(ModelFile.redPeople), "red.tflite")
        return Compositor(masks: [try mask(text, OutlineFile(path: path), in: scratch)])
    }

    @Test(arguments: hiding, [false, true])
    func `a background mask hides the room in each frame, with a model and without`(
        layers: String, isMissing: Bool
    ) throws {
        let scratch = try ScratchFolder()
        let path = isMissing ? "/nonexistent.tflite" : try scratch.write(Data(ModelFile.redPeople), "red.tflite")
        let mask = try mask(Self.layers(layers), OutlineFile(path: path), in: scratch)
        #expect(mask.warnings.count == (isMissing ? 1 : 0))
        #expect(mask.warnings.allSatisfy { $0.contains("./setup outline") })
        var compositor = Compositor(masks: [mask])
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        let promises = compositor.hidden.contains(.room)
        #expect(promises)
        for number in 0..<12 {
            if number == 6 { gate.reset() }
            let person = Person(x: 120 + 8 * number, y: 120, side: 120)
            fill(&gate.canvas.frame, [person])
            compositor.compose(&gate.canvas, [], placement: .identity, at: Double(number) / 30)
            gate.check(
                tracker, hides: compositor.hidden, .video, placement: .identity, at: 0)
            let (reason, isExposed) = (gate.reason, shows(gate.canvas.frame, outside: isMissing ? [] : [person]))
            #expect(reason == nil && !isExposed, "frame \(number)")
            let luma = gate.canvas.frame.view.luma.samples[2 * (180 * 640 + person.x + 60)]
            #expect(isMissing || luma == 81, "frame \(number) shows the person")
        }
        tracker.restart()
    }

    @Test func `a weaker blur brings back nothing that a background before it has hidden`() throws {
        let scratch = try ScratchFolder()
        func drawn(_ backgrounds: String) throws -> [UInt8] {
            var compositor = try compositor(Self.layers(backgrounds), in: scratch)
            var canvas = Canvas(Self.layout)
            fill(&canvas.frame, [Person(x: 120, y: 120, side: 120)])
            compositor.compose(&canvas, [], placement: .identity, at: 0)
            let bytes = canvas.frame.bytes
            return bytes.indices.map { bytes[$0] }
        }
        let color = #"{"kind": "background", "mode": "color"}"#
        let (weak, strong) = (
            #"{"kind": "background", "mode": "blur", "strength": 0}"#,
            #"{"kind": "background", "mode": "blur", "strength": 1}"#
        )
        #expect(try drawn("\(color), \(weak)") == drawn(color))
        #expect(try drawn("\(strong), \(weak)") == drawn(strong))
    }

    @Test(arguments: [
        #"{"kind": "background", "mode": "color"}"#, #"{"kind": "background", "mode": "blur", "strength": 1}"#,
    ])
    func `a weaker blur for the largest person brings back no room, and hides the others as the stronger does`(
        stronger: String
    ) throws {
        let scratch = try ScratchFolder()
        let people = [Person(x: 200, y: 120, side: 160), Person(x: 460, y: 160, side: 90)]
        func drawn(_ backgrounds: String) throws -> (bytes: [UInt8], areBystandersHidden: Bool) {
            var compositor = try compositor(Self.layers(backgrounds), in: scratch)
            var canvas = Canvas(Self.layout)
            fill(&canvas.frame, people)
            compositor.compose(&canvas, [], placement: .identity, at: 0)
            let bytes = canvas.frame.bytes
            return (bytes.indices.map { bytes[$0] }, canvas.areBystandersHidden)
        }
        let weak = #"{"kind": "background", "mode": "blur", "strength": 0, "people": "largest"}"#
        let both = try drawn("\(stronger), \(weak)")
        let alone = try drawn(stronger.replacing("}", with: #", "people": "largest"}"#))
        #expect(both == alone && both.areBystandersHidden)
    }

    @Test(arguments: [
        (layers(#"{"kind": "background", "mode": "color", "people": "largest"}"#), false),
        (layers(#"{"kind": "background", "mode": "color"}"#), true),
        (#""bystanders": true"#, false),
        (#""bystanders": true, "# + layers(#"{"kind": "background", "mode": "dim"}"#), false),
    ])
    func `people beyond the largest are hidden where that is asked for`(text: String, isShown: Bool) throws {
        let scratch = try ScratchFolder()
        var compositor = try compositor(text, in: scratch)
        var canvas = Canvas(Self.layout)
        for number in 0..<20 {
            let large = Person(x: 60 + 2 * number, y: 120, side: 200, isPatterned: true)
            let small = Person(x: 480 - 2 * number, y: 40, side: 100, isPatterned: true)
            fill(&canvas.frame, [large, small])
            compositor.compose(&canvas, [], placement: .identity, at: Double(number) / 30)
            let seen = (contrast(canvas.frame, in: large), contrast(canvas.frame, in: small))
            #expect(seen.0 == 32 && (seen.1 > 25) == isShown && (isShown || seen.1 < 8), "frame \(number): \(seen)")
        }
    }

    /// A face in the middle of a person, a fraction of the height from the top.
    private func face(_ id: Int, of person: Person, down: Float = 0.25, scale: Float) -> Face {
        let place = Point(Float(person.x + person.side / 2), Float(person.y) + down * Float(person.side))
        let head = HeadPlacement(x: [scale, 0, 0], y: [0, scale, 0], origin: place)
        var face = Face.mean
        (face.id, face.state, face.head, face.landmarks) = (id, .tracked, head, head.landmarks)
        return face
    }

    /// Whether all of a person but the edge has the pattern's two brightnesses.
    private func isWhole(_ frame: borrowing Frame, _ person: Person) -> Bool {
        let luma = frame.view.luma
        for y in person.y + 24..<person.y + person.side - 24 {
            for x in person.x + 24..<person.x + person.side - 24 {
                let sample = Int(luma.samples[y * luma.rowStride + x * luma.pixelStride])
                if min(abs(sample - 66), abs(sample - 98)) > 3 { return false }
            }
        }
        return true
    }

    /// After a short time the face has its number again, after a longer one another.
    @Test(
        arguments: [
            layers(#"{"kind": "background", "mode": "color", "people": "largest"}"#), #""bystanders": true"#,
        ], [1, 3])
    func `somebody who turned away is the main person before and after, beside another of similar size`(
        text: String, later: Int
    ) throws {
        let scratch = try ScratchFolder()
        var compositor = try compositor(text, in: scratch)
        var canvas = Canvas(Self.layout)
        for number in 0..<30 {
            let main = Person(x: 40 + 3 * number, y: 120, side: 200, isPatterned: true)
            let other = Person(x: 520 - 2 * number, y: 40, side: 100, isPatterned: true)
            var faces = [face(2, of: other, scale: 36)]
            if !(5..<10).contains(number) { faces.append(face(number < 5 ? 1 : later, of: main, scale: 40)) }
            fill(&canvas.frame, [main, other])
            compositor.compose(&canvas, faces, placement: .identity, at: Double(number) / 30)
            let (isShown, seen) = (isWhole(canvas.frame, main), contrast(canvas.frame, in: other))
            #expect(isShown && seen < 8, "frame \(number): \(isShown), \(seen)")
        }
    }

    @Test(
        arguments: [
            layers(#"{"kind": "background", "mode": "color", "people": "largest"}"#), #""bystanders": true"#,
        ])
    func `a cat is nobody, even if its face is the largest`(text: String) throws {
        let scratch = try ScratchFolder()
        var compositor = try compositor(text, in: scratch)
        var canvas = Canvas(Self.layout)
        let main = Person(x: 100, y: 120, side: 200, isPatterned: true)
        let other = Person(x: 480, y: 40, side: 100, isPatterned: true)
        var cat = face(2, of: main, down: 0.8, scale: 60)
        cat.kind = .cat
        for number in 0..<10 {
            fill(&canvas.frame, [main, other])
            // It comes later, and stays while the person's face is lost.
            let faces: [Face] = (number < 7 ? [face(1, of: main, scale: 40)] : []) + (number > 2 ? [cat] : [])
            compositor.compose(&canvas, faces, placement: .identity, at: Double(number) / 30)
            let (isShown, seen) = (isWhole(canvas.frame, main), contrast(canvas.frame, in: other))
            #expect(isShown && seen < 8, "frame \(number): \(isShown), \(seen)")
        }
    }

    @Test func `without the outline, bystanders are not recognisable either`() throws {
        let mask = try mask(#""bystanders": true"#, OutlineFile(path: "/nonexistent.tflite"), in: try ScratchFolder())
        #expect(mask.warnings.count == 1)
        var compositor = Compositor(masks: [mask])
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        fill(&gate.canvas.frame)
        gate.check(tracker, hides: .bystanders, .video, placement: .identity, at: 0)
        let before = gate.reason
        #expect(before == .bystanderMayBeVisible)
        compositor.compose(&gate.canvas, [], placement: .identity, at: 0)
        gate.check(
            tracker, hides: compositor.hidden, .video, placement: .identity,
            at: 0)
        let (reason, isExposed) = (gate.reason, shows(gate.canvas.frame))
        #expect(reason == nil && !isExposed)
        tracker.restart()
    }

    @Test func `a picture of the user's that is missing or damaged is replaced by the mask's own`() throws {
        let scratch = try ScratchFolder()
        let layer = #"{"kind": "background", "mode": "picture", "pictures": {"wall": "wall.svg"}}"#
        _ = try mask(Self.layers(layer), nil, in: scratch)
        _ = try scratch.write("no picture", "own/broken.jpg")
        try scratch.make("own/blue.jpg", "-f lavfi -i color=0x2040c0:s=320x180 -frames:v 1")
        func chroma(_ choice: String) throws -> (warnings: [String], blue: UInt8) {
            var target = ArtTarget(Self.layout)
            (target.ownPictures, target.choices["picture"]) = (scratch.path("own"), choice)
            let mask = try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)
            var compositor = Compositor(masks: [mask])
            var canvas = Canvas(Self.layout)
            fill(&canvas.frame)
            compositor.compose(&canvas, [], placement: .identity, at: 0)
            let isExposed = shows(canvas.frame)
            #expect(compositor.hidden.contains(.room) && !isExposed, "\(choice)")
            return (mask.warnings, canvas.frame.bytes[180 * 1280 + 601])
        }
        let (wall, own) = (try chroma("wall"), try chroma("blue.jpg"))
        #expect(wall.warnings == [] && own.warnings == [] && own.blue > wall.blue + 30, "\(wall), \(own)")
        for choice in ["gone.jpg", "broken.jpg", "../room/wall.svg", "/etc/passwd", ""] {
            let seen = try chroma(choice)
            #expect(seen.warnings.count == 1 && seen.blue == wall.blue, "\(choice): \(seen)")
        }
    }

    @Test func `a clip of the user's hides the room in each frame, also where its pictures are damaged`() throws {
        let scratch = try ScratchFolder()
        let path = try scratch.write(Data(ModelFile.redPeople), "red.tflite")
        let layer = #"{"kind": "background", "mode": "picture", "pictures": {"wall": "wall.svg"}}"#
        _ = try mask(Self.layers(layer), nil, in: scratch)
        let whole = try Films.plain([40, 60, 80, 100, 120, 140])
        // The first ones, so that there is nothing to show before the third.
        let damaged = [0, 1, 4].reduce(whole) { Films.damaging($1, of: $0) }
        _ = try scratch.write(Data(damaged), "own/film.mjpeg")
        var target = ArtTarget(Self.layout)
        (target.ownPictures, target.choices["picture"]) = (scratch.path("own"), "film.mjpeg")
        target.outline = OutlineFile(path: path)
        var compositor = Compositor(masks: [try MaskLibrary(searchPaths: [scratch.url.path]).load("room", for: target)])
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        var levels: Set<UInt8> = []
        for number in 0..<24 {
            let person = Person(x: 120 + 8 * number, y: 120, side: 120)
            fill(&gate.canvas.frame, [person])
            compositor.compose(&gate.canvas, [], placement: .identity, at: Double(number) / 30 + 0.001)
            gate.check(
                tracker, hides: compositor.hidden, .video, placement: .identity, at: 0)
            let (reason, isExposed) = (gate.reason, shows(gate.canvas.frame, outside: [person]))
            #expect(reason == nil && !isExposed, "frame \(number)")
            let luma = gate.canvas.frame.view.luma.samples
            let isKept = luma[2 * (180 * 640 + person.x + 60)] == 81
            #expect(isKept, "frame \(number) shows the person")
            levels.insert(luma[2 * (20 * 640 + 20)])
        }
        // Plain at first, then the three whole pictures.
        #expect(levels.count == 4, "\(levels)")
        tracker.restart()
    }

    @Test func `without the background a frame is withheld`() throws {
        var gate = PrivacyGate(Self.layout)
        var tracker = try tracker()
        gate.check(tracker, hides: .room, .video, placement: .identity, at: 0)
        let first = gate.reason
        #expect(first == .roomMayBeVisible)
        let scratch = try ScratchFolder()
        var compositor = Compositor(masks: [
            try mask(Self.layers(#"{"kind": "background", "mode": "color"}"#), nil, in: scratch)
        ])
        compositor.compose(&gate.canvas, [], placement: .identity, at: 0)
        gate.check(tracker, hides: .room, .video, placement: .identity, at: 0)
        let covered = gate.reason
        #expect(covered == nil)
        // The masks are taken off, but the promise stays for one frame.
        _ = compositor.replaceMasks(with: [])
        compositor.compose(&gate.canvas, [], placement: .identity, at: 0.1)
        gate.check(tracker, hides: .room, .video, placement: .identity, at: 0.1)
        let last = gate.reason
        #expect(last == .roomMayBeVisible)
        tracker.restart()
    }

    @Test(arguments: [
        (#"{"kind": "background", "mode": "dim"}"#, false),
        (#"{"kind": "background", "mode": "blur", "when": "smile"}"#, false),
        (#"{"kind": "background", "mode": "color"}"#, true),
    ])
    func `dimming, and what is not always drawn, promises nothing`(text: String, promises: Bool) throws {
        let compositor = Compositor(masks: [try mask(Self.layers(text), nil, in: try ScratchFolder())])
        let hides = compositor.hidden.contains(.room)
        #expect(hides == promises)
    }
}
