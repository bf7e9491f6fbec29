import JSON

/// The changes that can be taken back, and made again.
struct HistoryNames: Codable, Equatable {
    /// The change that `undo` takes back; null if there is none.
    @Nullable var undo: String?
    /// The change that `redo` makes again; null if there is none.
    @Nullable var redo: String?
    /// The number of changes so far, which differs after each.
    let revision: Int

    static func == (one: HistoryNames, other: HistoryNames) -> Bool { one.revision == other.revision }
}

/// A change that was taken back, or made again, and what is worn now.
struct HistoryReply: Codable {
    /// The change, such as "wear crown".
    let change: String
    let worn: WornReply
    /// Notes for the user.
    let notes: [String]

    init(change: String, worn: WornReply, notes: [String]) {
        (self.change, self.worn, self.notes) = (change, worn, notes)
    }

    private enum Key: String, CodingKey { case change, notes }

    init(from decoder: any Decoder) throws {
        worn = try WornReply(from: decoder)
        let object = try decoder.container(keyedBy: Key.self)
        change = try object.decode(String.self, forKey: .change)
        notes = try object.decode([String].self, forKey: .notes)
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(change, forKey: .change)
        try object.encode(notes, forKey: .notes)
        try worn.encode(to: encoder)
    }
}
