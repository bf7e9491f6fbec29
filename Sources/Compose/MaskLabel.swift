import Frames
import JSON

/// What a mask lets its wearer choose.
public enum Adjustable: Equatable, Sendable {
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
public struct MaskLabel: Equatable, Sendable {
    /// The folder's name.
    public let name: String
    /// For people.
    public let title: String
    /// Words to find it by.
    public let tags: [String]
    /// What may be chosen, by name.
    public let choices: [String: Adjustable]
}

extension Wardrobe {
    /// The labels of all masks that can be read, by name. Reads their descriptions alone.
    public var labels: [MaskLabel] { names.compactMap(label) }

    /// Nil where there is no such mask, or its description cannot be read.
    public func label(of name: String) -> MaskLabel? {
        guard let json = description(of: name) else { return nil }
        var choices: [String: Adjustable] = [:]
        for member in family(of: name) {
            if let description = description(of: member) { Self.collect(&choices, from: description["layers"]) }
        }
        return MaskLabel(
            name: name, title: json["title"]?.string ?? name, tags: json["tags"]?.elements.compactMap(\.string) ?? [],
            choices: choices)
    }

    private static func collect(_ choices: inout [String: Adjustable], from layers: JSON?) {
        for layer in layers?.elements ?? [] {
            if let name = layer["tint"]?["name"]?.string { choices[name] = .color }
            if case .object(let palettes)? = layer["palettes"]?.value, !palettes.isEmpty {
                choices["palette"] = .palette(palettes.map(\.key).sorted())
            }
            if layer["kind"]?.string == "text" { choices["text"] = .text }
        }
    }
}
