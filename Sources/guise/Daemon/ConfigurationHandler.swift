import Compose
import Control
import JSON

/// Answers requests for the configuration, and for the options of masks.
struct ConfigurationHandler {
    let store: ConfigurationStore
    let masks: MaskCatalog
    let pictures: BackgroundStore
    let history: ChangeHistory
    let looks: LookStore

    func handle(_ request: ConfigurationRequest) throws -> Answer {
        switch request {
        case .set(let mask?, let key, let value, _): try set(mask, key, value)
        case .set(nil, "masks", let value, _): try setMasks(value)
        case .set(nil, let key, let value, _): .immediate(try set(key, value))
        case .configuration: .immediate(store.current)
        case .reload:
            .stored { [store, history] in
                ReloadReply(notes: try store.reload { change in try history.record("reload", change) })
            }
        case .save: .stored { [store] in SaveReply(path: try store.save()) }
        }
    }

    /// Sets a configuration key.
    private func set(_ key: String, _ value: JSON) throws -> SettingReply {
        // Without the look, Guise would not start.
        if key == "start", case .look(let name)? = value.string.flatMap({ StartMasks($0) }) { try looks.check(name) }
        return SettingReply(key: key, value: value, notes: try store.set(key, to: value))
    }

    /// Sets the masks, if all can be loaded. If one of them hides something that is not hidden yet, they are put on at
    /// once, since nothing may be seen meanwhile that they hide; if they can't be loaded, those before come back.
    private func setMasks(_ value: JSON) throws -> Answer {
        let wanted = try store.text.setting("masks", value).value.masks
        if masks.wouldHideMore(wanted) { try store.putOn(wanted) } else { try masks.check(wanted) }
        return .background { [self] in
            try masks.verify(wanted)
            return try history.record("set masks") { try set("masks", value) }
        }
    }

    /// Sets an option of an active mask. A picture's file is read first, in parallel with other requests.
    private func set(_ mask: String, _ key: String, _ value: JSON) throws -> Answer {
        guard masks.loader.selections.contains(where: { $0.mask == mask }) else { throw masks.notWorn(mask) }
        if key == "opacity" {
            guard let number = value.number ?? value.string.flatMap(Self.fraction), (0...1).contains(number) else {
                throw RequestError(
                    .badValue, "'opacity' is \(value.text); allowed: a number from 0 to 1, or a percentage such as 50%")
            }
            return .immediate(try change(mask) { $0.opacity = Float(number) })
        }
        switch try choice(mask, key, value) {
        case .text(let text): return .immediate(try change(mask) { $0.choices[key] = text })
        case .newPicture(let path):
            return .background {
                let name = try pictures.add(file: path)
                return try history.record("set \(mask) \(key)") { try change(mask) { $0.choices[key] = name } }
            }
        }
    }

    /// Changes the selection of an active mask.
    private func change(_ mask: String, _ body: (inout MaskSelection) -> Void) throws -> WornReply {
        let worn = masks.loader.selections
        var selections = worn
        guard let index = selections.firstIndex(where: { $0.mask == mask }) else { throw masks.notWorn(mask) }
        body(&selections[index])
        try masks.select(selections, changing: worn)
        return WornReply(selections)
    }

    /// A percentage, such as "50%" or "50 %", as a fraction of 1.
    private static func fraction(_ text: String) -> Double? {
        guard text.hasSuffix("%") else { return nil }
        let number = text.dropLast()
        return Double(number.hasSuffix(" ") ? number.dropLast() : number).map { $0 / 100 }
    }

    private enum Choice {
        case text(String)
        /// The path of a file that becomes one of the user's pictures.
        case newPicture(String)
    }

    /// Checks a value for an option of a mask.
    private func choice(_ mask: String, _ key: String, _ value: JSON) throws -> Choice {
        let options = masks.summaries.first { $0.name == mask }?.options ?? [:]
        guard let option = options[key] else {
            let known = options.keys.sorted()
            let hint = nearest(to: key, among: known + ["opacity"]).map { "did you mean '\($0)'? " } ?? ""
            throw RequestError(
                .badValue,
                "'\(mask)' has no '\(brief(key))'; \(hint)it has the options: \((["opacity"] + known).joined(separator: ", "))"
            )
        }
        if case .picture(let names) = option {
            let allowed = names + pictures.names
            if let text = value.string {
                if allowed.contains(text) { return .text(text) }
                if text.hasPrefix("/") { return .newPicture(text) }
            }
            throw RequestError(
                .badValue,
                "'\(key)' is \(brief(value.text)); allowed: the path of a picture, \(allowed.joined(separator: ", "))")
        }
        let text =
            switch option {
            case .color: value.string.map { colorNames[$0.lowercased()] ?? $0 }
            // Options are texts, wherever they are kept.
            case .stamps: value.string ?? value.text
            default: value.string
            }
        guard let text, option.allows(text) else {
            throw RequestError(.badValue, "'\(key)' is \(brief(value.text)); allowed: \(option.allowedText)")
        }
        return .text(text)
    }
}

/// The names of colours that people type, as CSS defines them.
private let colorNames = [
    "black": "#000000", "white": "#ffffff", "gray": "#808080", "grey": "#808080", "silver": "#c0c0c0",
    "red": "#ff0000", "maroon": "#800000", "orange": "#ffa500", "gold": "#ffd700", "yellow": "#ffff00",
    "olive": "#808000", "lime": "#00ff00", "green": "#008000", "teal": "#008080", "cyan": "#00ffff",
    "blue": "#0000ff", "navy": "#000080", "purple": "#800080", "violet": "#ee82ee", "magenta": "#ff00ff",
    "pink": "#ffc0cb", "brown": "#a52a2a", "beige": "#f5f5dc",
]
