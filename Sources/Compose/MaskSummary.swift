import Frames
import JSON

/// What a mask lets its wearer choose.
public enum MaskOption: Equatable, Sendable {
    /// "#rrggbb".
    case color
    /// One of these names.
    case palette([String])
    /// Any words.
    case text

    /// Whether this is one of them.
    public func allows(_ value: String) -> Bool {
        switch self {
        case .color: Color(value) != nil
        case .palette(let names): names.contains(value)
        case .text: !value.isEmpty && value.count <= TextLayer.longest
        }
    }

    /// Its name in the control protocol.
    public var kind: String {
        switch self {
        case .color: "color"
        case .palette: "palette"
        case .text: "text"
        }
    }

    /// What is allowed, for messages.
    public var words: String {
        switch self {
        case .color: "a colour such as #d02030"
        case .palette(let names): names.joined(separator: ", ")
        case .text: "1 to \(TextLayer.longest) letters"
        }
    }
}

/// What a mask says of itself, without its art.
public struct MaskSummary: Equatable, Sendable {
    /// The folder's name.
    public let name: String
    /// For people.
    public let title: String
    /// Who drew it; may be empty.
    public let author: String
    /// Words to find it by.
    public let tags: [String]
    /// What may be chosen, by name.
    public let choices: [String: MaskOption]
    /// What holds where nothing was chosen, by the same names.
    public let defaults: [String: String]
    /// Whether each may wear it alone: nothing of it is drawn on the whole picture, and it hides nobody.
    public let isPersonal: Bool
    /// Whether it is worn so that nobody sees the face.
    public let isHiding: Bool
}

extension MaskLibrary {
    /// The labels of all masks that can be read, by name. Reads their descriptions alone.
    public var summaries: [MaskSummary] { names.compactMap(summary) }

    /// Nil where there is no such mask, or its description cannot be read.
    public func summary(of name: String) -> MaskSummary? {
        guard let json = description(of: name) else { return nil }
        var found = OptionCollector()
        for member in includeClosure(of: name) {
            if let description = description(of: member) { found.collect(from: description) }
        }
        return MaskSummary(
            name: name, title: json["title"]?.string ?? name, author: json["author"]?.string ?? "",
            tags: json["tags"]?.elements.compactMap(\.string) ?? [], choices: found.choices, defaults: found.defaults,
            isPersonal: found.isPersonal, isHiding: found.isHiding)
    }

    /// What the descriptions of a mask and of those that it includes say.
    private struct OptionCollector {
        var choices: [String: MaskOption] = [:]
        var defaults: [String: String] = [:]
        var isPersonal = true
        var isHiding = false

        /// Kinds of layers that are drawn on the picture; a text is where it is not pinned to a face.
        private static let wide = ["swap", "effect", "frame", "particles"]

        mutating func collect(from description: JSON) {
            if description["onLostFace"]?.string == LostFacePolicy.cover.rawValue {
                (isPersonal, isHiding) = (false, true)
            }
            for layer in description["layers"]?.elements ?? [] {
                let kind = layer["kind"]?.string ?? ""
                if let name = layer["tint"]?["name"]?.string {
                    choices[name] = .color
                    defaults[name] = layer["tint"]?["color"]?.string
                }
                if case .object(let palettes)? = layer["palettes"]?.value, !palettes.isEmpty {
                    let names = palettes.map(\.key).sorted()
                    choices["palette"] = .palette(names)
                    defaults["palette"] = layer["palette"]?.string ?? names.first
                }
                if kind == "text" {
                    choices["text"] = .text
                    defaults["text"] = layer["text"]?.string
                }
                if Self.wide.contains(kind) || kind == "text" && layer["face"] == nil { isPersonal = false }
            }
        }
    }
}
