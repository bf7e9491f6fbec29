import JSON

/// An event topic that a client can subscribe to.
public enum Topic: String, CaseIterable, Sendable {
    /// The active masks changed.
    case masks
    /// A look or a favourite was saved or deleted.
    case looks
    /// A change was made, or taken back.
    case history
    /// A face appeared, left, or was lost.
    case faces
    /// A program started or stopped reading the virtual camera.
    case viewers
    /// The camera was opened, closed or lost.
    case camera
    /// A message was logged.
    case errors
    /// Frame rates, timings and latencies, once a second.
    case metrics
}

/// Requests for a client's connection, which the server itself answers.
public enum SubscriptionRequest: RequestGroup {
    /// Send this connection the events of these topics.
    case subscribe([Topic])

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case subscribe }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .subscribe:
            let known = Topic.allCases.map(\.rawValue)
            var topics: [Topic] = []
            for name in try fields.strings("events", default: known) {
                guard let topic = Topic(rawValue: name) else {
                    throw fields.unknown("events", name, among: known, what: "event")
                }
                topics.append(topic)
            }
            self = .subscribe(topics)
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .subscribe:
            RequestHelp(
                keys: "`events` (optional; default: all)",
                "sends these events on this connection from now on")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .subscribe(let topics): (.subscribe, ["events": JSON(topics.map(\.rawValue))])
        }
    }
}
