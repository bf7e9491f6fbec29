import Compose
import Control
import JSON
import Synchronization
import SystemKit

/// The user's looks and favourites, in `looks.json` beside `config.json`. The file may be edited by hand; it is read
/// again when it has changed.
final class LookStore: Sendable {
    /// Masks with their options, under a name.
    struct Look: Equatable {
        var name: String
        var masks: [MaskSelection]
    }

    struct Content: Equatable {
        var looks: [Look] = []
        var favourites: [String] = []
    }

    private struct State {
        var content = Content()
        var version: FileVersion?
        /// Counts the changes of the content.
        var revision = 0
    }

    /// The file; nil without a home folder.
    let path: String?
    private let state = Mutex(State())
    /// Held while the file is written: others can read what it had before.
    private let writing = Mutex<Void>(())

    /// The most looks and favourites: more than anybody can tell apart, and few enough to be sent in one line.
    private static let maxCount = 100
    /// The longest name of a look, in characters.
    private static let maxName = 60

    /// - Parameter folder: the user's configuration folder; nil without a home folder.
    init(folder: String?) { path = folder.map { "\($0)/looks.json" } }

    /// The looks and favourites.
    /// - Throws: `Problem` with file, line and key if the file is invalid.
    var content: Content { get throws { try state.withLock { try Self.read(&$0, path) } } }

    /// The content and the number of its changes. An invalid file changes nothing.
    var current: (content: Content, revision: Int) {
        state.withLock { state in
            _ = try? Self.read(&state, path)
            return (state.content, state.revision)
        }
    }

    /// The look of a name, or, for a whole number, of a position from 1.
    /// - Throws: `RequestError` if there is none, and the errors of `content`.
    func look(_ name: String) throws -> Look {
        let looks = try content.looks
        if let look = looks.first(where: { $0.name == name }) { return look }
        if let number = Int(name), number > 0, number <= looks.count { return looks[number - 1] }
        throw unknown(name, among: looks)
    }

    /// Checks that there is a look of a name.
    /// - Throws: as `look`.
    func check(_ name: String) throws {
        let looks = try content.looks
        guard looks.contains(where: { $0.name == name }) else { throw unknown(name, among: looks) }
    }

    private func unknown(_ name: String, among looks: [Look]) -> RequestError {
        let names = looks.map(\.name)
        let hint =
            names.isEmpty
            ? "there is none; save what you wear with `guise look NAME --save`"
            : nearest(to: name, among: names).map { "did you mean '\($0)'?" }
                ?? "there are: \(names.joined(separator: ", "))"
        return RequestError(.unknownLook, "no look '\(brief(name))'; \(hint)")
    }

    /// Saves a look. One of the same name is replaced in its place.
    /// - Throws: `RequestError` for an invalid name or too many looks, `Problem` if the file can't be written; then
    ///   nothing has changed.
    func save(_ look: Look) throws {
        guard !look.name.allSatisfy(\.isWhitespace), look.name.count <= Self.maxName,
            look.name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw RequestError(
                .badValue, "'\(brief(look.name))' is no name for a look; allowed: 1 to \(Self.maxName) characters")
        }
        try change { content in
            if let index = content.looks.firstIndex(where: { $0.name == look.name }) {
                content.looks[index] = look
            } else {
                try Self.checkRoom(content.looks.count, "looks")
                content.looks.append(look)
            }
        }
    }

    /// Deletes a look.
    /// - Throws: as `look` and `save`.
    func delete(_ name: String) throws {
        try change { content in
            guard let index = content.looks.firstIndex(where: { $0.name == name }) else {
                throw unknown(name, among: content.looks)
            }
            content.looks.remove(at: index)
        }
    }

    /// Makes a mask a favourite, or ends that.
    /// - Throws: as `save`.
    func setFavourite(_ mask: String, _ isOn: Bool) throws {
        try change { content in
            let isFavourite = content.favourites.contains(mask)
            if isOn, !isFavourite {
                try Self.checkRoom(content.favourites.count, "favourites")
                content.favourites.append(mask)
            } else if !isOn {
                content.favourites.removeAll { $0 == mask }
            }
        }
    }

    private static func checkRoom(_ count: Int, _ what: String) throws {
        guard count < maxCount else { throw RequestError(.notNow, "there are \(maxCount) \(what) already; delete one") }
    }

    private func change(_ body: (inout Content) throws -> Void) throws {
        guard let path else {
            throw RequestError(.notNow, "there is no folder for looks.json: neither HOME nor XDG_CONFIG_HOME is set")
        }
        try writing.withLock { _ in
            while true {
                let (before, version) = try state.withLock { (try Self.read(&$0, path), $0.version) }
                var content = before
                try body(&content)
                guard content != before else { return }
                let text = JSON(content).prettyText + "\n"
                // If the user's editor writes the file in the meantime, the change is made to its text.
                guard let own = try writeAtomically(text, to: path, if: { FileVersion(path) == version }) else {
                    continue
                }
                return state.withLock { state in
                    (state.content, state.version) = (content, own)
                    state.revision += 1
                }
            }
        }
    }

    /// Reads the file if it has changed.
    private static func read(_ state: inout State, _ path: String?) throws -> Content {
        guard let path else { return state.content }
        let version = FileVersion(path)
        guard version != state.version else { return state.content }
        let content =
            version == nil
            ? Content() : try Content(text: contents(of: path, limit: ConfigurationText.largest), file: path)
        if content != state.content { state.revision += 1 }
        (state.content, state.version) = (content, version)
        return content
    }
}

extension LookStore.Content {
    init(text: [UInt8], file: String) throws {
        var fields = try Fields(try JSON(text, file: file), file: file)
        favourites = try fields.strings("favourites", default: [])
        let looks = fields.has("looks") ? try fields.objects("looks") : []
        self.looks = try looks.map { look in
            var look = look
            let name = try look.string("name")
            let masks = try look.masks()
            try look.finish()
            return LookStore.Look(name: name, masks: masks)
        }
        try fields.finish()
    }
}

extension JSON {
    fileprivate init(_ content: LookStore.Content) {
        self.init([
            "favourites": JSON(content.favourites),
            "looks": JSON(
                content.looks.map { look in
                    JSON(["name": JSON(look.name), "masks": JSON(look.masks.map(\.setting))])
                }),
        ])
    }
}

extension LooksReply {
    init(_ content: LookStore.Content) {
        self.init(
            looks: content.looks.map { Look(name: $0.name, masks: $0.masks.map(WornMask.init)) },
            favourites: content.favourites)
    }
}
