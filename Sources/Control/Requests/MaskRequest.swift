import JSON

/// Requests for the active masks.
public enum MaskRequest: RequestGroup {
    /// List the masks.
    case masks
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

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable {
        case masks, show, hide, toggle, only, next, previous, clear, wear, random, surprise
    }

    /// Reads the keys of the request of a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .masks: self = .masks
        case .show: self = .show(try fields.string("mask"))
        case .hide: self = .hide(try fields.string("mask"))
        case .toggle: self = .toggle(try fields.string("mask"))
        case .only: self = .only(try fields.string("mask"))
        case .next: self = .next
        case .previous: self = .previous
        case .clear: self = .clear
        case .wear:
            guard fields.has("masks") else {
                throw RequestError(.badValue, "'masks' is missing; wanted: a list of masks")
            }
            self = .wear(try fields.strings("masks", default: []))
        case .random: self = .random
        case .surprise: self = .surprise
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .masks: (.masks, [:])
        case .show(let mask): (.show, ["mask": JSON(mask)])
        case .hide(let mask): (.hide, ["mask": JSON(mask)])
        case .toggle(let mask): (.toggle, ["mask": JSON(mask)])
        case .only(let mask): (.only, ["mask": JSON(mask)])
        case .next: (.next, [:])
        case .previous: (.previous, [:])
        case .clear: (.clear, [:])
        case .wear(let masks): (.wear, ["masks": JSON(masks)])
        case .random: (.random, [:])
        case .surprise: (.surprise, [:])
        }
    }
}
