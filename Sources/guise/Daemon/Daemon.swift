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
    private let masks: MaskHandler
    private let pictures: PictureHandler
    private let devices: DeviceHandler
    private let configurations: ConfigurationHandler
    private let service: ServiceHandler

    /// - Parameters:
    ///   - outputs: descriptions of the outputs.
    ///   - canvas: the layout of the published frames.
    ///   - text: the configuration.
    init(
        _ context: AppContext, _ mailbox: Mailbox, _ loader: MaskLoader, _ pageService: PageService, outputs: [String],
        canvas: FrameLayout, _ text: ConfigurationText
    ) throws {
        let catalog = MaskCatalog(loader, searchPaths: context.paths.masks)
        configuration = try ConfigurationStore(text, context.paths, mailbox, catalog)
        status = StatusReporter(mailbox, loader, outputs: outputs)
        events = EventReporter(mailbox, loader, status)
        masks = MaskHandler(masks: catalog, pictures: pageService.pictures)
        pictures = PictureHandler(
            mailbox: mailbox, loader: loader, captures: pageService.captures, configuration: configuration,
            events: events, canvas: canvas)
        devices = DeviceHandler(mailbox: mailbox, configuration: configuration)
        configurations = ConfigurationHandler(
            store: configuration, masks: catalog, pictures: pageService.pictures)
        service = ServiceHandler(
            status: status, mailbox: mailbox, pageService: pageService, configuration: configuration,
            shared: context.paths.shared)
    }

    /// Has the group's handler answer a command.
    private func handling(of command: Command) throws -> Handling {
        switch command {
        case .mask(let request): try masks.handle(request)
        case .picture(let request): try pictures.handle(request)
        case .device(let request): devices.handle(request)
        case .configuration(let request): try configurations.handle(request)
        case .service(let request): service.handle(request)
        }
    }

    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) {
        log("request: \(command.json.text)", .debug)
        let send: ReplyHandler = { result in reply(result.map { JSON(encoding: $0) }) }
        do {
            switch try handling(of: command) {
            case .now(let answer): send(.success(answer))
            case .background(let body): try runInBackground(body, send)
            case .later(let start): start(send)
            }
        } catch { send(.failure(error)) }
    }

    /// Answers on a thread of its own. The number of such threads is limited.
    /// - Throws: `RequestError` if there are too many.
    private func runInBackground(_ body: @escaping @Sendable () throws -> AnyReply, _ send: @escaping ReplyHandler)
        throws
    {
        guard backgroundRequests.add(1, ordering: .relaxed).newValue <= Self.maxBackgroundRequests else {
            backgroundRequests.subtract(1, ordering: .relaxed)
            throw RequestError(.notNow, "too many requests at once; try again in a moment")
        }
        startThread(named: "request") { [self] in
            let result = Result { try body() }
            backgroundRequests.subtract(1, ordering: .relaxed)
            send(result)
        }
    }

    private let backgroundRequests = Atomic<Int>(0)
    private static let maxBackgroundRequests = 8

    func pendingEvents() -> [(topic: Topic, event: JSON)] {
        events.pendingEvents().map { ($0.topic, JSON(encoding: $0)) }
    }
}
