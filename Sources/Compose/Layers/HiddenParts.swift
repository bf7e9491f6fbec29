/// The parts of a picture that masks promise to hide. A picture that may show one of them is not published.
public struct HiddenParts: OptionSet, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// All faces, also those that are lost or not found yet: what may show one is withheld or covered. It says nothing
    /// of faces that are found: a stranger's mask may promise this, and draw a crown.
    public static let faces = HiddenParts(rawValue: 1)
    /// The room behind the people.
    public static let room = HiddenParts(rawValue: 2)
    /// People other than the largest, who must not be recognisable.
    public static let bystanders = HiddenParts(rawValue: 4)
    /// The faces that are found, which are made unrecognisable.
    public static let foundFaces = HiddenParts(rawValue: 8)

    /// The parts that people are.
    public static let people: HiddenParts = [.faces, .foundFaces, .bystanders]

    /// All parts, with their names in files.
    private static let names: [(name: String, part: HiddenParts)] = [
        ("faces", .faces), ("room", .room), ("bystanders", .bystanders), ("foundFaces", .foundFaces),
    ]

    /// The names of the parts, for files.
    public var names: [String] { Self.names.filter { contains($0.part) }.map(\.name) }

    /// The parts of these names; others are ignored.
    public init(names: [String]) { self.init(Self.names.filter { names.contains($0.name) }.map(\.part)) }
}

/// What a mask hides, and how well.
public struct Concealment: Equatable, Sendable {
    /// What it promises to hide.
    public var parts: HiddenParts
    /// The radius by which the room is blurred, relative to the picture's height; 1, the most, if nothing of it is
    /// left, and 0 if it isn't hidden.
    public var roomBlur: Float

    /// The concealment of a mask.
    public init(parts: HiddenParts, roomBlur: Float) { (self.parts, self.roomBlur) = (parts, roomBlur) }

    /// Whether the other one hides something that this one doesn't hide, or hides the room better.
    public func isLess(than other: Concealment) -> Bool {
        !parts.isSuperset(of: other.parts) || roomBlur < other.roomBlur
    }
}
