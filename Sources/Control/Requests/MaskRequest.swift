import JSON

/// Requests for the active masks.
public enum MaskRequest: RequestGroup {
    /// List the masks.
    case masks
    /// Take off the named mask.
    case remove(String)
    /// Put on the named mask in place of those of its kind, or take it off.
    case toggle(String)
    /// Wear only the named mask.
    case only(String)
    /// Wear the next mask in the order of names.
    case next
    /// Wear the previous mask in the order of names.
    case previous
    /// Take off all masks.
    case clear
    /// Put on these masks in place of those of their kinds.
    case wear([String])
    /// Put on these masks on top of the others.
    case add([String])
    /// Draw the active masks in this order; the first is the bottom one.
    case order([String])
    /// Replace the masks with one random other mask: one that is fit for work, or any.
    case random(all: Bool)
    /// Give each person a random other mask: one that is fit for work, or any.
    case surprise(all: Bool)

    /// The requests' names.
    public enum Name: String, CaseIterable, Sendable {
        case masks, remove, toggle, only, next, previous, clear, wear, add, order, random, surprise
    }

    /// Reads the keys of the request with a name.
    public init(_ name: Name, _ fields: inout Fields) throws {
        switch name {
        case .masks: self = .masks
        case .remove: self = .remove(try fields.string("mask"))
        case .toggle: self = .toggle(try fields.string("mask"))
        case .only: self = .only(try fields.string("mask"))
        case .next: self = .next
        case .previous: self = .previous
        case .clear: self = .clear
        case .wear: self = .wear(try Self.list(&fields))
        case .add: self = .add(try Self.list(&fields))
        case .order: self = .order(try Self.list(&fields))
        case .random: self = .random(all: try fields.bool("all", default: false))
        case .surprise: self = .surprise(all: try fields.bool("all", default: false))
        }
    }

    /// The largest number of masks in one list: more than anybody wears, and few enough to be looked up at once.
    public static let maxMasks = 64

    private static func list(_ fields: inout Fields) throws -> [String] {
        guard fields.has("masks") else {
            throw RequestError(.badValue, "'masks' is missing; wanted: a list of masks")
        }
        let masks = try fields.strings("masks", default: [])
        guard masks.count <= maxMasks else {
            throw RequestError(
                .badValue, "'masks' has \(masks.count) masks; allowed: at most \(maxMasks)")
        }
        return masks
    }

    /// The keys of the request with a name, and what it does.
    public static func help(_ name: Name) -> RequestHelp {
        switch name {
        case .masks:
            RequestHelp(
                """
                all masks: name, title, author, tags, `kind`, whether it `hides` faces, whether it recognises taught \
                `things`, `worn`, and what can be set: `choices`
                """)
        case .remove: RequestHelp(keys: "`mask`", "takes the mask off")
        case .toggle: RequestHelp(keys: "`mask`", "puts the mask on, in place of those of its kind, or takes it off")
        case .only: RequestHelp(keys: "`mask`", "puts the mask on and takes all others off")
        case .next: RequestHelp("replaces the masks with the next one, by name")
        case .previous: RequestHelp("replaces the masks with the previous one, by name")
        case .clear: RequestHelp("takes all masks off")
        case .wear:
            RequestHelp(
                keys: "`masks`",
                """
                puts these masks on; each takes the place of those of its kind, which are listed in `replaced`. Masks \
                that are on keep their settings
                """)
        case .add: RequestHelp(keys: "`masks`", "puts these masks on, on top of the others")
        case .order:
            RequestHelp(
                keys: "`masks`",
                "draws the active masks in this order; those that are not named stay on top")
        case .random:
            RequestHelp(
                keys: "`all` (optional)",
                """
                replaces the masks with another random one that is fit for work; with `"all": true`, with any
                """)
        case .surprise:
            RequestHelp(
                keys: "`all` (optional)",
                "gives each person a random mask: four masks, assigned in turn as people appear")
        }
    }

    /// The request's name and keys.
    public var parts: (name: Name, keys: KeyValuePairs<String, JSON?>) {
        switch self {
        case .masks: (.masks, [:])
        case .remove(let mask): (.remove, ["mask": JSON(mask)])
        case .toggle(let mask): (.toggle, ["mask": JSON(mask)])
        case .only(let mask): (.only, ["mask": JSON(mask)])
        case .next: (.next, [:])
        case .previous: (.previous, [:])
        case .clear: (.clear, [:])
        case .wear(let masks): (.wear, ["masks": JSON(masks)])
        case .add(let masks): (.add, ["masks": JSON(masks)])
        case .order(let masks): (.order, ["masks": JSON(masks)])
        case .random(let all): (.random, ["all": all ? JSON(true) : nil])
        case .surprise(let all): (.surprise, ["all": all ? JSON(true) : nil])
        }
    }
}
