import Frames
import JSON
import Track

/// What a face may wear: layers, drawn in order. Described by a folder with `mask.json` and its art.
public struct Mask: Sendable {
    /// The folder's name.
    public let name: String
    /// For people; the name where `mask.json` gives none.
    public let title: String
    /// Who drew it; may be empty.
    public let author: String
    /// Under which terms; may be empty.
    public let licence: String
    /// Words to find it by.
    public let tags: [String]
    /// In the order in which they are drawn.
    public let layers: [WornLayer]
}

/// The masks that were found, by name. Nothing is drawn or decoded before a mask is loaded.
public struct Wardrobe: Sendable {
    /// Each mask's folder, sorted by name.
    public let folders: [(name: String, path: String)]

    /// Masks may include masks that include masks: deeper than this is a mistake.
    private static let includeLimit = 4

    /// - Parameter places: folders of mask folders; where two hold the same name, the first has it.
    public init(places: [String]) {
        var found: [String: String] = [:]
        for place in places {
            for name in entries(of: place) where found[name] == nil && isReadable("\(place)/\(name)/mask.json") {
                found[name] = "\(place)/\(name)"
            }
        }
        folders = found.map { (name: $0.key, path: $0.value) }.sorted { $0.name < $1.name }
    }

    /// Sorted.
    public var names: [String] { folders.map(\.name) }

    /// Reads a mask and makes its art ready.
    /// - Throws: `Problem` with the file, line and key of what is wrong; no other mask is touched by it.
    public func load(_ name: String, for target: ArtTarget) throws -> Mask {
        try load(name, for: target, depth: 0)
    }

    private func load(_ name: String, for target: ArtTarget, depth: Int) throws -> Mask {
        guard let folder = folders.first(where: { $0.name == name })?.path else {
            let hint = nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            throw Problem(
                .missing, "there is no mask '\(name)'",
                cure: hint
                    ?? (names.isEmpty ? "no masks were found at all" : "there are: \(names.joined(separator: ", "))"))
        }
        let file = "\(folder)/mask.json"
        var fields = try Fields(try JSON(try contents(of: file), file: file), file: file)
        _ = try fields.integer("version", in: 1...1)
        let title = try fields.string("title", default: name)
        let author = try fields.string("author", default: "")
        let licence = try fields.string("licence", default: "")
        let tags = try fields.strings("tags", default: [])
        var layers: [WornLayer] = []
        for included in try fields.strings("include", default: []) {
            guard depth < Self.includeLimit else {
                throw fields.wrong(
                    "include", "nested too deep, perhaps in a circle", allowed: "\(Self.includeLimit) levels")
            }
            layers += try load(included, for: target, depth: depth + 1).layers
        }
        for layer in try fields.objects("layers") {
            var layer = layer
            layers.append(try WornLayer(&layer, folder: folder, target: target))
        }
        try fields.finish()
        guard !layers.isEmpty else {
            throw Problem(.invalid, "\(file): the mask has neither layers nor includes", cure: "give it a layer")
        }
        return Mask(name: name, title: title, author: author, licence: licence, tags: tags, layers: layers)
    }
}
