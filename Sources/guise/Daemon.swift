import Capture
import Compose
import Control
import Doctor
import FoundationEssentials
import Frames
import Glibc
import JSON
import Page
import Publish
import Synchronization
import SystemKit
import Track
import V4L2

/// Executes the commands of clients, with the same rules for the socket, the command line and the page. Changes reach
/// the frame loop through `mailbox`, and masks through `loader`.
final class Daemon: RequestResponder {
    private let context: AppContext
    private let mailbox: Mailbox
    private let loader: MaskLoader
    private let outputs: [String]
    private let canvas: FrameLayout
    private let pageService: PageService
    private let began = Date()
    private let configuration: Mutex<ConfigurationText>
    private let camera = Mutex<String>("")
    /// The state that was last reported to subscribers.
    private let reported = Mutex(ReportedState())
    /// Warnings for subscribers, the newest `maxWarnings`, with their time on the monotonic clock.
    private let warnings = Mutex<[(time: UInt64, line: String)]>([])
    private static let maxWarnings = 100

    /// The reported state, used to report only changes.
    private struct ReportedState {
        var selections: [MaskSelection] = []
        var loopStatus = LoopStatus()
        var metrics: UInt64 = 0
    }

    init(
        _ context: AppContext, _ mailbox: Mailbox, _ loader: MaskLoader, _ pageService: PageService, outputs: [String],
        canvas: FrameLayout, _ configuration: ConfigurationText
    ) throws {
        self.pageService = pageService
        reloadEvent = try WakeEvent()
        (self.context, self.mailbox, self.loader, self.outputs, self.canvas) = (
            context, mailbox, loader, outputs, canvas
        )
        self.configuration = Mutex(configuration)
        reported.withLock { $0.selections = loader.selections }
    }

    /// Sets the description of the camera, or the reason that there is none. Called from several threads.
    func setCamera(_ description: String) { camera.withLock { $0 = description } }

    /// Sets the description of a camera that was opened, and logs it if it differs from the last one.
    func cameraOpened(_ description: String) {
        setCamera(description)
        let isNew = lastOpened.withLock { last in
            defer { last = description }
            return last != description
        }
        if isNew { log("source: \(description)") }
    }

    private let lastOpened = Mutex("")

    /// Logs a warning and reports it to subscribers.
    func report(_ line: String) {
        log("guise: \(line)", .warning)
        warnings.withLock { warnings in
            if warnings.count == Self.maxWarnings { warnings.removeFirst() }
            warnings.append((monotonicTime(), line))
        }
    }

    // MARK: - requests

    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) {
        switch command {
        case .snapshot(let path, let hasNote):
            do {
                guard !mailbox.now.isPaused else {
                    throw RequestError(.notNow, "there is no picture while Guise is paused; run `guise resume` first")
                }
                mailbox.requestCapture(
                    CaptureStore.CaptureRequest(
                        path: try path.map(freePath) ?? CaptureStore.newPath(in: "Pictures", "png"),
                        texts: pictureTexts,
                        note: hasNote ? note : nil, reply: reply))
            } catch { reply(.failure(error)) }
        case .stopRecording:
            guard let recorder = takeRecorder() else {
                return reply(
                    .failure(RequestError(.notNow, "no recording is running; start one with `guise record start`")))
            }
            // The encoder may take a while to finish.
            startThread(named: "recording") { [self] in
                reply(
                    Result {
                        // If the encoder failed, the file with the frames before the failure may still exist.
                        do { try recorder.finish() } catch  where !isReadable(recorder.path) { throw error } catch {}
                        return Self.json(recorder).with("album", JSON(pageService.captures.add(recorder.path)))
                    })
            }
        case .devices: handleInBackground(reply) { Self.devices() }
        case .use(let name): handleInBackground(reply) { [self] in try switchSource(name) }
        case .doctor: handleInBackground(reply) { [self] in doctor }
        case .page:
            handleInBackground(reply) { [self] in
                let port = configuration.withLock { $0.value.port }
                return JSON(["address": JSON(try pageService.open(port: port).link)])
            }
        default: reply(Result { try handle(command) })
        }
    }

    /// Answers on its own thread, for requests that access devices or other programs. The number of such threads is
    /// limited.
    private func handleInBackground(
        _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void, _ body: @escaping @Sendable () throws -> JSON
    ) {
        guard backgroundRequests.add(1, ordering: .relaxed).newValue <= Self.maxBackgroundRequests else {
            backgroundRequests.subtract(1, ordering: .relaxed)
            return reply(.failure(RequestError(.notNow, "too many requests at once; try again in a moment")))
        }
        startThread(named: "request") { [self] in
            let result = Result { try body() }
            backgroundRequests.subtract(1, ordering: .relaxed)
            reply(result)
        }
    }

    private let backgroundRequests = Atomic<Int>(0)
    private static let maxBackgroundRequests = 8

    private func handle(_ command: Command) throws -> JSON {
        switch command {
        case .status: return status
        case .masks: return masks
        case .show(let name):
            return try updateSelection(name) { $0.contains { $0.mask == name } ? $0 : $0 + [MaskSelection(name)] }
        case .hide(let name): return try updateSelection(name) { $0.filter { $0.mask != name } }
        case .toggle(let name):
            return try updateSelection(name) { selections in
                let others = selections.filter { $0.mask != name }
                return others.count < selections.count ? others : selections + [MaskSelection(name)]
            }
        case .only(let name): return try replaceSelection(with: [name])
        case .next: return try selectNeighbor(1)
        case .previous: return try selectNeighbor(-1)
        case .clear: return try replaceSelection(with: [] as [MaskSelection])
        case .wear(let names): return try replaceSelection(with: names)
        case .random: return try selectRandom()
        case .surprise: return try assignRandom()
        case .set(let mask?, let key, let value): return try set(mask, key, value)
        case .set(nil, let key, let value):
            let notes = try applyConfiguration { try $0.setting(key, value) }
            return JSON(["key": JSON(key), "value": value, "notes": JSON(notes)])
        case .pause: return change { $0.isPaused = true }
        case .resume: return change { ($0.isPaused, $0.isFrozen) = (false, false) }
        case .freeze: return change { $0.isFrozen = true }
        case .startRecording(let path):
            // A recording that has failed counts as ended.
            guard mailbox.now.recorder?.progress.problem != nil || mailbox.now.recorder == nil else {
                throw RequestError(.notNow, "a recording is already running; end it with `guise record stop`")
            }
            let path = try path.map(freePath) ?? CaptureStore.newPath(in: "Videos", "mp4")
            let rate = configuration.withLock { $0.value.output.rate }
            let recorder = try Recorder(path: path, layout: canvas, rate: rate) { [weak self] problem in
                self?.report("the recording has ended: \(problem)")
            }
            mailbox.change { $0.recorder = recorder }
            return Self.json(recorder)
        case .configuration: return configurationNow
        case .save: return try save()
        case .reload: return JSON(["notes": JSON(try reload())])
        case .stop:
            mailbox.end()
            return JSON([:])
        case .subscribe, .snapshot, .stopRecording, .devices, .use, .doctor, .page:
            throw RequestError(.unknownRequest, "this is answered elsewhere")
        }
    }

    private func change(_ body: (inout Settings) -> Void) -> JSON {
        let now = mailbox.change { (settings: inout sending Settings) -> Settings in
            body(&settings)
            return settings
        }
        return JSON(["paused": JSON(now.isPaused), "frozen": JSON(now.isFrozen)])
    }

    private func takeRecorder() -> Recorder? {
        mailbox.change { (settings: inout sending Settings) -> Recorder? in
            defer { settings.recorder = nil }
            return settings.recorder
        }
    }

    // MARK: - masks

    private func updateSelection(_ name: String, _ body: ([MaskSelection]) -> [MaskSelection]) throws -> JSON {
        guard loader.selections.contains(where: { $0.mask == name }) || context.library.names.contains(name) else {
            throw unknown(name)
        }
        return try select(body(loader.selections))
    }

    private func unknown(_ name: String) -> RequestError {
        let names = context.library.names
        let hint =
            nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            ?? "there are: \(names.joined(separator: ", "))"
        return RequestError(.unknownMask, "no mask '\(brief(name))'; \(hint)")
    }

    /// Checks that masks can be selected: they are active already, or their description can be read.
    /// - Throws: `RequestError` for the first mask that does not exist or cannot be read.
    private func check(_ selections: [MaskSelection]) throws {
        let wearable = Set(loader.selections.map(\.mask) + summaries.map(\.name))
        for selection in selections where !wearable.contains(selection.mask) {
            guard context.library.names.contains(selection.mask) else { throw unknown(selection.mask) }
            throw RequestError(
                .failed, "the mask '\(selection.mask)' cannot be read; run `guise masks` for the reason")
        }
    }

    private func select(_ selections: [MaskSelection]) throws -> JSON {
        try check(selections)
        loader.select(selections)
        return JSON(["masks": JSON(selections.map(Self.json))])
    }

    /// Replaces the active masks. A mask that hides faces stays active until a request names it, so that no face is
    /// shown by mistake.
    /// - Returns: the active masks, and the masks that were `kept`, if any.
    private func replaceSelection(with selections: [MaskSelection]) throws -> JSON {
        let hiding = Set(summaries.filter(\.isHiding).map(\.name))
        let kept = loader.selections.filter { worn in
            hiding.contains(worn.mask) && !selections.contains { $0.mask == worn.mask }
        }
        let answer = try select(kept + selections)
        return kept.isEmpty ? answer : answer.with("kept", JSON(kept.map(\.mask)))
    }

    private func replaceSelection(with names: [String]) throws -> JSON {
        let worn = loader.selections
        var selections: [MaskSelection] = []
        for name in names where !selections.contains(where: { $0.mask == name }) {
            // A mask selected by name applies to everybody.
            var shared = worn.first { $0.mask == name } ?? MaskSelection(name)
            shared.personSlot = nil
            selections.append(shared)
        }
        return try replaceSelection(with: selections)
    }

    private func selectRandom() throws -> JSON {
        let worn = Set(loader.selections.map(\.mask))
        guard let name = summaries.filter({ !$0.isHiding && !worn.contains($0.name) }).randomElement()?.name else {
            throw RequestError(.notNow, "there is no other mask; see `guise masks`")
        }
        return try replaceSelection(with: [MaskSelection(name)])
    }

    /// Gives successive people different masks; the sequence repeats after the last mask.
    private func assignRandom() throws -> JSON {
        let worn = Set(loader.selections.map(\.mask))
        let personal = summaries.filter(\.isPersonal).map(\.name)
        // Active masks would be no surprise, so they are used only if there are too few others.
        let fresh = personal.filter { !worn.contains($0) }
        let names = (fresh.count >= Self.rounds ? fresh : personal).shuffled().prefix(Self.rounds)
        guard !names.isEmpty else { throw RequestError(.notNow, "there is no mask that a single person can wear") }
        return try replaceSelection(
            with: names.enumerated().map { number, name in
                var selection = MaskSelection(name)
                selection.personSlot = PersonSlot(number, of: names.count)
                return selection
            })
    }

    /// The number of masks, as many as there are often faces in front of a camera. Each mask takes memory and time to
    /// load.
    private static let rounds = 4

    /// Selects the next or previous mask in the order of names, cyclically. Masks that hide faces are selected and
    /// removed only by name.
    /// - Parameter way: 1 for the next mask, -1 for the previous one.
    private func selectNeighbor(_ way: Int) throws -> JSON {
        let names = summaries.filter { !$0.isHiding }.map(\.name)
        guard !names.isEmpty else { throw RequestError(.notNow, "there are no masks; see `guise masks`") }
        let last = loader.selections.compactMap { names.firstIndex(of: $0.mask) }.last
        let next = last.map { ($0 + way + names.count) % names.count } ?? (way > 0 ? 0 : names.count - 1)
        return try replaceSelection(with: [MaskSelection(names[next])])
    }

    private func set(_ mask: String, _ key: String, _ value: JSON) throws -> JSON {
        var selections = loader.selections
        guard let place = selections.firstIndex(where: { $0.mask == mask }) else {
            guard context.library.names.contains(mask) else { throw unknown(mask) }
            throw RequestError(.notNow, "'\(mask)' is not worn; put it on with `guise show \(mask)`")
        }
        if key == "opacity" {
            guard let number = value.number, (0...1).contains(number) else {
                throw RequestError(.badValue, "'opacity' is \(value.text); allowed: a number from 0 to 1")
            }
            selections[place].opacity = Float(number)
            return try select(selections)
        }
        let choices = summaries.first { $0.name == mask }?.choices ?? [:]
        guard let choice = choices[key] else {
            let known = choices.keys.sorted()
            let hint = nearest(to: key, among: known + ["opacity"]).map { "did you mean '\($0)'? " } ?? ""
            throw RequestError(
                .badValue,
                "'\(mask)' has no '\(brief(key))'; \(hint)it has the options: \((["opacity"] + known).joined(separator: ", "))"
            )
        }
        guard let text = value.string, choice.allows(text) else {
            throw RequestError(.badValue, "'\(key)' is \(brief(value.text)); allowed: \(choice.words)")
        }
        selections[place].choices[key] = text
        return try select(selections)
    }

    /// The summaries of all masks. They are read again only if a mask file has changed, because clients may ask often.
    private var summaries: [MaskSummary] {
        let library = context.library
        let fileVersions = library.folders.map { FileVersion("\($0.path)/mask.json") }
        return known.withLock { known in
            if known.fileVersions != fileVersions { known = (fileVersions, library.summaries) }
            return known.summaries
        }
    }

    private let known = Mutex<(fileVersions: [FileVersion?], summaries: [MaskSummary])>(([], []))

    private static func json(_ selection: MaskSelection) -> JSON {
        // The person that the mask was assigned to by `assignRandom`, counted from 1.
        return selection.personSlot.map { selection.json.with("person", JSON($0.number + 1)) } ?? selection.json
    }

    private var masks: JSON {
        let selections = loader.selections
        return JSON([
            "masks": JSON(
                summaries.map { summary in
                    let selection = selections.first { $0.mask == summary.name }
                    return JSON([
                        "name": JSON(summary.name), "title": JSON(summary.title), "author": JSON(summary.author),
                        "tags": JSON(summary.tags), "worn": JSON(selection != nil),
                        "choices": Self.choices(of: summary, selection),
                    ])
                })
        ])
    }

    private static func choices(of summary: MaskSummary, _ selection: MaskSelection?) -> JSON {
        summary.choices.sorted { $0.key < $1.key }.reduce(JSON([:])) { json, choice in
            var own = JSON(["kind": JSON(choice.value.kind)])
            if case .palette(let names) = choice.value { own = own.with("allowed", JSON(names)) }
            return json.with(
                choice.key,
                own.with("now", JSON(selection?.choices[choice.key])).with(
                    "default", JSON(summary.defaults[choice.key])))
        }
    }

    // MARK: - pictures

    /// The texts that are embedded in a photo as PNG text chunks.
    private var pictureTexts: [(keyword: String, text: String)] {
        [
            ("Software", "Guise \(guiseVersion)"), ("Creation Time", Date().formatted(.iso8601)),
            ("Guise", JSON(["masks": JSON(loader.selections.map(Self.json))]).ascii),
        ]
    }

    /// The text of the note file beside a photo.
    private var note: String {
        let worn = loader.selections.map { selection in
            let choices = selection.choices.sorted { $0.key < $1.key }.map { ", \($0.key) \($0.value)" }.joined()
            return "\(selection.mask): opacity \(Self.json(selection)["opacity"]?.text ?? "")\(choices)"
        }
        let lines = ["Guise \(guiseVersion), \(Date().formatted(.iso8601))"] + (worn.isEmpty ? ["no mask"] : worn)
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: - configuration and camera

    /// Requests a reload of the configuration, after SIGHUP. The watching thread performs it.
    func requestReload() { reloadEvent.signal() }

    private let reloadEvent: WakeEvent

    /// Starts a thread that reloads the configuration whenever its file changes. An invalid file is reported, and the
    /// last valid configuration stays active.
    func watchConfiguration() {
        startThread(named: "configuration") { [self] in
            var watch = FolderWatch(wakeEvent: reloadEvent.descriptor)
            var version = configuration.withLock { $0.file }.flatMap { FileVersion($0) }
            while true {
                // `save` may have created a file if there was none.
                let file = configuration.withLock { $0.file }
                let folders = file.map { path in [path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."] } ?? []
                watch.set(files: folders, names: [])
                let isAsked = watch.wait(quiet: 100).contains(.wakeEvent)
                let now = file.flatMap { FileVersion($0) }
                guard isAsked || now != version else { continue }
                version = now
                do {
                    let before = configuration.withLock { $0.value }
                    let notes = try reload()
                    // The configuration that `save` wrote is active already.
                    let isNew = configuration.withLock { $0.value } != before
                    if !notes.isEmpty || !isAsked && isNew {
                        report((["the configuration was reloaded"] + notes).joined(separator: "; "))
                    }
                } catch { report("the configuration is unchanged: \(error)") }
            }
        }
    }

    /// Reads the configuration file again. An invalid file changes nothing.
    /// - Returns: notes for the user.
    /// - Throws: `Problem` if the file is invalid.
    @discardableResult
    func reload() throws -> [String] {
        let path = configuration.withLock { $0.file }
        guard let path else { return ["there is no configuration file: defaults apply"] }
        let fresh = try ConfigurationText(text: try contents(of: path), file: path)
        return try applyConfiguration { _ in fresh }
    }

    /// Applies a configuration, as far as that is possible while frames flow.
    /// - Returns: notes for the user.
    /// - Throws: the errors of `change`, and of `check` for its masks. In this case nothing has changed.
    private func applyConfiguration(_ change: (ConfigurationText) throws -> ConfigurationText) throws -> [String] {
        let (old, new) = try configuration.withLock { text in
            let (old, fresh) = (text.value, try change(text))
            if fresh.value.masks != old.masks { try check(fresh.value.masks) }
            text = fresh
            return (old, fresh.value)
        }
        guard new != old else { return [] }
        if new.masks != old.masks { loader.select(new.masks) }
        mailbox.change { settings in
            settings.apply(new)
            if new.source != old.source, settings.isSourceKept {
                settings.source = new.source == "auto" ? "camera" : new.source
            }
        }
        var later: [String] = []
        if new.source != old.source, !mailbox.now.isSourceKept { later.append("source") }
        if new.output != old.output { later.append("output") }
        if new.sinks != old.sinks { later.append("sinks") }
        if new.port != old.port { later.append("page.port") }
        if new.cats != old.cats { later.append("faces.cats") }
        return later.map { "'\($0)' takes effect at the next start" }
    }

    /// The current configuration, which may differ from the file.
    private var configurationNow: JSON {
        var (file, value) = configuration.withLock { ($0.file, $0.value) }
        value.masks = loader.selections
        return JSON(["file": JSON(file), "values": value.json])
    }

    /// Writes the current configuration to its file. If that is the installed file, or there is none, writes the user's
    /// own file.
    private func save() throws -> JSON {
        let masks = JSON(loader.selections.map(\.setting))
        let (text, path) = try configuration.withLock { text -> (String, String) in
            let own = context.paths.user.map { "\($0)/config.json" }
            guard let path = text.file.flatMap({ context.paths.isShared($0) ? nil : $0 }) ?? own else {
                throw RequestError(
                    .notNow, "there is no folder for config.json: neither HOME nor XDG_CONFIG_HOME is set")
            }
            // The configuration is updated before the file, so that the watching thread finds no change.
            text = try text.setting("masks", masks).moved(to: path)
            return (text.text, path)
        }
        let file = URL(fileURLWithPath: path)
        do {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file, options: .atomic)
        } catch {
            let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
            throw Problem(
                .system, "could not write \(path): \(code.map { errorMessage(of: $0) } ?? "\(error)")",
                fix: "check the owner of its folder, and the free space")
        }
        // There may be a file to watch for the first time.
        reloadEvent.signal()
        return JSON(["path": JSON(path)])
    }

    private var doctor: JSON {
        let report = Report(System.here(shared: context.paths.shared, setting: System.Setting.current()))
        return JSON([
            "checks": JSON(
                report.checks.map { check in
                    JSON([
                        "check": JSON(check.check), "state": JSON(check.state.rawValue), "message": JSON(check.message),
                        "fix": JSON(check.fix),
                    ])
                })
        ])
    }

    private func switchSource(_ name: String) throws -> JSON {
        let cameras = listDevices().filter { $0.isCamera || $0.path == name }
        let found = cameras.first { $0.path == name || $0.capabilities?.card == name || $0.name == name }
        guard name == "auto" || name == "sample" || found != nil || name.hasPrefix("/") && isReadable(name) else {
            let names = cameras.map { "\($0.path) (\($0.capabilities?.card ?? $0.name ?? "unknown"))" }
            throw RequestError(
                .unknownDevice,
                "no camera '\(brief(name))'; there \(names.isEmpty ? "is none" : "are: \(names.joined(separator: ", "))")"
            )
        }
        guard mailbox.now.isSourceKept else {
            throw RequestError(.notNow, "the source is a file, which can't be changed; restart with another --source")
        }
        // Another path must be a photo or clip.
        if found == nil, name.hasPrefix("/") { _ = try Clip(path: name) }
        let source = name == "auto" ? "camera" : found?.path ?? name
        mailbox.change { $0.source = source }
        // `save` writes the source too.
        let chosen = JSON(name == "auto" ? name : source)
        try configuration.withLock { $0 = try $0.setting("source", chosen) }
        return JSON(["source": JSON(source)])
    }

    private static func devices() -> JSON {
        JSON([
            "devices": JSON(
                listDevices().map { device in
                    JSON([
                        "path": JSON(device.path), "name": JSON(device.capabilities?.card ?? device.name),
                        "camera": JSON(device.isCamera), "loopback": JSON(device.isLoopback),
                        "problem": JSON(device.problem?.description),
                        "modes": JSON(device.isCamera ? device.offers.compactMap(modes) : []),
                    ])
                })
        ])
    }

    /// A size that a camera offers. A range of sizes is represented by the largest.
    private static func modes(_ offer: Offer) -> JSON? {
        guard Mode.cost(of: offer.fourCC) != nil else { return nil }
        let rates: [Double] =
            switch offer.rates {
            case .listed(let rates): rates
            case .between(let low, let high): [low, high]
            case .unknown: []
            }
        return JSON([
            "format": JSON(offer.fourCC.description), "width": JSON(offer.width.most),
            "height": JSON(offer.height.most), "rates": JSON(rates.map { JSON(rounded($0, 100)) }),
        ])
    }

    // MARK: - status and events

    private static func json(_ recorder: Recorder) -> JSON {
        let progress = recorder.progress
        return JSON([
            "path": JSON(recorder.path), "frames": JSON(progress.frames), "dropped": JSON(progress.dropped),
            "seconds": JSON(rounded(progress.seconds, 10)),
            "bytes": FileVersion(recorder.path).map { JSON($0.size) } ?? JSON(.null),
            "problem": JSON(progress.problem?.description),
        ])
    }

    private var status: JSON {
        let (now, loopStatus) = (mailbox.now, mailbox.lastStatus)
        let state =
            now.isPaused
            ? "paused" : now.isFrozen ? "frozen" : loopStatus.camera == .open ? "running" : loopStatus.camera.rawValue
        return JSON([
            "state": JSON(state), "version": JSON(guiseVersion), "pid": JSON(Int(getpid())),
            "seconds": JSON(rounded(Date().timeIntervalSince(began), 10)),
            "masks": JSON(loader.selections.map(Self.json)), "source": JSON(camera.withLock { $0 }),
            "outputs": JSON(outputs),
        ]).joined(metrics)
    }

    /// The part of the status that changes every second: rates, timings and counts. Times are in milliseconds.
    private var metrics: JSON {
        let (now, loopStatus, metrics) = (mailbox.now, mailbox.lastStatus, mailbox.lastMetrics)
        func row(_ histogram: Histogram) -> JSON {
            JSON([
                "median": JSON(histogram.percentile(0.5)), "p95": JSON(histogram.percentile(0.95)),
                "p99": JSON(histogram.percentile(0.99)),
            ])
        }
        return JSON([
            "paused": JSON(now.isPaused), "frozen": JSON(now.isFrozen), "camera": JSON(loopStatus.camera.rawValue),
            "watched": JSON(loopStatus.isWatched), "call": Self.call(loopStatus), "faces": JSON(loopStatus.faces),
            "rate": JSON(rounded(loopStatus.rate, 10)), "frames": JSON(loopStatus.frames),
            "dropped": JSON([
                "early": JSON(loopStatus.early), "damaged": JSON(loopStatus.damaged), "filled": JSON(loopStatus.filled),
            ]),
            "latency": row(metrics.latency),
            "cpu": JSON([
                "process": JSON(rounded(loopStatus.load / 10, 100)), "frame": row(metrics.frame),
                "search": row(metrics.search), "landmarks": row(metrics.landmarks), "fit": row(metrics.fit),
                "outline": row(metrics.outline), "compose": row(metrics.compose), "publish": row(metrics.publish),
            ]),
            "memory": JSON(Int(residentBytes() / 1_000_000)),
            "recording": now.recorder.map(Self.json) ?? JSON(.null),
        ])
    }

    private static func call(_ loopStatus: LoopStatus) -> JSON { loopStatus.isRead.map { JSON($0) } ?? JSON(.null) }

    func pendingEvents() -> [(topic: Topic, event: JSON)] {
        var events: [(Topic, JSON)] = []
        let (selections, loopStatus, now) = (loader.selections, mailbox.lastStatus, monotonicTime())
        let pending = warnings.withLock { warnings in
            defer { warnings = [] }
            return warnings
        }
        // Older ones are from a time without subscribers, who would take them for new.
        for warning in pending where now - warning.time < 1_000_000_000 {
            events.append((.errors, JSON(["event": "error", "message": JSON(warning.line)])))
        }
        let before = reported.withLock { reported in
            let before = reported
            (reported.selections, reported.loopStatus) = (selections, loopStatus)
            if now - reported.metrics >= 1_000_000_000 { reported.metrics = now }
            return before
        }
        if selections != before.selections {
            events.append((.masks, JSON(["event": "masks", "masks": JSON(selections.map(Self.json))])))
        }
        if (loopStatus.isWatched, loopStatus.isRead) != (before.loopStatus.isWatched, before.loopStatus.isRead) {
            let watched: JSON = JSON([
                "event": "consumer", "watched": JSON(loopStatus.isWatched), "call": Self.call(loopStatus),
            ])
            events.append((.consumer, watched))
        }
        if loopStatus.camera != before.loopStatus.camera {
            events.append(
                (
                    .camera,
                    JSON([
                        "event": "camera", "camera": JSON(loopStatus.camera.rawValue),
                        "source": JSON(camera.withLock { $0 }),
                    ])
                ))
        }
        if (loopStatus.faces, loopStatus.predicted) != (before.loopStatus.faces, before.loopStatus.predicted) {
            events.append(
                (
                    .faces,
                    JSON(["event": "faces", "faces": JSON(loopStatus.faces), "predicted": JSON(loopStatus.predicted)])
                ))
        }
        if now - before.metrics >= 1_000_000_000 {
            events.append((.metrics, JSON(["event": "metrics"]).joined(metrics)))
        }
        return events
    }
}

extension JSON {
    /// The object, extended by the members of another one.
    func joined(_ other: JSON) -> JSON {
        guard case .object(let members) = other.value else { return self }
        return members.reduce(self) { $0.with($1.key, $1.value) }
    }
}

/// Rounds to a multiple of 1/`parts`.
private func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }
