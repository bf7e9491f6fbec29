import Compose
import Foundation
import Frames
import JSON
import TestSupport
import Testing

@testable import guise
@testable import SystemKit

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration(text: Array(text.utf8), file: "c.json")
    }

    private func packageFile(_ name: String) throws -> String {
        try String(contentsOfFile: Fixtures.inPackage(name), encoding: .utf8)
    }

    @Test func `the file at the top level has every key with its default`() throws {
        let text = try packageFile("config.json")
        #expect(try read(text) == Configuration())
        // The message for an unknown key lists the known ones, in the order in which they are read.
        let all = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (path, object) in [("", all)]
            + all.compactMap({ key, value in (value as? [String: Any]).map { (key, $0) } })
        {
            let odd = path.isEmpty ? "{\"qqqqqqqqq\": 1}" : "{\"\(path)\": {\"qqqqqqqqq\": 1}}"
            let problem = #expect(throws: Problem.self) { try read(odd) }
            let known = problem?.fix.replacing("known keys: ", with: "").components(separatedBy: ", ") ?? []
            #expect(known.sorted() == object.keys.sorted(), "in '\(path)'")
        }
    }

    @Test(arguments: [
        (#"{"faces": {"most": 3}}"#, "'faces.most'", "'faces.max'"),
        (#"{"faces": {"smallest": 0.1}}"#, "'faces.smallest'", "'faces.minSize'"),
        (#"{"view": {"most": 3}}"#, "'view.most'", "'view.maxZoom'"),
    ])
    func `a key that was renamed is an error that names the new key`(text: String, old: String, new: String) throws {
        let problem = #expect(throws: Problem.self) { try read(text) }
        #expect(problem?.message == "c.json:1: the key \(old) was renamed" && problem?.fix == "use \(new)")
    }

    @Test func `current values are written with every key, and read back the same`() throws {
        let text = try packageFile("config.json")
        let standard = try JSON(Array(text.utf8), file: "config.json")
        func keys(_ json: JSON) -> [String] {
            guard case .object(let members) = json.value else { return [] }
            return members.flatMap { member in [member.key] + keys(member.value).map { "\(member.key).\($0)" } }
                .sorted()
        }
        #expect(keys(Configuration().json) == keys(standard))
        let odd = try read(
            """
            {"source": "/dev/video7", "sinks": ["null", "page"],
             "masks": ["cat", {"name": "full-beard", "opacity": 0.25, "choices": {"hair": "#102030"}}],
             "camera": {"when": "always", "rate": 25},
             "view": {"mirror": true, "rotate": 270, "crop": [0.1, 0, 0.25, 0.45], "zoom": "face", "maxZoom": 2.5},
             "output": {"width": 640, "height": 480, "rate": 29.97}, "privacy": {"onLostFace": "cover"},
             "faces": {"max": 3, "minSize": 0.11, "hold": 1.5, "cats": false}, "page": {"port": 0}}
            """)
        #expect(try read(odd.json.text) == odd)
        #expect(try read(odd.json.prettyText) == odd)
    }

    @Test func `the documentation explains every key`() throws {
        let text = try packageFile("config.json")
        let documentation = try packageFile("docs/configuration.md")
        let all = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (key, value) in all {
            for name in (value as? [String: Any])?.keys.map({ "\(key).\($0)" }) ?? [key] {
                #expect(documentation.contains("| `\(name)` |"), "\(name)")
            }
        }
    }

    @Test func `keys that a file leaves out have their defaults`() throws {
        var expected = Configuration()
        expected.masks = [MaskSelection("cat"), MaskSelection("round-glasses")]
        expected.output.width = 640
        expected.faces.max = 2
        let text = """
            {"masks": ["cat", "round-glasses"], "output": {"width": 640}, "faces": {"max": 2}}
            """
        #expect(try read(text) == expected)
        #expect(try read("{}") == Configuration())
    }
}
