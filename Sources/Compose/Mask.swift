import Frames
import JSON
import SystemKit
import Track

/// A mask: layers that are drawn on faces, in order. It is described by a folder with `mask.json` and its art.
public struct Mask: Sendable {
    /// The folder's name.
    public let name: String
    /// The title for people; the name if `mask.json` has none.
    public let title: String
    /// The author; may be empty.
    public let author: String
    /// The licence; may be empty.
    public let licence: String
    /// Search terms.
    public let tags: [String]
    /// The layers in drawing order.
    public let layers: [MaskLayer]
    /// Faults that don't keep the mask from being drawn, for the user.
    public var warnings: [String] {
        let promise: String? =
            switch (hidden.contains(.faces), hidden.contains(.foundFaces)) {
            case (true, false):
                "faces that are found may stay visible; only an 'anonymize' layer without 'on' and 'when' always hides "
                    + "them"
            case (false, true):
                "faces that are lost or not found yet stay visible; add \"onLostFace\": \"cover\" to hide them too"
            default: nil
            }
        return ([promise, bystanders?.warning] + layers.map(\.warning)).compactMap { $0 }.prefix(1).map {
            "the mask '\(name)' is incomplete: \($0)"
        }
    }
    /// Whether the mask needs the things that the user has taught.
    public var usesThings: Bool { layers.contains { $0.things != nil } }
    /// What the mask promises to hide, unless it is transparent.
    public var hidden: HiddenParts {
        var hidden: HiddenParts = []
        if onLostFace == .cover { hidden.insert(.faces) }
        if layers.contains(where: \.hidesFaces) { hidden.insert(.foundFaces) }
        if bystanders != nil { hidden.insert(.bystanders) }
        if layers.contains(where: \.hidesRoom) { hidden.insert(.room) }
        if layers.contains(where: \.hidesBystanders) { hidden.insert(.bystanders) }
        return hidden
    }
    /// What the mask hides, and how well, unless it is transparent.
    public var concealment: Concealment {
        Concealment(parts: hidden, roomBlur: roomBlur)
    }
    /// The radius by which the mask blurs the room, as `Concealment.roomBlur`.
    fileprivate var roomBlur: Float { layers.reduce(0) { max($0, $1.roomBlur) } }
    /// How people other than the largest are found, who are blurred whole; nil if they aren't.
    var bystanders: LoadedOutline?
    /// What to do when the face is lost.
    public var onLostFace = LostFacePolicy.show
    /// The opacity of the whole mask, 0...1. The user sets it; it multiplies each layer's own.
    public var opacity: Float = 1
    /// Which people wear it; nil: everybody.
    public var personSlot: PersonSlot?
    /// Number of the load that made this mask, from 1; 0 if it isn't counted. State that is kept for a mask from frame
    /// to frame persists while the revision stays the same.
    public var revision = 0
}

extension HiddenParts {
    /// What these masks together promise to hide.
    init(hiddenBy masks: borrowing [Mask]) {
        self = []
        for i in masks.indices where masks[i].opacity > 0 { formUnion(masks[i].hidden) }
    }
}

extension Concealment {
    /// The radius by which these masks together blur the room, as `roomBlur`.
    static func roomBlur(of masks: borrowing [Mask]) -> Float {
        var most: Float = 0
        for i in masks.indices where masks[i].opacity > 0 { most = max(most, masks[i].roomBlur) }
        return most
    }
}

/// A group of people: every `of`-th person in order of arrival.
public struct PersonSlot: Equatable, Sendable {
    /// Index of the group's first person in order of arrival, from 0.
    public let number: Int
    /// Number of groups.
    public let of: Int

    /// Makes a group.
    /// - Precondition: `number` is at least 0 and less than `of`.
    public init(_ number: Int, of: Int) {
        precondition(number >= 0 && number < of, "a slot needs 0 <= number < of")
        (self.number, self.of) = (number, of)
    }
}

/// The installed masks by name. Nothing is drawn or decoded before a mask is loaded.
public struct MaskLibrary: Sendable {
    /// Each mask's folder, sorted by name.
    public let folders: [(name: String, path: String)]

    /// Levels of includes. Masks may include masks that include masks, but deeper nesting is a mistake.
    private static let includeLimit = 4
    /// The most includes of a mask, through all levels. More are a mistake or an attack.
    private static let maxIncludes = 32
    /// The most layers of a mask, through all levels of includes.
    static let maxLayers = 64
    /// The most bytes of a `mask.json`. The longest that comes with Guise has a fiftieth of it.
    static let largestDescription = 256 << 10

    /// Finds the masks.
    /// - Parameter searchPaths: folders that contain mask folders; if several contain the same name, the first one
    ///   wins.
    public init(searchPaths: [String]) {
        var found: [String: String] = [:]
        for folder in searchPaths {
            for name in entries(of: folder) where found[name] == nil && isReadable("\(folder)/\(name)/mask.json") {
                found[name] = "\(folder)/\(name)"
            }
        }
        folders = found.map { (name: $0.key, path: $0.value) }.sorted { $0.name < $1.name }
    }

    /// The names of all masks, sorted.
    public var names: [String] { folders.map(\.name) }

    /// Loads a mask and prepares its art.
    /// - Throws: `Problem` with the file, line and key of the error. No other mask is affected.
    public func load(_ name: String, for target: ArtTarget) throws -> Mask {
        var left = LoadLimits()
        return try ArtBudget.$current.withValue(ArtBudget()) {
            try load(name, for: target, recursionDepth: 0, &left)
        }
    }

    /// The includes and layers that a mask may still have.
    private struct LoadLimits {
        var includes = MaskLibrary.maxIncludes
        var layers = MaskLibrary.maxLayers
    }

    private func load(
        _ name: String, for target: ArtTarget, recursionDepth: Int, _ left: inout LoadLimits
    ) throws -> Mask {
        guard let folder = folder(of: name) else {
            let hint = nearest(to: name, among: names).map { "did you mean '\($0)'?" }
            throw Problem(
                .missing, "there is no mask '\(brief(name))'",
                fix: hint
                    ?? (names.isEmpty ? "no masks were found" : "the masks are: \(names.joined(separator: ", "))"))
        }
        let file = "\(folder)/mask.json"
        let text = try contents(of: try Art.resolvePath(folder, "mask.json"), limit: Self.largestDescription)
        var fields = try Fields(try JSON(text, file: file), file: file)
        // For editors, which find the schema by it.
        _ = try fields.string("$schema", default: "")
        _ = try fields.integer("version", in: 1...1)
        let title = try fields.string("title", default: name)
        let author = try fields.string("author", default: "")
        let licence = try fields.string("licence", default: "")
        let tags = try fields.strings("tags", default: [])
        // The summary has these two; here they are only checked.
        if fields.has("kind") { _ = try fields.choice("kind", default: MaskKind.effect) }
        _ = try fields.bool("fitForWork", default: false)
        var onLostFace: LostFacePolicy = try fields.choice("onLostFace", default: .show)
        var bystanders: LoadedOutline?
        if try fields.bool("bystanders", default: false) {
            bystanders = LoadedOutline(target, without: "the whole picture is blurred")
        }
        var layers: [MaskLayer] = []
        for included in try fields.strings("include", default: []) {
            guard recursionDepth < Self.includeLimit else {
                throw fields.wrong(
                    "include", "nested too deep, perhaps in a cycle", allowed: "\(Self.includeLimit) levels")
            }
            left.includes -= 1
            guard left.includes >= 0 else {
                throw fields.wrong(
                    "include", "too long", allowed: "\(Self.maxIncludes) includes on all levels together")
            }
            let mask = try load(included, for: target, recursionDepth: recursionDepth + 1, &left)
            layers += mask.layers
            if mask.onLostFace == .cover { onLostFace = .cover }
            if let use = mask.bystanders { bystanders = use }
        }
        for layer in try fields.objects("layers") {
            left.layers -= 1
            guard left.layers >= 0 else {
                throw fields.wrong(
                    "layers", "too long", allowed: "\(Self.maxLayers) layers, including those of included masks")
            }
            var layer = layer
            layers.append(try MaskLayer(&layer, folder: folder, target: target))
        }
        try fields.finish()
        guard !layers.isEmpty || bystanders != nil else {
            throw Problem(.invalid, "\(file): the mask has neither layers nor includes", fix: "add a layer")
        }
        return Mask(
            name: name, title: title, author: author, licence: licence, tags: tags, layers: layers,
            bystanders: bystanders, onLostFace: onLostFace)
    }

    private func folder(of name: String) -> String? { folders.first { $0.name == name }?.path }

    /// A mask and all masks that it includes.
    func family(of name: String) -> MaskFamily {
        var descriptions: [String: JSON?] = [:]
        return family(of: name, &descriptions)
    }

    /// The same.
    /// - Parameter descriptions: those that were read already, by the masks' names; the others are added.
    func family(of name: String, _ descriptions: inout [String: JSON?]) -> MaskFamily {
        var members = [(name: name, description: description(of: name, &descriptions))]
        var next = 0
        while next < members.count, members.count <= Self.maxIncludes {
            for included in members[next].description?["include"]?.elements.compactMap(\.string) ?? []
            where members.count <= Self.maxIncludes && !members.contains(where: { $0.name == included }) {
                members.append((included, description(of: included, &descriptions)))
            }
            next += 1
        }
        return MaskFamily(members: members)
    }

    private func description(of name: String, _ known: inout [String: JSON?]) -> JSON? {
        if let known = known[name] { return known }
        let read = description(of: name)
        known[name] = .some(read)
        return read
    }

    /// The parsed `mask.json`; nil if it can't be read.
    private func description(of name: String) -> JSON? {
        guard let folder = folder(of: name), let path = try? Art.resolvePath(folder, "mask.json"),
            let text = try? contents(of: path, limit: Self.largestDescription)
        else { return nil }
        return try? JSON(text, file: path)
    }

    /// The versions of all files of a mask and of the masks that it includes. They differ after an edit.
    public func fileVersions(of name: String) -> [FileVersion] { fileVersions(of: family(of: name)) }

    func fileVersions(of family: MaskFamily) -> [FileVersion] {
        family.members.flatMap { folder(of: $0.name).map { treeVersions(in: $0) } ?? [] }
    }
}

/// A mask and all masks that it includes, through all levels: an edit of any of them may affect it. Each description is
/// parsed once.
struct MaskFamily {
    /// The names with the parsed `mask.json`, the mask itself first; nil if that can't be read.
    let members: [(name: String, description: JSON?)]

    /// Whether one of the masks has a layer that needs the things that the user has taught.
    var usesThings: Bool {
        members.contains { member in
            (member.description?["layers"]?.elements ?? []).contains {
                let kind = $0["kind"]?.string.flatMap(LayerKind.named)
                return kind?.needsThings ?? false || $0["when"]?["object"] != nil
            }
        }
    }
}
