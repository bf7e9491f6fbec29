import Compose
import FoundationEssentials
import JSON
import SystemKit

/// The masks that were worn last, for `"start": "last"`: `masks.json` in the user's state folder.
struct LastMasks: Sendable {
    /// The file; nil without a home folder.
    let path: String?

    /// - Parameter folder: the user's state folder; nil without a home folder.
    init(folder: String?) { path = folder.map { "\($0)/masks.json" } }

    /// The masks; nil if none were stored yet.
    /// - Throws: `Problem` if the file cannot be read: with other masks, a face might be shown that these hide.
    func read() throws -> [MaskSelection]? {
        guard let path, mayExist(path) else { return nil }
        var fields = try Fields(try JSON(contents(of: path), file: path), file: path)
        let masks = try fields.masks()
        try fields.finish()
        return masks
    }

    /// Stores the masks, but not those that a surprise gave to single people.
    /// - Throws: `Problem` if the file cannot be written.
    func write(_ masks: [MaskSelection]) throws {
        guard let path else { return }
        let shared = masks.filter { $0.personSlot == nil }
        try writeAtomically(JSON(["masks": JSON(shared.map(\.setting))]).prettyText + "\n", to: path)
    }
}

extension AppContext {
    /// The masks of the start, according to the configuration.
    /// - Throws: `Problem` if they cannot be read: with other masks, a face might be shown that these hide.
    func startMasks(_ looks: LookStore) throws -> [MaskSelection] {
        switch configuration.start {
        case .masks: return configuration.masks
        case .none: return []
        case .last: return try LastMasks(folder: paths.state).read() ?? configuration.masks
        case .look(let name):
            guard let look = try looks.content.looks.first(where: { $0.name == name }) else {
                throw Problem(
                    .missing, "the configuration starts with the look '\(brief(name))', which does not exist",
                    fix: "save it with `guise look`, or set \"start\" to masks, last or none")
            }
            return look.masks
        }
    }
}
