import JSON

/// The current configuration, which may differ from the file.
struct ConfigurationReply: Encodable {
    /// The file; null if there is none.
    @Nullable var file: String?
    /// All keys, in the format of the file.
    let values: JSON
}

/// A configuration key that was set.
struct SettingReply: Codable {
    let key: String
    let value: JSON
    /// Notes for the user, such as on changes that take effect later.
    let notes: [String]
}

/// The notes on a configuration that was read again.
struct ReloadReply: Codable {
    let notes: [String]
}

/// The file that the configuration was saved to.
struct SaveReply: Codable {
    let path: String
}
