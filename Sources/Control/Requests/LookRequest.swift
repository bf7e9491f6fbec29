import JSON

/// Requests for looks, which are sets of masks with their options, saved under a name, and for favourite masks.
public enum LookRequest: RequestGroup {
    /// List the looks and the favourites.
    case looks
    /// Wear a look, or save or delete it.
    case look(String, LookAction)
    /// Make a mask a favourite, or end that.
    case favourite(String, isOn: Bool)

    /// What to do with a look.
    public enum LookAction: String, CaseIterable, Sendable {
        /// Wear it instead of the current masks.
        case wear
        /// Save the current masks under its name.
        case save
        /// Delete it. The current masks stay.
        case delete
    }

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable { case looks, look, favourite }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .looks: self = .looks
        case .look: self = .look(try fields.string("name"), try fields.choice("action", default: .wear))
        case .favourite: self = .favourite(try fields.string("mask"), isOn: try fields.bool("on", default: true))
        }
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .looks: RequestHelp("the looks, which are masks with their settings under a name, and the favourites")
        case .look:
            RequestHelp(
                keys: "`name`; `action`: `wear` (default), `save`, `delete`",
                """
                wears a look (by name, or by its position from 1), saves the active masks as one, or deletes it
                """)
        case .favourite: RequestHelp(keys: "`mask`; `on` (default true)", "makes a mask a favourite, or ends that")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .looks: (.looks, [:])
        case .look(let name, let action):
            (.look, ["name": JSON(name), "action": action == .wear ? nil : JSON(action.rawValue)])
        case .favourite(let mask, let isOn): (.favourite, ["mask": JSON(mask), "on": isOn ? nil : JSON(false)])
        }
    }
}
