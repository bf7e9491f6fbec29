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

    /// All parts, with their names in files.
    private static let names: [(name: String, part: HiddenParts)] = [
        ("faces", .faces), ("room", .room), ("bystanders", .bystanders),
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
    /// Whether it makes all faces that are found unrecognisable. A promise is not enough: a stranger's mask may promise
    /// to hide faces, and draw a crown.
    public var coversFaces: Bool
    /// The opacity of the layer that hides the room best, 0...1; 0 if there is none.
    public var roomOpacity: Float

    /// The concealment of a mask.
    public init(parts: HiddenParts, coversFaces: Bool, roomOpacity: Float) {
        (self.parts, self.coversFaces, self.roomOpacity) = (parts, coversFaces, roomOpacity)
    }

    /// Whether the other one hides something that this one doesn't hide, or hides the room better.
    public func isLess(than other: Concealment) -> Bool {
        !coversFaces && other.coversFaces || !parts.isSuperset(of: other.parts) || roomOpacity < other.roomOpacity
    }
}
