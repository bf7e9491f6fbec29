/// An option of a mask that the user can set.
public enum MaskOption: Equatable, Sendable {
    /// A colour, "#rrggbb".
    case color
    /// A palette, by one of these names.
    case palette([String])
    /// A picture: one of these names, or the name of one of the user's own.
    case picture([String])
    /// Any text of at most `maxTextLength` characters. A layer with an empty one is not drawn.
    case text
    /// A list of stamps, as the text of a JSON array; these are the names of the pictures to choose from.
    case stamps([String])

    /// The most characters of a text. No name is longer, and a line of a hundred can't be read.
    static let maxTextLength = 200

    /// Whether a value is valid for the option.
    public func allows(_ value: String) -> Bool {
        switch self {
        case .color: Color(value) != nil
        case .palette(let names): names.contains(value)
        case .picture(let names): names.contains(value) || value.isFileName
        case .text: value.count <= Self.maxTextLength
        case .stamps(let names): (try? Stamp.list(text: value, names: names)) != nil
        }
    }

    /// The option's kind in the control protocol.
    public var kind: String {
        switch self {
        case .color: "color"
        case .palette: "palette"
        case .picture: "picture"
        case .text: "text"
        case .stamps: "stamps"
        }
    }

    /// The allowed values in words, for messages.
    public var allowedText: String {
        switch self {
        case .color: "a colour such as #d02030, or its English name"
        case .palette(let names): names.joined(separator: ", ")
        case .picture(let names): (names + ["a file"]).joined(separator: ", ")
        case .text: "at most \(Self.maxTextLength) characters"
        case .stamps(let names):
            """
            a list of at most \(Stamp.maxCount), such as [{"art": "\(names.first ?? "")", "at": [0.8, 0.2], \
            "size": 0.2, "turn": 10, "on": "picture"}], or with "text"; pictures: \(names.joined(separator: ", "))
            """
        }
    }
}
