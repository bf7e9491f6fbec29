import Foundation
import JSON
import TestSupport
import Testing

/// The catalogues of the page's words, and what the page takes from them.
struct WordTests {
    private static let folder = Fixtures.inPackage("Page")

    /// The languages of the translations, by their files' names, each with the number of its plural's forms.
    static let forms = ["de": 2, "es": 2, "fr": 2, "ja": 1, "pl": 3, "pt": 2, "zh-Hans": 1]

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
    }

    /// The names of the page's files that end like this, without the catalogues.
    private static func files(_ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            .filter { $0.hasSuffix(ending) && !$0.hasPrefix("words-") }
    }

    /// What a catalogue exports. Without its comments that is JSON, in which no key occurs twice.
    private static func catalogue(_ language: String) throws -> JSON {
        let name = "words-\(language).js"
        let lines = try text(name).split(separator: "\n").filter { !$0.contains(/^\s*\/\//) }
        let code = lines.joined(separator: "\n")
        let export = "export default "
        try #require(code.hasPrefix(export) && code.hasSuffix(";"), "\(name)")
        return try JSON(Array(code.dropFirst(export.count).dropLast().utf8), file: name)
    }

    /// The English words, which are the keys.
    private static func keys() throws -> [String] { try catalogue("en").elements.compactMap(\.string) }

    /// The names of the values in a text: "{count}".
    private static func values(in text: some StringProtocol) -> Set<String> {
        Set(String(text).matches(of: /\{\w+\}/).map { String($0.0) })
    }

    /// The texts and the translated attributes of HTML.
    private static func words(of html: String) -> [String] {
        let seen = html.replacing(/<noscript>.*<\/noscript>/, with: "").replacing(/<title>.*<\/title>/, with: "")
        let texts = seen.matches(of: />([^<>]+)</).map { $0.1.trimmingCharacters(in: .whitespacesAndNewlines) }
        let attributes = seen.matches(of: /\s(?:title|aria-label|placeholder|alt)="([^"]+)"/).map { String($0.1) }
        // The product's name is not translated, and neither are numbers.
        return (texts + attributes).filter { $0 != "Guise" && $0.contains(/[A-Za-z]/) }
    }

    /// The words of the masks that come with Guise.
    private static func wordsOfMasks() throws -> [String] {
        let masks = Fixtures.inPackage("Masks")
        return try FileManager.default.contentsOfDirectory(atPath: masks).sorted().flatMap { name -> [String] in
            let path = "\(masks)/\(name)/mask.json"
            guard Fixtures.exists(path) else { return [] }
            let mask = try JSON([UInt8](Data(contentsOf: URL(fileURLWithPath: path))), file: path)
            var words = (mask["tags"]?.elements ?? []).compactMap(\.string)
            if let title = mask["title"]?.string { words.append(title) }
            for layer in mask["layers"]?.elements ?? [] {
                // Names of choices are capitalized there.
                words += ["tint", "color", "to"].compactMap { layer[$0]?["name"]?.string?.capitalized }
                // The art of stamps has names.
                for key in ["palettes", "pictures", "art"] {
                    if case .object(let values)? = layer[key]?.value { words += values.map(\.key) }
                }
            }
            return words
        }
    }

    @Test func `each language of the page has a catalogue, and each catalogue is a language of the page`() throws {
        let script = try Self.text("words.js")
        let list = try #require(script.firstMatch(of: /languages = \{([^}]*)\}/)?.1)
        let offered = list.matches(of: /"?([A-Za-z-]+)"?: "/).map { String($0.1) }
        let found = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
            .compactMap { $0.wholeMatch(of: /words-(.+)\.js/).map { String($0.1) } }
        #expect(offered.sorted() == found.sorted())
        #expect(found.sorted() == (["en"] + Self.forms.keys).sorted())
    }

    @Test(arguments: forms.keys.sorted())
    func `a catalogue has exactly the English keys and their values`(language: String) throws {
        let keys = try Set(Self.keys())
        guard case .object(let members) = try Self.catalogue(language).value else {
            Issue.record("the catalogue is not an object")
            return
        }
        let own = Set(members.map(\.key))
        #expect(keys.subtracting(own).isEmpty && own.subtracting(keys).isEmpty, "\(own.symmetricDifference(keys))")
        for member in members {
            let translation = try #require(member.value.string, "\(member.key)")
            #expect(!translation.isEmpty, "\(member.key)")
            let forms = translation.split(separator: "|", omittingEmptySubsequences: false)
            let isPlural = member.key.contains("{count}") && forms.count == Self.forms[language]
            #expect(forms.count == 1 || isPlural, "\(translation)")
            for form in forms {
                #expect(Self.values(in: form) == Self.values(in: member.key), "\(translation)")
            }
        }
    }

    @Test func `every word of the page and of its masks is in the catalogue, and the catalogue has no others`() throws {
        let keys = try Self.keys()
        #expect(Set(keys).count == keys.count)
        var (used, sources) = (try Self.wordsOfMasks(), "")
        for file in try Self.files(".html") {
            let text = try Self.text(file)
            used += Self.words(of: text)
            sources += text
        }
        for file in try Self.files(".js") {
            let text = try Self.text(file)
            used += text.matches(of: /(?:^|[^\w.])t\("([^"]+)"/).map { String($0.1) }
            sources += text
        }
        let missing = Set(used).subtracting(keys)
        #expect(missing.isEmpty, "\(missing.sorted())")

        // The others are errors of the page, choices of masks and messages from Guise.
        let guise = Fixtures.inPackage("Sources/guise")
        for name in FileManager.default.enumerator(atPath: guise)?.compactMap({ $0 as? String }) ?? []
        where name.hasSuffix(".swift") {
            sources += try String(contentsOfFile: "\(guise)/\(name)", encoding: .utf8)
        }
        sources = sources.lowercased()
        let unused = Set(keys).subtracting(used).filter { !sources.contains($0.lowercased()) }
        // Their numbers are in constants.
        #expect(
            unused == [
                "the photo is larger than 24 MiB; make it smaller",
                "the file is larger than 64 MiB; make it shorter or smaller",
            ])
    }

    @Test func `the page has at most 400 kB with its largest catalogue`() throws {
        func size(_ name: String) throws -> Int {
            try Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(name)")).count
        }
        let catalogues = try Self.forms.keys.map { try size("words-\($0).js") }
        let page = try Self.files("").map(size).reduce(0, +)
        let largest = try #require(catalogues.max())
        #expect(page + largest <= 400_000)
    }
}
