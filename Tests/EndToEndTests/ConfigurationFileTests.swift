import Foundation
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct ConfigurationFiles {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        @Test(arguments: [
            ("{\n\"maskes\": []}", 2, "unknown key 'maskes'", "did you mean 'masks'?"),
            ("{\n\n\"camera\": {\"wdth\": 640}}", 3, "unknown key 'camera.wdth'", "did you mean 'width'?"),
            ("{\"masks\": \"santa\"}", 1, "'masks' is a string", "allowed: a list of strings or objects"),
            ("{\"masks\": [3]}", 1, "'masks' is a list with a number", "allowed: a list of strings or objects"),
            (
                "{\"masks\": [\"cat\",\n{\"name\": \"dog\", \"opacty\": 1}]}", 2, "unknown key 'masks[1].opacty'",
                "did you mean 'opacity'?"
            ),
            ("{\"masks\": [{\"name\": \"dog\", \"opacity\": 2}]}", 1, "'masks[0].opacity' is 2", "0 to 1"),
            (
                "{\"masks\": [{\"name\": \"dog\", \"choices\": {\"fur\": 1}}]}", 1,
                "'masks[0].choices.fur' is a number", "allowed: a string"
            ),
            ("{\"page\":\n{\"port\": \"no\"}}", 2, "'page.port' is a string", "0 to 65535"),
            ("{\"output\": {\n\"width\": 70000}}", 2, "'output.width' is 70000", "allowed: 64 to 4096"),
            ("{\"output\": {\"height\": 481}}", 1, "'output.height' is 481", "even numbers"),
            ("{\"faces\": {\"max\": 1.5}}", 1, "'faces.max' is 1.5", "whole numbers"),
            ("{\"sinks\": []}", 1, "'sinks' is an empty list", "at least one sink"),
            ("{\"camera\": 3}", 1, "'camera' is a number", "an object"),
            ("[]", 1, "the file is a list", "an object"),
            ("{\"masks\": [\"cat\",]\n}", 1, "expected a JSON value, found ']'", "correct the file"),
            (
                "{\"source\": \"auto\", \"source\": \"auto\"}", 1, "'source' appears twice",
                "correct the file"
            ),
            ("", 1, "the file ends where a value is expected", "correct the file"),
        ])
        func `a mistake in the configuration is an error with file, line, key and what is allowed`(
            text: String, line: Int, what: String, allowed: String
        ) throws {
            let path = try scratch.write(text, "my.json")
            let outcome = try scratch.guise("run", "--source", "sample", "--sink", "null", "--config", path)
            #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("\(path):\(line): \(what)"), "\(outcome)")
            #expect(outcome.errors.contains(allowed), "\(outcome)")
        }

        @Test(arguments: ["ln -s nowhere config.json", "ln -s config.json config.json", "mkdir config.json"])
        func `an unreadable user configuration is an error, without a fallback`(making: String) throws {
            try scratch.shell("mkdir -p config/guise && cd config/guise && \(making)")
            let outcome = try scratch.guise("run", "--source", "sample", "--sink", "null")
            #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("config/guise/config.json"), "\(outcome)")
        }

        @Test(arguments: [
            ("mkdir config; ln -s ../nowhere config/guise", "it is a link to ../nowhere: No such file or directory"),
            ("ln -s nowhere config", "/config is a link to nowhere: No such file or directory"),
            ("mkdir config; touch config/guise", "it is not a folder"),
            ("mkdir config; ln -s guise config/guise", "it is a link to guise: Too many levels of symbolic links"),
            ("ln -s config config", "/config is a link to config: Too many levels of symbolic links"),
        ])
        func `a user's folder that cannot be reached is an error, without a fallback`(
            making: String, words: String
        ) throws {
            try scratch.shell(making)
            let outcome = try scratch.guise("run", "--source", "sample", "--sink", "null")
            #expect(outcome.code == 1 && outcome.lines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("config/guise cannot be read: "), "\(outcome)")
            #expect(outcome.errors.contains(words), "\(outcome)")
        }

        @Test(.needsSample) func `a file in a folder that did not exist at first takes effect too`() throws {
            let config = #"{\#(RunningGuise.smallOutput), "masks": ["crown"]}"#
            let guise = try RunningGuise(RunningGuise.sample + ["--sink", "null"], config: config, in: scratch)
            try scratch.shell("rm -r config/guise")
            #expect(guise.running.waits(for: "the configuration is unchanged"))
            try scratch.write(config.replacing("crown", with: "polaroid"), "config/guise/config.json")
            #expect(guise.waits { _ in try guise.worn == ["polaroid"] })
            try guise.end()
        }

        @Test func `the report for a bug has no names and no texts`() throws {
            try scratch.write(
                #"""
                {"masks": [{"name": "name-tag", "choices": {"text": "Dr. Ada"}},
                           {"name": "stamps",
                            "choices": {"items": "[{\"text\": \"Ada\", \"at\": [0, 0], \"size\": 1}]"}},
                           {"name": "background-picture", "choices": {"picture": "Ada in Rome.jpg"}}],
                 "output": {"rate": 24}}
                """#, "config/guise/config.json")
            let outcome = try scratch.guise("report")
            #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome)")
            #expect(outcome.out.hasPrefix("guise 0."), "\(outcome)")
            for title in ["Doctor", "Devices", "Configuration", "Status", "Bench"] {
                #expect(outcome.out.contains("\n## \(title)\n\n"), "\(outcome)")
            }
            #expect(outcome.out.contains(#""rate": 24"#) && outcome.out.contains("not running"))
            #expect(outcome.out.contains("whole frame") && outcome.out.contains("landmarks"), "\(outcome)")
            #expect(!outcome.out.contains("Ada") && outcome.out.contains(#""text": "left out""#))
        }

        @Test(arguments: [
            (#""masks": ["santaa"]"#, "did you mean 'santa'?"), (#""start": "look:none""#, "the look 'none'"),
            (#""masks": ["odd"]"#, "guise masks odd"),
        ])
        func `the doctor finds what is worn at the start and not there`(setting: String, words: String) throws {
            try scratch.write("{", "config/guise/Masks/odd/mask.json")
            try scratch.write("{\(setting)}", "config/guise/config.json")
            let outcome = try scratch.guise("doctor")
            let line = try #require(outcome.out.split(separator: "\n").first { $0.contains("  config ") }, "\(outcome)")
            #expect(line.hasPrefix("error ") && line.contains(words), "\(line)")
        }

        @Test func `a configuration given by --config must exist`() throws {
            let outcome = try scratch.guise("run", "--config", "none.json")
            #expect(outcome.code == 1 && outcome.errors.contains("none.json does not exist"), "\(outcome)")
        }

        @Test(.needsSample)
        func `the user's own configuration is read before the installed one, and --config before both`() throws {
            // The error names the missing mask, which shows which file was read.
            try scratch.write("{\"masks\": [\"of-the-user\"]}", "config/guise/config.json")
            let named = try scratch.write("{\"masks\": [\"of-the-option\"]}", "named.json")
            let run = ["run", "--source", "sample", "--sink", "null"]
            let users = try Program.run(run, in: scratch)
            #expect(users.code == 1 && users.errors.contains("'of-the-user'"), "\(users)")
            let option = try Program.run(run + ["--config", named], in: scratch)
            #expect(option.code == 1 && option.errors.contains("'of-the-option'"), "\(option)")
        }
    }
}
