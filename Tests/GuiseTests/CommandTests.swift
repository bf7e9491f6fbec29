import ArgumentParser
import Control
import Foundation
import JSON
import TestSupport
import Testing

@testable import guise

/// The commands that send requests, and their documentation.
struct CommandTests {
    /// Arguments for the commands that need some.
    private static let arguments = [
        "remove": ["a"], "toggle": ["a"], "only": ["a"], "wear": ["a", "b"], "set": ["faces.max", "2"],
        "record": ["stop"], "use": ["auto"], "add": ["a", "b"], "order": ["b", "a"], "look": ["a"], "favourite": ["a"],
        "teach": ["a"], "forget": ["a"],
    ]

    @Test func `a command sends the request of its name`() throws {
        for type in controlCommands where type != WatchCommand.self {
            let name = try #require(type.configuration.commandName)
            #expect(Request.names.contains(name))
            let command = try type.parse(Self.arguments[name] ?? [])
            let sent: Command? =
                switch command {
                case let command as any ControlCommand: command.request
                case let command as SetCommand: command.request
                case let command as LookCommand: command.request
                default: nil
                }
            if let sent { #expect(sent.json["request"]?.string == name) }
        }
    }

    @Test func `a command without options sends the same request without the parser`() throws {
        for name in [
            "wear", "add", "order", "remove", "toggle", "only", "next", "previous", "clear", "random", "surprise",
            "pause",
        ] {
            let words = [name] + (Self.arguments[name] ?? [])
            let parsed = try #require(try Guise.parseAsRoot(words) as? any ControlCommand)
            #expect(QuickCommand(words)?.command == parsed.request, "\(name)")
        }
    }

    @Test func `the end of a recording, which is copied then, may take longer than other requests`() throws {
        let stop = try RecordCommand.parse(["stop"]).request
        let start = try RecordCommand.parse(["start"]).request
        #expect(start.replyTimeout == ControlClient.replyTimeout && stop.replyTimeout > 100 * start.replyTimeout)
    }

    @Test(arguments: [
        [], ["toggle"], ["toggle", "--help"], ["toggle", "a", "b"], ["next", "a"], ["wear"], ["clear", "a", "b"],
        ["masks"], ["status"],
        ["stop"], ["snapshot"], ["record"], ["togle", "a"], ["--version"],
    ])
    func `options, mistakes and other commands are left to the parser`(words: [String]) {
        #expect(QuickCommand(words)?.command == nil)
    }

    @Test func `a file as the camera is named by its path from the root`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: ".")
        let file = try #require(names.first { $0.contains(".") && !$0.hasPrefix(".") })
        let folder = FileManager.default.currentDirectoryPath
        for (word, device) in [
            (file, "\(folder)/\(file)"), ("./\(file)", "\(folder)/\(file)"), ("./none.mp4", "./none.mp4"),
            ("USB 2.0 Camera", "USB 2.0 Camera"), ("sample", "sample"),
        ] {
            #expect(try UseCommand.parse([word]).request == .device(.use(device)), "\(word)")
        }
    }

    @Test func `a negative number is a value, and no option`() throws {
        for words in [["camera", "pan", "-3600"], ["camera", "pan", "-3600", "--json"]] {
            let command = try #require(try Guise.parseAsRoot(Guise.withNegativeNumbers(words)) as? CameraCommand)
            #expect(command.request == .device(.setControl("pan", "-3600")))
            #expect(command.json == (words.count == 4))
        }
        let set = try #require(
            try Guise.parseAsRoot(Guise.withNegativeNumbers(["set", "faces.max", "-1"])) as? SetCommand)
        #expect(set.request.json["value"]?.text == "-1")
        for words in [[], ["camera", "pan", "--", "-1"], ["camera", "--reset"], ["bench", "--frames", "-1"]] {
            #expect(Guise.withNegativeNumbers(words) == words)
        }
    }

    @Test(arguments: [(["faces.max"], "found one word"), (["a", "b", "c", "d"], "found 4 words")])
    func `set says what it expects`(words: [String], found: String) {
        #expect {
            try SetCommand.parse(words)
        } throws: { error in
            SetCommand.message(for: error) == "expected: MASK OPTION VALUE, or KEY VALUE; \(found)"
        }
    }

    @Test func `the documentation names every command`() throws {
        let text = try String(contentsOfFile: Fixtures.inPackage("docs/usage.md"), encoding: .utf8)
        // Only the lines that show commands: prose has most of these words too.
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("    ") }.joined(separator: "\n")
        let words = Set(lines.matches(of: /[a-z]+/).map { String($0.0) })
        let groups = Guise.configuration.groupedSubcommands.flatMap(\.subcommands)
        for type in Guise.configuration.ungroupedSubcommands + groups {
            let name = try #require(type.configuration.commandName)
            let isNamed = words.contains(name)
            #expect(isNamed, "docs/usage.md lacks `guise \(name)`")
        }
    }

    @Test func `a mask that was kept is named with the command that takes it off`() throws {
        let reply: WornReply = try JSON([
            "masks": [JSON(["name": "blur", "opacity": 1, "choices": JSON([:])])], "kept": ["blur"],
        ]).decoded()
        #expect(reply.line == "worn: blur (to take off what hides: guise remove blur)")
        let swapped: WornReply = try JSON([
            "masks": [JSON(["name": "crown", "opacity": 1, "choices": JSON([:])])], "replaced": ["top"],
        ]).decoded()
        #expect(swapped.line == "worn: crown (replaced: top)")
        let none: WornReply = try JSON(["masks": []]).decoded()
        #expect(none.line == "no mask is worn")
    }

    @Test(arguments: [
        ("aply", "`guise apply`"), ("mask", "`guise masks`"), ("off", "`guise clear`"), ("undoo", "`guise undo`"),
        ("show", "`guise wear`"), ("hide", "`guise remove`"), ("qqqqqqqqqqqq", "`guise --help`"),
    ])
    func `a word that is no command names the one that may be meant`(word: String, fix: String) throws {
        let problem = try #require(Guise.unknownCommand(word))
        #expect(problem.message == "no command '\(word)'" && problem.fix.contains(fix), "\(problem)")
        for known in ["apply", "undo", "help", "--version", "-h"] { #expect(Guise.unknownCommand(known) == nil) }
    }
}
