/// An option of a mask that the user can set.
public enum MaskOption: Equatable, Sendable {
    /// A colour, "#rrggbb".
    case color
    /// A palette, by one of these names.
    case palette([String])
    /// Any text of at most `maxTextLength` characters. A layer with an empty one is not drawn.
    case text

    /// The most characters of a text. No name is longer, and a line of a hundred can't be read.
    static let maxTextLength = 200

    /// Whether a value is valid for the option.
    public func allows(_ value: String) -> Bool {
        switch self {
        case .color: Color(value) != nil
        case .palette(let names): names.contains(value)
        case .text: value.count <= Self.maxTextLength
        }
    }

    /// The option's kind in the control protocol.
    public var kind: String {
        switch self {
        case .color: "color"
        case .palette: "palette"
        case .text: "text"
        }
    }

    /// The allowed values in words, for messages.
    public var words: String {
        switch self {
        case .color: "a colour such as #d02030, or its English name"
        case .palette(let names): names.joined(separator: ", ")
        case .text: "at most \(Self.maxTextLength) characters"
        }
    }
}
