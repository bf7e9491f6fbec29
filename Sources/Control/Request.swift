import JSON

/// An event topic that a client can subscribe to.
public enum Topic: String, CaseIterable, Sendable {
    /// The active masks changed.
    case masks
    /// A face appeared, left, or was lost.
    case faces
    /// A program started or stopped reading the virtual camera.
    case consumer
    /// The camera was opened, closed or lost.
    case camera
    /// A message was logged.
    case errors
    /// Frame rates, timings and latencies, once a second.
    case metrics
}

/// A command that a client can send. The protocol is documented in docs/control.md; a test checks that the two agree.
public enum Command: Equatable, Sendable {
    /// Return the daemon's status.
    case status
    /// List the masks.
    case masks
    /// List the video devices.
    case devices
    /// Put on the named mask.
    case show(String)
    /// Take off the named mask.
    case hide(String)
    /// Put on the named mask, or take it off.
    case toggle(String)
    /// Wear only the named mask.
    case only(String)
    /// Wear the next mask in the order of names.
    case next
    /// Wear the previous mask in the order of names.
    case previous
    /// Take off all masks.
    case clear
    /// Wear exactly these masks; the first is the bottom one.
    case wear([String])
    /// Replace the masks with one random other mask.
    case random
    /// Give each person a random other mask.
    case surprise
    /// Set a value. With a mask: its opacity, or one of the named choices of its layers. Without one: a configuration
    /// key.
    case set(mask: String?, key: String, value: JSON)
    /// Show a placeholder and close the camera.
    case pause
    /// End a pause or a freeze.
    case resume
    /// Keep showing the last picture.
    case freeze
    /// Save a photo to this file, or to a new file in the user's pictures folder. A note records the active masks in a
    /// file beside it.
    case snapshot(String?, note: Bool)
    /// Record video to this file, or to a new file in the user's videos folder.
    case startRecording(String?)
    /// End the recording.
    case stopRecording
    /// Read the configuration file again.
    case reload
    /// Return the current configuration.
    case configuration
    /// Write the current configuration to the user's file.
    case save
    /// Run the doctor's checks.
    case doctor
    /// Return the page's address. Starts the page if it is not running.
    case page
    /// Switch to another camera: a device node, a name, or `auto`.
    case use(String)
    /// Send this connection the events of these topics.
    case subscribe([Topic])
    /// End the daemon.
    case stop

    /// The request names, as the protocol spells them.
    public static let names = [
        "status", "masks", "devices", "show", "hide", "toggle", "only", "next", "previous", "clear", "wear",
        "random", "surprise", "set", "pause", "resume", "freeze", "snapshot", "record", "reload", "configuration",
        "save", "doctor", "page", "use", "subscribe", "stop",
    ]
}

/// A request line from a client.
public struct Request: Equatable, Sendable {
    /// The request's identifier, returned with the reply.
    public let id: JSON?
    /// The requested command.
    public let command: Command

    /// Parses a request.
    /// - Throws: `RequestError`; for a bad key or value, its message names the allowed ones.
    public init(id: JSON?, _ json: JSON) throws(RequestError) {
        self.id = id
        do {
            var fields = try Fields(json, file: "request")
            _ = fields.has("id")
            let name = try fields.string("request")
            command = try Self.command(name, &fields)
            try fields.finish()
        } catch let requestError as RequestError {
            throw requestError
        } catch {
            // A request is a single line, so its line number is left out.
            let words = "\(error)".replacing("request:\(json.line): ", with: "")
            throw RequestError(.badValue, words)
        }
    }

    private static func command(_ name: String, _ fields: inout Fields) throws -> Command {
        switch name {
        case "status": return .status
        case "masks": return .masks
        case "devices": return .devices
        case "show": return .show(try fields.string("mask"))
        case "hide": return .hide(try fields.string("mask"))
        case "toggle": return .toggle(try fields.string("mask"))
        case "only": return .only(try fields.string("mask"))
        case "next": return .next
        case "previous": return .previous
        case "clear": return .clear
        case "wear":
            guard fields.has("masks") else {
                throw RequestError(.badValue, "'masks' is missing; wanted: a list of masks")
            }
            return .wear(try fields.strings("masks", default: []))
        case "random": return .random
        case "surprise": return .surprise
        case "set":
            let mask = fields.has("mask") ? try fields.string("mask") : nil
            let key = try fields.string("key")
            guard let value = fields.json("value") else {
                throw RequestError(.badValue, "'value' is missing; wanted: the value of '\(brief(key))'")
            }
            return .set(mask: mask, key: key, value: value)
        case "pause": return .pause
        case "resume": return .resume
        case "freeze": return .freeze
        case "snapshot": return .snapshot(try path(&fields), note: try fields.bool("note", default: false))
        case "record":
            switch try fields.choice("action", default: RecordAction.start) {
            case .start: return .startRecording(try path(&fields))
            case .stop: return .stopRecording
            }
        case "reload": return .reload
        case "configuration": return .configuration
        case "save": return .save
        case "doctor": return .doctor
        case "page": return .page
        case "use": return .use(try fields.string("device"))
        case "subscribe":
            let names = try fields.strings("events", default: Topic.allCases.map(\.rawValue))
            return .subscribe(
                try names.map { name in
                    guard let topic = Topic(rawValue: name) else {
                        throw fields.unknown("events", name, among: Topic.allCases.map(\.rawValue), what: "event")
                    }
                    return topic
                })
        case "stop": return .stop
        default:
            let hint = nearest(to: name, among: Command.names).map { "did you mean '\($0)'? " } ?? ""
            throw RequestError(
                .unknownRequest,
                "unknown request '\(brief(name))'; \(hint)known requests: \(Command.names.joined(separator: ", "))")
        }
    }

    private enum RecordAction: String, CaseIterable { case start, stop }

    private static func path(_ fields: inout Fields) throws -> String? {
        guard fields.has("path") else { return nil }
        let path = try fields.string("path")
        // The path must not depend on the daemon's working directory.
        guard path.hasPrefix("/") else {
            throw fields.wrong("path", "'\(brief(path))'", allowed: "an absolute path: /home/...")
        }
        return path
    }
}
