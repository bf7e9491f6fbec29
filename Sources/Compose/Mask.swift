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
    public let layers: [MaskLayer]
    /// What is done where the face is lost.
    public var onLostFace = LostFacePolicy.show
    /// Of the whole mask, 0...1: the user's, beside each layer's own.
    public var opacity: Float = 1
    /// Whose it is among those who wear something; nil: everybody's.
    public var personSlot: PersonSlot?
    /// Which of all loadings of masks made this one: what is kept for a mask from frame to frame stays while this does.
    public var edition = 0
}

/// A mask for some people alone: of those who come, counted through, each so-manieth.
public struct PersonSlot: Equatable, Sendable {
    /// From 0.
    public let number: Int
    /// How many take turns.
    public let of: Int

    /// - Precondition: `number` is less than `of`.
    public init(_ number: Int, of: Int) {
        precondition(number >= 0 && number < of, "a turn is one of several")
        (self.number, self.of) = (number, of)
    }
}

/// The masks that were found, by name. Nothing is drawn or decoded before a mask is loaded.
public struct MaskLibrary: Sendable {
    /// Each mask's folder, sorted by name.
    public let folders: [(name: String, path: String)]

    /// Masks may include masks that include masks: deeper than this is a mistake.
    private static let includeLimit = 4
    /// A mask that includes more than this, counted through all levels, is a mistake or an attack.
    private static let mostIncludes = 32
    /// The same for layers.
    static let mostLayers = 64
    /// Bytes of a description; the longest that comes along has a fiftieth of it.
    static let largestDescription = 256 << 10

    /// - Parameter searchPaths: folders of mask folders; where two hold the same name, the first has it.
    public init(searchPaths: [String]) {
        var found: [String: String] = [:]
        for place in searchPaths {
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
        var left = LoadLimits()
        return try ArtBudget.$current.withValue(ArtBudget()) {
            try load(name, for: target, depth: 0, &left)
        }
    }

    /// What one mask may still ask for.
    private struct LoadLimits {
        var includes = MaskLibrary.mostIncludes
        var layers = MaskLibrary.mostLayers
    }

    private func load(
        _ name: String, for target: ArtTarget, depth: Int, _ left: inout LoadLimits
    ) throws -> Mask {
        guard let folder = folder(of: name) else {
            let hint = nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            throw Problem(
                .missing, "there is no mask '\(brief(name))'",
                fix: hint
                    ?? (names.isEmpty ? "no masks were found at all" : "there are: \(names.joined(separator: ", "))"))
        }
        let file = "\(folder)/mask.json"
        let text = try contents(of: try Art.resolvePath(folder, "mask.json"), limit: Self.largestDescription)
        var fields = try Fields(try JSON(text, file: file), file: file)
        // For editors, which find the keys by it.
        _ = try fields.string("$schema", default: "")
        _ = try fields.integer("version", in: 1...1)
        let title = try fields.string("title", default: name)
        let author = try fields.string("author", default: "")
        let licence = try fields.string("licence", default: "")
        let tags = try fields.strings("tags", default: [])
        var onLostFace: LostFacePolicy = try fields.choice("onLostFace", default: .show)
        var layers: [MaskLayer] = []
        for included in try fields.strings("include", default: []) {
            guard depth < Self.includeLimit else {
                throw fields.wrong(
                    "include", "nested too deep, perhaps in a circle", allowed: "\(Self.includeLimit) levels")
            }
            left.includes -= 1
            guard left.includes >= 0 else {
                throw fields.wrong("include", "too much", allowed: "\(Self.mostIncludes) includes through all levels")
            }
            let mask = try load(included, for: target, depth: depth + 1, &left)
            layers += mask.layers
            if mask.onLostFace == .cover { onLostFace = .cover }
        }
        for layer in try fields.objects("layers") {
            left.layers -= 1
            guard left.layers >= 0 else {
                throw fields.wrong("layers", "too much", allowed: "\(Self.mostLayers) layers, with the included ones")
            }
            var layer = layer
            layers.append(try MaskLayer(&layer, folder: folder, target: target))
        }
        try fields.finish()
        guard !layers.isEmpty else {
            throw Problem(.invalid, "\(file): the mask has neither layers nor includes", fix: "give it a layer")
        }
        return Mask(
            name: name, title: title, author: author, licence: licence, tags: tags, layers: layers,
            onLostFace: onLostFace)
    }

    private func folder(of name: String) -> String? { folders.first { $0.name == name }?.path }

    /// A mask's name with those of all that it includes, as far as its description can be read: what an edit of this
    /// mask may touch.
    func includeClosure(of name: String) -> [String] {
        var names = [name]
        var next = 0
        while next < names.count, names.count <= Self.mostIncludes {
            for included in includes(of: names[next]) where !names.contains(included) { names.append(included) }
            next += 1
        }
        return names
    }

    private func includes(of name: String) -> [String] {
        description(of: name)?["include"]?.elements.compactMap(\.string) ?? []
    }

    /// `mask.json` as it stands; nil where it cannot be read.
    func description(of name: String) -> JSON? {
        guard let folder = folder(of: name), let path = try? Art.resolvePath(folder, "mask.json"),
            let text = try? contents(of: path, limit: Self.largestDescription)
        else { return nil }
        return try? JSON(text, file: path)
    }

    /// Tells whether a mask, or one that it includes, was edited.
    public func fileVersions(of name: String) -> [FileVersion] {
        includeClosure(of: name).flatMap { folder(of: $0).map { treeVersions(in: $0) } ?? [] }
    }
}

/// The files and folders of a mask's folder, itself first. Bounded: nobody's art lies deeper, or in more files.
func treeVersions(in folder: String, depth: Int = 0) -> [FileVersion] {
    guard let own = FileVersion(folder) else { return [] }
    var found = [own]
    for name in entries(of: folder).prefix(256) {
        guard let version = FileVersion("\(folder)/\(name)") else { continue }
        if !version.isFolder {
            found.append(version)
        } else if depth < 3 {
            found += treeVersions(in: version.path, depth: depth + 1)
        }
    }
    return found
}
