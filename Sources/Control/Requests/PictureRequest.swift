import JSON

/// Requests for the picture that others see.
public enum PictureRequest: RequestGroup {
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

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable {
        case pause, resume, freeze, snapshot, record
    }

    private enum RecordAction: String, CaseIterable { case start, stop }

    /// Reads the keys of the request of a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .pause: self = .pause
        case .resume: self = .resume
        case .freeze: self = .freeze
        case .snapshot: self = .snapshot(try Self.path(&fields), note: try fields.bool("note", default: false))
        case .record:
            switch try fields.choice("action", default: RecordAction.start) {
            case .start: self = .startRecording(try Self.path(&fields))
            case .stop: self = .stopRecording
            }
        }
    }

    private static func path(_ fields: inout Fields) throws -> String? {
        guard fields.has("path") else { return nil }
        let path = try fields.string("path")
        // The path must not depend on the daemon's working directory.
        guard path.hasPrefix("/") else {
            throw fields.wrong("path", "'\(brief(path))'", allowed: "an absolute path: /home/...")
        }
        return path
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .pause: (.pause, [:])
        case .resume: (.resume, [:])
        case .freeze: (.freeze, [:])
        case .snapshot(let path, let note):
            (.snapshot, ["path": path.map { JSON($0) }, "note": note ? JSON(true) : nil])
        case .startRecording(let path):
            (.record, ["action": JSON(RecordAction.start.rawValue), "path": path.map { JSON($0) }])
        case .stopRecording: (.record, ["action": JSON(RecordAction.stop.rawValue)])
        }
    }
}
