import Frames
import JSON

/// The cascades that Guise knows, from `Cascades/catalog.json`: each with the constants that map its box to the face,
/// for every cascade frames a face differently.
public struct CascadeCatalog: Sendable {
    /// What a cascade is for.
    public enum Role: String, CaseIterable, Sendable {
        case face, verifier, eye
        case eyeVerifier = "eye-verifier"
        case cat
    }

    /// One cascade.
    public struct Entry: Sendable {
        /// As in the catalogue.
        public let name: String
        /// As in the catalogue.
        public let role: Role
        /// Absolute, once found.
        public let path: String
        /// The trained window's side, pixels.
        public let window: Int
        /// The middle between the eyes' centres, as fractions of the box's sides from its top left.
        public let eyes: Point
        /// The distance between the eyes' centres, as a fraction of the box's width.
        public let eyeDistance: Float
    }

    /// In the file's order.
    public let entries: [Entry]

    /// Where Debian's opencv-data puts its cascades.
    static let systemFolder = "/usr/share/opencv4"

    /// - Parameter folder: holds `catalog.json`; a cascade's file is looked for beside it first, then among Debian's.
    /// - Throws: `Problem` that names file and line, or the missing cascade and its package.
    public init(folder: String) throws {
        let file = "\(folder)/catalogue.json"
        var fields = try Fields(try JSON(try contents(of: file), file: file), file: file)
        _ = try fields.integer("version", in: 1...1)
        entries = try fields.objects("cascades").map { entry in
            var entry = entry
            let name = try entry.string("name")
            let role = try entry.choice("role", default: Role.face)
            let relative = try entry.string("file")
            let window = try entry.integer("window", in: 8...64)
            let eyes = try entry.numbers("eyes", count: 2)
            let distance = try entry.number("eyeDistance", in: 0.05...2)
            try entry.finish()
            let base = relative.split(separator: "/").last.map(String.init) ?? relative
            let places = ["\(folder)/\(base)", "\(Self.systemFolder)/\(relative)"]
            guard let path = places.first(where: isReadable) else {
                throw Problem(
                    .missing, "cascade '\(name)' was not found as \(places.joined(separator: " or "))",
                    fix: "install its package: sudo apt install opencv-data")
            }
            return Entry(
                name: name, role: role, path: path, window: window, eyes: Point(Float(eyes[0]), Float(eyes[1])),
                eyeDistance: Float(distance))
        }
        try fields.finish()
    }

    /// All cascades of that role, in the file's order.
    public func all(_ role: Role) -> [Entry] { entries.filter { $0.role == role } }

    /// The first cascade of that role.
    /// - Throws: `Problem` where the catalogue has none.
    public func entry(_ role: Role) throws -> Entry {
        guard let entry = entries.first(where: { $0.role == role }) else {
            throw Problem(
                .missing, "the cascade catalogue has none of role '\(role.rawValue)'",
                fix: "restore Cascades/catalogue.json")
        }
        return entry
    }
}
