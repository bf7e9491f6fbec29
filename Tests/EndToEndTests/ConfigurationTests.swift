import Compose
import Foundation
import Frames
import JSON
import Testing

@testable import guise

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration(text: Array(text.utf8), file: "c.json")
    }

    @Test func `the file at the top level holds every key, and says what holds without it`() throws {
        let text = try String(contentsOf: Package.folder.appending(path: "config.json"), encoding: .utf8)
        #expect(try read(text) == Configuration())
        // The message for an unknown key lists those that are known, in the order in which they are read.
        let all = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (path, object) in [("", all)]
            + all.compactMap({ key, value in (value as? [String: Any]).map { (key, $0) } })
        {
            let odd = path.isEmpty ? "{\"qqqqqqqqq\": 1}" : "{\"\(path)\": {\"qqqqqqqqq\": 1}}"
            let problem = #expect(throws: Problem.self) { try read(odd) }
            let known = problem?.cure.replacing("known here: ", with: "").components(separatedBy: ", ") ?? []
            #expect(known.sorted() == object.keys.sorted(), "in '\(path)'")
        }
    }

    @Test func `what holds is written with every key, and read as the same`() throws {
        let text = try String(contentsOf: Package.folder.appending(path: "config.json"), encoding: .utf8)
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
             "view": {"mirror": true, "rotate": 270, "crop": [0.1, 0, 0.25, 0.45], "zoom": "face", "most": 2.5},
             "output": {"width": 640, "height": 480, "rate": 29.97}, "privacy": {"onLostFace": "cover"},
             "faces": {"most": 3, "smallest": 0.11, "hold": 1.5, "cats": false}, "page": {"port": 0}}
            """)
        #expect(try read(odd.json.text) == odd)
        #expect(try read(odd.json.pages) == odd)
    }

    @Test func `the README explains every key`() throws {
        let text = try String(contentsOf: Package.folder.appending(path: "config.json"), encoding: .utf8)
        let readme = try String(contentsOf: Package.folder.appending(path: "README.md"), encoding: .utf8)
        let all = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (key, value) in all {
            for name in (value as? [String: Any])?.keys.map({ "\(key).\($0)" }) ?? [key] {
                #expect(readme.contains("| `\(name)` |"), "\(name)")
            }
        }
    }

    @Test func `what a file leaves out is as by default, and what it says holds`() throws {
        var expected = Configuration()
        expected.masks = [Wish("cat"), Wish("round-glasses")]
        expected.output.width = 640
        expected.faces.most = 2
        let text = """
            {"masks": ["cat", "round-glasses"], "output": {"width": 640}, "faces": {"most": 2}}
            """
        #expect(try read(text) == expected)
        #expect(try read("{}") == Configuration())
    }
}

extension EndToEnd {
    @Suite struct ConfigurationFiles {
        let workshop: Workshop
        init() throws { workshop = try Workshop() }

        @Test(arguments: [
            ("{\n\"maskes\": []}", 2, "unknown key 'maskes'", "did you mean 'masks'?"),
            ("{\n\n\"camera\": {\"wdth\": 640}}", 3, "unknown key 'camera.wdth'", "did you mean 'width'?"),
            ("{\"masks\": \"santa\"}", 1, "'masks' is a text", "allowed: a list of texts or objects"),
            ("{\"masks\": [3]}", 1, "'masks' is a list with a number", "allowed: a list of texts or objects"),
            (
                "{\"masks\": [\"cat\",\n{\"name\": \"dog\", \"opacty\": 1}]}", 2, "unknown key 'masks[1].opacty'",
                "did you mean 'opacity'?"
            ),
            ("{\"masks\": [{\"name\": \"dog\", \"opacity\": 2}]}", 1, "'masks[0].opacity' is 2", "0 to 1"),
            (
                "{\"masks\": [{\"name\": \"dog\", \"choices\": {\"fur\": 1}}]}", 1,
                "'masks[0].choices.fur' is a number", "allowed: a text"
            ),
            ("{\"page\":\n{\"port\": \"no\"}}", 2, "'page.port' is a text", "0 to 65535"),
            ("{\"output\": {\n\"width\": 70000}}", 2, "'output.width' is 70000", "allowed: 64 to 4096"),
            ("{\"output\": {\"height\": 481}}", 1, "'output.height' is 481", "even numbers"),
            ("{\"faces\": {\"most\": 1.5}}", 1, "'faces.most' is 1.5", "whole numbers"),
            ("{\"sinks\": []}", 1, "'sinks' is an empty list", "at least one sink"),
            ("{\"camera\": 3}", 1, "'camera' is a number", "an object"),
            ("[]", 1, "the file is a list", "an object"),
            ("{\"masks\": [\"cat\",]\n}", 1, "no JSON value begins with ']'", "correct the file"),
            (
                "{\"source\": \"auto\", \"source\": \"auto\"}", 1, "'source' stands here a second time",
                "correct the file"
            ),
            ("", 1, "the file ends where a value should be", "correct the file"),
        ])
        func `a mistake in the configuration is told with file, line, key and what is allowed`(
            text: String, line: Int, what: String, allowed: String
        ) throws {
            let path = try workshop.write(text, "my.json")
            let outcome = try workshop.guise("run", "--source", "sample", "--sink", "null", "--config", path)
            #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("\(path):\(line): \(what)"), "\(outcome)")
            #expect(outcome.errors.contains(allowed), "\(outcome)")
        }

        @Test func `a configuration that is named must be there`() throws {
            let outcome = try workshop.guise("run", "--config", "none.json")
            #expect(outcome.code == 1 && outcome.errors.contains("none.json does not exist"), "\(outcome)")
        }

        @Test(.enabled(if: Package.hasSample, "needs the sample: make sample"))
        func `the user's own configuration is read before the installed one, and --config before both`() throws {
            // Which file was read is told by the mask that it names, which does not exist.
            try workshop.write("{\"masks\": [\"of-the-user\"]}", "config/guise/config.json")
            let named = try workshop.write("{\"masks\": [\"of-the-option\"]}", "named.json")
            let run = ["run", "--source", "sample", "--sink", "null"]
            let users = try Program.run(run, in: workshop)
            #expect(users.code == 1 && users.errors.contains("'of-the-user'"), "\(users)")
            let option = try Program.run(run + ["--config", named], in: workshop)
            #expect(option.code == 1 && option.errors.contains("'of-the-option'"), "\(option)")
        }
    }
}
