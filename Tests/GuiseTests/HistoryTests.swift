import Compose
import Control
import Foundation
import Frames
import JSON
import Synchronization
import SystemKit
import TestSupport
import Testing

@testable import guise

/// Undo, redo, and what a mask replaces.
@Suite(.ownThread) struct HistoryTests {
    private typealias House = DaemonTests.House

    /// What can be undone.
    private func state(_ house: House) throws -> String {
        try "\(house.loader.selections)\(house.values.text)"
    }

    @Test func `every kind of change is undone and made again, in order`() throws {
        let house = try House()
        let changes: [Command] = [
            .mask(.show("aa-choices")), .configuration(.set(mask: "aa-choices", key: "opacity", value: 0.25)),
            .configuration(.set(mask: "aa-choices", key: "cloth", value: "#102030")),
            .configuration(.set(mask: nil, key: "view.mirror", value: true)), .mask(.add(["ab-grey"])),
            .mask(.order(["ab-grey", "aa-choices"])), .configuration(.set(mask: nil, key: "faces.max", value: 2)),
            .look(.look("both", .save)), .mask(.random(all: true)), .mask(.surprise(all: true)), .mask(.next),
            .look(.look("both", .wear)), .mask(.clear), .device(.use("sample")), .mask(.wear(["crown", "ab-grey"])),
        ]
        var states = [try state(house)]
        for change in changes {
            _ = try house.ask(change)
            let now = try state(house)
            // A saved look is no change of what is worn.
            if now != states.last { states.append(now) }
        }
        try #require(states.count == changes.count)
        let names = try house.ask(.service(.status))["history"]
        #expect(names?["undo"]?.string == "wear crown ab-grey" && names?["redo"]?.value == .null)
        for earlier in states.dropLast().reversed() {
            _ = try house.ask(.history(.undo))
            #expect(try state(house) == earlier)
        }
        #expect(house.mailbox.now.source == "camera" && !house.mailbox.now.view.isMirrored)
        #expect(house.requestError(.history(.undo))?.message == "there is nothing to undo")
        for later in states.dropFirst() {
            _ = try house.ask(.history(.redo))
            #expect(try state(house) == later)
        }
        #expect(house.requestError(.history(.redo))?.code == .notNow)
        #expect(house.mailbox.now.source == "sample" && house.mailbox.now.view.isMirrored)
        // A new change ends what could be made again.
        _ = try house.ask(.history(.undo))
        _ = try house.ask(.mask(.show("ab-grey")))
        #expect(house.requestError(.history(.redo))?.message == "there is nothing to redo")
    }

    @Test func `the values of a slider are one step, and a later one another`() throws {
        let house = try House()
        let clock = Mutex<UInt64>(0)
        let history = ChangeHistory(
            house.daemon.configuration, MaskCatalog(house.loader, searchPaths: house.context.paths.masks),
            now: { clock.withLock { $0 } })
        func set(_ opacity: Float, after milliseconds: UInt64) {
            clock.withLock { $0 += milliseconds * 1_000_000 }
            history.record("set", key: "opacity") {
                var selection = MaskSelection("ab-grey")
                selection.opacity = opacity
                house.loader.select([selection])
            }
        }
        for step in 1...8 { set(Float(step) / 10, after: 300) }
        set(0.9, after: 1100)
        _ = try history.undo()
        #expect(house.loader.selections.first?.opacity == 0.8)
        _ = try history.undo()
        #expect(house.loader.selections.isEmpty)
        #expect(throws: RequestError.self) { try history.undo() }
    }

    @Test func `whatever is undone, hidden faces stay hidden`() throws {
        let house = try House()
        _ = try house.ask(.mask(.show("ab-grey")))
        _ = try house.ask(.configuration(.set(mask: nil, key: "faces.max", value: 3)))
        _ = try house.ask(.mask(.show("pixelate")))
        let answer = try house.ask(.history(.undo))
        #expect(answer["change"]?.string == "show pixelate")
        #expect(answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        #expect(house.loader.selections.map(\.mask) == ["pixelate", "ab-grey"])
        // The step counts as undone; the next undo goes on.
        _ = try house.ask(.history(.undo))
        #expect(house.mailbox.now.faces.max == 4 && house.loader.selections.contains { $0.mask == "pixelate" })
        // It does not fade either.
        _ = try house.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 0.4)))
        _ = try house.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2)))
        _ = try house.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 1)))
        _ = try house.ask(.history(.undo))
        #expect(house.loader.selections.first { $0.mask == "pixelate" }?.opacity == 1)
        // Lost faces that are covered stay so.
        _ = try house.ask(.configuration(.set(mask: nil, key: "privacy.onLostFace", value: "cover")))
        _ = try house.ask(.history(.undo))
        #expect(house.mailbox.now.onLostFace == .cover)
        // By name it is taken off, and that can be undone: it hides more.
        _ = try house.ask(.mask(.hide("pixelate")))
        _ = try house.ask(.history(.undo))
        #expect(house.loader.selections.contains { $0.mask == "pixelate" })
    }

    @Test func `a pause is not undone`() throws {
        let house = try House()
        _ = try house.ask(.mask(.show("ab-grey")))
        _ = try house.ask(.picture(.panic))
        _ = try house.ask(.history(.undo))
        #expect(house.mailbox.now.isPaused && house.loader.selections.isEmpty)
    }

    @Test func `a mask replaces those of its kind, in their place, and add replaces nothing`() throws {
        let house = try House()
        func replaced(_ request: MaskRequest) throws -> [String] {
            try house.ask(.mask(request))["replaced"]?.elements.compactMap(\.string) ?? []
        }
        _ = try house.ask(.mask(.wear(["crown", "round-glasses", "stubble"])))
        #expect(try replaced(.wear(["top"])) == ["crown"])
        #expect(house.loader.selections.map(\.mask) == ["top", "round-glasses", "stubble"])
        #expect(try replaced(.add(["beanie"])) == [])
        #expect(house.loader.selections.map(\.mask) == ["top", "round-glasses", "stubble", "beanie"])
        // A set replaces what it contains.
        #expect(try replaced(.toggle("santa")) == ["top", "stubble", "beanie"])
        #expect(house.loader.selections.map(\.mask) == ["santa", "round-glasses"])
        #expect(try replaced(.show("goatee")) == ["santa"])
        // Masks without a kind replace nothing, and are not replaced.
        #expect(try replaced(.wear(["ab-grey", "aa-choices"])) == [])
        #expect(try replaced(.wear(["polaroid"])) == [])
        #expect(
            house.loader.selections.map(\.mask) == ["goatee", "round-glasses", "ab-grey", "aa-choices", "polaroid"])
        // Several hats that are asked for together are worn together.
        #expect(try replaced(.wear(["crown", "top"])) == [])
        // A mask that hides faces is not replaced by another that does.
        _ = try house.ask(.mask(.wear(["pixelate"])))
        let answer = try house.ask(.mask(.wear(["blur"])))
        #expect(answer["replaced"] == nil && answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        #expect(house.loader.selections.suffix(2).map(\.mask) == ["pixelate", "blur"])
    }

    @Test func `a mask that is put on again has its colours and texts`() throws {
        let house = try House()
        _ = try house.ask(.mask(.show("aa-choices")))
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "Bob")))
        _ = try house.ask(.mask(.hide("aa-choices")))
        _ = try house.ask(.mask(.show("aa-choices")))
        #expect(house.loader.selections.first?.choices == ["text": "Bob"])
        // Percentages and names of colours are taken, as people type them.
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: "40 %")))
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "cloth", value: "Navy")))
        #expect(house.loader.selections.first?.opacity == 0.4)
        #expect(house.loader.selections.first?.choices["cloth"] == "#000080")
        // A text may be empty while another one is typed.
        _ = try house.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "")))
        #expect(house.loader.selections.first?.choices["text"] == "")
    }

    @Test func `random and surprise choose masks that are fit for work`() throws {
        let house = try House()
        let work = Set(house.context.library.summaries.filter(\.isFitForWork).map(\.name))
        for _ in 0..<20 {
            #expect(try work.isSuperset(of: house.worn(.mask(.random(all: false)))))
            #expect(try work.isSuperset(of: house.worn(.mask(.surprise(all: false)))))
        }
        _ = try house.ask(.mask(.wear(Array(work))))
        let message = house.requestError(.mask(.random(all: false)))?.message
        #expect(message?.contains("`guise random --all`") == true)
        #expect(try work.isDisjoint(with: house.worn(.mask(.random(all: true)))))
    }

    @Test func `a setting that was just saved can be undone, and what others write is loaded`() throws {
        let house = try House()
        let (store, file) = (house.daemon.configuration, house.scratch.path("config/guise/config.json"))
        var version = FileVersion(file)
        _ = try house.ask(.configuration(.set(mask: nil, key: "view.zoom", value: "face")))
        try house.daemon.saveChanges()
        _ = try house.ask(.history(.undo))
        // The file still zooms. It was written here, so that it is no reason to load it.
        #expect(!store.isEdited(file, since: &version))
        try house.daemon.saveChanges()
        #expect(!store.isEdited(file, since: &version))
        try house.write(configuration: #"{"faces": {"max": 2}}"#)
        #expect(store.isEdited(file, since: &version) && !store.isEdited(file, since: &version))
        // What others wrote before is in what is written here.
        try house.write(configuration: #"{"faces": {"max": 3}, "view": {"mirror": true}}"#)
        _ = try house.ask(.configuration(.set(mask: nil, key: "view.zoom", value: "face")))
        try house.daemon.saveChanges()
        #expect(store.isEdited(file, since: &version))
    }

    @Test func `a change that cannot be undone now can be undone later`() throws {
        let house = try House()
        _ = try house.ask(.mask(.show("aa-choices")))
        _ = try house.ask(.mask(.clear))
        let file = house.scratch.path("config/guise/Masks/aa-choices/mask.json")
        let description = try house.scratch.read("config/guise/Masks/aa-choices/mask.json")
        try house.scratch.write("{", "config/guise/Masks/aa-choices/mask.json")
        try #require(Fixtures.exists(file))
        #expect(throws: (any Error).self) { _ = try house.ask(.history(.undo)) }
        #expect(house.loader.selections.isEmpty)
        try house.scratch.write(description, "config/guise/Masks/aa-choices/mask.json")
        _ = try house.ask(.history(.undo))
        #expect(house.loader.selections.map(\.mask) == ["aa-choices"])
    }
}
