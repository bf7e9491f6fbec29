/// The parts of a picture that masks promise to hide. A picture that may show one of them is not published.
public struct HiddenParts: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// All faces, also those that are lost or not found yet.
    public static let faces = HiddenParts(rawValue: 1)
    /// The room behind the people.
    public static let room = HiddenParts(rawValue: 2)
    /// People other than the largest, who must not be recognisable.
    public static let bystanders = HiddenParts(rawValue: 4)

    /// What these masks together promise to hide.
    init(hiddenBy masks: borrowing [Mask]) {
        self = []
        for i in masks.indices where masks[i].opacity > 0 { formUnion(masks[i].hidden) }
    }
}
