import JSON

/// A command that a client can send to the daemon. The protocol is documented in docs/control.md; a test checks that
/// the two agree.
public enum Command: Equatable, Sendable {
    /// Change or list the masks.
    case mask(MaskRequest)
    /// Wear, save or list looks and favourites.
    case look(LookRequest)
    /// Take back changes.
    case history(HistoryRequest)
    /// Teach or forget things.
    case thing(ThingRequest)
    /// Change or save the picture.
    case picture(PictureRequest)
    /// List or switch cameras.
    case device(DeviceRequest)
    /// Read or change the configuration.
    case configuration(ConfigurationRequest)
    /// Report on the daemon, or end it.
    case service(ServiceRequest)

    /// The request as a client sends it.
    public var json: JSON {
        switch self {
        case .mask(let request): request.json
        case .look(let request): request.json
        case .history(let request): request.json
        case .thing(let request): request.json
        case .picture(let request): request.json
        case .device(let request): request.json
        case .configuration(let request): request.json
        case .service(let request): request.json
        }
    }

    /// The longest wait for the reply, in seconds, on a busy computer too.
    public var replyTimeout: Int {
        switch self {
        // Each photo is read by a program of its own.
        case .thing(.teach(_, let photos)): ControlClient.replyTimeout * (1 + max(1, photos.count))
        // The recording is copied once more, so that players can seek in it, and its sound is encoded.
        case .picture(.stopRecording): 3600
        default: ControlClient.replyTimeout
        }
    }
}

/// A request line from a client.
public struct Request: Equatable, Sendable {
    /// What the client asks for.
    public enum Content: Equatable, Sendable {
        /// A command to the daemon.
        case command(Command)
        /// A change of the connection's subscriptions.
        case subscription(SubscriptionRequest)
    }

    /// The request's identifier, returned with the reply.
    public let id: JSON?
    /// What the client asks for.
    public let content: Content

    /// All groups of requests.
    private static let groups = [
        RequestParser { Content.command(.service($0)) }, RequestParser { Content.command(.mask($0)) },
        RequestParser { Content.command(.look($0)) }, RequestParser { Content.command(.history($0)) },
        RequestParser { Content.command(.picture($0)) }, RequestParser { Content.command(.device($0)) },
        RequestParser { Content.command(.thing($0)) }, RequestParser { Content.command(.configuration($0)) },
        RequestParser(Content.subscription),
    ]

    /// The names of all requests, as the protocol spells them, with what users read about them.
    public static let help = groups.flatMap(\.help)

    /// The names of all requests.
    public static let names = help.map(\.name)

    /// The names that requests have now, by those of earlier versions.
    private static let renamed = ["show": "wear", "hide": "remove"]

    /// Parses a request.
    /// - Throws: `RequestError`; for a bad key or value, its message names the allowed ones.
    public init(id: JSON?, _ json: JSON) throws(RequestError) {
        self.id = id
        guard case .object = json.value else {
            throw RequestError(.badLine, "the request is \(json.kindName); expected an object {...}")
        }
        do {
            var fields = try Fields(json, file: "request", noun: "request")
            _ = fields.has("id")
            content = try Self.content(try fields.string("request"), &fields)
            try fields.finish()
        } catch let requestError as RequestError {
            throw requestError
        } catch {
            // A request is a single line, so its line number is left out.
            let words = "\(error)".replacing("request:\(json.line): ", with: "")
            throw RequestError(.badValue, words)
        }
    }

    private static func content(_ name: String, _ fields: inout Fields) throws -> Content {
        for group in groups {
            if let content = try group.parse(name, &fields) { return content }
        }
        if let newName = renamed[name] {
            throw RequestError(.unknownRequest, "the request '\(name)' was renamed; use '\(newName)'")
        }
        let hint = nearest(to: name, among: names).map { "did you mean '\($0)'? " } ?? ""
        throw RequestError(
            .unknownRequest,
            "unknown request '\(brief(name))'; \(hint)known requests: \(names.joined(separator: ", "))")
    }
}
