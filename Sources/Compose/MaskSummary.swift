import Frames
import JSON
import SystemKit

/// A mask's description, without its art.
public struct MaskSummary: Equatable, Sendable {
    /// The folder's name.
    public let name: String
    /// The title for people.
    public let title: String
    /// The author; may be empty.
    public let author: String
    /// Search terms.
    public let tags: [String]
    /// What the mask is; nil if it doesn't say so.
    public let kind: MaskKind?
    /// The kinds of the mask and of those that it includes.
    public let kinds: Set<MaskKind>
    /// Whether `random` and `surprise` may choose it during work.
    public let isFitForWork: Bool
    /// The options by name.
    public let options: [String: MaskOption]
    /// Default values of the options, by the same names.
    public let defaults: [String: String]
    /// Options for a picture of the mask. A mask that writes nothing before the user has written something would look
    /// like none.
    public var example: [String: String] { defaults["text"] == "" ? ["text": title] : [:] }
    /// Whether single people can wear it: it draws nothing on the whole picture, and doesn't hide faces.
    public let isPersonal: Bool
    /// What the mask promises to hide.
    public let hidden: HiddenParts
    /// Whether the mask needs the things that the user has taught.
    public let usesThings: Bool
}

extension MaskLibrary {
    /// Summaries of all masks that can be read, sorted by name. Reads only their descriptions.
    public var summaries: [MaskSummary] {
        var cache = SummaryCache()
        return summaries(&cache)
    }

    /// Summaries, with the versions of the descriptions that they are from.
    public struct SummaryCache: Sendable {
        fileprivate var entries: [String: (members: [(name: String, version: FileVersion?)], summary: MaskSummary?)] =
            [:]

        /// An empty cache.
        public init() {}
    }

    /// As `summaries`. A description is read once, and again only after it has changed, for strangers' may be long and
    /// include each other.
    public func summaries(_ cache: inout SummaryCache) -> [MaskSummary] {
        let versions = Dictionary(uniqueKeysWithValues: folders.map { ($0.name, FileVersion("\($0.path)/mask.json")) })
        var descriptions: [String: JSON?] = [:]
        let known = cache.entries
        cache.entries = [:]
        for name in names {
            if let entry = known[name], entry.members.allSatisfy({ (versions[$0.name] ?? nil) == $0.version }) {
                cache.entries[name] = entry
            } else {
                let family = family(of: name, &descriptions)
                cache.entries[name] = (
                    family.members.map { ($0.name, versions[$0.name] ?? nil) }, summary(of: name, family)
                )
            }
        }
        return names.compactMap { cache.entries[$0]?.summary }
    }

    /// The summary of a mask; nil if there is no such mask, or its description can't be read.
    public func summary(of name: String) -> MaskSummary? { summary(of: name, family(of: name)) }

    private func summary(of name: String, _ family: MaskFamily) -> MaskSummary? {
        guard let json = family.members.first?.description else { return nil }
        var found = OptionCollector()
        for description in family.members.compactMap(\.description) { found.collect(from: description) }
        return MaskSummary(
            name: name, title: json["title"]?.string ?? name, author: json["author"]?.string ?? "",
            tags: json["tags"]?.elements.compactMap(\.string) ?? [],
            kind: json["kind"]?.string.flatMap(MaskKind.init), kinds: found.kinds,
            isFitForWork: json["fitForWork"]?.bool ?? false, options: found.options, defaults: found.defaults,
            isPersonal: found.isOnFaces && found.hidden.isEmpty, hidden: found.hidden, usesThings: family.usesThings)
    }

    /// Collects options from the descriptions of a mask and of the masks that it includes.
    private struct OptionCollector {
        var options: [String: MaskOption] = [:]
        var defaults: [String: String] = [:]
        var kinds: Set<MaskKind> = []
        /// Whether all layers are drawn on faces.
        var isOnFaces = true
        var hidden: HiddenParts = []

        mutating func collect(from description: JSON) {
            if let kind = description["kind"]?.string.flatMap(MaskKind.init) { kinds.insert(kind) }
            if description["onLostFace"]?.string == LostFacePolicy.cover.rawValue { hidden.insert(.faces) }
            if description["bystanders"]?.value == .bool(true) { hidden.insert(.bystanders) }
            for layer in description["layers"]?.elements ?? [] {
                let kind = layer["kind"]?.string.flatMap(LayerKind.named)
                for key in ["tint", "color", "to"] {
                    guard let name = layer[key]?["name"]?.string else { continue }
                    options[name] = .color
                    defaults[name] = layer[key]?["color"]?.string
                }
                if let names = layer["palettes"]?.keys.sorted(), !names.isEmpty {
                    options["palette"] = .palette(names)
                    defaults["palette"] = layer["palette"]?.string ?? names.first
                }
                if let kind { hidden.formUnion(kind.hiddenParts(layer)) }
                for (name, option) in kind?.options(layer) ?? [:] {
                    (options[name], defaults[name]) = (option.option, option.defaultValue)
                }
                if kind?.isOnFaces({ layer[$0] != nil }) == false { isOnFaces = false }
            }
        }
    }
}
