import CAllocations
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Compose
@testable import Frames
@testable import SystemKit

/// The log lines of a loader.
private final class LogRecorder: Sendable {
    private let all = Mutex<[String]>([])
    var lines: [String] { all.withLock { $0 } }
    func add(_ line: String) { all.withLock { $0.append(line) } }
}

/// Loading and unloading of masks between frames.
@Suite(.ownThread) struct MaskLoaderTests {
    let scratch: ScratchFolder
    private let log = LogRecorder()
    /// Signalled when the loader has new masks.
    private let wakeEvent: WakeEvent
    init() throws { (scratch, wakeEvent) = (try ScratchFolder(), try WakeEvent()) }

    /// Makes a mask, or edits it, in one step for the loader, which may read at any time: a new folder comes with all
    /// its files, and of another's the changed file is replaced.
    private func make(_ name: String, art: String = "<rect width='9' height='9'/>", include: String = "") throws {
        let text = """
            {"version": 1, "include": [\(include)], "layers": [{"kind": "sprite", "art": "a.svg", "eyeDistance": 9,
             "pins": [{"art": [4, 4], "face": "nose"}]}]}
            """
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'>\(art)</svg>"
        let files = [("mask.json", Data(text.utf8)), ("a.svg", Data(svg.utf8))]
        let folder = "Masks/\(name)"
        if scratch.names(in: "Masks").contains(name) {
            let changed = try files.filter { try scratch.read("\(folder)/\($0.0)") != $0.1 }
            #expect(changed.count <= 1, "the loader may read between two changes")
            for (file, data) in changed {
                let fresh = try scratch.write(data, "fresh")
                try #require(unsafe rename(fresh, scratch.path("\(folder)/\(file)")) == 0)
            }
        } else {
            for (file, data) in files { try scratch.write(data, "new mask/\(file)") }
            try scratch.makeFolder("Masks")
            try #require(unsafe rename(scratch.path("new mask"), scratch.path(folder)) == 0)
        }
    }

    private func loader(_ names: [String]) throws -> MaskLoader {
        let log = log
        return try MaskLoader(
            searchPaths: [scratch.path("Masks")],
            target: ArtTarget(FrameLayout(width: 320, height: 240, format: .yuyv)),
            selections: names.map(MaskSelection.init), log: { log.add($0) })
    }

    /// Waits for the loader's next masks.
    private func next(_ loader: MaskLoader, _ seen: inout Int) -> [Mask] {
        while true {
            if let set = loader.update(since: &seen) { return set.masks }
            _ = PollClock.system.waits(for: wakeEvent.descriptor, milliseconds: -1)
            wakeEvent.drain()
        }
    }

    @Test func `selected masks come in order, and those that stay are not loaded again`() throws {
        try make("hat")
        try make("beard")
        let loader = try loader(["hat"])
        #expect(loader.masks.map(\.name) == ["hat"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        loader.select([MaskSelection("beard"), MaskSelection("hat")])
        let both = next(loader, &seen)
        #expect(both.map(\.name) == ["beard", "hat"] && both[1].revision == loader.masks[1].revision)
        #expect(both[1].revision == 1 && both[0].revision == 2)
        var faint = MaskSelection("hat")
        faint.opacity = 0.25
        loader.select([faint])
        let one = next(loader, &seen)
        #expect(one.map(\.name) == ["hat"] && one[0].opacity == 0.25 && one[0].revision == 1)
        // An option takes effect when the art is rendered.
        faint.choices = ["cloth": "#ff0000"]
        loader.select([faint])
        #expect(next(loader, &seen)[0].revision == 3)
        loader.select([])
        #expect(next(loader, &seen).isEmpty)
        #expect(log.lines == [])
    }

    @Test func `a mask that can't be loaded changes nothing, and is reported`() throws {
        try make("hat")
        try make("set", include: "\"beard\"")
        try make("broken", art: "<rect")
        let loader = try loader(["hat"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        for (name, words) in [
            ("none", "there is no mask 'none'"), ("broken", "broken/a.svg"), ("set", "there is no mask 'beard'"),
        ] {
            for others in [[], ["hat"]] {
                let previousCount = log.lines.count
                loader.select((others + [name]).map(MaskSelection.init))
                waits { log.lines.count > previousCount && loader.selections == [MaskSelection("hat")] }
                #expect(log.lines.last?.contains(words) == true, "\(log.lines)")
                #expect(log.lines.last?.hasSuffix("(the current masks stay on)") == true, "\(log.lines)")
                #expect(loader.update(since: &seen) == nil && loader.masks.map(\.name) == ["hat"])
                // A question that comes after the refusal gets the same answer.
                let reason = Mutex<String?>(nil)
                loader.afterLoading { problem in reason.withLock { $0 = problem.map { "\($0)" } } }
                #expect(reason.withLock { $0 }?.contains(words) == true)
            }
        }
        // It is loaded once the missing file exists, and an edit of that file reloads it.
        try make("beard")
        loader.select([MaskSelection("hat"), MaskSelection("set")])
        let masks = next(loader, &seen)
        #expect(masks.map(\.name) == ["hat", "set"] && masks[1].layers.count == 2)
        try make("beard", art: "<circle r='9'/>")
        let edited = next(loader, &seen)
        #expect(edited[0].revision == masks[0].revision && edited[1].revision > masks[1].revision)
    }

    @Test func `what selected masks hide counts from the selection on, and one that fails takes no other along`() throws
    {
        try make("hat")
        try make("broken", art: "<rect")
        try scratch.write(
            """
            {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
            """, "Masks/veil/mask.json")
        let loader = try loader(["hat"])
        loader.select(["hat", "veil"].map(MaskSelection.init), hiding: .faces)
        #expect(loader.hidden == .faces && loader.masks.map(\.name) == ["hat"], "before it is loaded")
        // Selected before the first could be loaded.
        loader.select(["hat", "veil", "broken"].map(MaskSelection.init), hiding: .faces)
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        #expect(next(loader, &seen).map(\.name) == ["hat", "veil"])
        waits { loader.selections.map(\.mask) == ["hat", "veil"] }
        #expect(
            loader.hidden == [.faces, .foundFaces] && log.lines.count == 1 && log.lines[0].contains("broken/a.svg"))
        loader.select([MaskSelection("hat")])
        _ = next(loader, &seen)
        waits { loader.hidden == [] }
        // What fails hides nothing.
        loader.select([MaskSelection("broken")], hiding: [.faces, .room])
        waits { loader.selections == [MaskSelection("hat")] && loader.hidden == [] }
    }

    @Test func `of several requests before anything is loaded, only the one that brought a broken mask is taken back`()
        throws
    {
        for name in ["hat", "bowler", "scarf"] { try make(name) }
        try make("broken", art: "<rect")
        let loader = try loader(["hat"])
        // Each request is made to the list that the one before has left.
        for names in [["bowler", "broken"], ["bowler", "broken", "scarf"], ["broken", "scarf"]] {
            loader.select(names.map(MaskSelection.init))
        }
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        #expect(next(loader, &seen).map(\.name) == ["hat", "scarf"])
        waits { loader.selections.map(\.mask) == ["hat", "scarf"] }
        #expect(log.lines.count == 1 && log.lines[0].contains("broken/a.svg"))
    }

    @Test func `a hiding mask outlasts any number of later requests, of which one brought a broken mask`() throws {
        for name in ["hat", "scarf"] { try make(name) }
        try make("broken", art: "<rect")
        try put(Self.veil, at: "Masks/veil")
        let loader = try loader(["hat"])
        loader.select(["hat", "veil"].map(MaskSelection.init), hiding: .faces)
        loader.select(["hat", "veil", "broken"].map(MaskSelection.init), hiding: .faces)
        var changed = MaskSelection("scarf")
        for number in 1...150 {
            changed.opacity = Float(number) / 150
            loader.select(["hat", "veil", "broken"].map(MaskSelection.init) + [changed], hiding: .faces)
        }
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        #expect(next(loader, &seen).map(\.name) == ["hat", "veil", "scarf"])
        waits { loader.selections.map(\.mask) == ["hat", "veil", "scarf"] }
        #expect(loader.masks[2].opacity == 1 && log.lines.count == 1)
    }

    @Test func `requests that were kept together are refused together`() throws {
        try make("hat")
        try make("broken", art: "<rect")
        let loader = try loader(["hat"])
        for _ in 1...70 { loader.select([MaskSelection("hat")]) }
        // Before the last one of those that are kept together.
        loader.select([MaskSelection("hat"), MaskSelection("broken")])
        let problems = Mutex<[Bool]>([])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        loader.afterLoading { problem in problems.withLock { $0.append(problem != nil) } }
        waits { problems.withLock { !$0.isEmpty } }
        #expect(problems.withLock { $0 } == [true] && loader.selections == [MaskSelection("hat")])
    }

    @Test func `a change of a list from which a broken mask was taken back meanwhile brings it no more`() throws {
        for name in ["hat", "scarf"] { try make(name) }
        let loader = try loader(["hat"])
        let before = ["hat", "broken"].map(MaskSelection.init)
        loader.select(["hat", "broken", "scarf"].map(MaskSelection.init), changing: before)
        #expect(loader.selections.map(\.mask) == ["hat", "scarf"])
        // Another order of the same masks is a change too.
        loader.select(["scarf", "hat"].map(MaskSelection.init), changing: loader.selections)
        #expect(loader.selections.map(\.mask) == ["scarf", "hat"])
    }

    @Test func `of a mask that includes thousands only as many are read as a mask may include`() throws {
        try scratch.makeFolder("Masks")
        let names = (0..<20_000).map { "\"a\($0)\"" }.joined(separator: ", ")
        try put("{\"version\": 1, \"include\": [\(names)]}", at: "Masks/many")
        let library = MaskLibrary(searchPaths: [scratch.path("Masks")])
        // A mask itself, and one more, which is an error when it is loaded.
        #expect(library.family(of: "many").members.count <= 34)
        #expect(throws: Problem.self) {
            try library.load("many", for: ArtTarget(FrameLayout(width: 64, height: 48, format: .i420)))
        }
    }

    /// Lists of masks: before a request and after it, after a later one, and what the later one alone makes of the
    /// first.
    static let rebasedLists: [(base: String, before: String, now: String, expected: String)] = [
        ("a", "a x", "a x b", "a b"), ("a", "a x", "a b x", "a b"), ("a b", "a b x", "b x", "b"),
        ("a", "x", "x b", "a b"), ("a", "x", "b", "a b"), ("a b", "a x", "c a x", "c a b"), ("", "x", "", ""),
    ]

    @Test(arguments: rebasedLists)
    func `what a later request has changed is left without what an earlier one has`(
        base: String, before: String, now: String, expected: String
    ) {
        func list(_ names: String) -> [MaskSelection] { names.split(separator: " ").map { MaskSelection("\($0)") } }
        #expect(list(now).rebased(from: list(before), to: list(base)) == list(expected))
    }

    @Test func `other options of a mask whose file has become invalid are refused, and nothing changes`() throws {
        try make("hat")
        let loader = try loader(["hat"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        try make("hat", art: "<rect")
        waits { log.lines.contains { $0.contains("its last valid version stays on") } }
        var changed = MaskSelection("hat")
        changed.people = "largest"
        let refused = Mutex<Bool?>(nil)
        loader.select([changed], hiding: .bystanders)
        loader.afterLoading { problem in refused.withLock { $0 = problem != nil } }
        waits { refused.withLock { $0 } != nil }
        #expect(refused.withLock { $0 } == true && loader.selections == [MaskSelection("hat")])
        #expect(loader.masks.map(\.name) == ["hat"])
        waits { loader.hidden == [] }
    }

    private static let veil = """
        {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
        """
    /// What strangers may call their mask: nothing is hidden, or only promised to be.
    static let bareMasks = [
        #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey"}]}"#,
        #"{"version": 1, "onLostFace": "cover", "layers": [{"kind": "effect", "mode": "grey"}]}"#,
    ]

    /// Makes a folder with one description, or replaces the description, in one step.
    private func put(_ description: String, at folder: String) throws {
        let fresh = try scratch.write(description, "fresh mask/mask.json")
        if scratch.names(in: folder).isEmpty {
            try #require(unsafe rename(scratch.path("fresh mask"), scratch.path(folder)) == 0)
        } else {
            try #require(unsafe rename(fresh, scratch.path("\(folder)/mask.json")) == 0)
        }
    }

    @Test(arguments: bareMasks, ["Own", "Masks"])
    func `a worn mask that comes to hide less, or another of its name, is worn once a request names it`(
        bare: String, folder: String
    ) throws {
        try make("hat")
        try scratch.makeFolder("Own")
        try put(Self.veil, at: "Masks/veil")
        let log = log
        let loader = try MaskLoader(
            searchPaths: [scratch.path("Own"), scratch.path("Masks")],
            target: ArtTarget(FrameLayout(width: 320, height: 240, format: .yuyv)),
            selections: [MaskSelection("veil")], log: { log.add($0) })
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        let worn = loader.masks[0].revision
        var seen = 0
        try put(bare, at: "\(folder)/veil")
        waits { log.lines.count == 1 }
        #expect(log.lines[0].contains("hide less") && log.lines[0].contains("`guise wear veil`"), "\(log.lines)")
        #expect(loader.update(since: &seen) == nil && loader.masks[0].revision == worn)
        #expect(loader.hidden == [.faces, .foundFaces])
        // Whatever else is selected.
        loader.select(["veil", "hat"].map(MaskSelection.init), hiding: .faces)
        let both = next(loader, &seen)
        #expect(both.map(\.name) == ["veil", "hat"] && both[0].revision == worn && loader.hidden.contains(.faces))
        loader.select(["veil", "hat"].map(MaskSelection.init), hiding: .faces, naming: ["hat"])
        // For frames of another size, only the present version could be drawn.
        loader.resize(to: FrameSize(width: 160, height: 120))
        waits { log.lines.last?.hasSuffix("(the current masks stay on)") == true && loader.size.width == 320 }
        #expect(loader.update(since: &seen) == nil && loader.masks[0].revision == worn)
        loader.select(["veil", "hat"].map(MaskSelection.init), hiding: .faces, naming: ["veil"])
        let named = next(loader, &seen)
        #expect(named.map(\.name) == ["veil", "hat"] && named[0].revision > worn)
        #expect(!named[0].hidden.contains(.foundFaces))
        waits { log.lines.last?.contains("was reloaded") == true }
        // The name counted for that version only.
        try put(Self.veil, at: "\(folder)/veil")
        let again = next(loader, &seen)
        #expect(again[0].hidden == [.faces, .foundFaces] && again[0].revision > named[0].revision)
        try put(bare, at: "\(folder)/veil")
        waits { log.lines.last?.contains("hide less") == true }
        #expect(loader.update(since: &seen) == nil && loader.masks[0].revision == again[0].revision)
    }

    @Test func `a worn mask may come to hide more, or the same otherwise`() throws {
        try scratch.makeFolder("Masks")
        try put(Self.bareMasks[0], at: "Masks/veil")
        let loader = try loader(["veil"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        try put(Self.veil, at: "Masks/veil")
        #expect(next(loader, &seen)[0].hidden == [.faces, .foundFaces])
        try put(Self.veil.replacing("pixelate", with: "blur"), at: "Masks/veil")
        #expect(next(loader, &seen)[0].hidden == [.faces, .foundFaces])
        waits { log.lines.count == 2 }
        #expect(log.lines.allSatisfy { $0.contains("was reloaded") }, "\(log.lines)")
    }

    /// Keys of a mask's description, and what it hides.
    private static let concealing: [(keys: String, hidden: HiddenParts)] = [
        (#""layers": [{"kind": "anonymize", "mode": "blur"}]"#, .foundFaces),
        (#""layers": [{"kind": "anonymize", "mode": "block", "on": "every"}]"#, .foundFaces),
        (#""onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]"#, [.faces, .foundFaces]),
        (#""onLostFace": "cover", "layers": [{"kind": "effect", "mode": "grey"}]"#, .faces),
        (#""layers": [{"kind": "anonymize", "mode": "blur", "on": "largest"}]"#, []),
        (#""layers": [{"kind": "anonymize", "mode": "blur", "on": {"nth": 2}}]"#, []),
        (#""layers": [{"kind": "anonymize", "mode": "blur", "when": "mouth open"}]"#, []),
        (#""layers": [{"kind": "anonymize", "mode": "block", "shape": "bar"}]"#, []),
        (#""layers": [{"kind": "anonymize", "mode": "negative"}]"#, []),
        (#""layers": [{"kind": "background", "mode": "blur", "people": "largest"}]"#, [.room, .bystanders]),
        (#""layers": [{"kind": "background", "mode": "dim"}]"#, []),
    ]

    @Test(arguments: concealing)
    func `a mask hides what its description promises before it is loaded`(keys: String, hidden: HiddenParts) throws {
        try scratch.makeFolder("Masks")
        try put("{\"version\": 1, \(keys)}", at: "Masks/veil")
        let summary = MaskLibrary(searchPaths: [scratch.path("Masks")]).summary(of: "veil")
        #expect(try loader(["veil"]).masks[0].hidden == hidden && summary?.hidden == hidden)
    }

    @Test func `a background that comes to blur the room less is worn once a request names it`() throws {
        func blur(_ strength: Double) -> String {
            #"{"version": 1, "layers": [{"kind": "background", "mode": "blur", "strength": \#(strength)}]}"#
        }
        try scratch.makeFolder("Masks")
        try put(blur(0.5), at: "Masks/room")
        let loader = try loader(["room"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var seen = 0
        try put(blur(1), at: "Masks/room")
        let stronger = next(loader, &seen)[0].revision
        try put(blur(0.9), at: "Masks/room")
        waits { log.lines.last?.contains("hide less") == true }
        #expect(loader.masks[0].revision == stronger)
        // A picture leaves nothing of it.
        try put(#"{"version": 1, "layers": [{"kind": "background", "mode": "color"}]}"#, at: "Masks/room")
        #expect(next(loader, &seen)[0].revision > stronger)
    }

    @Test func `masks are loaded for another size together, and stay if one of them can't be`() throws {
        try make("hat")
        try make("beard")
        let loader = try loader(["hat", "beard"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        let (first, small) = (FrameSize(width: 320, height: 240), FrameSize(width: 160, height: 120))
        var seen = 0
        loader.resize(to: small)
        waits { loader.hasUpdate(since: seen) }
        let set = try #require(loader.update(since: &seen))
        #expect(set.size == small && set.masks.map(\.name) == ["hat", "beard"])
        #expect(set.masks.map(\.revision) == [1, 2], "they are the same masks, whose animations go on")
        // An edit that is invalid leaves the last valid art, which has the wrong size for other frames.
        try make("hat", art: "<rect")
        waits { log.lines.last?.contains("its last valid version stays on") == true }
        loader.resize(to: first)
        waits { log.lines.last?.hasSuffix("(the current masks stay on)") == true && loader.size == small }
        #expect(loader.update(since: &seen) == nil)
        try make("hat")
        waits { loader.hasUpdate(since: seen) }
        #expect(loader.update(since: &seen)?.size == small)
    }

    @Test func `it does not start with fewer masks than requested`() throws {
        try make("hat")
        try make("broken", art: "<rect")
        #expect(problem { _ = try loader(["broken", "hat"]) }?.message.contains("broken/a.svg") == true)
        #expect(problem { _ = try loader(["hat", "none"]) }?.message.contains("'none'") == true)
        #expect(try loader(["hat"]).masks.map(\.name) == ["hat"])
    }

    @Test func `the frame loop allocates nothing if nothing has changed`() throws {
        try make("hat")
        let loader = try loader(["hat"])
        loader.start(signaling: wakeEvent)
        defer { loader.close() }
        var compositor = Compositor(masks: loader.masks)
        var seen = 0
        for edit in 0..<3 {
            try make("hat", art: "<circle r='\(edit + 1)'/>")
            loader.recycle(compositor.replaceMasks(with: next(loader, &seen)))
            // Nothing was edited since, so nothing is new.
            let before = callocations_count()
            for _ in 0..<100 { _ = loader.update(since: &seen) }
            let allocations = callocations_count() - before
            #expect(allocations == 0)
        }
    }
}
