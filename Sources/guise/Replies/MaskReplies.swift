import Compose
import JSON

/// An active mask.
struct WornMask: Codable {
    let name: String
    /// The opacity, 0 to 1.
    let opacity: Float
    /// The options that the user has set.
    let choices: [String: String]
    /// The person that `surprise` gave the mask, counted from 1; nil: everybody.
    let person: Int?

    init(_ selection: MaskSelection) {
        name = selection.mask
        opacity = (selection.opacity * 1000).rounded() / 1000
        choices = selection.choices
        person = selection.personSlot.map { $0.number + 1 }
    }
}

/// The active masks after a change.
struct WornReply: Codable {
    var masks: [WornMask]
    /// The masks that stayed, or stayed as they were, because they hide something and the request did not name them;
    /// nil if there are none.
    let kept: [String]?
    /// The masks that were taken off for others of their kind; nil if there are none.
    let replaced: [String]?

    init(masks: [WornMask], kept: [String] = [], replaced: [String] = []) {
        self.masks = masks
        self.kept = kept.isEmpty ? nil : kept
        self.replaced = replaced.isEmpty ? nil : replaced
    }

    init(_ selections: [MaskSelection], kept: [String] = [], replaced: [String] = []) {
        self.init(masks: selections.map(WornMask.init), kept: kept, replaced: replaced)
    }
}

/// A list of all masks.
struct MaskListReply: Encodable {
    let masks: [MaskDescription]
}

/// A mask, and what can be set.
struct MaskDescription: Encodable {
    /// An option.
    struct Choice: Encodable {
        let kind: String
        /// The allowed palettes or pictures.
        let allowed: [String]?
        /// The current value; null if it is not set.
        @Nullable var now: String?
        @Nullable var `default`: String?
    }

    let name: String
    let title: String
    let author: String
    let tags: [String]
    /// What the mask is: a tab of the page's gallery; null if it doesn't say so.
    @Nullable var kind: String?
    /// Whether the mask hides faces: it is taken off by name only.
    let hides: Bool
    /// Whether the mask needs the things that the user has taught.
    let things: Bool
    /// Whether the mask is active; nil if no daemon was asked.
    let worn: Bool?
    /// The options by name.
    let choices: [String: Choice]

    /// - Parameters:
    ///   - selection: the mask's selection, if it is active.
    ///   - worn: whether the mask is active; nil if no daemon was asked.
    ///   - ownPictures: the names of the user's own pictures.
    init(
        _ summary: MaskSummary, _ selection: MaskSelection? = nil, worn: Bool? = nil, ownPictures: [String] = []
    ) {
        (name, title, author, tags, self.worn) = (summary.name, summary.title, summary.author, summary.tags, worn)
        (kind, hides, things) = (summary.kind?.rawValue, summary.hidden.contains(.faces), summary.usesThings)
        var choices: [String: Choice] = [:]
        for (name, option) in summary.options {
            var allowed: [String]?
            switch option {
            case .palette(let names), .stamps(let names): allowed = names
            case .picture(let names): allowed = names + ownPictures
            case .color, .text: break
            }
            choices[name] = Choice(
                kind: option.kind, allowed: allowed, now: selection?.choices[name], default: summary.defaults[name])
        }
        self.choices = choices
    }
}
