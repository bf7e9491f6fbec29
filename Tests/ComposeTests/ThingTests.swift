import CAllocations
import Foundation
import TestSupport
import Testing

@testable import Compose
@testable import Frames
@testable import JSON
@testable import Objects
@testable import SystemKit

private let card = DrawnThing(.card, 0)

/// The cut-outs of a thing's three pictures.
private func lessons(_ thing: DrawnThing, seed: Int = 1, count: Int = 3) -> [Cutout] {
    (0..<count).flatMap { ThingFinder.cutouts(of: DrawnPicture.lesson(thing, $0, seed: seed).frame().view) }
}

/// The library of taught things: what is kept, and what is refused.
@Suite struct ThingLibraryTests {
    private let scratch: ScratchFolder
    private let library: ThingLibrary

    init() throws {
        scratch = try ScratchFolder()
        library = ThingLibrary(folder: scratch.path("Things"))
    }

    /// Another library of the same folder, as after a restart.
    private var reloaded: ThingLibrary { ThingLibrary(folder: scratch.path("Things")) }

    private func problem(_ name: String, _ cutouts: [Cutout]) -> Problem? {
        do {
            _ = try library.teach(name, cutouts)
            return nil
        } catch { return error as? Problem }
    }

    @Test func `a thing that was taught is recognised after a restart, and more pictures are added`() throws {
        #expect(try library.teach("red card", lessons(card)) == 3)
        #expect(try library.teach("red card", lessons(card, seed: 2, count: 1)) == 4)
        #expect(reloaded.things.map(\.name) == ["red card"] && reloaded.things.map(\.pictures) == [4])
        let loaded = reloaded.load()
        #expect(loaded.warning == nil)
        let seen = try library.recognizer.describe(lessons(card, seed: 7, count: 1)[0])
        #expect(loaded.things.match(seen)?.thing == 0)
        let other = try library.recognizer.describe(lessons(DrawnThing(.card, 1), count: 1)[0])
        #expect(loaded.things.match(other) == nil)
    }

    @Test func `a name with accents is one name, however they are spelled`() throws {
        let (whole, parts) = ("caf\u{e9}", "cafe\u{301}")
        #expect(try library.teach(parts, lessons(card)) == 3)
        #expect(try library.teach(whole, lessons(card, seed: 2, count: 1)) == 4)
        #expect(library.things.map(\.pictures) == [4])
        let (found, folder) = (try library.folder(of: whole), scratch.path("Things"))
        #expect(found.utf8.elementsEqual("\(folder)/\(parts)".utf8))
    }

    @Test func `a name may begin with an accent`() throws {
        let name = "\u{301}x"
        #expect(try library.teach(name, lessons(card, count: 1)) == 1)
        #expect(reloaded.things.map(\.name) == [name])
    }

    @Test func `a thing has one name`() throws {
        _ = try library.teach("red", lessons(card))
        let refused = problem("crimson", lessons(card, seed: 3))
        #expect(refused?.kind == .exists && refused?.message.contains("'red'") == true)
        #expect(library.things.map(\.name) == ["red"])
    }

    @Test(
        arguments: [
            "", ".hidden", "a/b", "../x", "a\nb", "a\tb", "\u{1b}[31mred", "   ", "\u{200b}",
            String(repeating: "a", count: 33),
        ])
    func `a bad name is refused`(name: String) throws {
        #expect(problem(name, lessons(card, count: 1))?.kind == .invalid)
        #expect(library.things.isEmpty && !FileManager.default.fileExists(atPath: scratch.path("Things")))
    }

    @Test func `too many pictures and too many things are refused, and those before stay`() throws {
        let one = lessons(card, count: 1)[0]
        _ = try library.teach("card", Array(repeating: one, count: ThingLibrary.maxPictures))
        #expect(problem("card", [one])?.kind == .invalid)
        for number in 1..<ThingLibrary.maxThings {
            try FileManager.default.createDirectory(
                atPath: scratch.path("Things/thing \(number)"), withIntermediateDirectories: true)
        }
        let refused = problem("another", lessons(DrawnThing(.bean, 0), count: 1))
        #expect(refused?.kind == .invalid && refused?.fix.contains("guise forget") == true)
        #expect(library.things.first { $0.name == "card" }?.pictures == ThingLibrary.maxPictures)
        #expect(reloaded.load().warning == nil)
        // As copied from another computer.
        try FileManager.default.createDirectory(
            atPath: scratch.path("Things/zither"), withIntermediateDirectories: true)
        #expect(reloaded.load().warning?.contains("only the first 64 are recognised") == true)
    }

    @Test func `a damaged picture is reported, and the others are used`() throws {
        _ = try library.teach("card", lessons(card))
        try Data("no picture".utf8).write(to: scratch.url.appending(path: "Things/card/0.png"))
        let loaded = reloaded.load()
        #expect(loaded.warning?.contains("0.png is no picture of a taught thing; delete it") == true)
        #expect(loaded.things.things.first?.views.count == 3)
    }

    @Test func `what is not taught can't be forgotten, and similar names are proposed`() throws {
        _ = try library.teach("card", lessons(card, count: 1))
        #expect(try library.folder(of: "card") == scratch.path("Things/card"))
        let error = #expect(throws: Problem.self) { try library.folder(of: "crad") }
        #expect(error?.kind == .missing && error?.fix == "did you mean 'card'?")
    }
}

/// Layers that need taught things.
@Suite struct ObjectsLayerTests {
    private let scratch: ScratchFolder
    private let library: ThingLibrary
    private var picture = DrawnPicture()

    init() throws {
        scratch = try ScratchFolder()
        library = ThingLibrary(folder: scratch.path("Things"))
        _ = try library.teach("card", lessons(card))
        picture.things = [
            (card, DrawnPose(center: [400, 360], scale: 120, angle: 0.5)),
            (DrawnThing(.key, 0), DrawnPose(center: [950, 360], scale: 130, angle: 0.3)),
        ]
    }

    private func mask(_ json: String) throws -> Mask {
        var fields = try Fields(try JSON(Array(json.utf8), file: "mask.json"), file: "mask.json")
        var target = ArtTarget(picture.frame().layout)
        target.things = library
        let layer = try MaskLayer(&fields, folder: masksFolder, target: target)
        return Mask(name: "test", title: "", author: "", licence: "", tags: [], layers: [layer])
    }

    /// How many pixels of a part of the picture a mask changes.
    private func changes(_ mask: Mask, _ part: PixelRect, at time: Double = 0) -> Int {
        let before = Samples(picture.frame())
        var canvas = Canvas(before.layout)
        canvas.frame = before.frame
        canvas.namesThingsAtOnce = true
        var compositor = Compositor(masks: [mask])
        compositor.compose(&canvas, [], placement: .identity, at: time)
        let after = Samples(canvas.frame)
        var count = 0
        for y in part.y..<part.y + part.height {
            for x in part.x..<part.x + part.width where before[x, y] != after[x, y] { count += 1 }
        }
        return count
    }

    @Test func `a taught thing is outlined and named, counted in the corner, and others are left alone`() throws {
        let mask = try mask(#"{"kind": "objects"}"#)
        #expect(mask.usesThings && mask.warnings.isEmpty)
        #expect(changes(mask, PixelRect(x: 230, y: 200, width: 340, height: 320)) > 1000)
        #expect(changes(mask, PixelRect(x: 780, y: 180, width: 340, height: 360)) == 0)
        #expect(changes(mask, PixelRect(x: 0, y: 0, width: 250, height: 100)) > 500)
    }

    @Test func `a picture of the mask shows an example, where nothing can be recognised`() throws {
        var target = ArtTarget(picture.frame().layout)
        target.things = nil
        var fields = try Fields(try JSON(Array(#"{"kind": "objects"}"#.utf8), file: "mask.json"), file: "mask.json")
        let layer = try MaskLayer(&fields, folder: masksFolder, target: target)
        let mask = Mask(name: "test", title: "", author: "", licence: "", tags: [], layers: [layer])
        #expect(mask.warnings.isEmpty)
        #expect(changes(mask, PixelRect(x: 640, y: 420, width: 600, height: 300)) > 5000, "a thing with its name")
        #expect(changes(mask, PixelRect(x: 0, y: 0, width: 300, height: 160)) > 2000, "how many there are")
    }

    @Test func `a taught thing is a trigger`() throws {
        let sign = #"{"kind": "effect", "mode": "grey", "when": {"object": "card"}}"#
        let corner = PixelRect(x: 1100, y: 600, width: 100, height: 100)
        #expect(changes(try mask(sign), corner) > 1000)
        let hidden = #"{"kind": "effect", "mode": "grey", "when": {"object": "card", "then": "hide"}}"#
        #expect(changes(try mask(hidden), corner) == 0)
        var without = self
        without.picture.things.removeFirst()
        #expect(without.changes(try mask(sign), corner) == 0)
        #expect(without.changes(try mask(hidden), corner) > 1000)
    }

    @Test func `a trigger that is not taught is reported with the command that teaches it`() throws {
        let mask = try mask(#"{"kind": "effect", "mode": "grey", "when": {"object": "wand"}}"#)
        #expect(mask.warnings.first?.contains("guise teach wand") == true)
        #expect(changes(mask, PixelRect(x: 1100, y: 600, width: 100, height: 100)) == 0)
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `a warm frame with named things allocates nothing`() throws {
        let frame = picture.frame()
        var canvas = Canvas(frame.layout)
        var compositor = Compositor(masks: [try mask(#"{"kind": "objects"}"#)])
        canvas.namesThingsAtOnce = true
        var counts: Set<UInt64> = []
        for number in 0..<6 {
            convert(frame, into: &canvas.frame)
            // The first frame names them.
            if number == 1 { canvas.namesThingsAtOnce = false }
            let before = callocations_count()
            compositor.compose(&canvas, [], placement: .identity, at: Double(number) / 100)
            if number > 2 { counts.insert(callocations_count() - before) }
        }
        #expect(counts == [0])
    }

    @Test func `a worn mask learns what is taught meanwhile`() throws {
        let loader = try MaskLoader(
            searchPaths: [masksFolder],
            target: {
                var target = ArtTarget(picture.frame().layout)
                target.things = library
                return target
            }(), selections: [MaskSelection("objects")], log: { _ in })
        loader.start()
        defer { loader.close() }
        var seen = 0
        _ = loader.update(since: &seen)
        _ = try library.teach("key", lessons(DrawnThing(.key, 0)))
        waits { loader.hasUpdate(since: seen) }
        #expect(loader.masks.first?.layers.first?.things?.taught.things.map(\.name) == ["card", "key"])
    }
}
