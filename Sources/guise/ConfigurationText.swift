import Control
import JSON
import SystemKit

/// A configuration together with the JSON that it was read from, so that a single key can be set and the whole
/// validated again.
struct ConfigurationText: Sendable {
    /// The file; nil if there is none, and the defaults apply.
    let file: String?
    /// The file as it was when it was loaded; nil if it wasn't.
    let version: FileVersion?
    private let json: JSON
    let value: Configuration

    /// Whether it has the key `masks`. If it hasn't, the default is worn at the start and changes nothing later.
    var namesMasks: Bool { json["masks"] != nil }

    /// The most bytes of a file of settings. A full one has a hundredth of it, and this one is read in milliseconds.
    static let largest = 1 << 20

    /// Reads a configuration.
    /// - Parameter version: the file as it was before; nil for one that is not watched from then on.
    /// - Throws: `Problem` that names the file, line and key, or says why the file can't be read.
    init(file: String, version: FileVersion? = nil) throws {
        try self.init(JSON(try contents(of: file, limit: Self.largest), file: file), file: file, version: version)
    }

    private init(_ json: JSON, file: String?, version: FileVersion? = nil) throws {
        (self.json, self.file, self.version) = (json, file, version)
        value = try Configuration(json, file: file ?? "the configuration")
    }

    /// Loads this session's configuration from the named file, or else the user's, the installed one, or the defaults.
    /// - Throws: `Problem` if the first file that exists cannot be read, or the user's folder is there and cannot be
    ///   reached: falling back to the defaults might show a face that the file hides.
    static func load(named path: String?, paths: Paths) throws -> ConfigurationText {
        if path == nil, let folder = paths.user { try checkFolder(folder) }
        guard let file = path ?? paths.configurations.first(where: mayExist) else {
            return try ConfigurationText(JSON([:]), file: nil)
        }
        // Taken first: an edit while it is read is one since then.
        let version = FileVersion(file)
        return try ConfigurationText(file: file, version: version)
    }

    /// The text for a file: only the keys that were given or set.
    var text: String { json.prettyText + "\n" }

    /// A copy that belongs to another file.
    func moved(to file: String) -> ConfigurationText { ConfigurationText(json, value, file: file) }

    private init(_ json: JSON, _ value: Configuration, file: String) {
        (self.json, self.value, self.file, version) = (json, value, file, nil)
    }

    /// A copy with one key set. Writes no file.
    /// - Parameters:
    ///   - key: the key with its path: "faces.max".
    ///   - new: the value.
    /// - Throws: `RequestError` that names the allowed values.
    func setting(_ key: String, _ new: JSON) throws -> ConfigurationText {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !names.contains(""), names.count <= 4 else {
            throw RequestError(.badValue, "'\(brief(key))' is not a configuration key; keys look like \"faces.max\"")
        }
        do {
            return try ConfigurationText(json.setting(names[...], new), file: file, version: version)
        } catch {
            // Remove the file and line from the message, because the value was not read from the file.
            let words = "\(error)".split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            throw RequestError(.badValue, words.count > 1 ? String(words[1]) : "\(error)")
        }
    }
}

extension JSON {
    /// A copy with the value at the end of a path of keys replaced. Missing objects are created.
    fileprivate func setting(_ path: ArraySlice<String>, _ new: JSON) -> JSON {
        guard let key = path.first else { return new }
        let inner = (self[key] ?? JSON([:])).setting(path.dropFirst(), new)
        guard case .object(let members) = value else { return JSON([:]).with(key, inner) }
        // A key keeps its place in the file.
        let changed = members.reduce(JSON([:])) { $0.with($1.key, $1.key == key ? inner : $1.value) }
        return self[key] == nil ? changed.with(key, inner) : changed
    }
}
