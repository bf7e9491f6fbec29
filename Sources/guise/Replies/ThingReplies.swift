/// The things that masks tell apart.
struct ThingsReply: Codable {
    struct Thing: Codable {
        let name: String
        /// The number of pictures by which it was taught.
        let pictures: Int
    }

    let things: [Thing]
}

/// A thing that was taught.
struct TaughtReply: Codable {
    let name: String
    /// The number of pictures that were added.
    let added: Int
    /// The number of its pictures now.
    let pictures: Int
}
