/// The user's looks and favourites.
struct LooksReply: Codable {
    struct Look: Codable {
        let name: String
        /// The masks of the look with their options, the bottom one first.
        let masks: [WornMask]
    }

    let looks: [Look]
    /// The names of the favourite masks, in the order in which they became so.
    let favourites: [String]
}
