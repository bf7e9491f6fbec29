import JSON

/// Requests that take back changes of the masks and the settings.
public enum HistoryRequest: RequestGroup {
    /// Take back the last change.
    case undo
    /// Make the change again that was taken back last.
    case redo

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case undo, redo }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .undo: self = .undo
        case .redo: self = .redo
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .undo:
            RequestHelp("takes back the last change of masks, settings or a camera's controls: `change` is its name")
        case .redo: RequestHelp("makes the change that was taken back last again: `change` is its name")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .undo: (.undo, [:])
        case .redo: (.redo, [:])
        }
    }
}
