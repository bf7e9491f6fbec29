import Foundation
import TestSupport
import Testing

@testable import Compose
@testable import Frames
@testable import JSON
@testable import SystemKit

/// Masks/mask.schema.json, which editors use, matches the reader: checked in both directions on the shipped masks, on
/// the examples of docs/masks.md and README.md, and on a few more for keys that neither has.
@Suite struct SchemaTests {
    private let schema: Schema
    private static let root = URL(fileURLWithPath: Fixtures.package)

    init() throws {
        let file = Self.root.appending(path: "Masks/mask.schema.json")
        schema = Schema(try JSON(Array(try Data(contentsOf: file)), file: "mask.schema.json"))
    }

    /// A description and the folder of its art; nil: any art.
    private struct Pack {
        let name: String
        let json: JSON
        let folder: URL?

        var layers: [JSON] { json["layers"]?.elements ?? [] }
    }

    private static func shipped() throws -> [Pack] {
        let masks = root.appending(path: "Masks")
        return try entries(of: masks.path).compactMap { name in
            let folder = masks.appending(path: name)
            guard isReadable("\(folder.path)/mask.json") else { return nil }
            let text = Array(try Data(contentsOf: folder.appending(path: "mask.json")))
            return Pack(name: name, json: try JSON(text, file: name), folder: folder)
        }
    }

    /// The ```json blocks of docs/masks.md, and the README's mask, an indented block.
    private static func documented() throws -> [Pack] {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let mask = try #require(readme.components(separatedBy: "\n\n").first { $0.hasPrefix("    {\n") })
        let whole = Pack(name: "README.md", json: try JSON(Array(mask.utf8), file: "README.md"), folder: nil)
        let text = try String(contentsOf: root.appending(path: "docs/masks.md"), encoding: .utf8)
        let examples = try text.components(separatedBy: "```json\n").dropFirst().enumerated().map { index, rest in
            let block = rest.components(separatedBy: "\n```")[0]
            return Pack(
                name: "example \(index + 1)", json: try JSON(Array(block.utf8), file: "example \(index + 1)"),
                folder: nil)
        }
        return [whole] + examples
    }

    /// Layers for the keys that neither has.
    private static let more = ##"""
        {"kind": "anonymize", "mode": "block", "shape": "bar", "color": "#000000"}

        {"kind": "anonymize", "mode": "blur", "size": 0.5}

        {"kind": "swap"}

        {"kind": "background", "mode": "blur", "strength": 0.5}

        {"kind": "background", "mode": "color", "color": "#102030", "to": {"name": "bottom", "color": "#304050"}}

        {"kind": "background", "mode": "picture", "art": "a.svg", "fit": "contain", "motion": {"repeat": "once"}}

        {"kind": "background", "mode": "picture", "pictures": {"one": "a.svg", "two": "a.svg"}, "picture": "two"}

        {"kind": "background", "mode": "dim", "strength": 0.5, "people": "largest"}

        {"kind": "background", "mode": "grey", "strength": 0.5}

        {"kind": "faceblend", "mode": "feather", "art": "a.svg", "strength": 0.5,
         "pins": [{"art": [5, 5], "face": "eyes"}], "eyeDistance": 4}

        {"kind": "effect", "mode": "adjust", "warmth": 0.2}

        {"kind": "effect", "mode": "hud", "color": "#00ff00"}

        {"kind": "effect", "mode": "screen", "art": "a.svg", "fit": "cover"}

        {"kind": "effect", "mode": "tint", "color": "#ff0000"}

        {"kind": "effect", "mode": "tint", "colors": ["#ff0000"], "random": true, "period": 900}

        {"kind": "frame", "art": "a.svg", "fit": "border", "border": [1, 1, 1, 1]}

        {"kind": "frame", "art": "a.svg", "place": "top left", "size": 0.2, "behind": true}

        {"kind": "text", "text": "a", "face": "chin", "shift": [0, 1], "on": "largest",
         "plate": {"color": "#ffffff", "opacity": 0.5}}

        {"kind": "text", "text": "a", "plate": {"art": "a.svg", "box": [1, 1, 7, 7]}, "outline": "#ffffff"}

        {"kind": "text", "text": "a"}

        {"kind": "makeup", "palettes": {"one": {"lips": "#aa0000"}}, "lips": {"strength": 1}, "shadow": {"strength": 1},
         "liner": {"strength": 1}, "lashes": {"strength": 1}, "brows": {"strength": 1}, "blush": {"strength": 1},
         "contour": {"strength": 1}, "highlight": {"strength": 1}, "skin": {"strength": 1}}

        {"kind": "particles", "art": ["a.svg"], "size": [0.01, 0.02]}

        {"kind": "objects", "color": "#40c0ff", "place": "bottom right", "when": {"object": "card", "then": "hide"}}

        {"kind": "stamps", "art": {"a": "a.svg"}, "behind": true, "items": [
         {"art": "a", "at": [0.2, 0.3], "size": 0.2}, {"text": "b", "at": [0, 2], "size": 3, "on": "face"}]}

        {"kind": "skin", "art": "a.svg", "hair": "covered", "eyes": "open", "tint": {"name": "fur", "color": "#aa5500"}, "when": {"is": "smile"},
         "on": {"nth": 1}}

        {"kind": "sprite", "motion": {"frames": [{"art": "a.svg", "milliseconds": 50}], "swing": {"limit": 9}},
         "on": {"chance": 0.5}, "pins": [{"art": [5, 5], "face": "eyes"}], "eyeDistance": 4}

        {"kind": "sprite", "art": "a.svg", "on": {"draw": 1, "of": 2}, "pins": [{"art": [5, 5], "face": "eyes"}],
         "eyeDistance": 4}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "lathe", "profile": [[1, 0], [1, -1]], "around": 8, "bend": {"angle": 9}, "rough": {"height": 0.1},
         "swing": {"amount": 1}, "tufts": {"count": 9, "length": 0.1}, "copies": {"count": 2}}]}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "extrusion", "path": "M0 0h9v9z"}]}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "tube", "path": [[0, 0, 0], [1, 0, 0]], "radius": 0.1}]}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "ring", "radius": 1, "thickness": 0.1}]}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "ball", "radius": 1}]}

        {"kind": "mesh", "materials": [{"name": "m", "picture": "a.svg"}], "parts": [{"material": "m",
         "shape": "plane", "width": 1, "height": 1}]}
        """##

    private static func others() throws -> [Pack] {
        try more.components(separatedBy: "\n\n").enumerated().map { index, layer in
            let text = "{\"$schema\": \"x\", \"version\": 1, \"layers\": [\(layer)]}"
            return Pack(
                name: "layer \(index + 1)", json: try JSON(Array(text.utf8), file: "layer \(index + 1)"), folder: nil)
        }
    }

    @Test func `shipped masks and the documentation's examples are valid, and are read`() throws {
        let shipped = try Self.shipped()
        #expect(shipped.count >= 6)
        for pack in try shipped + Self.documented() + Self.others() {
            let wrong = schema.check(pack.json)
            #expect(wrong.isEmpty, "\(pack.name): \(wrong.prefix(3))")
            let problem = try read(pack, pack.json)
            #expect(problem == nil, "\(pack.name): \(problem ?? "")")
        }
    }

    @Test func `registry, schema and documentation list the same kinds of layers, and each has an example`() throws {
        let names = LayerKind.all.map(\.name)
        #expect(Set(names).count == names.count, "names tell kinds apart")
        #expect(schema.layerKinds == names)
        #expect(schema.layerForms.map(\.kind) == names)
        for form in schema.layerForms {
            #expect(form.definition == form.kind && schema.kind(ofDefinition: form.kind) == form.kind)
        }
        try Reference.checkTable(
            in: "docs/masks.md", below: "Kinds of layers", titles: ["Kind", "What it does"],
            rows: schema.layerForms.map { ["`\($0.kind)`", try #require(schema.description(ofDefinition: $0.kind))] })
        let examples = try Set(
            (Self.shipped() + Self.documented() + Self.others()).flatMap(\.layers).compactMap(\.kind))
        for name in names { #expect(examples.contains(name), "there is no example of \(name)") }
    }

    @Test func `a kind tells without reading a layer whether it is drawn on the whole picture`() throws {
        var onPicture: [Bool: Int] = [:]
        for layer in try (Self.documented() + Self.others()).flatMap(\.layers) {
            let scratch = try ScratchFolder()
            try Self.writeArt(of: layer, to: scratch.url)
            var fields = try Fields(layer, file: "mask.json")
            let target = ArtTarget(FrameLayout(width: 32, height: 32, format: .i444))
            let read = try MaskLayer(&fields, folder: scratch.url.path, target: target)
            let isOnPicture = if case .face = read.content { false } else { true }
            let kind = try #require(layer.kind.flatMap(LayerKind.named))
            #expect(kind.isOnFaces { layer[$0] != nil } == !isOnPicture, "\(layer.text)")
            onPicture[isOnPicture, default: 0] += 1
        }
        #expect(onPicture[true, default: 0] > 3 && onPicture[false, default: 0] > 3)
    }

    @Test(arguments: [
        #"{"version": 2}"#, #"{"version": 1, "layer": []}"#, #"{"version": 1, "layers": [{"kind": "sprit"}]}"#,
        #"{"version": 1, "layers": [{"kind": "sprite", "art": "a.svg", "pins": []}]}"#,
        #"{"version": 1, "layers": [{"kind": "sprite", "art": "a.svg", "pins": [{"art": [0], "face": "nose"}]}]}"#,
        #"{"version": 1, "layers": [{"kind": "sprite", "art": "a.svg", "pins": [{"art": [0, 0], "face": "toe"}]}]}"#,
        #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey", "opacity": 2}]}"#,
        #"{"version": 1, "layers": [{"kind": "anonymize", "mode": "block", "color": "red"}]}"#,
        #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey", "on": "every"}]}"#,
        #"{"version": 1, "layers": [{"kind": "text", "text": "a", "on": "largest"}]}"#,
        #"{"version": 1, "layers": [{"kind": "effect", "mode": "grey", "motion": {"repeat": "once"}}]}"#,
        #"{"version": 1, "layers": [{"kind": "background", "mode": "blur", "motion": {"frames": [{"art": "a.svg"}]}}]}"#,
        #"{"version": 1, "layers": [{"kind": "background", "mode": "blur", "motion": {"swing": {}}}]}"#,
    ])
    func `the schema rejects what the reader rejects`(text: String) throws {
        let json = try JSON(Array(text.utf8), file: "t")
        #expect(!schema.check(json).isEmpty)
        #expect(try read(Pack(name: "t", json: json, folder: nil), json) != nil)
    }

    @Test func `reader and schema know the same keys`() throws {
        var (read, allowed): (Set<String>, Set<String>) = ([], [])
        var probed: Set<String> = []
        for pack in try Self.others() + Self.documented() + Self.shipped() {
            for place in schema.objects(in: pack.json) {
                // The same keys of the same part of the schema add nothing.
                let keys = place.object.keys.sorted().joined(separator: " ")
                guard probed.insert("\(place.name): \(keys)").inserted else { continue }
                let json = pack.json.adding("zzzzzzzz", at: place.path)
                let problem = try self.read(pack, json, simplified: true) ?? "nothing"
                guard let known = problem.components(separatedBy: "known keys: ").dropFirst().first else {
                    Issue.record("\(pack.name), \(place.path): an unknown key there gives '\(problem)'")
                    continue
                }
                let names = known.components(separatedBy: ", ").map { "\(place.name).\($0)" }
                read.formUnion(names)
                allowed.formUnion(place.allowed.map { "\(place.name).\($0)" })
            }
        }
        print("\(probed.count) places were probed; the reader knows \(read.count) keys, the schema \(allowed.count)")
        #expect(read.subtracting(allowed).sorted() == [], "the schema lacks these")
        #expect(allowed.subtracting(read).sorted() == [], "the reader never asks for these")
    }

    private static let drawing =
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M1 1h7v7z'/></svg>"

    /// Writes a drawing for each file that a description names.
    private static func writeArt(of json: JSON, to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in json.fileNames { try Data(drawing.utf8).write(to: folder.appending(path: name)) }
    }

    /// The reader's error for a mask with this description; nil if it is valid.
    /// - Parameter simplified: whether a triangle replaces the mask's drawings, which are slow to render.
    private func read(_ pack: Pack, _ json: JSON, simplified: Bool = false) throws -> String? {
        let scratch = try ScratchFolder()
        let folder = scratch.url.appending(path: "pack")
        if let own = pack.folder {
            try FileManager.default.copyItem(at: own, to: folder)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
            where simplified && name.hasSuffix(".svg") {
                // Borders must fit into the art.
                let drawing =
                    json.text.contains("\"border\"")
                    ? Self.drawing.replacing("0 0 9 9", with: "0 0 999 999") : Self.drawing
                try Data(drawing.utf8).write(to: folder.appending(path: name))
            }
        } else {
            try Self.writeArt(of: json, to: folder)
        }
        try Data(json.text.utf8).write(to: folder.appending(path: "mask.json"))
        let target = ArtTarget(FrameLayout(width: 32, height: 32, format: .i444))
        do {
            _ = try MaskLibrary(searchPaths: [scratch.url.path, Self.root.appending(path: "Masks").path]).load(
                "pack", for: target)
            return nil
        } catch { return "\(error)" }
    }
}

// MARK: - JSON

extension JSON {
    fileprivate subscript(key: String) -> JSON? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// The kind of a layer.
    fileprivate var kind: String? { self["kind"]?.string }

    fileprivate var elements: [JSON] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    fileprivate var string: String? {
        guard case .string(let text) = value else { return nil }
        return text
    }

    fileprivate var number: Double? {
        guard case .number(let number) = value else { return nil }
        return number
    }

    /// Strings that name art.
    fileprivate var fileNames: [String] {
        switch value {
        case .string(let text): text.hasSuffix(".svg") || text.hasSuffix(".png") ? [text] : []
        case .array(let elements): elements.flatMap(\.fileNames)
        case .object(let members): members.flatMap(\.value.fileNames)
        default: []
        }
    }

    fileprivate var text: String {
        switch value {
        case .null: return "null"
        case .bool(let flag): return "\(flag)"
        case .number(let number): return Int(exactly: number).map(String.init) ?? "\(number)"
        case .string(let text):
            let quoted = text.unicodeScalars.map { scalar -> String in
                switch scalar {
                case "\"": "\\\""
                case "\\": "\\\\"
                default: scalar.value < 32 ? String(format: "\\u%04x", scalar.value) : String(scalar)
                }
            }
            return "\"\(quoted.joined())\""
        case .array(let elements): return "[\(elements.map(\.text).joined(separator: ", "))]"
        case .object(let members):
            let pairs = members.map { "\(JSON(value: .string($0.key), line: 1).text): \($0.value.text)" }
            return "{\(pairs.joined(separator: ", "))}"
        }
    }

    /// A copy with one more key in the object at `path`, which consists of keys and indices.
    fileprivate func adding(_ key: String, at path: [String]) -> JSON {
        switch value {
        case .object(let members):
            guard let step = path.first else {
                let extra = Member(key: key, line: line, value: JSON(value: .number(1), line: line))
                return JSON(value: .object(members + [extra]), line: line)
            }
            let changed = members.map {
                $0.key == step
                    ? Member(key: step, line: $0.line, value: $0.value.adding(key, at: Array(path.dropFirst()))) : $0
            }
            return JSON(value: .object(changed), line: line)
        case .array(let elements):
            let changed = elements.enumerated().map {
                "\($0)" == path.first ? $1.adding(key, at: Array(path.dropFirst())) : $1
            }
            return JSON(value: .array(changed), line: line)
        default: return self
        }
    }
}

// MARK: - JSON Schema

/// The part of JSON Schema (draft 2020-12) that our schema uses; an unknown keyword fails the test.
private struct Schema {
    private let root: JSON

    /// An object of an instance, and what the schema allows there.
    struct Place {
        let path: [String]
        let object: JSON
        /// The schema's name for it.
        let name: String
        let allowed: [String]
    }

    init(_ root: JSON) { self.root = root }

    private var layer: JSON? { root["properties"]?["layers"]?["items"] }

    /// The kinds of layers that the schema allows.
    var layerKinds: [String] { layer?["properties"]?["kind"]?["enum"]?.elements.compactMap(\.string) ?? [] }

    /// The definition that the schema applies to each kind of layer.
    var layerForms: [(kind: String, definition: String)] {
        (layer?["allOf"]?.elements ?? []).compactMap { rule in
            guard let kind = rule["if"]?["properties"]?["kind"]?["const"]?.string, let then = rule["then"] else {
                return nil
            }
            return (kind, resolve(then).name ?? "")
        }
    }

    /// The kind that a definition describes.
    func kind(ofDefinition name: String) -> String? {
        root["$defs"]?[name]?["properties"]?["kind"]?["const"]?.string
    }

    /// What a definition says about itself.
    func description(ofDefinition name: String) -> String? { root["$defs"]?[name]?["description"]?.string }

    /// The errors in an instance, each with its path.
    func check(_ json: JSON) -> [String] { check(json, root, "$") }

    private func resolve(_ schema: JSON) -> (schema: JSON, name: String?) {
        guard let ref = schema["$ref"]?.string else { return (schema, nil) }
        let name = ref.replacing("#/$defs/", with: "")
        // A definition may refer to another one.
        return (resolve(root["$defs"]?[name] ?? JSON(value: .bool(false), line: 0)).schema, name)
    }

    private func check(_ json: JSON, _ unresolved: JSON, _ path: String) -> [String] {
        let schema = resolve(unresolved).schema
        if case .bool(let allowed) = schema.value { return allowed ? [] : ["\(path): not allowed"] }
        var wrong: [String] = []
        for key in schema.keys {
            guard let rule = schema[key] else { continue }
            switch key {
            case "$ref", "$schema", "$defs", "title", "description", "default", "then": continue
            case "type": if !fits(json, rule.string ?? "") { wrong.append("\(path): is no \(rule.text)") }
            case "const": if json.text != rule.text { wrong.append("\(path): is not \(rule.text)") }
            case "enum":
                if !rule.elements.contains(where: { $0.text == json.text }) {
                    wrong.append("\(path): \(json.text) is none of \(rule.text)")
                }
            case "minimum", "maximum":
                guard let number = json.number, let limit = rule.number else { continue }
                if key == "minimum" ? number < limit : number > limit { wrong.append("\(path): \(key) \(limit)") }
            case "minItems", "maxItems":
                guard case .array(let elements) = json.value, let limit = rule.number else { continue }
                let count = Double(elements.count)
                if key == "minItems" ? count < limit : count > limit { wrong.append("\(path): \(key) \(limit)") }
            case "minLength":
                if let text = json.string, Double(text.count) < rule.number ?? 0 { wrong.append("\(path): too short") }
            case "pattern":
                guard let text = json.string, let pattern = rule.string else { continue }
                if text.range(of: pattern, options: .regularExpression) == nil { wrong.append("\(path): \(pattern)") }
            case "items":
                for (i, element) in json.elements.enumerated() { wrong += check(element, rule, "\(path)[\(i)]") }
            case "required":
                for name in rule.elements.compactMap(\.string) where !json.keys.contains(name) {
                    if case .object = json.value { wrong.append("\(path): lacks \(name)") }
                }
            case "properties":
                for name in rule.keys {
                    if let value = json[name], let rule = rule[name] { wrong += check(value, rule, "\(path).\(name)") }
                }
            case "additionalProperties":
                for name in json.keys where schema["properties"]?[name] == nil {
                    if let value = json[name] { wrong += check(value, rule, "\(path).\(name)") }
                }
            case "dependentRequired":
                for (key, others) in rule.keys.map({ ($0, rule[$0]?.elements.compactMap(\.string) ?? []) })
                where json.keys.contains(key) && !others.allSatisfy(json.keys.contains) {
                    wrong.append("\(path): \(key) needs \(others)")
                }
            case "oneOf":
                let fitting = rule.elements.count { check(json, $0, path).isEmpty }
                if fitting != 1 { wrong.append("\(path): \(fitting) of \(rule.elements.count) forms fit") }
            case "allOf": for rule in rule.elements { wrong += check(json, rule, path) }
            case "if":
                if check(json, rule, path).isEmpty, let then = schema["then"] { wrong += check(json, then, path) }
            default: wrong.append("the schema has '\(key)', which this test does not know")
            }
        }
        return wrong
    }

    private func fits(_ json: JSON, _ type: String) -> Bool {
        switch (type, json.value) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("number", .number): true
        case ("integer", .number(let number)): number.rounded() == number
        default: false
        }
    }

    /// All objects of a valid instance whose keys the schema names.
    func objects(in json: JSON) -> [Place] { objects(json, root, [], "mask") }

    private func objects(_ json: JSON, _ unresolved: JSON, _ path: [String], _ inherited: String) -> [Place] {
        let (schema, own) = resolve(unresolved)
        let name = own ?? inherited
        if let forms = schema["oneOf"]?.elements {
            guard let form = forms.firstIndex(where: { check(json, $0, "$").isEmpty }) else { return [] }
            // One reader reads all forms.
            return objects(json, forms[form], path, name)
        }
        if let rules = schema["allOf"]?.elements {
            let then = rules.first { $0["if"].map { check(json, $0, "$").isEmpty } ?? false }?["then"]
            return then.map { objects(json, $0, path, name) } ?? []
        }
        switch json.value {
        case .array(let elements):
            guard let items = schema["items"] else { return [] }
            return elements.enumerated().flatMap { objects($1, items, path + ["\($0)"], name) }
        case .object(let members):
            let properties = schema["properties"]
            let rest = schema["additionalProperties"]
            var found: [Place] = []
            if case .bool = rest?.value {
                found.append(Place(path: path, object: json, name: name, allowed: properties?.keys ?? []))
            }
            for member in members {
                guard let rule = properties?[member.key] ?? rest else { continue }
                let part = properties?[member.key] == nil ? "\(name).*" : "\(name).\(member.key)"
                found += objects(member.value, rule, path + [member.key], part)
            }
            return found
        default: return []
        }
    }
}
