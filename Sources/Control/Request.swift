import Frames
import JSON

/// What a subscriber may hear of.
public enum Topic: String, CaseIterable, Sendable {
    /// What is worn changed.
    case masks
    /// Faces came, went, or were lost.
    case faces
    /// Somebody began or ceased to watch.
    case consumer
    /// The camera was opened, closed, lost.
    case camera
    /// What the log says.
    case errors
    /// Rates, costs and delays, each second.
    case metrics
}

/// One thing that a client may ask for. The protocol is documented in docs/control.md, which a test holds to this.
public enum Command: Equatable, Sendable {
    case status
    case masks
    case devices
    case show(String)
    case hide(String)
    case toggle(String)
    case only(String)
    case next
    case previous
    case clear
    /// These and no others, the first below.
    case wear([String])
    /// Another one by chance, alone.
    case random
    /// Another one for each person, by chance.
    case surprise
    /// Of a mask: its opacity, or by name what its layers let one choose. Without a mask: a key of the configuration.
    case set(mask: String?, key: String, value: JSON)
    case pause
    case resume
    case freeze
    /// Into this file, else a new one in the user's pictures; with a note beside it that says what was worn.
    case snapshot(String?, note: Bool)
    /// Into this file, else a new one in the user's videos.
    case startRecording(String?)
    case stopRecording
    case reload
    /// What holds now.
    case configuration
    /// Writes what holds now to the user's file.
    case save
    /// What keeps programs from a masked camera.
    case doctor
    /// Where the page is, which is begun where it is not there yet.
    case page
    /// Another camera: its node, its name, or `auto`.
    case use(String)
    case subscribe([Topic])
    case stop

    /// The names of requests, as they are written.
    public static let names = [
        "status", "masks", "devices", "show", "hide", "toggle", "only", "next", "previous", "clear", "wear",
        "random", "surprise", "set", "pause", "resume", "freeze", "snapshot", "record", "reload", "configuration",
        "save", "doctor", "page", "use", "subscribe", "stop",
    ]
}

/// A line that a client sent.
public struct Request: Equatable, Sendable {
    /// Given back with the answer.
    public let id: JSON?
    /// What is asked for.
    public let command: Command

    /// - Throws: `RequestError`; what is said of the line's keys names what is allowed.
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
            // A request has one line, whose number says nothing.
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
                throw RequestError(.badValue, "'value' is missing; wanted: what '\(brief(key))' is to be")
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
                "there is no request '\(brief(name))'; \(hint)there are: \(Command.names.joined(separator: ", "))")
        }
    }

    private enum RecordAction: String, CaseIterable { case start, stop }

    private static func path(_ fields: inout Fields) throws -> String? {
        guard fields.has("path") else { return nil }
        let path = try fields.string("path")
        // The daemon's own folder is nobody's business.
        guard path.hasPrefix("/") else {
            throw fields.wrong("path", "'\(brief(path))'", allowed: "a path from the root: /home/...")
        }
        return path
    }
}
