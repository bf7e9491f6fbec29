import Compose
import Control
import Engine
import Frames
import JSON
import Synchronization
import SystemKit

/// Answers the requests of clients, with the same rules for the socket, the command line and the page. Each group of
/// requests has a handler. Changes reach the frame loop through the mailbox, and masks through the mask loader.
final class Daemon: RequestResponder {
    let configuration: ConfigurationStore
    let status: StatusReporter
    let events: EventReporter
    let history: ChangeHistory
    private let cameras: CameraSettingsStore
    private let masks: MaskHandler
    private let looks: LookHandler
    private let pictures: PictureHandler
    private let things: ThingHandler
    private let devices: DeviceHandler
    private let configurations: ConfigurationHandler
    private let service: ServiceHandler
    private let loader: MaskLoader
    private let lastMasks: LastMasks
    /// The masks that `lastMasks` has; nil before it was written.
    private let storedMasks = Mutex<[MaskSelection]?>(nil)
    private let hiddenState: HiddenStateWriter
    private let catalog: MaskCatalog
    private let mailbox: Mailbox
    private let saver: ChangeSaver

    /// - Parameters:
    ///   - outputs: descriptions of the outputs.
    ///   - outputLayout: the layout of the published frames.
    ///   - text: the configuration.
    ///   - lookStore: the looks and favourites.
    ///   - cameras: the cameras' controls.
    ///   - hiddenState: what stays hidden after an end.
    init(
        _ context: AppContext, _ mailbox: Mailbox, _ loader: MaskLoader, _ pageService: PageService, outputs: [String],
        outputLayout: FrameLayout, _ text: ConfigurationText, _ lookStore: LookStore, _ cameras: CameraSettingsStore,
        _ hiddenState: HiddenState
    ) throws {
        let catalog = MaskCatalog(loader, searchPaths: context.paths.masks)
        (self.loader, self.catalog, self.mailbox) = (loader, catalog, mailbox)
        let hidden = HiddenStateWriter(hiddenState) { Self.hidden(by: loader, catalog, mailbox.settings) }
        self.hiddenState = hidden
        lastMasks = LastMasks(folder: context.paths.state)
        let configuration = try ConfigurationStore(text, context.paths, mailbox, catalog)
        self.configuration = configuration
        let saver = ChangeSaver(hidden, configuration)
        self.saver = saver
        let requestSaving: @Sendable () -> Void = { saver.request() }
        history = ChangeHistory(
            configuration, catalog, cameras, source: { mailbox.settings.source }, onChange: requestSaving)
        self.cameras = cameras
        status = StatusReporter(mailbox, loader, history, outputs: outputs)
        events = EventReporter(mailbox, loader, status, history, lookStore)
        masks = MaskHandler(masks: catalog, pictures: pageService.pictures)
        looks = LookHandler(looks: lookStore, catalog: catalog, masks: masks, configuration: configuration)
        pictures = PictureHandler(
            mailbox: mailbox, loader: loader, captures: pageService.captures, configuration: configuration,
            events: events, outputLayout: outputLayout, onChange: requestSaving)
        things = ThingHandler(library: context.things, loader: loader, mailbox: mailbox)
        devices = DeviceHandler(
            mailbox: mailbox, configuration: configuration, history: history, cameras: cameras, onChange: requestSaving)
        configurations = ConfigurationHandler(
            store: configuration, masks: catalog, pictures: pageService.pictures, history: history, looks: lookStore)
        service = ServiceHandler(
            status: status, mailbox: mailbox, pageService: pageService, configuration: configuration,
            shared: context.paths.shared)
    }

    /// Has the group's handler answer a command. What changes masks or settings can be taken back.
    private func handling(of command: Command) throws -> Answer {
        switch command {
        case .mask(let request): try history.record(command.summary) { try masks.handle(request) }
        case .look(let request): try history.record(command.summary) { try looks.handle(request) }
        case .history(let request): try HistoryHandler(history: history).handle(request)
        case .picture(let request): try pictures.handle(request)
        case .thing(let request): try things.handle(request)
        case .device(let request): devices.handle(request)
        case .configuration(let request):
            // A slider sends many values for one key.
            try history.record(command.summary, key: command.step) { try configurations.handle(request) }
        case .service(let request): service.handle(request)
        }
    }

    // MARK: - files

    /// Starts to store changed settings, those of cameras too, and the masks that are worn: at the start, since the
    /// command line may have named masks that hide something, and after each change.
    func startSaving() {
        let reported = Mutex<[String]>([])
        saver.start { [weak self] in
            let lines = self?.storeChanges().map { "\($0)" } ?? []
            let known = reported.withLock { reported in
                defer { reported = lines }
                return reported
            }
            // It is tried again every second, but said once.
            for line in lines where !known.contains(line) { self?.events.report(line) }
            return lines.isEmpty
        }
    }

    /// Waits until the recordings that were stopped are complete.
    func finishRecordings() { pictures.ending.wait() }

    /// Stores what has changed since the last time, and ends that.
    func stopSaving() { saver.stop() }

    /// Requests that what has changed is stored: what is hidden and the settings that hide at once, the rest soon.
    func requestSaving() { saver.request() }

    /// As `storeChanges`.
    /// - Throws: the error, or a `Problem` with the words of all.
    func saveChanges() throws {
        let errors = storeChanges()
        guard let first = errors.first else { return }
        guard errors.count > 1 else { throw first }
        throw Problem(.system, errors.map { "\($0)" }.joined(separator: "; "))
    }

    /// Stores changed settings, the masks that are worn, and what must stay hidden. What can't be stored keeps nothing
    /// else from being stored.
    /// - Returns: the errors of what could not be stored.
    private func storeChanges() -> [any Error] {
        let results = [
            Result { try hiddenState.write() }, Result { try saveLastMasks() },
            Result { try configuration.saveChanges() }, Result { try cameras.saveChanges() },
        ]
        var errors: [any Error] = []
        for case .failure(let error) in results { errors.append(error) }
        return errors
    }

    /// Stores the masks that are worn, unless they are stored already.
    private func saveLastMasks() throws {
        try storedMasks.withLock { stored in
            let worn = loader.selections
            guard worn != stored else { return }
            try lastMasks.write(worn)
            stored = worn
        }
    }

    /// What must stay hidden if this process ends and another one takes its place.
    private static func hidden(
        by loader: MaskLoader, _ catalog: MaskCatalog, _ settings: LoopSettings
    ) -> HiddenState.Content {
        let hiding = catalog.hiddenParts
        var content = HiddenState.Content(isPaused: settings.isPaused || settings.isFrozen)
        // A surprise is for single people, so it hides nobody.
        content.masks = loader.selections.filter {
            $0.personSlot == nil && $0.opacity > 0 && !hiding($0.mask).isEmpty
        }
        for mask in loader.masks where content.masks.contains(where: { $0.mask == mask.name }) {
            content.concealments[mask.name] = mask.concealment
        }
        return content
    }

    // MARK: - requests

    @discardableResult
    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) -> Bool {
        log("request: \(command.json.text)", .debug)
        let send: ReplyHandler = { result in reply(result.map { JSON(encoding: $0) }) }
        do {
            let (selected, changes) = (loader.requests, saver.changes)
            switch try handling(of: command) {
            case .immediate(let answer):
                guard loader.requests != selected else {
                    return saver.afterStoring(since: changes) { send(.success(answer)) }
                }
                sendAfterLoading(answer, since: changes, send)
                return true
            case .stored(let body):
                guard saver.run({ Result { try body() } }, then: send) else {
                    throw RequestError(.notNow, "too many requests at once; try again in a moment")
                }
                return true
            case .background(let body): try runInBackground(command, since: changes, body, send)
            case .deferred(let start): start(send)
            }
        } catch { send(.failure(error)) }
        return false
    }

    /// Answers a request that has selected masks once they are loaded, with those that are worn then: another request's
    /// may have turned out to be broken. One that can't be loaded is an error, and those before stay on.
    /// - Parameter changes: of `saver`, before the request.
    private func sendAfterLoading(_ answer: AnyReply, since changes: Int, _ send: @escaping ReplyHandler) {
        loader.afterLoading { [loader, saver] problem in
            let error = problem.map { RequestError(.failed, "\($0) (the current masks stay on)") }
            saver.afterStoring(since: changes) {
                var answer = answer
                if var worn = answer as? WornReply {
                    worn.masks = loader.selections.map(WornMask.init)
                    answer = worn
                }
                send(error.map { .failure($0) } ?? .success(answer))
            }
        }
    }

    /// Answers on a thread of its own. The number of such threads is limited for each kind of request, so that those
    /// that wait for a slow device or file keep no other kind out.
    /// - Parameter changes: of `saver`, before the request.
    /// - Throws: `RequestError` if there are too many.
    private func runInBackground(
        _ command: Command, since changes: Int, _ body: @escaping @Sendable () throws -> AnyReply,
        _ send: @escaping ReplyHandler
    ) throws {
        let name = command.json["request"]?.string ?? ""
        let mayRun = backgroundRequests.withLock { running in
            guard running[name, default: 0] < Self.maxBackgroundRequests else { return false }
            running[name, default: 0] += 1
            return true
        }
        guard mayRun else {
            throw RequestError(.notNow, "too many requests '\(name)' at once; try again in a moment")
        }
        startThread(named: "request") { [self] in
            lowerThreadPriority()
            let result = Result { try body() }
            backgroundRequests.withLock { $0[name, default: 1] -= 1 }
            saver.afterStoring(since: changes) { send(result) }
        }
    }

    /// The number of requests that are answered on threads of their own, by their names.
    private let backgroundRequests = Mutex<[String: Int]>([:])
    private static let maxBackgroundRequests = 3

    func pendingEvents() -> [(topic: Topic, event: JSON)] {
        events.pendingEvents().map { ($0.topic, JSON(encoding: $0)) }
    }
}

extension Command {
    /// The request in a few words, as on the command line: "set santa opacity", without its value.
    fileprivate var summary: String {
        let json = json
        let words = ["request", "mask", "name", "device", "key"].compactMap { json[$0]?.string }
        return (words + (json["masks"]?.elements.compactMap(\.string) ?? [])).joined(separator: " ")
    }

    /// What quick changes have in common if they are undone together.
    fileprivate var step: String { "\(summary) \(json["step"]?.text ?? "")" }
}
