import JSON

/// Requests for the picture that others see.
public enum PictureRequest: RequestGroup {
    /// Show a placeholder and close the camera.
    case pause
    /// Pause, whatever is shown now: a hot key for `pause` and `resume` toggles them, this one never does.
    case panic
    /// End a pause or a freeze.
    case resume
    /// Keep showing the last picture.
    case freeze
    /// Save a photo to this file, or to a new file in the user's pictures folder. A note records the active masks in a
    /// file beside it.
    case snapshot(String?, note: Bool)
    /// Record video to this file, or to a new file in the user's videos folder; with the microphone's sound, or
    /// without.
    case startRecording(String?, sound: Bool)
    /// End the recording.
    case stopRecording
    /// List the photos and recordings that this daemon saved.
    case album
    /// Give a photo or recording another name in its folder.
    case rename(String, to: String)
    /// Move a photo or recording to the trash.
    case delete(String)

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable {
        case pause, panic, resume, freeze, snapshot, record, album
    }

    private enum RecordAction: String, CaseIterable { case start, stop }
    private enum AlbumAction: String, CaseIterable { case list, rename, delete }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .pause: self = .pause
        case .panic: self = .panic
        case .resume: self = .resume
        case .freeze: self = .freeze
        case .snapshot: self = .snapshot(try Self.path(&fields), note: try fields.bool("note", default: false))
        case .record:
            switch try fields.choice("action", default: RecordAction.start) {
            case .start:
                self = .startRecording(try Self.path(&fields), sound: try fields.bool("sound", default: false))
            case .stop: self = .stopRecording
            }
        case .album:
            switch try fields.choice("action", default: AlbumAction.list) {
            case .list: self = .album
            case .rename: self = .rename(try fields.string("name"), to: try fields.string("to"))
            case .delete: self = .delete(try fields.string("name"))
            }
        }
    }

    private static func path(_ fields: inout Fields) throws -> String? {
        guard fields.has("path") else { return nil }
        let path = try fields.string("path")
        // The path must not depend on the daemon's working directory, nor end early.
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw fields.wrong("path", "'\(brief(path))'", allowed: "an absolute path: /home/...")
        }
        return path
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .pause: RequestHelp("shows a placeholder and closes the camera, until `resume`")
        case .panic: RequestHelp("the same as `pause`; for a hot key that must never show the picture again")
        case .resume: RequestHelp("ends `pause`, `panic` and `freeze`")
        case .freeze: RequestHelp("keeps the last picture until `resume`")
        case .snapshot:
            RequestHelp(
                keys: "`path`, `note` (both optional)",
                """
                saves what others see; the extension sets the format. Default: a PNG in `~/Pictures/Guise`. With \
                `"note": true`, a text file next to it lists the masks
                """)
        case .record:
            RequestHelp(
                keys: "`action`: `start` (default), `stop`; `path`; `sound`",
                """
                records what others see; with `"sound": true`, the microphone too. Default: a silent MP4 in \
                `~/Videos/Guise`
                """)
        case .album:
            RequestHelp(
                keys: "`action`: `list` (default), `rename`, `delete`; `name`; `to`",
                """
                lists the `captures` saved since the start, newest first; renames one (`name`, `to`), or moves it to \
                the trash
                """)
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .pause: (.pause, [:])
        case .panic: (.panic, [:])
        case .resume: (.resume, [:])
        case .freeze: (.freeze, [:])
        case .snapshot(let path, let note):
            (.snapshot, ["path": path.map { JSON($0) }, "note": note ? JSON(true) : nil])
        case .startRecording(let path, let sound):
            (
                .record,
                [
                    "action": JSON(RecordAction.start.rawValue), "path": path.map { JSON($0) },
                    "sound": sound ? JSON(true) : nil,
                ]
            )
        case .stopRecording: (.record, ["action": JSON(RecordAction.stop.rawValue)])
        case .album: (.album, [:])
        case .rename(let name, let new):
            (.album, ["action": JSON(AlbumAction.rename.rawValue), "name": JSON(name), "to": JSON(new)])
        case .delete(let name): (.album, ["action": JSON(AlbumAction.delete.rawValue), "name": JSON(name)])
        }
    }
}
