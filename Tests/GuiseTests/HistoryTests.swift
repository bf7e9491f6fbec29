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
    private typealias DaemonFixture = DaemonTests.DaemonFixture

    /// What can be undone.
    private func state(_ fixture: DaemonFixture) throws -> String {
        try "\(fixture.loader.selections)\(fixture.values.text)"
    }

    @Test func `every kind of change is undone and made again, in order`() throws {
        let fixture = try DaemonFixture()
        let changes: [Command] = [
            .mask(.wear(["aa-choices"])), .configuration(.set(mask: "aa-choices", key: "opacity", value: 0.25)),
            .configuration(.set(mask: "aa-choices", key: "cloth", value: "#102030")),
            .configuration(.set(mask: nil, key: "view.mirror", value: true)), .mask(.add(["ab-grey"])),
            .mask(.order(["ab-grey", "aa-choices"])), .configuration(.set(mask: nil, key: "faces.max", value: 2)),
            .look(.look("both", .save)), .mask(.random(all: true)), .mask(.surprise(all: true)), .mask(.next),
            .look(.look("both", .wear)), .mask(.clear), .device(.use("sample")), .mask(.wear(["crown", "ab-grey"])),
        ]
        var states = [try state(fixture)]
        for change in changes {
            _ = try fixture.ask(change)
            let now = try state(fixture)
            // A saved look is no change of what is worn.
            if now != states.last { states.append(now) }
        }
        try #require(states.count == changes.count)
        let names = try fixture.ask(.service(.status))["history"]
        #expect(names?["undo"]?.string == "wear crown ab-grey" && names?["redo"]?.value == .null)
        for earlier in states.dropLast().reversed() {
            _ = try fixture.ask(.history(.undo))
            #expect(try state(fixture) == earlier)
        }
        #expect(fixture.mailbox.settings.source == .camera && !fixture.mailbox.settings.view.isMirrored)
        #expect(fixture.requestError(.history(.undo))?.message == "there is nothing to undo")
        for later in states.dropFirst() {
            _ = try fixture.ask(.history(.redo))
            #expect(try state(fixture) == later)
        }
        #expect(fixture.requestError(.history(.redo))?.code == .notNow)
        #expect(fixture.mailbox.settings.source == .sample && fixture.mailbox.settings.view.isMirrored)
        // A new change ends what could be made again.
        _ = try fixture.ask(.history(.undo))
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        #expect(fixture.requestError(.history(.redo))?.message == "there is nothing to redo")
    }

    @Test func `the source that the command line named comes back`() throws {
        let fixture = try DaemonFixture(source: .sample)
        let before = try state(fixture)
        _ = try fixture.ask(.device(.use("auto")))
        #expect(fixture.mailbox.settings.source == .automatic)
        _ = try fixture.ask(.history(.undo))
        #expect(try fixture.mailbox.settings.source == .sample && state(fixture) == before)
        _ = try fixture.ask(.history(.redo))
        #expect(fixture.mailbox.settings.source == .automatic)
    }

    @Test func `the values of a slider are one step, and a later one another`() throws {
        let fixture = try DaemonFixture()
        let clock = Mutex<UInt64>(0)
        let history = ChangeHistory(
            fixture.daemon.configuration, MaskCatalog(fixture.loader, searchPaths: fixture.context.paths.masks),
            CameraSettingsStore(folder: nil), source: { .sample }, now: { clock.withLock { $0 } })
        func set(_ opacity: Float, after milliseconds: UInt64) {
            clock.withLock { $0 += milliseconds * 1_000_000 }
            history.record("set", key: "opacity") {
                var selection = MaskSelection("ab-grey")
                selection.opacity = opacity
                fixture.loader.select([selection])
            }
        }
        for step in 1...8 { set(Float(step) / 10, after: 300) }
        set(0.9, after: 1100)
        _ = try history.move(.undo)
        #expect(fixture.loader.selections.first?.opacity == 0.8)
        _ = try history.move(.undo)
        #expect(fixture.loader.selections.isEmpty)
        #expect(throws: RequestError.self) { try history.move(.undo) }
    }

    @Test func `quick changes of different steps are undone one by one`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        for (step, text) in ["Ada", "Bob", "Cleo"].enumerated() {
            _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "text", value: JSON(text), step: step)))
        }
        for text in ["Bob", "Ada", nil] {
            #expect(try fixture.ask(.history(.undo))["change"]?.string == "set aa-choices text")
            #expect(fixture.loader.selections.first?.choices["text"] == text)
        }
    }

    @Test func `a camera's controls are undone and made again, and so is what is remembered of them`() throws {
        typealias FakeCamera = CameraSettingsTests.FakeCamera
        let camera = FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        /// What the camera has: a gain that it sets itself is none of ours.
        func values() -> String {
            let controls = camera.controls
            return "\(controls[0].value) \(controls[2].isInactive ? "auto" : "\(controls[2].value)")"
        }
        func remembered() throws -> [String: Double] {
            try fixture.daemon.saveChanges()
            let file = try JSON([UInt8](fixture.scratch.read("state/guise/cameras.json")), file: "cameras.json")
            guard case .object(let members)? = file["cameras"]?.elements.last?["controls"]?.value else { return [:] }
            return Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.value.number ?? -1) })
        }
        // Another program has set it; undo goes back to that.
        _ = camera.set(FakeCamera.brightness, to: 90)
        _ = try fixture.ask(.device(.setControl("brightness", 140)))
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        _ = try fixture.ask(.device(.setControl("gain", 50)))
        _ = try fixture.ask(.device(.resetCamera))
        #expect(values() == "128 auto")
        #expect(try fixture.ask(.service(.status))["history"]?["undo"]?.string == "camera reset")
        // What changes nothing leaves no step.
        _ = try fixture.ask(.device(.setControl("brightness", 128)))
        #expect(try fixture.ask(.history(.undo))["change"]?.string == "camera reset")
        #expect(values() == "140 50")
        #expect(try remembered() == ["brightness": 140, "auto-gain": 0, "gain": 50])
        let undone = try fixture.ask(.history(.undo))
        #expect(undone["change"]?.string == "camera gain" && values() == "140 auto")
        #expect(undone["masks"]?.elements.count == 1 && undone["notes"]?.text == "[]")
        #expect(try remembered() == ["brightness": 140])
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.loader.selections.isEmpty)
        _ = try fixture.ask(.history(.undo))
        #expect(values() == "90 auto")
        #expect(try remembered().isEmpty)
        for expected in ["140 auto", "140 auto", "140 50", "128 auto"] {
            _ = try fixture.ask(.history(.redo))
            #expect(values() == expected)
        }
        #expect(fixture.requestError(.history(.redo))?.message == "there is nothing to redo")
        #expect(try remembered() == ["brightness": 128])
    }

    @Test func `the values of a camera's slider are one step`() throws {
        let camera = CameraSettingsTests.FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        let store = CameraSettingsStore(folder: nil, CameraSettingsTests.access(camera))
        let clock = Mutex<UInt64>(0)
        let history = ChangeHistory(
            fixture.daemon.configuration, MaskCatalog(fixture.loader, searchPaths: fixture.context.paths.masks),
            store, source: { .camera }, now: { clock.withLock { $0 } })
        for value in [30, 40, 50] {
            clock.withLock { $0 += 300_000_000 }
            let before = try #require(try store.set("gain", to: "\(value)", of: .camera)?.before)
            history.recordCamera("camera gain", before)
        }
        _ = try history.move(.undo)
        #expect(camera.controls[2].isInactive)
        #expect(throws: RequestError.self) { try history.move(.undo) }
        _ = try history.move(.redo)
        #expect(camera.controls[2].value == 50 && !camera.controls[2].isInactive)
    }

    @Test func `a change that is made while a camera is being undone ends what could be redone`() throws {
        let camera = CameraSettingsTests.FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        let store = CameraSettingsStore(folder: nil, CameraSettingsTests.access(camera))
        let catalog = MaskCatalog(fixture.loader, searchPaths: fixture.context.paths.masks)
        let changeMasks = Mutex<(@Sendable () throws -> Void)?>(nil)
        let history = ChangeHistory(
            fixture.daemon.configuration, catalog, store,
            source: {
                try? changeMasks.withLock { $0.take() }?()
                return .camera
            })
        history.recordCamera("camera gain", try #require(try store.set("gain", to: "30", of: .camera)?.before))
        changeMasks.withLock { change in
            change = { try history.record("wear ab-grey") { try catalog.select([MaskSelection("ab-grey")]) } }
        }
        #expect(try history.move(.undo).change == "camera gain")
        #expect(history.names.undo == "wear ab-grey" && history.names.redo == nil)
        _ = try history.move(.undo)
        #expect(fixture.loader.selections.isEmpty && history.names.undo == nil)
    }

    @Test func `an undo that has nothing to do but at a camera waits for it beside other requests`() throws {
        let camera = CameraSettingsTests.FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        _ = try fixture.ask(.device(.setControl("brightness", 140)))
        let catalog = MaskCatalog(fixture.loader, searchPaths: fixture.context.paths.masks)
        // A step that changes nothing any more, since its mask was taken off without one.
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        try catalog.select([])
        let answer = try HistoryHandler(history: fixture.daemon.history).handle(.undo)
        guard case .background = answer else {
            Issue.record("it is answered by the control thread")
            return
        }
    }

    @Test func `controls of a camera that is not in use are undone for the next time, and bar no other step`() throws {
        let camera = CameraSettingsTests.FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        _ = try fixture.ask(.device(.setControl("brightness", 140)))
        // Another program took its place, without a request.
        fixture.mailbox.change { $0.source = .sample }
        let notes = try fixture.notes(.history(.undo))
        #expect(notes.count == 1 && notes.first?.hasPrefix("Webcam is not in use") == true)
        try fixture.daemon.saveChanges()
        #expect(try !String(decoding: fixture.scratch.read("state/guise/cameras.json"), as: UTF8.self).contains("140"))
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.loader.selections.isEmpty)
        // Nor is it set when it is made again.
        _ = try fixture.ask(.history(.redo))
        _ = try fixture.ask(.history(.redo))
        #expect(camera.controls[0].value == 140)
    }

    @Test func `whatever is undone, hidden faces stay hidden`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 3)))
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        let answer = try fixture.ask(.history(.undo))
        #expect(answer["change"]?.string == "wear pixelate")
        #expect(answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        #expect(fixture.loader.selections.map(\.mask) == ["pixelate", "ab-grey"])
        // The step counts as undone; the next undo goes on.
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.mailbox.settings.faces.max == 4 && fixture.loader.selections.contains { $0.mask == "pixelate" })
        // It does not fade either.
        _ = try fixture.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 0.4)))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2)))
        _ = try fixture.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 1)))
        #expect(try fixture.ask(.history(.undo))["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        #expect(fixture.loader.selections.first { $0.mask == "pixelate" }?.opacity == 1)
        // Lost faces that are covered stay so.
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "privacy.onLostFace", value: "cover")))
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.mailbox.settings.onLostFace == .cover)
        // By name it is taken off, and that can be undone: it hides more.
        _ = try fixture.ask(.mask(.remove("pixelate")))
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.loader.selections.contains { $0.mask == "pixelate" })
    }

    @Test func `a pause is not undone`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        _ = try fixture.ask(.picture(.panic))
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.mailbox.settings.isPaused && fixture.loader.selections.isEmpty)
    }

    @Test func `a mask replaces those of its kind, in their place, and add replaces nothing`() throws {
        let fixture = try DaemonFixture()
        func replaced(_ request: MaskRequest) throws -> [String] {
            try fixture.ask(.mask(request))["replaced"]?.elements.compactMap(\.string) ?? []
        }
        _ = try fixture.ask(.mask(.wear(["crown", "round-glasses", "stubble"])))
        #expect(try replaced(.wear(["top"])) == ["crown"])
        #expect(fixture.loader.selections.map(\.mask) == ["top", "round-glasses", "stubble"])
        #expect(try replaced(.add(["beanie"])) == [])
        #expect(fixture.loader.selections.map(\.mask) == ["top", "round-glasses", "stubble", "beanie"])
        // A set replaces what it contains.
        #expect(try replaced(.toggle("santa")) == ["top", "stubble", "beanie"])
        #expect(fixture.loader.selections.map(\.mask) == ["santa", "round-glasses"])
        #expect(try replaced(.wear(["goatee"])) == ["santa"])
        // Masks without a kind replace nothing, and are not replaced.
        #expect(try replaced(.wear(["ab-grey", "aa-choices"])) == [])
        #expect(try replaced(.wear(["polaroid"])) == [])
        #expect(
            fixture.loader.selections.map(\.mask) == ["goatee", "round-glasses", "ab-grey", "aa-choices", "polaroid"])
        // Several hats that are asked for together are worn together.
        #expect(try replaced(.wear(["crown", "top"])) == [])
        // A mask that hides faces is not replaced by another that does.
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        let answer = try fixture.ask(.mask(.wear(["blur"])))
        #expect(answer["replaced"] == nil && answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        #expect(fixture.loader.selections.suffix(2).map(\.mask) == ["pixelate", "blur"])
    }

    @Test func `a mask that is put on again has its colours and texts`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "Bob")))
        _ = try fixture.ask(.mask(.remove("aa-choices")))
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        #expect(fixture.loader.selections.first?.choices == ["text": "Bob"])
        // Percentages and names of colours are taken, as people type them.
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: "40 %")))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "cloth", value: "Navy")))
        #expect(fixture.loader.selections.first?.opacity == 0.4)
        #expect(fixture.loader.selections.first?.choices["cloth"] == "#000080")
        // A text may be empty while another one is typed.
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "")))
        #expect(fixture.loader.selections.first?.choices["text"] == "")
    }

    @Test func `random and surprise choose masks that are fit for work`() throws {
        let fixture = try DaemonFixture()
        let work = Set(fixture.context.library.summaries.filter(\.isFitForWork).map(\.name))
        for _ in 0..<20 {
            #expect(try work.isSuperset(of: fixture.worn(.mask(.random(all: false)))))
            #expect(try work.isSuperset(of: fixture.worn(.mask(.surprise(all: false)))))
        }
        _ = try fixture.ask(.mask(.wear(Array(work))))
        let message = fixture.requestError(.mask(.random(all: false)))?.message
        #expect(message?.contains("`guise random --all`") == true)
        #expect(try work.isDisjoint(with: fixture.worn(.mask(.random(all: true)))))
    }

    @Test func `without a mask that is fit for work, random and surprise name their own option`() throws {
        let fixture = try DaemonFixture()
        // The fixture's own masks are not marked.
        let catalog = MaskCatalog(fixture.loader, searchPaths: [fixture.scratch.path("config/guise/Masks")])
        let handler = MaskHandler(masks: catalog, pictures: BackgroundStore(folder: nil))
        for (request, name) in [(MaskRequest.random(all: false), "random"), (.surprise(all: false), "surprise")] {
            let requestError = #expect(throws: RequestError.self) { _ = try handler.handle(request) }
            #expect(requestError?.message.contains("`guise \(name) --all`") == true)
        }
    }

    @Test func `a setting that was just saved can be undone, and what others write is loaded`() throws {
        let fixture = try DaemonFixture()
        let (store, file) = (fixture.daemon.configuration, fixture.scratch.path("config/guise/config.json"))
        var version = FileVersion(file)
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "view.zoom", value: "face")))
        try fixture.daemon.saveChanges()
        _ = try fixture.ask(.history(.undo))
        // The file still zooms. It was written here, so that it is no reason to load it.
        #expect(!store.isEdited(file, since: &version))
        try fixture.daemon.saveChanges()
        #expect(!store.isEdited(file, since: &version))
        try fixture.write(configuration: #"{"faces": {"max": 2}}"#)
        #expect(store.isEdited(file, since: &version) && !store.isEdited(file, since: &version))
        // What others wrote before is in what is written here.
        try fixture.write(configuration: #"{"faces": {"max": 3}, "view": {"mirror": true}}"#)
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "view.zoom", value: "face")))
        try fixture.daemon.saveChanges()
        #expect(store.isEdited(file, since: &version))
    }

    @Test func `a setting is saved later if its file could not be written`() throws {
        let fixture = try DaemonFixture()
        let file = fixture.scratch.path("config/guise/config.json")
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "view.zoom", value: "face")))
        // A folder cannot be replaced by a file.
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
        #expect(fixture.requestError(.configuration(.save)) != nil)
        try FileManager.default.removeItem(atPath: file)
        try fixture.daemon.saveChanges()
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["view"]?["zoom"]?.string == "face")
    }

    @Test func `a change that cannot be undone now can be undone later`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.mask(.clear))
        let file = fixture.scratch.path("config/guise/Masks/aa-choices/mask.json")
        let description = try fixture.scratch.read("config/guise/Masks/aa-choices/mask.json")
        try fixture.scratch.write("{", "config/guise/Masks/aa-choices/mask.json")
        try #require(Fixtures.exists(file))
        #expect(throws: (any Error).self) { _ = try fixture.ask(.history(.undo)) }
        #expect(fixture.loader.selections.isEmpty)
        try fixture.scratch.write(description, "config/guise/Masks/aa-choices/mask.json")
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.loader.selections.map(\.mask) == ["aa-choices"])
    }

    @Test func `a mask that hides faces and stays on is not called undone`() {
        let reply = HistoryReply(change: "wear pixelate", worn: WornReply(masks: [], kept: ["pixelate"]), notes: [])
        #expect(reply.line?.hasPrefix("wear pixelate, except what hides; ") == true)
        #expect(reply.line?.contains("guise remove pixelate") == true)
    }
}
