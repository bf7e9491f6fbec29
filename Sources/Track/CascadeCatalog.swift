import Frames
import JSON
import SystemKit

/// The cascades listed in `Cascades/catalogue.json`, each with the constants that map its box to the face, since every
/// cascade frames a face differently.
public struct CascadeCatalog: Sendable {
    /// What a cascade is used for.
    public enum Role: String, CaseIterable, Sendable {
        case face, verifier, eye
        case eyeVerifier = "eye-verifier"
        case cat
    }

    /// One cascade.
    public struct Entry: Sendable {
        /// The name in the catalogue.
        public let name: String
        /// The role in the catalogue.
        public let role: Role
        /// Absolute path of the file that was found.
        public let path: String
        /// The trained window's side, pixels.
        public let window: Int
        /// The midpoint between the eye centres, as fractions of the box's sides from its top left.
        public let eyes: Point
        /// The distance between the eye centres, as a fraction of the box's width.
        public let eyeDistance: Float
    }

    /// The entries, in the file's order.
    public let entries: [Entry]

    /// The folder where Debian's opencv-data installs its cascades.
    static let systemFolder = "/usr/share/opencv4"

    /// - Parameter folder: contains `catalogue.json`. A cascade's file is searched for beside it first, then in
    ///   Debian's folder.
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
            // What is searched around a lost face is up to three windows wide, and must fit in a patch.
            let window = try entry.integer("window", in: 8...50)
            let eyes = try entry.numbers("eyes", count: 2)
            let distance = try entry.number("eyeDistance", in: 0.05...2)
            try entry.finish()
            let base = relative.split(separator: "/").last.map(String.init) ?? relative
            let places = ["\(folder)/\(base)", "\(Self.systemFolder)/\(relative)"]
            guard let path = places.first(where: isReadable) else {
                throw Problem(
                    .missing, "cascade '\(name)' was not found at \(places.joined(separator: " or "))",
                    fix: "install its package: sudo apt install opencv-data")
            }
            return Entry(
                name: name, role: role, path: path, window: window, eyes: Point(Float(eyes[0]), Float(eyes[1])),
                eyeDistance: Float(distance))
        }
        try fields.finish()
    }

    /// All cascades with a role, in the file's order.
    public func all(_ role: Role) -> [Entry] { entries.filter { $0.role == role } }

    /// The first cascade with a role.
    /// - Throws: `Problem` if the catalogue has none.
    public func entry(_ role: Role) throws -> Entry {
        guard let entry = entries.first(where: { $0.role == role }) else {
            throw Problem(
                .missing, "the cascade catalogue has no cascade with role '\(role.rawValue)'",
                fix: "restore Cascades/catalogue.json")
        }
        return entry
    }
}
