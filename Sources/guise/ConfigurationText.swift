import Control
import Frames
import JSON

/// A configuration with the text that it was read from, so that one key can be set and all the rest be checked as ever.
struct ConfigurationText: Sendable {
    /// Nil: no file, the defaults.
    let file: String?
    private let json: JSON
    let value: Configuration

    /// - Throws: `Problem` that names the file, line and key.
    init(text: [UInt8], file: String) throws {
        try self.init(JSON(text, file: file), file: file)
    }

    private init(_ json: JSON, file: String?) throws {
        (self.json, self.file) = (json, file)
        value = try Configuration(json, file: file ?? "the configuration")
    }

    /// Loads this session's configuration: the named file, else the user's, else the installed one, else the defaults.
    /// - Throws: `Problem` if the first that exists can't be read: the defaults might show a face that it hides.
    static func load(named path: String?, paths: Paths) throws -> ConfigurationText {
        guard let file = path ?? paths.configurations.first(where: mayExist) else {
            return try ConfigurationText(JSON([:]), file: nil)
        }
        return try ConfigurationText(text: try contents(of: file), file: file)
    }

    /// The text as it is written to a file: the keys that were given or set, no others.
    var text: String { json.pages + "\n" }

    /// The same as if it had been read from another file.
    func moved(to file: String) -> ConfigurationText { ConfigurationText(json, value, file: file) }

    private init(_ json: JSON, _ value: Configuration, file: String) {
        (self.json, self.value, self.file) = (json, value, file)
    }

    /// The same with one key set, and nothing written anywhere.
    /// - Parameter key: with its path: "faces.max".
    /// - Throws: `RequestError` that names what is allowed.
    func setting(_ key: String, _ new: JSON) throws -> ConfigurationText {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !names.contains(""), names.count <= 4 else {
            throw RequestError(.badValue, "'\(brief(key))' is no key; they look like \"faces.max\"")
        }
        do {
            return try ConfigurationText(json.setting(names[...], new), file: file)
        } catch {
            // The place in the file is not what was wrong.
            let words = "\(error)".split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            throw RequestError(.badValue, words.count > 1 ? String(words[1]) : "\(error)")
        }
    }
}

extension JSON {
    /// The object with the value at the end of a path of keys.
    fileprivate func setting(_ path: ArraySlice<String>, _ new: JSON) -> JSON {
        guard let key = path.first else { return new }
        let inner = (self[key] ?? JSON([:])).setting(path.dropFirst(), new)
        guard case .object(let members) = value else { return JSON([:]).with(key, inner) }
        return members.filter { $0.key != key }.reduce(JSON([:])) { $0.with($1.key, $1.value) }.with(key, inner)
    }
}
