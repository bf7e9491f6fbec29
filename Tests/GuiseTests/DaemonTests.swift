import Compose
import Control
import Foundation
import Frames
import JSON
import Page
import Publish
import Synchronization
import SystemKit
import TestSupport
import Testing
import Track

@testable import Privacy
@testable import Engine
@testable import guise

/// Requests to the daemon and their errors, without a socket, a camera or a frame.
@Suite(.ownThread) struct DaemonTests {
    /// A daemon with a temporary home.
    final class DaemonFixture {
        static let standard = """
            {"source": "camera", "masks": [], "faces": {"max": 4}, "output": {"width": 64, "height": 64}}
            """
        let scratch: ScratchFolder
        let context: AppContext
        let mailbox: Mailbox
        let loader: MaskLoader
        let daemon: Daemon
        let looks: LookStore
        private let pageService: PageService

        /// - Parameters:
        ///   - configuration: the user's file; nil: none.
        ///   - source: the loop's source; nil: a file, which can't be changed.
        ///   - camera: the camera whose controls can be set; nil: none is connected.
        init(
            _ configuration: String? = DaemonFixture.standard, source: SourceSpec? = .camera,
            camera: CameraSettingsTests.FakeCamera? = nil,
            outputLayout: FrameLayout = FrameLayout(width: 64, height: 48, format: .i420)
        ) throws {
            scratch = try ScratchFolder()
            if let configuration { try scratch.write(configuration, "config/guise/config.json") }
            // Only its description is read here, not its art.
            try scratch.write(
                """
                {"version": 1, "title": "Choices", "layers": [
                 {"kind": "sprite", "tint": {"name": "cloth", "color": "#ff0000"},
                  "palettes": {"day": {}, "night": {}}, "palette": "day"},
                 {"kind": "text", "text": "Ada", "face": "chin"}]}
                """, "config/guise/Masks/aa-choices/mask.json")
            try scratch.write(
                """
                {"version": 1, "layers": [{"kind": "effect", "mode": "grey"}]}
                """, "config/guise/Masks/ab-grey/mask.json")
            context = try AppContext(paths: Paths(environment: scratch.environment))
            var settings = LoopSettings()
            settings.apply(context.configuration)
            settings.source = source
            mailbox = try Mailbox(settings)
            loader = try context.maskLoader([], for: outputLayout)
            pageService = PageService(context, mailbox, loader, Preview(layout: outputLayout) {}, CaptureStore())
            looks = LookStore(folder: context.paths.user)
            daemon = try Daemon(
                context, mailbox, loader, pageService, outputs: ["nowhere"], outputLayout: outputLayout,
                context.configurationText,
                looks, CameraSettingsStore(folder: context.paths.state, CameraSettingsTests.access(camera)),
                HiddenState(folder: scratch.path("run")))
        }

        func write(configuration: String) throws { try scratch.write(configuration, "config/guise/config.json") }

        func write(mask: String, _ description: String) throws {
            try scratch.write(description, "config/guise/Masks/\(mask)/mask.json")
        }

        /// Sends a request and waits for the reply.
        func ask(_ command: Command) throws -> JSON {
            let answer = ReplyBox()
            daemon.handle(command) { answer.put($0) }
            return try answer.take()
        }

        /// The error of a request; nil if it succeeded.
        func requestError(_ command: Command) -> RequestError? {
            do {
                _ = try ask(command)
                return nil
            } catch { return RequestError(error) }
        }

        /// The names of masks in a reply.
        func worn(_ command: Command) throws -> [String] {
            try ask(command)["masks"]?.elements.compactMap { $0["name"]?.string } ?? []
        }

        /// The notes for the user in a reply.
        func notes(_ command: Command) throws -> [String] {
            try ask(command)["notes"]?.elements.compactMap(\.string) ?? []
        }

        /// The current configuration.
        var values: JSON { get throws { try #require(try ask(.configuration(.configuration))["values"]) } }

        /// The pending events, without metrics, which depend on the clock, and without the history's.
        var newEvents: [JSON] {
            daemon.pendingEvents().filter { ![.metrics, .history].contains($0.topic) }.map(\.event)
        }
    }

    private final class ReplyBox: Sendable {
        private let result = Mutex<Result<JSON, any Error>?>(nil)
        private let arrived = DispatchSemaphore(value: 0)

        func put(_ answer: Result<JSON, any Error>) {
            result.withLock { $0 = answer }
            arrived.signal()
        }

        func take() throws -> JSON {
            arrived.wait()
            let answer = result.withLock { $0 }
            return try #require(answer).get()
        }
    }

    // MARK: - Status

    @Test func `an edit of the configuration before it is watched counts too`() throws {
        let fixture = try DaemonFixture()
        #expect(fixture.daemon.configuration.value.faces.max == 4)
        try fixture.scratch.write(#"{"faces": {"max": 3}}"#, "config/guise/config.json")
        let reports = Mutex<[String]>([])
        fixture.daemon.configuration.watch { report in reports.withLock { $0.append(report) } }
        waits { reports.withLock { !$0.isEmpty } }
        #expect(reports.withLock { $0 }.contains { $0.contains("the configuration was reloaded") })
        #expect(fixture.daemon.configuration.value.faces.max == 3)
    }

    @Test func `the state is the loop's, unless a request is pending`() throws {
        let fixture = try DaemonFixture()
        fixture.daemon.status.setCamera("a camera")
        func state() throws -> String? { try fixture.ask(.service(.status))["state"]?.string }
        #expect(try state() == "closed")
        for (camera, word) in [(LoopStatus.Camera.opening, "opening"), (.lost, "lost"), (.open, "running")] {
            var loopStatus = LoopStatus()
            (loopStatus.camera, loopStatus.frames, loopStatus.faces) = (camera, 7, 2)
            fixture.mailbox.update(loopStatus)
            #expect(try state() == word)
        }
        _ = try fixture.ask(.picture(.freeze))
        #expect(try state() == "frozen")
        _ = try fixture.ask(.picture(.pause))
        #expect(try state() == "paused")
        let status = try fixture.ask(.service(.status))
        #expect(status["source"]?.string == "a camera" && status["version"]?.string == guiseVersion)
        #expect(status["outputs"]?.text == "[\"nowhere\"]" && status["masks"]?.text == "[]")
        #expect(status["frames"]?.number == 7 && status["faces"]?.number == 2)
        #expect(status["recording"]?.value == .null && status["camera"]?.string == "open")
    }

    @Test func `another file in place of the first is an event, although the camera was open all the time`() throws {
        let fixture = try DaemonFixture()
        var loopStatus = LoopStatus()
        loopStatus.camera = .open
        fixture.daemon.status.setCamera("one.mp4")
        fixture.mailbox.update(loopStatus)
        func sources() -> [String] {
            fixture.newEvents.filter { $0["event"]?.string == "camera" }.compactMap { $0["source"]?.string }
        }
        #expect(sources() == ["one.mp4"])
        #expect(sources().isEmpty)
        fixture.daemon.status.setCamera("two.mp4")
        #expect(sources() == ["two.mp4"])
    }

    @Test func `a stop ends the loop`() throws {
        let fixture = try DaemonFixture()
        #expect(!fixture.mailbox.isEnding)
        _ = try fixture.ask(.service(.stop))
        #expect(fixture.mailbox.isEnding)
    }

    @Test func `every request of the protocol is answered`() throws {
        let fixture = try DaemonFixture(#"{"page": {"port": 0}, "masks": [], "output": {"width": 64, "height": 64}}"#)
        let keys: [String: [String: JSON]] = [
            "remove": ["mask": "ab-grey"], "toggle": ["mask": "ab-grey"],
            "only": ["mask": "ab-grey"], "wear": ["masks": ["ab-grey"]], "set": ["key": "faces.max", "value": 2],
            "add": ["masks": ["aa-choices"]], "order": ["masks": ["aa-choices", "ab-grey"]],
            "look": ["name": "both", "action": "save"], "favourite": ["mask": "ab-grey"],
            "use": ["device": "sample"], "snapshot": ["path": JSON(fixture.scratch.path("a.png"))],
            "record": ["path": JSON(fixture.scratch.path("a.mp4"))],
            "teach": ["name": "card"], "forget": ["name": "card"],
        ]
        for name in Request.names {
            let json = (keys[name] ?? [:]).reduce(JSON(["request": JSON(name)])) { $0.with($1.key, $1.value) }
            // What a surprise gives to single people can't be saved.
            if name == "look" { _ = try fixture.ask(.mask(.only("ab-grey"))) }
            // The server answers subscriptions.
            guard case .command(let command) = try Request(id: nil, json).content else { continue }
            let answer = ReplyBox()
            fixture.daemon.handle(command) { answer.put($0) }
            // Only a snapshot waits for the loop.
            for request in fixture.mailbox.takeCaptureRequests() { request.refuse("there is no picture") }
            do { _ = try answer.take() } catch {
                // Nothing is taught, and no mask recognises things.
                #expect(["snapshot", "teach", "forget"].contains(name), "\(name): \(error)")
            }
        }
        try fixture.mailbox.settings.recorder?.finish()
    }

    @Test func `a status is decoded by the command line as it was sent`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: 0.9)))
        let path = fixture.scratch.path("a.mp4")
        _ = try fixture.ask(.picture(.startRecording(path, sound: false)))
        let sent = try fixture.ask(.service(.status))
        #expect(sent["masks"]?.text == #"[{"name":"aa-choices","opacity":0.9,"choices":{}}]"#)
        let status: StatusReply = try sent.decoded()
        #expect(JSON(encoding: status).text == sent.text)
        #expect(status.lines.contains("worn: aa-choices") && status.lines.contains("recording: \(path)"))
        try fixture.mailbox.settings.recorder?.finish()
    }

    // MARK: - Pictures

    private static func set(_ value: JSON) -> Command {
        .configuration(.set(mask: "background-picture", key: "picture", value: value))
    }

    @Test func `a file becomes one of the user's own pictures, and what can't be read changes nothing`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["background-picture"])))
        func picture() -> String? { fixture.loader.selections.first?.choices["picture"] }
        let path = try fixture.scratch.make("At the sea!.png", "-f lavfi -i testsrc=s=4800x1200 -frames:v 1")
        _ = try fixture.ask(Self.set(JSON(path)))
        #expect(picture() == "At the sea.jpg")
        let stored = fixture.scratch.path("config/guise/Pictures/At the sea.jpg")
        #expect(try fixture.scratch.measure(stored) == "2048x512 1", "made smaller")
        _ = try fixture.ask(Self.set("dawn"))
        #expect(picture() == "dawn")
        _ = try fixture.ask(Self.set(JSON(path)))
        #expect(picture() == "At the sea.jpg", "the same picture is kept once")

        // Another one of the same name.
        _ = try fixture.scratch.make("At the sea!.png", "-f lavfi -i testsrc2=s=320x180 -frames:v 1")
        _ = try fixture.ask(Self.set(JSON(path)))
        #expect(picture() == "At the sea 2.jpg")
        let list = try fixture.ask(.mask(.masks))["masks"]?.elements.first { $0["name"] == "background-picture" }
        let allowed = list?["choices"]?["picture"]?["allowed"]
        #expect(allowed?.text == #"["dawn","study","At the sea 2.jpg","At the sea.jpg"]"#)

        _ = try fixture.scratch.write("no picture", "b.jpg")
        for (value, words) in [
            (fixture.scratch.path("b.jpg"), "not a picture"), (fixture.scratch.path("gone.jpg"), "no such file"),
            (fixture.scratch.path("config"), "folder"), ("gone.jpg", "allowed"), ("", "allowed"),
            ("../Pictures/x.jpg", "allowed"),
        ] {
            let error = fixture.requestError(Self.set(JSON(value)))
            #expect(error?.message.contains(words) == true, "\(value): \(error as Any)")
        }
        #expect(fixture.requestError(Self.set(7))?.code == .badValue)
        #expect(picture() == "At the sea 2.jpg")
        #expect(fixture.scratch.names(in: "config/guise/Pictures").count == 2)
    }

    @Test func `a clip becomes a moving picture, a short one a picture, and a damaged one nothing`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["background-picture"])))
        func picture() -> String? { fixture.loader.selections.first?.choices["picture"] }
        let clip = try fixture.scratch.make("waves.mkv", "-f lavfi -i testsrc=s=1440x810:r=30:d=2 -c:v mpeg4")
        _ = try fixture.ask(Self.set(JSON(clip)))
        #expect(picture() == "waves.mjpeg")
        let stored = fixture.scratch.path("config/guise/Pictures/waves.mjpeg")
        // Two seconds at 15 frames a second, without the frames of the fade.
        #expect(try fixture.scratch.measure(stored) == "960x540 22")
        _ = try fixture.ask(Self.set("dawn"))
        _ = try fixture.ask(Self.set(JSON(clip)))
        #expect(picture() == "waves.mjpeg", "the same clip is kept once")
        // Their names without endings differ, as the page shows them.
        for (file, name) in [("short/waves.mkv", "waves 2.jpg"), ("still/waves.png", "waves 3.jpg")] {
            let length = name == "waves 2.jpg" ? "-t 0.6 -c:v mpeg4" : "-frames:v 1"
            try fixture.scratch.makeFolder(String(file.prefix(5)))
            let path = try fixture.scratch.make(file, "-f lavfi -i testsrc2=s=320x180:r=30 \(length)")
            _ = try fixture.ask(Self.set(JSON(path)))
            #expect(picture() == name)
            let size = try fixture.scratch.measure(fixture.scratch.path("config/guise/Pictures/\(name)"))
            #expect(size == "320x180 1")
        }
        let list = try fixture.ask(.mask(.masks))["masks"]?.elements.first { $0["name"] == "background-picture" }
        let allowed = list?["choices"]?["picture"]?["allowed"]
        #expect(allowed?.text == #"["dawn","study","waves 2.jpg","waves 3.jpg","waves.mjpeg"]"#)

        let half = try fixture.scratch.write(try fixture.scratch.read("waves.mkv").prefix(400), "half.mkv")
        let error = fixture.requestError(Self.set(JSON(half)))
        #expect(error?.message.contains("half.mkv") == true, "\(error as Any)")
        #expect(picture() == "waves 3.jpg")
        #expect(fixture.scratch.names(in: "config/guise/Pictures").count == 3)
    }

    @Test func `the number of pictures is limited, and those that are there stay`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["background-picture"])))
        for number in 0..<BackgroundStore.maxPictures {
            _ = try fixture.scratch.write("\(number)", "config/guise/Pictures/\(number).jpg")
        }
        let path = try fixture.scratch.make("a.png", "-f lavfi -i testsrc=s=64x64 -frames:v 1")
        let error = fixture.requestError(Self.set(JSON(path)))
        #expect(error?.message.contains("delete some") == true, "\(error as Any)")
        #expect(fixture.scratch.names(in: "config/guise/Pictures").count == BackgroundStore.maxPictures)
    }

    // MARK: - Masks

    @Test func `masks are put on and taken off by name, in their order`() throws {
        let fixture = try DaemonFixture()
        #expect(try fixture.worn(.mask(.wear(["ab-grey"]))) == ["ab-grey"])
        #expect(try fixture.worn(.mask(.wear(["aa-choices"]))) == ["ab-grey", "aa-choices"])
        #expect(try fixture.worn(.mask(.wear(["ab-grey"]))) == ["ab-grey", "aa-choices"], "it is worn already")
        #expect(try fixture.worn(.mask(.toggle("ab-grey"))) == ["aa-choices"])
        #expect(try fixture.worn(.mask(.toggle("ab-grey"))) == ["aa-choices", "ab-grey"])
        #expect(try fixture.worn(.mask(.remove("aa-choices"))) == ["ab-grey"])
        #expect(try fixture.worn(.mask(.remove("aa-choices"))) == ["ab-grey"], "it is not worn")
        #expect(try fixture.worn(.mask(.only("aa-choices"))) == ["aa-choices"])
        #expect(try fixture.worn(.mask(.wear(["ab-grey", "aa-choices", "ab-grey"]))) == ["aa-choices", "ab-grey"])
        #expect(try fixture.worn(.mask(.order(["ab-grey"]))) == ["ab-grey", "aa-choices"])
        #expect(try fixture.worn(.mask(.order(["ab-grey", "ab-grey"]))) == ["ab-grey", "aa-choices"], "nothing twice")
        #expect(fixture.loader.selections.map(\.mask) == ["ab-grey", "aa-choices"])
        #expect(try fixture.worn(.mask(.clear)) == [] && fixture.loader.selections.isEmpty)
        #expect(try fixture.worn(.mask(.wear([]))) == [])
    }

    @Test func `a setting keeps its place in the file, and a new one comes last`() throws {
        let fixture = try DaemonFixture(
            #"{"view": {"mirror": false, "zoom": "off"}, "faces": {"max": 3}, "masks": []}"#)
        func set(_ key: String, _ value: JSON) throws {
            _ = try fixture.ask(.configuration(.set(mask: nil, key: key, value: value)))
        }
        try set("view.mirror", true)
        try set("faces.max", 5)
        try set("camera.when", "always")
        try fixture.daemon.saveChanges()
        let file = fixture.scratch.path("config/guise/config.json")
        let saved = try JSON([UInt8](Data(contentsOf: URL(fileURLWithPath: file))), file: file)
        #expect(saved.keys == ["view", "faces", "masks", "camera"], "\(saved.text)")
        #expect(saved["view"]?.keys == ["mirror", "zoom"] && saved["faces"]?["max"]?.number == 5)
    }

    @Test func `stamps are set as a list or as its text, and a wrong one changes nothing`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["stamps"])))
        func set(_ value: JSON) throws {
            _ = try fixture.ask(.configuration(.set(mask: "stamps", key: "items", value: value)))
        }
        let text = #"[{"art":"star","at":[0.5,0.5],"size":0.2}]"#
        try set(JSON(Array(text.utf8), file: "list"))
        #expect(fixture.loader.selections.first?.choices == ["items": text])
        try set("[]")
        #expect(fixture.loader.selections.first?.choices == ["items": "[]"])
        for wrong: JSON in ["star", 3, #"[{"art": "stra", "at": [0, 0], "size": 1}]"#] {
            let problem = #expect(throws: RequestError.self) { try set(wrong) }
            #expect(problem?.message.contains("sparkles") == true, "it lists what there is")
        }
        #expect(fixture.loader.selections.first?.choices == ["items": "[]"])
        _ = try fixture.ask(.history(.undo))
        #expect(fixture.loader.selections.first?.choices["items"] != "[]")
    }

    @Test func `clients learn where the faces are`() throws {
        let fixture = try DaemonFixture()
        #expect(try fixture.ask(.service(.faces)).text == #"{"faces":[]}"#)
        var loopStatus = LoopStatus()
        let place = FacePlacement(Face.mean)
        for _ in 0..<9 {
            loopStatus.facePlacements.append(place, in: FrameLayout(width: 640, height: 360, format: .i420))
        }
        fixture.mailbox.update(loopStatus)
        let faces = try fixture.ask(.service(.faces))["faces"]?.elements ?? []
        #expect(faces.count == 8, "more are left out")
        let eyes = faces.first?["eyes"]?.elements.compactMap(\.number) ?? []
        #expect(abs(eyes[0] - Double(place.eyes.x) / 640) < 1e-3 && abs(eyes[1] - Double(place.eyes.y) / 360) < 1e-3)
        #expect(abs((faces.first?["eyeDistance"]?.number ?? 0) - Double(place.eyeDistance) / 360) < 1e-3)
    }

    @Test(arguments: [
        MaskRequest.only("ab-grey"), .next, .previous, .random(all: false), .random(all: true), .surprise(all: false),
        .surprise(all: true), .clear,
    ])
    func `a mask that hides faces stays on until a request names it`(request: MaskRequest) throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        _ = try fixture.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 0.9)))
        let answer = try fixture.ask(.mask(request))
        #expect(answer["kept"]?.elements.compactMap(\.string) == ["pixelate"])
        let kept = try #require(fixture.loader.selections.first)
        #expect(kept.mask == "pixelate" && kept.opacity == 0.9, "as it was worn")
        #expect(!fixture.loader.selections.contains { $0.mask == "aa-choices" })
        // It is taken off by name; a mask that the request names is not reported as kept.
        #expect(try fixture.ask(.mask(.only("pixelate")))["kept"] == nil)
        #expect(try fixture.worn(.mask(.remove("pixelate"))) == [])
    }

    @Test(arguments: [MaskRequest.clear, .next, .only("ab-grey")])
    func `a mask that hides faces stays on if its file is damaged while it is worn`(request: MaskRequest) throws {
        let fixture = try DaemonFixture()
        try fixture.write(
            mask: "ac-cover",
            """
            {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
            """)
        _ = try fixture.ask(.mask(.wear(["ac-cover"])))
        try fixture.write(mask: "ac-cover", "{")
        #expect(try fixture.ask(.mask(request))["kept"]?.elements.compactMap(\.string) == ["ac-cover"])
        #expect(fixture.loader.selections.first?.mask == "ac-cover")
        _ = try fixture.ask(.mask(.remove("ac-cover")))
        #expect(!fixture.loader.selections.contains { $0.mask == "ac-cover" })
    }

    @Test func `a mask that can't be loaded is an error, and nothing of what came with it is adopted`() throws {
        let fixture = try DaemonFixture()
        fixture.loader.start()
        defer { fixture.loader.close() }
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        // Readable, so that the mask is in the list.
        try fixture.write(mask: "ac-bad", #"{"version": 1, "layers": [{"kind": "frame", "art": "none.png"}]}"#)
        let before = try fixture.values
        for request in [MaskRequest.wear(["ac-bad"]), .add(["ac-bad"]), .toggle("ac-bad"), .only("ac-bad")] {
            let error = fixture.requestError(.mask(request))
            #expect(error?.code == .failed && error?.message.contains("none.png") == true, "\(request)")
            #expect(fixture.loader.selections.map(\.mask) == ["pixelate"])
        }
        // One that hides, alone and beside another one.
        let art = #"[{"kind": "frame", "art": "none.png"}]"#
        try fixture.write(mask: "ad-bad", "{\"version\": 1, \"onLostFace\": \"cover\", \"layers\": \(art)}")
        for masks in [["ac-bad"], ["ad-bad"], ["blur", "ac-bad"]] as [JSON] {
            let error = fixture.requestError(.configuration(.set(mask: nil, key: "masks", value: masks)))
            #expect(error?.message.contains("none.png") == true, "\(masks.text)")
            waits { fixture.loader.selections.map(\.mask) == ["pixelate"] }
        }
        try fixture.daemon.saveChanges()
        #expect(try fixture.values == before)
        try fixture.write(
            configuration: #"{"masks": ["ac-bad"], "privacy": {"onLostFace": "show"}, "faces": {"max": 1}}"#)
        let error = fixture.requestError(.configuration(.reload))
        #expect(error?.message.contains("none.png") == true)
        #expect(try fixture.values == before)
        #expect(fixture.loader.selections.map(\.mask) == ["pixelate"])
        #expect(fixture.mailbox.settings.onLostFace != .show)
        // What is there counts again once the mask can be loaded.
        try fixture.write(mask: "ac-bad", #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey"}]}"#)
        _ = try fixture.ask(.configuration(.reload))
        #expect(fixture.mailbox.settings.onLostFace == .show && fixture.mailbox.settings.faces.max == 1)
    }

    @Test func `a mask that hides faces is what it was loaded as, if its file becomes another mask's`() throws {
        let fixture = try DaemonFixture()
        try fixture.write(
            mask: "ac-cover",
            """
            {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
            """)
        _ = try fixture.ask(.mask(.wear(["ac-cover"])))
        fixture.loader.start()
        waits { fixture.loader.masks.map(\.name) == ["ac-cover"] }
        // Readable, but no mask, so that the last valid version stays on.
        try fixture.write(mask: "ac-cover", #"{"version": 1, "layers": [{"kind": "nothing"}]}"#)
        #expect(try fixture.ask(.mask(.clear))["kept"]?.elements.compactMap(\.string) == ["ac-cover"])
        fixture.loader.close()
    }

    @Test(arguments: [MaskRequest.wear(["ac-cover"]), .add(["ac-cover"]), .only("ac-cover")])
    func `an edit that hides less waits until a request names the mask, and what hides is stored`(
        request: MaskRequest
    ) throws {
        let fixture = try DaemonFixture()
        let state = HiddenState(folder: fixture.scratch.path("run"))
        try fixture.write(
            mask: "ac-cover",
            """
            {"version": 1, "onLostFace": "cover", "layers": [{"kind": "anonymize", "mode": "pixelate"}]}
            """)
        _ = try fixture.ask(.mask(.wear(["ac-cover"])))
        let lines = Mutex<[String]>([])
        fixture.loader.start(log: { line in lines.withLock { $0.append(line) } })
        defer { fixture.loader.close() }
        waits { fixture.loader.masks.map(\.name) == ["ac-cover"] }
        try fixture.write(mask: "ac-cover", #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey"}]}"#)
        waits { lines.withLock { $0.contains { $0.contains("hide less") } } }
        #expect(try fixture.ask(.mask(.clear))["kept"]?.elements.compactMap(\.string) == ["ac-cover"])
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        waits { fixture.loader.masks.map(\.name) == ["ac-cover", "ab-grey"] }
        #expect(fixture.loader.hidden == [.faces, .foundFaces])
        try fixture.daemon.saveChanges()
        #expect(try state.read().masks.map(\.mask) == ["ac-cover"])
        _ = try fixture.ask(.mask(request))
        waits { fixture.loader.hidden == [] }
        try fixture.daemon.saveChanges()
        #expect(try state.read() == HiddenState.Content())
    }

    @Test func `an edit of the configuration takes off only the hiding masks that it named before`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        let set = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: ["ab-grey"])))
        #expect(fixture.loader.selections.map(\.mask) == ["pixelate", "ab-grey"])
        #expect(set["notes"]?.text.contains("pixelate stays on") == true)
        let both: JSON = ["pixelate", "ab-grey"]
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: both)))
        // The list had it, and has it no more.
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: ["ab-grey"])))
        #expect(fixture.loader.selections.map(\.mask) == ["ab-grey"])
    }

    @Test(arguments: ["{}", #"{"source": "camera", "faces": {"max": 3}}"#])
    func `a configuration without masks leaves on what is worn, and one with masks puts them on`(text: String) throws {
        let fixture = try DaemonFixture()
        func worn(with text: String) throws -> [String] {
            try fixture.write(configuration: text)
            _ = try fixture.ask(.configuration(.reload))
            return fixture.loader.selections.map(\.mask)
        }
        let listed = #"{"source": "camera", "masks": ["pixelate"]}"#
        #expect(try worn(with: listed) == ["pixelate"])
        #expect(try worn(with: text) == ["pixelate"])
        // It was not taken out of a list.
        #expect(try worn(with: #"{"masks": ["ab-grey"]}"#) == ["pixelate", "ab-grey"])
        #expect(try worn(with: text) == ["pixelate", "ab-grey"])
        _ = try fixture.ask(.mask(.remove("pixelate")))
        // Also those that are the default.
        #expect(try worn(with: #"{"masks": ["santa"]}"#) == ["santa"])
    }

    @Test(arguments: [MaskRequest.next, .surprise(all: true), .clear, .only("ab-grey")])
    func `what hides the room or bystanders stays on too, and another background that hides the room replaces it`(
        request: MaskRequest
    ) throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["bystanders"])))
        _ = try fixture.ask(.mask(.wear(["background-blur"])))
        #expect(fixture.loader.selections.map(\.mask) == ["bystanders", "background-blur"], "both can be worn")
        let kept = try fixture.ask(.mask(request))["kept"]?.elements.compactMap(\.string)
        #expect(kept == ["bystanders", "background-blur"])
        // A background by its name.
        _ = try fixture.ask(.mask(.wear(["background-grey"])))
        #expect(!fixture.loader.selections.contains { $0.mask == "background-blur" })
        #expect(fixture.loader.selections.contains { $0.mask == "bystanders" })
        _ = try fixture.ask(.mask(.wear(["background-blur"])))
        _ = try fixture.ask(.mask(.only("background-color")))
        #expect(!fixture.loader.selections.contains { $0.mask == "background-blur" })
    }

    @Test func `a background that is transparent takes the place of none that hides the room`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["background-blur"])))
        let list = JSON([JSON(["name": "background-color", "opacity": 0])])
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: list)))
        #expect(fixture.loader.selections.map(\.mask) == ["background-blur", "background-color"])
    }

    @Test func `opacities and choices count when a list of masks would hide more than the active ones`() throws {
        let fixture = try DaemonFixture()
        let catalog = MaskCatalog(fixture.loader, searchPaths: fixture.context.paths.masks)
        var (clear, largest) = (MaskSelection("pixelate"), MaskSelection("background-blur"))
        clear.opacity = 0
        largest.people = "largest"
        let opaque = [MaskSelection("pixelate"), MaskSelection("background-blur")]
        for (worn, wanted, isMore) in [
            ([], opaque, true), (opaque, opaque, false), (opaque, [clear], false), ([clear, opaque[1]], opaque, true),
            (opaque, [largest], true), ([largest], [opaque[1]], false), (opaque, [MaskSelection("crown")], false),
        ] {
            try catalog.select(worn)
            #expect(catalog.wouldHideMore(wanted) == isMore, "\(worn) \(wanted)")
        }
    }

    @Test func `a hat that hides the room stays on when another hat is put on that does not`() throws {
        let fixture = try DaemonFixture()
        for (name, mode) in [("ac-room", "blur"), ("ad-room", "color"), ("ae-dim", "dim")] {
            try fixture.write(
                mask: name,
                """
                {"version": 1, "kind": "hat", "layers": [{"kind": "background", "mode": "\(mode)"}]}
                """)
        }
        _ = try fixture.ask(.mask(.wear(["ac-room"])))
        for hat in ["crown", "ae-dim"] {
            let reply = try fixture.ask(.mask(.wear([hat])))
            #expect(reply["kept"]?.elements.compactMap(\.string) == ["ac-room"], "\(reply.text)")
            #expect(fixture.loader.selections.map(\.mask) == ["ac-room", hat], "the hats replace each other")
        }
        _ = try fixture.ask(.mask(.wear(["ad-room"])))
        #expect(fixture.loader.selections.map(\.mask) == ["ad-room"], "it hides the room too")
        // By its own name it goes.
        #expect(try fixture.worn(.mask(.remove("ad-room"))) == [])
    }

    @Test(arguments: [MaskRequest.wear(["pixelate"]), .only("pixelate")])
    func `a hiding mask that is put on by name is not transparent`(request: MaskRequest) throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        _ = try fixture.ask(.configuration(.set(mask: "pixelate", key: "opacity", value: 0)))
        _ = try fixture.ask(.mask(request))
        #expect(fixture.loader.selections.map(\.opacity) == [1])
    }

    @Test func `what hid something is as opaque in the next process, and what is not there any more is named`() {
        var faint = MaskSelection("pixelate")
        faint.opacity = 0
        let hidden = HiddenState.Content(masks: ["pixelate", "blur", "veil"].map(MaskSelection.init))
        let start = hidden.keeping([MaskSelection("crown"), faint], known: ["blur", "crown", "pixelate"])
        #expect(start.masks.map(\.mask) == ["blur", "crown", "pixelate"])
        #expect(start.masks.map(\.opacity) == [1, 1, 1])
        #expect(start.kept == ["blur"] && start.missing == ["veil"])
        // What its user has chosen to hide, too.
        var largest = MaskSelection("blur")
        largest.people = "largest"
        let others = HiddenState.Content(masks: [largest]).keeping([MaskSelection("blur")], known: ["blur"])
        #expect(others.masks.map(\.people) == ["largest"])
        // A configuration may name it twice.
        var half = MaskSelection("pixelate")
        half.opacity = 0.5
        let twice = HiddenState.Content(masks: [half, MaskSelection("pixelate")])
        #expect(twice.keeping([faint], known: ["pixelate"]).masks.map(\.opacity) == [1])
    }

    @Test(arguments: [
        #"{"version": 1, "layers": [{"kind": "effect", "mode": "sepia"}, {"kind": "background", "mode": "color"}]}"#,
        // It still promises to hide faces.
        """
        {"version": 1, "onLostFace": "cover",
         "layers": [{"kind": "effect", "mode": "sepia"}, {"kind": "background", "mode": "color"}]}
        """,
        // Others than the largest are shown.
        """
        {"version": 1, "onLostFace": "cover",
         "layers": [{"kind": "anonymize", "mode": "blur"}, {"kind": "background", "mode": "color"}]}
        """,
    ])
    func `a mask that hides less than when the last process ended is named`(edited: String) throws {
        let fixture = try DaemonFixture()
        let state = HiddenState(folder: fixture.scratch.path("run"))
        let text = """
            {"version": 1, "onLostFace": "cover", "layers": [
                {"kind": "anonymize", "mode": "blur"}, {"kind": "background", "mode": "color", "people": "largest"}]}
            """
        try fixture.write(mask: "ac-cover", text)
        _ = try fixture.ask(.mask(.wear(["ac-cover"])))
        fixture.loader.start(log: { _ in })
        defer { fixture.loader.close() }
        waits { fixture.loader.masks.map(\.name) == ["ac-cover"] }
        try fixture.daemon.saveChanges()
        let hidden = try state.read()
        let target = ArtTarget(FrameLayout(width: 64, height: 48, format: .i420))
        func named() throws -> [String] {
            let library = MaskLibrary(searchPaths: [fixture.scratch.path("config/guise/Masks")])
            return hidden.hidingLess([try library.load("ac-cover", for: target)])
        }
        #expect(try named() == [])
        try fixture.write(mask: "ac-cover", edited)
        #expect(try named() == ["ac-cover"])
        #expect(hidden.hidingLess([]) == [], "one that is not there is named elsewhere")
    }

    @Test func `what an earlier version has written of what was hidden is read`() throws {
        let fixture = try DaemonFixture()
        try fixture.scratch.write(
            """
            {"masks": ["veil"], "paused": false, "concealments": [
                {"mask": "veil", "parts": ["faces"], "coversFaces": true, "roomOpacity": 1}]}
            """, "run/hidden.json")
        let content = try HiddenState(folder: fixture.scratch.path("run")).read()
        #expect(content.concealments["veil"] == Concealment(parts: [.faces, .foundFaces], roomBlur: 0))
    }

    @Test func `who is hidden by a choice stays so until a request for the mask shows everybody`() throws {
        let fixture = try DaemonFixture()
        var people: [String?] { fixture.loader.selections.map(\.people) }
        _ = try fixture.ask(.mask(.wear(["background-blur"])))
        _ = try fixture.ask(.look(.look("everybody", .save)))
        _ = try fixture.ask(.configuration(.set(mask: "background-blur", key: "people", value: "largest")))
        #expect(people == ["largest"] && fixture.loader.hidden.contains(.bystanders))
        let undone = try fixture.ask(.history(.undo))
        #expect(people == ["largest"] && undone["kept"]?.elements.compactMap(\.string) == ["background-blur"])
        let look = try fixture.ask(.look(.look("everybody", .wear)))
        #expect(people == ["largest"] && look["kept"]?.elements.compactMap(\.string) == ["background-blur"])
        _ = try fixture.ask(.mask(.clear))
        #expect(people == ["largest"])
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: ["background-blur"])))
        #expect(people == ["largest"])
        _ = try fixture.ask(.configuration(.set(mask: "background-blur", key: "people", value: "all")))
        #expect(people == ["all"])
        // A look in which that was chosen is no request for the mask.
        _ = try fixture.ask(.look(.look("everybody", .save)))
        _ = try fixture.ask(.configuration(.set(mask: "background-blur", key: "people", value: "largest")))
        _ = try fixture.ask(.look(.look("everybody", .wear)))
        #expect(people == ["largest"])
    }

    @Test func `what hides, and a pause, are kept for the next process, whatever else can't be stored`() throws {
        let fixture = try DaemonFixture()
        let state = HiddenState(folder: fixture.scratch.path("run"))
        try fixture.daemon.saveChanges()
        #expect(try state.read() == HiddenState.Content())
        _ = try fixture.ask(.mask(.wear(["pixelate", "ab-grey"])))
        _ = try fixture.ask(.picture(.freeze))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2)))
        // The file of the configuration can't be written.
        try fixture.write(configuration: "{")
        #expect(throws: (any Error).self) { try fixture.daemon.saveChanges() }
        #expect(try state.read().masks.map(\.mask) == ["pixelate"] && state.read().isPaused)
        #expect(try fixture.scratch.shell("cat $(find . -name masks.json)").contains("ab-grey"))
        _ = try fixture.ask(.mask(.remove("pixelate")))
        _ = try fixture.ask(.picture(.resume))
        try? fixture.daemon.saveChanges()
        #expect(try state.read() == HiddenState.Content())
    }

    @Test func `what hides is stored once its folder can be written again, without another request`() throws {
        let fixture = try DaemonFixture()
        // A file can't replace a folder, and only an empty one is removed.
        try fixture.scratch.makeFolder("run/hidden.json/more")
        fixture.daemon.startSaving()
        defer { fixture.daemon.stopSaving() }
        _ = try fixture.ask(.mask(.wear(["pixelate"])))
        waits { fixture.newEvents.contains { $0["message"]?.string?.contains("hidden.json") == true } }
        try fixture.scratch.shell("rm -r run/hidden.json")
        let state = HiddenState(folder: fixture.scratch.path("run"))
        try waits { try state.read().masks.map(\.mask) == ["pixelate"] }
    }

    @Test func `work with the user's files holds up no other request, and what hides is stored meanwhile`() throws {
        let fixture = try DaemonFixture()
        let (hidden, configuration) = (HiddenState(folder: fixture.scratch.path("run")), fixture.daemon.configuration)
        let content = Mutex(HiddenState.Content())
        let saver = ChangeSaver(HiddenStateWriter(hidden) { content.withLock { $0 } }, configuration)
        saver.start { true }
        defer { saver.stop() }
        let (mayEnd, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isQueued = saver.run({ mayEnd.wait() }, then: { hasEnded.signal() })
        #expect(isQueued)
        let changes = saver.changes
        content.withLock { $0.isPaused = true }
        saver.request()
        #expect(saver.changes == changes + 1)
        let isStored = DispatchSemaphore(value: 0)
        saver.afterStoring(since: changes) { isStored.signal() }
        isStored.wait()
        #expect(try hidden.read().isPaused)
        // What changes nothing need not wait.
        saver.request()
        #expect(saver.changes == changes + 1)
        mayEnd.signal()
        hasEnded.wait()
    }

    @Test func `all that can't be stored is reported`() throws {
        let fixture = try DaemonFixture()
        try fixture.scratch.makeFolder("state/guise/masks.json")
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2)))
        try fixture.write(configuration: "{")
        let message = try #require(problem { try fixture.daemon.saveChanges() }?.message)
        #expect(message.contains("masks.json") && message.contains("config.json"), "\(message)")
        fixture.daemon.startSaving()
        fixture.daemon.stopSaving()
        let reported = fixture.newEvents.compactMap { $0["message"]?.string }
        for name in ["masks.json", "config.json"] {
            #expect(reported.contains { $0.contains(name) }, "\(reported)")
        }
    }

    @Test func `what hides from the start is kept for the next process too`() throws {
        let fixture = try DaemonFixture()
        fixture.loader.select([MaskSelection("pixelate")], hiding: .faces)
        fixture.daemon.startSaving()
        // What is left to do is done at once.
        fixture.daemon.stopSaving()
        let state = HiddenState(folder: fixture.scratch.path("run"))
        #expect(try state.read().masks.map(\.mask) == ["pixelate"])
    }

    @Test(arguments: [false, true])
    func `a file that the user creates while the installed one is in use is read, and never replaced`(
        isReloaded: Bool
    ) throws {
        let fixture = try DaemonFixture(nil)
        try fixture.write(configuration: #"{"privacy": {"onLostFace": "cover"}, "faces": {"max": 5}}"#)
        if isReloaded {
            _ = try fixture.ask(.configuration(.reload))
            #expect(fixture.mailbox.settings.onLostFace == .cover)
        }
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "view.mirror", value: true)))
        try fixture.daemon.saveChanges()
        let saved = try fixture.scratch.shell("cat config/guise/config.json")
        #expect(saved.contains("cover") && saved.contains("mirror"), "\(saved)")
        _ = try fixture.ask(.configuration(.reload))
        #expect(fixture.mailbox.settings.onLostFace == .cover && fixture.mailbox.settings.faces.max == 5)
    }

    @Test func `slow requests are processed a few at a time, and each gets a reply`() throws {
        let fixture = try DaemonFixture()
        let answers = Mutex<[Bool]>([])
        for _ in 0..<40 {
            fixture.daemon.handle(.device(.devices)) { result in
                if case .success = result {
                    answers.withLock { $0.append(true) }
                } else {
                    answers.withLock { $0.append(false) }
                }
            }
        }
        waits { answers.withLock { $0.count == 40 } }
        #expect(answers.withLock { $0.contains(true) })
        // Rejected requests don't block later ones.
        let last = Mutex<Bool?>(nil)
        fixture.daemon.handle(.device(.devices)) { result in last.withLock { $0 = (try? result.get()) != nil } }
        waits { last.withLock { $0 != nil } }
        #expect(last.withLock { $0 } == true)
    }

    @Test func `requests beyond three that wait for a device are refused at once`() throws {
        let camera = CameraSettingsTests.FakeCamera()
        let fixture = try DaemonFixture(camera: camera)
        camera.state.isStuck.store(true, ordering: .releasing)
        let answers = Mutex<[Bool]>([])
        for _ in 0..<3 {
            fixture.daemon.handle(.device(.camera)) { result in
                answers.withLock { $0.append((try? result.get()) != nil) }
            }
        }
        #expect(fixture.requestError(.device(.camera))?.code == .notNow)
        #expect(answers.withLock { $0.isEmpty })
        camera.state.isStuck.store(false, ordering: .releasing)
        waits { answers.withLock { $0 == [true, true, true] } }
        waits { fixture.requestError(.device(.camera)) == nil }
    }

    @Test func `next and random never put on a mask that hides faces`() throws {
        let fixture = try DaemonFixture()
        let hiding = Set(fixture.context.library.summaries.filter { $0.hidden.contains(.faces) }.map(\.name))
        #expect(hiding.isSuperset(of: ["pixelate", "blur"]))
        for _ in fixture.context.library.names {
            #expect(try hiding.isDisjoint(with: fixture.worn(.mask(.next))))
            #expect(try hiding.isDisjoint(with: fixture.worn(.mask(.random(all: true)))))
        }
    }

    @Test(arguments: [
        Command.mask(.wear(["ab-gray"])), .mask(.remove("ab-gray")), .mask(.toggle("ab-gray")), .mask(.only("ab-gray")),
        .mask(.wear(["aa-choices", "ab-gray"])),
        .configuration(.set(mask: "ab-gray", key: "opacity", value: 1)),
    ])
    func `an unknown name is an error that suggests the nearest one, and changes nothing`(command: Command) throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        let requestError = try #require(fixture.requestError(command))
        #expect(
            requestError.code == .unknownMask && requestError.message == "no mask 'ab-gray'; did you mean 'ab-grey'?")
        #expect(fixture.loader.selections == [MaskSelection("ab-grey")])
        let unrelated = try #require(fixture.requestError(.mask(.wear(["qqqqqqqqqqqqqqqq"]))))
        #expect(unrelated.message.hasPrefix("no mask 'qqqqqqqqqqqqqqqq'; there are: aa-choices, ab-grey, "))
    }

    @Test func `a mask whose folder was deleted can still be taken off`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        try FileManager.default.removeItem(atPath: fixture.scratch.path("config/guise/Masks/ab-grey"))
        #expect(try fixture.worn(.mask(.remove("ab-grey"))) == [])
        #expect(fixture.requestError(.mask(.wear(["ab-grey"])))?.code == .unknownMask)
    }

    @Test func `next and previous cycle through all masks, one at a time`() throws {
        let fixture = try DaemonFixture()
        let names = fixture.context.library.summaries.filter(\.hidden.isEmpty).map(\.name)
        try #require(names.count > 2 && names.prefix(2) == ["aa-choices", "ab-grey"])
        #expect(try fixture.worn(.mask(.next)) == [names[0]])
        #expect(try fixture.worn(.mask(.next)) == [names[1]])
        #expect(try fixture.worn(.mask(.previous)) == [names[0]])
        #expect(try fixture.worn(.mask(.previous)) == [names[names.count - 1]])
        #expect(try fixture.worn(.mask(.next)) == [names[0]])
        _ = try fixture.ask(.mask(.wear(["aa-choices", "ab-grey"])))
        #expect(try fixture.worn(.mask(.next)) == [names[2]], "the one beside the last")
        _ = try fixture.ask(.mask(.clear))
        #expect(try fixture.worn(.mask(.previous)) == [names[names.count - 1]])
    }

    @Test func `a random mask is one that is not worn`() throws {
        let fixture = try DaemonFixture()
        let names = fixture.context.library.summaries.filter(\.hidden.isEmpty).map(\.name)
        _ = try fixture.ask(.mask(.wear(Array(names.dropFirst()))))
        #expect(try fixture.worn(.mask(.random(all: true))) == [names[0]])
        for _ in 0..<20 {
            let before = fixture.loader.selections.map(\.mask)
            let now = try fixture.worn(.mask(.random(all: true)))
            #expect(now.count == 1 && now != before && names.contains(now[0]))
        }
        _ = try fixture.ask(.mask(.wear(names)))
        #expect(fixture.requestError(.mask(.random(all: true)))?.code == .notNow)
        #expect(fixture.loader.selections.count == names.count)
    }

    @Test func `a surprise is a different mask for each person, and a mask put on by name is for everybody`() throws {
        let fixture = try DaemonFixture()
        let personal = Set(fixture.context.library.summaries.filter(\.isPersonal).map(\.name))
        try #require(personal.count > 8)
        var before: Set<String> = []
        for _ in 0..<5 {
            let masks = try #require(try fixture.ask(.mask(.surprise(all: true)))["masks"]?.elements)
            let names = Set(masks.compactMap { $0["name"]?.string })
            #expect(masks.compactMap { $0["person"]?.number } == [1, 2, 3, 4])
            #expect(names.count == 4 && names.isSubset(of: personal) && names.isDisjoint(with: before))
            before = names
        }
        let names = fixture.loader.selections.map(\.mask)
        let shared = try #require(try fixture.ask(.mask(.wear(names)))["masks"]?.elements)
        #expect(
            shared.allSatisfy { $0["person"] == nil } && fixture.loader.selections.allSatisfy { $0.personSlot == nil })
    }

    @Test func `a mask's options are set, and kept as long as it is worn`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        for (key, value) in [("opacity", 0.25), ("cloth", "#102030"), ("palette", "night"), ("text", "Bob")]
            as [(String, JSON)]
        {
            _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: key, value: value)))
        }
        var selection = MaskSelection("aa-choices")
        (selection.opacity, selection.choices) = (0.25, ["cloth": "#102030", "palette": "night", "text": "Bob"])
        #expect(fixture.loader.selections == [selection])
        #expect(try fixture.worn(.mask(.wear(["ab-grey", "aa-choices"]))) == ["aa-choices", "ab-grey"])
        #expect(fixture.loader.selections.first == selection)
        let masks = try #require(try fixture.ask(.mask(.masks))["masks"]?.elements)
        let own = try #require(masks.first { $0["name"]?.string == "aa-choices" })
        #expect(own["title"]?.string == "Choices" && own["worn"]?.bool == true)
        let cloth = own["choices"]?["cloth"]?.text
        #expect(cloth == ##"{"kind":"color","now":"#102030","default":"#ff0000"}"##)
        let palette = own["choices"]?["palette"]?.text
        #expect(palette == #"{"kind":"palette","allowed":["day","night"],"now":"night","default":"day"}"#)
    }

    static let wrongChoices: [(String, JSON, String)] = [
        ("opacity", 1.5, "allowed: a number from 0 to 1"), ("opacity", -0.1, "allowed: a number from 0 to 1"),
        ("opacity", "1", "allowed: a number from 0 to 1"), ("cloth", "rad", "allowed: a colour such as #d02030"),
        ("cloth", 7, "allowed: a colour"), ("palette", "noon", "allowed: day, night"),
        ("text", JSON(String(repeating: "x", count: 201)), "allowed: at most 200"),
        ("clth", "#102030", "did you mean 'cloth'?"), ("opacty", 1, "did you mean 'opacity'?"),
        ("qqqqqqqq", 1, "it has the options: opacity, cloth, palette, text"),
    ]

    @Test(arguments: wrongChoices)
    func `an invalid option is an error that says what is allowed, and changes nothing`(
        key: String, value: JSON, words: String
    ) throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        let requestError = try #require(
            fixture.requestError(.configuration(.set(mask: "aa-choices", key: key, value: value))))
        #expect(requestError.code == .badValue && requestError.message.contains(words), "\(requestError)")
        #expect(fixture.loader.selections == [MaskSelection("aa-choices")])
    }

    @Test func `options of a mask that is not worn cannot be set`() throws {
        let fixture = try DaemonFixture()
        let requestError = try #require(
            fixture.requestError(.configuration(.set(mask: "aa-choices", key: "opacity", value: 1))))
        #expect(requestError.code == .notNow && requestError.message.contains("`guise wear aa-choices`"))
    }

    @Test func `a text that looks like a path is a text`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "text", value: "/dev/null")))
        #expect(fixture.loader.selections.first?.choices == ["text": "/dev/null"])
    }

    @Test func `a mask that the configuration's file takes off keeps its choices for the next time`() throws {
        let fixture = try DaemonFixture()
        try fixture.write(
            configuration: #"{"masks": [{"name": "name-tag", "choices": {"text": "Bob"}}], "source": "camera"}"#)
        _ = try fixture.ask(.configuration(.reload))
        try fixture.write(configuration: #"{"masks": [], "source": "camera"}"#)
        _ = try fixture.ask(.configuration(.reload))
        #expect(fixture.loader.selections.isEmpty)
        _ = try fixture.ask(.mask(.wear(["name-tag"])))
        #expect(fixture.loader.selections.first?.choices == ["text": "Bob"])
    }

    // MARK: - The loop

    @Test func `a pause, a freeze and their end reach the loop`() throws {
        let fixture = try DaemonFixture()
        let steps: [(PictureRequest, Bool, Bool)] = [
            (.freeze, false, true), (.pause, true, true), (.resume, false, false), (.pause, true, false),
            (.resume, false, false), (.panic, true, false), (.panic, true, false), (.resume, false, false),
            (.freeze, false, true), (.panic, true, true), (.resume, false, false),
        ]
        for (request, isPaused, isFrozen) in steps {
            let answer = try fixture.ask(.picture(request)).text
            #expect(answer == "{\"paused\":\(isPaused),\"frozen\":\(isFrozen)}")
            let now = fixture.mailbox.settings
            #expect(now.isPaused == isPaused && now.isFrozen == isFrozen)
        }
    }

    @Test func `a snapshot is requested from the loop, and an error while it is paused`() throws {
        let fixture = try DaemonFixture()
        let path = fixture.scratch.path("a.png")
        let answer = ReplyBox()
        fixture.daemon.handle(.picture(.snapshot(path, note: true))) { answer.put($0) }
        let captureRequests = fixture.mailbox.takeCaptureRequests()
        let order = try #require(captureRequests.first as? CaptureStore.Snapshot)
        #expect(captureRequests.count == 1 && order.path == path)
        #expect(order.texts.map(\.keyword) == ["Software", "Creation Time", "Guise"])
        #expect(order.note?.contains("no mask") == true)
        order.reply(.success(SnapshotReply(path: path, album: "a.png")))
        #expect(try answer.take()["path"]?.string == path)
        _ = try fixture.ask(.picture(.pause))
        let requestError = fixture.requestError(.picture(.snapshot(path, note: false)))
        #expect(requestError?.code == .notNow && requestError?.message.contains("`guise resume`") == true)
        #expect(!fixture.mailbox.hasCaptureRequests)
    }

    @Test func `one recording runs at a time, and its end reports its contents`() throws {
        let fixture = try DaemonFixture()
        let path = fixture.scratch.path("a.mp4")
        #expect(fixture.requestError(.picture(.stopRecording))?.code == .notNow)
        let begun = try fixture.ask(.picture(.startRecording(path, sound: false)))
        #expect(begun["path"]?.string == path && begun["frames"]?.number == 0)
        let requestError = fixture.requestError(.picture(.startRecording(fixture.scratch.path("b.mp4"), sound: false)))
        #expect(requestError?.code == .notNow && requestError?.message.contains("already running") == true)
        let frame = Frame(FrameLayout(width: 64, height: 48, format: .i420))
        fixture.mailbox.settings.recorder?.enqueue(PublishableFrame(frame.view))
        #expect(try fixture.ask(.service(.status))["recording"]?["path"]?.string == path)
        let ended = try fixture.ask(.picture(.stopRecording))
        #expect(ended["frames"]?.number == 1 && ended["problem"]?.value == .null)
        #expect(ended["album"]?.string == "a.mp4" && ended["bytes"]?.number ?? 0 > 0)
        let measured = try fixture.scratch.measure(path)
        #expect(measured == "64x48 1")
        #expect(
            fixture.mailbox.settings.recorder == nil && fixture.requestError(.picture(.stopRecording))?.code == .notNow)
        // An unwritable path starts no recording.
        #expect(
            fixture.requestError(.picture(.startRecording(fixture.scratch.path("none/a.mp4"), sound: false)))?.code
                == .failed)
        #expect(fixture.mailbox.settings.recorder == nil)
    }

    @Test func `a recording that ends before there is a picture is an error, and no file`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.picture(.startRecording(fixture.scratch.path("a.mp4"), sound: false)))
        let error = fixture.requestError(.picture(.stopRecording))
        #expect(error?.code == .notNow && error?.message.contains("a.mp4") == true, "\(error as Any)")
        #expect(try fixture.ask(.picture(.album))["captures"]?.elements.isEmpty == true)
        #expect(!fixture.scratch.names().contains { $0.hasPrefix("a.") })
        #expect(fixture.mailbox.settings.recorder == nil)
    }

    @Test func `a file that somebody else has put in a recording's place is not taken for it`() throws {
        let fixture = try DaemonFixture()
        let path = fixture.scratch.path("a.mp4")
        _ = try fixture.ask(.picture(.startRecording(path, sound: false)))
        let frame = Frame(FrameLayout(width: 64, height: 48, format: .i420))
        fixture.mailbox.settings.recorder?.enqueue(PublishableFrame(frame.view))
        try fixture.scratch.write("theirs", "a.mp4")
        let refused = fixture.requestError(.picture(.stopRecording))
        #expect(refused?.message.contains("a 2.mp4") == true, "\(refused as Any)")
        #expect(try fixture.ask(.picture(.album))["captures"]?.elements.isEmpty == true)
        #expect(try fixture.scratch.read("a.mp4") == Data("theirs".utf8))
    }

    @Test func `a warning that comes while events are read is reported`() throws {
        let fixture = try DaemonFixture()
        let now = monotonicTime()
        fixture.daemon.events.report("later than now")
        let messages = fixture.daemon.events.pendingEvents(at: now).compactMap { event in
            if case .error(let message) = event { message } else { nil }
        }
        #expect(messages == ["later than now"])
        #expect(fixture.daemon.events.pendingEvents(at: now - 1).isEmpty, "nothing is reported twice")
    }

    @Test func `a failed recording is reported and does not block the next`() throws {
        // Wider than x264 supports.
        let outputLayout = FrameLayout(width: 16_400, height: 2, format: .i420)
        let fixture = try DaemonFixture(outputLayout: outputLayout)
        _ = try fixture.ask(.picture(.startRecording(fixture.scratch.path("a.mp4"), sound: false)))
        let recorder = try #require(fixture.mailbox.settings.recorder)
        let frame = Frame(outputLayout)
        waits {
            recorder.enqueue(PublishableFrame(frame.view))
            return recorder.progress.problem != nil
        }
        var messages: [JSON] = []
        waits {
            messages += fixture.newEvents
            return !messages.isEmpty
        }
        #expect(messages.first?["event"]?.string == "error")
        #expect(messages.first?["message"]?.string?.hasPrefix("the recording has ended: cannot write") == true)
        #expect(try fixture.ask(.service(.status))["recording"]?["problem"]?.string != nil)
        _ = try fixture.ask(.picture(.startRecording(fixture.scratch.path("b.mp4"), sound: false)))
        let fresh = try #require(fixture.mailbox.settings.recorder)
        #expect(fresh !== recorder)
        // What the encoder had written by then would be in the album.
        try fixture.scratch.write("", "a.mp4")
        #expect(try fixture.ask(.picture(.album))["captures"]?.elements.first?["name"]?.string == "a.mp4")
        try fresh.finish()
    }

    // MARK: - The configuration

    @Test func `a configuration key is set for the loop, and saved alone`() throws {
        let fixture = try DaemonFixture()
        let file = try fixture.scratch.read("config/guise/config.json")
        let answer = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2))).text
        #expect(answer == #"{"key":"faces.max","value":2,"notes":[]}"#)
        #expect(fixture.mailbox.settings.faces.max == 2)
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "view.mirror", value: true)))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "privacy.onLostFace", value: "cover")))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "camera.when", value: "always")))
        let now = fixture.mailbox.settings
        #expect(now.view.isMirrored && now.onLostFace == .cover && now.cameraUse == .always && now.faces.max == 2)
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "masks", value: ["ab-grey"])))
        #expect(fixture.loader.selections == [MaskSelection("ab-grey")])
        let values = try fixture.values
        #expect(values["faces"]?["max"]?.number == 2 && values["view"]?["mirror"]?.bool == true)
        #expect(values["masks"]?.text == #"["ab-grey"]"#)
        let fileNow = try fixture.scratch.read("config/guise/config.json")
        #expect(fileNow == file, "it is saved a moment later")
        // What the user edits meanwhile stays, and a mask that is only worn is not saved.
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        try fixture.write(configuration: #"{"faces": {"minSize": 0.2}, "masks": ["crown"]}"#)
        try fixture.daemon.saveChanges()
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["faces"]?.text == #"{"minSize":0.2,"max":2}"#)
        #expect(saved["view"]?.text == #"{"mirror":true}"# && saved["camera"]?.text == #"{"when":"always"}"#)
        #expect(saved["masks"]?.text == #"["ab-grey"]"#, "they were set as a key")
        let version = try fixture.scratch.read("config/guise/config.json")
        try fixture.daemon.saveChanges()
        #expect(try fixture.scratch.read("config/guise/config.json") == version, "there is nothing more to save")
    }

    @Test(
        arguments: [
            ("privacy.onLostFace", "cover"), ("view.crop", [0.1, 0.2, 0, 0.3]),
            ("privacy", JSON(["onLostFace": "cover"])),
        ] as [(String, JSON)])
    func `a key that hides something is in the file before the answer, and so is what takes it back`(
        key: String, value: JSON
    ) throws {
        let fixture = try DaemonFixture()
        // The writer waits for half a second without a request.
        fixture.daemon.startSaving()
        defer { fixture.daemon.stopSaving() }
        func next() throws -> Configuration {
            try Configuration(text: [UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        }
        func hides(_ configuration: Configuration) -> Bool {
            configuration.onLostFace == .cover || configuration.view.crop != SIMD4()
        }
        #expect(try !hides(next()))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: key, value: value)))
        #expect(try hides(next()))
        // A crop that is taken back shows more, as was asked for; of lost faces no more is shown.
        _ = try fixture.ask(.history(.undo))
        #expect(try hides(next()) == (key != "view.crop"))
    }

    @Test func `what takes effect at the next start is reported`() throws {
        let fixture = try DaemonFixture()
        for (key, value, name) in [
            ("output.width", 128, "output"), ("sinks", ["null"], "sinks"), ("page.port", 0, "page.port"),
            ("faces.cats", false, "faces.cats"),
        ] as [(String, JSON, String)] {
            let notes = try fixture.notes(.configuration(.set(mask: nil, key: key, value: value)))
            #expect(notes == ["'\(name)' takes effect at the next start"], "\(key)")
        }
    }

    static let wrongValues: [(String, JSON, String)] = [
        ("faces.max", 99, "allowed: 1 to 20"), ("faces.max", 1.5, "whole numbers"), ("faces.max", "2", "a number"),
        ("faces.maxx", 2, "did you mean 'max'?"), ("facs", 1, "did you mean 'faces'?"),
        ("view.mirror", 1, "true or false"), ("view.rotate", 45, "allowed: 0, 90, 180, 270"),
        ("privacy.onLostFace", "hide", "allowed: "), ("output.width", 65, "even numbers"),
        ("sinks", [], "at least one"), ("faces", 7, "an object"), ("faces.max.more", 1, "'faces.max' is an object"),
        ("", 1, "is not a configuration key"), ("faces.", 1, "is not a configuration key"),
        ("a.b.c.d.e", 1, "is not a configuration key"),
    ]

    @Test(arguments: wrongValues)
    func `an invalid configuration value is an error that says what is allowed, and changes nothing`(
        key: String, value: JSON, words: String
    ) throws {
        let fixture = try DaemonFixture()
        let before = try fixture.values.text
        let requestError = try #require(fixture.requestError(.configuration(.set(mask: nil, key: key, value: value))))
        #expect(requestError.code == .badValue && requestError.message.contains(words), "\(requestError)")
        #expect(!requestError.message.contains("config.json"), "it is not the file that is wrong")
        let after = try fixture.values.text
        #expect(after == before && fixture.mailbox.settings.faces.max == 4)
    }

    @Test func `current settings and masks are saved, and read again`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 3)))
        _ = try fixture.ask(.mask(.wear(["aa-choices"])))
        _ = try fixture.ask(.configuration(.set(mask: "aa-choices", key: "opacity", value: 0.5)))
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        let path = fixture.scratch.path("config/guise/config.json")
        #expect(try fixture.ask(.configuration(.save))["path"]?.string == path)
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["faces"]?.text == #"{"max":3}"#, "keys that nobody gave are not written")
        let masks = saved["masks"]?.text
        #expect(masks == #"[{"name":"aa-choices","opacity":0.5,"choices":{}},"ab-grey"]"#)
        let before = try fixture.values.text
        #expect(try fixture.ask(.configuration(.reload))["notes"]?.text == "[]")
        let after = try fixture.values.text
        #expect(after == before && fixture.loader.selections.map(\.mask) == ["aa-choices", "ab-grey"])
        #expect(try fixture.ask(.configuration(.configuration))["file"]?.string == path)
    }

    @Test func `if the user has no file yet it is created, and the installed one is unchanged`() throws {
        let fixture = try DaemonFixture(nil)
        let installed = try String(contentsOfFile: Fixtures.inPackage("config.json"), encoding: .utf8)
        let first = try #require(try fixture.ask(.configuration(.configuration))["file"]?.string)
        #expect(fixture.context.paths.isShared(first))
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 3)))
        let path = fixture.scratch.path("config/guise/config.json")
        #expect(try fixture.ask(.configuration(.save))["path"]?.string == path)
        #expect(try fixture.ask(.configuration(.configuration))["file"]?.string == path)
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["faces"]?["max"]?.number == 3)
        let installedNow = try String(contentsOfFile: Fixtures.inPackage("config.json"), encoding: .utf8)
        #expect(installedNow == installed)
    }

    @Test func `what can't be saved changes nothing`() throws {
        let fixture = try DaemonFixture(nil)
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "start", value: "last")))
        _ = try fixture.ask(.mask(.only("ab-grey")))
        let before = fixture.daemon.configuration.text
        // The link leads to itself.
        try fixture.scratch.shell("ln -s config.json config/guise/config.json")
        #expect(throws: (any Error).self) { try fixture.daemon.saveChanges() }
        #expect(fixture.requestError(.configuration(.save))?.code == .failed)
        let after = fixture.daemon.configuration.text
        #expect(after.file == before.file && after.value == before.value)
        try fixture.scratch.shell("rm config/guise/config.json")
        _ = try fixture.ask(.configuration(.reload))
        _ = try fixture.ask(.configuration(.save))
        #expect(try fixture.scratch.shell("cat config/guise/config.json").contains("ab-grey"))
    }

    @Test func `a changed file takes effect once it is read again, an invalid or missing one changes nothing`() throws {
        let fixture = try DaemonFixture()
        try fixture.write(
            configuration: """
                {"source": "/dev/video9", "masks": ["ab-grey"], "faces": {"max": 3}, "output": {"width": 640}}
                """)
        let notes = try fixture.notes(.configuration(.reload))
        #expect(notes == ["'output' takes effect at the next start"])
        let now = fixture.mailbox.settings
        #expect(
            now.faces.max == 3 && now.source == .device("/dev/video9")
                && fixture.loader.selections == [MaskSelection("ab-grey")]
        )
        let before = try fixture.values.text
        for text in ["{\"faces\": {\"mst\": 2}}", "{", "", "[]"] {
            try fixture.write(configuration: text)
            let requestError = try #require(fixture.requestError(.configuration(.reload)), "\(text)")
            #expect(requestError.code == .failed && requestError.message.contains("config.json"), "\(requestError)")
        }
        try FileManager.default.removeItem(atPath: fixture.scratch.path("config/guise/config.json"))
        #expect(fixture.requestError(.configuration(.reload))?.code == .failed)
        let after = try fixture.values.text
        #expect(
            after == before && fixture.mailbox.settings.faces.max == 3
                && fixture.loader.selections == [MaskSelection("ab-grey")])
    }

    @Test(arguments: [
        ("aab-nowhere", "no mask 'aab-nowhere'"), ("broken", "cannot be read; run `guise masks broken`"),
    ])
    func `masks that cannot be loaded change nothing, however they are requested`(name: String, words: String) throws {
        let fixture = try DaemonFixture()
        try fixture.scratch.write("{", "config/guise/Masks/broken/mask.json")
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        let before = try fixture.values.text
        let masks = JSON([JSON("ab-grey"), JSON(name)])
        for command in [
            Command.configuration(.set(mask: nil, key: "masks", value: masks)), .mask(.wear([name])),
            .mask(.only(name)),
        ] {
            let requestError = try #require(fixture.requestError(command), "\(command)")
            #expect(requestError.message.contains(words), "\(command): \(requestError)")
        }
        try fixture.write(configuration: "{\"masks\": [\"\(name)\"], \"faces\": {\"max\": 2}}")
        let requestError = try #require(fixture.requestError(.configuration(.reload)))
        #expect(requestError.message.contains(words), "\(requestError)")
        let after = try fixture.values.text
        #expect(
            after == before && fixture.loader.selections == [MaskSelection("ab-grey")]
                && fixture.mailbox.settings.faces.max == 4)
    }

    @Test func `another camera is used from the next frame on, and saved`() throws {
        let fixture = try DaemonFixture()
        #expect(try fixture.ask(.device(.use("sample")))["source"]?.string == "sample")
        #expect(fixture.mailbox.settings.source == .sample)
        #expect(try fixture.values["source"]?.string == "sample")
        #expect(try fixture.ask(.device(.use("auto")))["source"]?.string == "auto")
        #expect(fixture.mailbox.settings.source == .automatic)
        #expect(try fixture.values["source"]?.string == "auto")
        let clip = try fixture.scratch.testPicture("clip.mkv", frames: 2, "-c:v ffv1")
        let text = try fixture.scratch.write("no clip", "text.mp4")
        #expect(problem { _ = try fixture.ask(.device(.use(text))) }?.kind == .unusable)
        #expect(fixture.mailbox.settings.source == .automatic)
        #expect(try fixture.ask(.device(.use(clip)))["source"]?.string == clip)
        let requestError = try #require(fixture.requestError(.device(.use("/dev/video-none"))))
        #expect(
            requestError.code == .unknownDevice && requestError.message.hasPrefix("no camera '/dev/video-none'; there ")
        )
        #expect(fixture.mailbox.settings.source == .file(clip))
    }

    @Test func `without a camera, auto is the sample if there is one`() throws {
        let fixture = try DaemonFixture()
        let sample = fixture.context.paths.sample
        #expect(fixture.context.automaticSource(in: []) == (Fixtures.exists(sample) ? .sample : .camera))
    }

    @Test func `the camera's controls are listed, set and reset, and remembered`() throws {
        let fixture = try DaemonFixture(camera: CameraSettingsTests.FakeCamera())
        func gain(_ reply: JSON) -> JSON? { reply["controls"]?.elements.first { $0["name"]?.string == "gain" } }
        let listed = try fixture.ask(.device(.camera))
        #expect(listed["camera"]?.string == "Webcam" && listed["path"]?.string == "/dev/video0")
        #expect(
            try #require(gain(listed)).text
                == #"{"name":"gain","title":"Gain","kind":"integer","min":0,"max":100,"step":1,"default":20,"#
                + #""value":20,"inactive":true,"automatic":true,"autoControl":"auto-gain"}"#)
        let set = try fixture.ask(.device(.setControl("gain", 50)))
        #expect(gain(set)?["value"]?.number == 50 && gain(set)?["automatic"]?.bool == false)
        let auto = try fixture.ask(.device(.setControl("auto-gain", true)))
        #expect(gain(auto)?["automatic"]?.bool == true)
        try fixture.daemon.saveChanges()
        #expect(Fixtures.exists(fixture.scratch.path("state/guise/cameras.json")))
        let reset = try fixture.ask(.device(.resetCamera))
        #expect(gain(reset)?["value"]?.number == 20)
        for (command, code) in [
            (DeviceRequest.setControl("gain", 101), RequestError.Code.badValue),
            (.setControl("sharpness", 1), .badValue),
        ] {
            #expect(fixture.requestError(.device(command))?.code == code)
        }
        // The sample has no controls.
        _ = try fixture.ask(.device(.use("sample")))
        #expect(try fixture.ask(.device(.camera)).text == #"{"camera":null,"path":null,"controls":[]}"#)
        #expect(fixture.requestError(.device(.setControl("gain", 50)))?.code == .notNow)
        #expect(fixture.requestError(.device(.resetCamera))?.message.contains("`guise use`") == true)
    }

    @Test func `what was set and is not in the file yet stays when the file is read again`() throws {
        let fixture = try DaemonFixture()
        _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: 2)))
        try fixture.write(configuration: #"{"faces": {"max": 7, "minSize": 0.2}, "view": {"mirror": true}}"#)
        _ = try fixture.ask(.configuration(.reload))
        let now = fixture.mailbox.settings
        #expect(now.faces.max == 2 && now.view.isMirrored)
        try fixture.daemon.saveChanges()
        let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
        #expect(saved["faces"]?.text == #"{"max":2,"minSize":0.2}"#)
        // What is in the file is read from it.
        try fixture.write(configuration: #"{"faces": {"max": 7}}"#)
        _ = try fixture.ask(.configuration(.reload))
        #expect(fixture.mailbox.settings.faces.max == 7)
    }

    @Test func `what is just being written to the file stays when the file is read again`() throws {
        let fixture = try DaemonFixture()
        let daemon = fixture.daemon
        for number in 0..<20 {
            let wanted = 1 + number % 8
            _ = try fixture.ask(.configuration(.set(mask: nil, key: "faces.max", value: JSON(wanted))))
            let isSaved = DispatchSemaphore(value: 0)
            startThread(named: "saving") {
                try? daemon.saveChanges()
                isSaved.signal()
            }
            repeat {
                _ = try fixture.ask(.configuration(.reload))
                #expect(fixture.mailbox.settings.faces.max == wanted)
            } while isSaved.wait(timeout: .now()) == .timedOut
            let saved = try JSON([UInt8](fixture.scratch.read("config/guise/config.json")), file: "config.json")
            #expect(saved["faces"]?["max"]?.number == Double(wanted), "it was saved")
        }
    }

    @Test func `what the user edits in the file meanwhile stays when the masks are saved`() throws {
        let fixture = try DaemonFixture()
        func file() throws -> String {
            String(decoding: try fixture.scratch.read("config/guise/config.json"), as: UTF8.self)
        }
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        // Not read again yet.
        try fixture.write(configuration: #"{"faces": {"minSize": 0.2}, "start": "last"}"#)
        _ = try fixture.ask(.configuration(.save))
        let saved = try JSON(Array(file().utf8), file: "config.json")
        #expect(saved.text == #"{"faces":{"minSize":0.2},"start":"masks","masks":["ab-grey"]}"#)
        // Nor is a file replaced in which the user has made a mistake.
        try fixture.write(configuration: #"{"faces": "#)
        let requestError = try #require(fixture.requestError(.configuration(.save)))
        #expect(requestError.message.contains("config.json:1"), "\(requestError)")
        #expect(try file() == #"{"faces": "#)
    }

    @Test func `if the source is a file it stays, and a new one takes effect at the next start`() throws {
        let fixture = try DaemonFixture(source: nil)
        for name in ["auto", "sample"] {
            let requestError = fixture.requestError(.device(.use(name)))
            #expect(requestError?.code == .notNow && requestError?.message.contains("the source is a file") == true)
        }
        #expect(fixture.mailbox.settings.source == nil)
        #expect(try fixture.values["source"]?.string == "camera")
        let notes = try fixture.notes(.configuration(.set(mask: nil, key: "source", value: "/dev/video9")))
        #expect(notes == ["'source' takes effect at the next start"])
        #expect(fixture.mailbox.settings.source == nil)
    }

    // MARK: - Events

    @Test func `subscribers get each change once`() throws {
        let fixture = try DaemonFixture()
        #expect(fixture.newEvents.isEmpty)
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        let worn = fixture.newEvents.map(\.text)
        #expect(worn == [#"{"event":"masks","masks":[{"name":"ab-grey","opacity":1,"choices":{}}]}"#])
        #expect(fixture.newEvents.isEmpty)
        _ = try fixture.ask(.mask(.wear(["ab-grey"])))
        #expect(fixture.newEvents.isEmpty, "it was worn already")
        fixture.daemon.status.setCamera("a camera")
        var loopStatus = LoopStatus()
        func publish(_ change: (inout LoopStatus) -> Void) -> [String] {
            change(&loopStatus)
            fixture.mailbox.update(loopStatus)
            let texts = fixture.newEvents.map(\.text)
            let more = fixture.newEvents
            return more.isEmpty ? texts : ["told twice"]
        }
        let watched = publish { $0.hasViewers = true }
        #expect(watched == [#"{"event":"viewers","watched":true,"cameraInUse":null}"#])
        let read = publish { $0.hasReaders = true }
        #expect(read == [#"{"event":"viewers","watched":true,"cameraInUse":true}"#])
        let opened = publish { $0.camera = .open }
        #expect(opened == [#"{"event":"camera","camera":"open","source":"a camera"}"#])
        let faces = publish { ($0.faces, $0.predicted) = (2, 1) }
        #expect(faces == [#"{"event":"faces","faces":2,"predicted":1}"#])
        let frames = publish { ($0.frames, $0.rate) = (300, 30) }
        #expect(frames.isEmpty, "that goes with the figures")
        fixture.daemon.events.report("one")
        fixture.daemon.events.report("two")
        let messages = fixture.newEvents.compactMap { $0["message"]?.string }
        #expect(messages == ["one", "two"])
        #expect(fixture.newEvents.isEmpty)
    }

    @Test func `metrics come with the first event`() throws {
        let fixture = try DaemonFixture()
        let metrics = fixture.daemon.pendingEvents().filter { $0.topic == .metrics }.map(\.event)
        try #require(metrics.count == 1)
        #expect(metrics[0]["event"]?.string == "metrics" && metrics[0]["paused"]?.bool == false)
        #expect(metrics[0]["latency"]?["p99"]?.number == 0)
    }
}
