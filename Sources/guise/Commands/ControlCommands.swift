import ArgumentParser
import Compose
import Control
import FoundationEssentials
import Frames
import Glibc
import JSON

/// No guise runs: a case of its own, for scripts that start one then.
struct NoDaemon: Error {
    let problem: Problem
}

/// The verbs of the control socket, as commands.
let controlCommands: [any ParsableCommand.Type] = [
    StatusCommand.self, WatchCommand.self, ShowCommand.self, HideCommand.self, ToggleCommand.self, OnlyCommand.self,
    NextCommand.self, PreviousCommand.self, ClearCommand.self, WearCommand.self, RandomCommand.self,
    SurpriseCommand.self, SetCommand.self, PauseCommand.self, ResumeCommand.self, FreezeCommand.self,
    SnapshotCommand.self, RecordCommand.self, ReloadCommand.self, SaveCommand.self, UseCommand.self, StopCommand.self,
]

/// A command that asks the daemon for one thing and shows its answer. Its name is the request's.
protocol ControlCommand: ParsableCommand {
    /// What goes over the socket.
    var request: JSON { get }
    /// What the user reads; nil: nothing.
    func text(_ answer: JSON) -> String?
}

extension ControlCommand {
    /// The request without more.
    static var baseRequest: JSON { JSON(["request": JSON(configuration.commandName)]) }

    var request: JSON { Self.baseRequest }

    func run() throws {
        var client = try connect()
        if let words = text(try client.perform(request)) { print(plain(words)) }
    }

    /// What is worn after a change of it, where a file lies, which camera it is now, what takes effect later.
    func text(_ answer: JSON) -> String? {
        if answer["masks"] != nil { return maskText(answer) }
        if let notes = answer["notes"] { return notes.elements.compactMap(\.string).joined(separator: "; ") }
        return answer["path"]?.string ?? answer["source"]?.string
    }
}

/// A command for one mask.
protocol MaskCommand: ControlCommand {
    var mask: MaskArgument { get }
}

extension MaskCommand {
    var request: JSON { Self.baseRequest.with("mask", JSON(mask.mask)) }
}

func maskText(_ answer: JSON) -> String {
    let names = answer["masks"]?.elements.compactMap { $0["name"]?.string } ?? []
    let worn = names.isEmpty ? "no mask is worn" : "worn: \(names.joined(separator: ", "))"
    let kept = answer["kept"]?.elements.compactMap(\.string) ?? []
    if kept.isEmpty { return worn }
    return worn + " (to show faces again: " + kept.map { "guise hide \($0)" }.joined(separator: ", ") + ")"
}

/// - Throws: `NoDaemon`, or `Problem`.
func connect() throws -> ControlClient {
    do throws(Problem) { return try ControlClient() } catch  where error.kind == .missing {
        throw NoDaemon(problem: error)
    }
}

/// The names of masks, for shells.
private func maskNames(_ words: [String], _ index: Int, _ start: String) -> [String] {
    (try? AppContext().library.names) ?? []
}

/// A mask's name.
struct MaskArgument: ParsableArguments {
    @Argument(help: "The mask.", completion: .custom(maskNames))
    var mask: String
}

struct StatusCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "What a running guise is doing. Exit code 3: none runs.")
    @Flag(help: "As one JSON object, as the socket gives it.")
    var json = false

    func text(_ answer: JSON) -> String? { json ? answer.text : StatusText.lines(answer).joined(separator: "\n") }

    func run() throws {
        var client = try connect()
        // Of several lines, each made plain by itself.
        for line in (text(try client.perform(request)) ?? "").split(separator: "\n") {
            print(json ? String(line) : plain(String(line)))
        }
    }
}

struct ShowCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Put a mask on.")
    @OptionGroup var mask: MaskArgument
}

struct HideCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "hide", abstract: "Take a mask off.")
    @OptionGroup var mask: MaskArgument
}

struct ToggleCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "toggle", abstract: "Put a mask on, or off again.")
    @OptionGroup var mask: MaskArgument
}

struct OnlyCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "only", abstract: "Wear this mask and no other.")
    @OptionGroup var mask: MaskArgument
}

struct NextCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "next", abstract: "Wear the next mask, by name.")
}

struct PreviousCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "previous", abstract: "Wear the mask before, by name.")
}

struct ClearCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Take all masks off.")
}

struct WearCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Wear these masks and no others, the first below.")
    @Argument(help: "The masks; those worn already stay as they are set.", completion: .custom(maskNames))
    var masks: [String]

    var request: JSON { Self.baseRequest.with("masks", JSON(masks)) }
}

struct RandomCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "random", abstract: "Switch to a random mask.")
}

struct SurpriseCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "surprise", abstract: "Give each person a random mask.")
}

struct SetCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set an option of a mask you wear, or a configuration key.",
        discussion: """
            guise set santa opacity 0.5
            guise set full-beard hair '#8090a0'
            guise set camera.when always
            """)
    @Argument(help: "A mask and one of its choices (opacity, a colour's name, palette, text), or a key.")
    var what: [String]

    func validate() throws {
        guard what.count == 2 || what.count == 3 else {
            throw ValidationError("wanted: MASK CHOICE VALUE, or KEY VALUE; found \(what.count) words")
        }
    }

    var request: JSON {
        // A mask's choices are words, but for its opacity. A key's value is a number, true, false, a list, else the word itself.
        let word = what.last ?? ""
        let isWord = what.count == 3 && what[1] != "opacity"
        let value = isWord ? JSON(word) : (try? JSON(Array(word.utf8), file: "value")) ?? JSON(word)
        let target = what.count == 3 ? Self.baseRequest.with("mask", JSON(what[0])) : Self.baseRequest
        return target.with("key", JSON(what[what.count - 2])).with("value", value)
    }
}

struct PauseCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Show a placeholder and close the camera.")
}

struct ResumeCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "End a pause or a freeze.")
}

struct FreezeCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "freeze", abstract: "Keep showing the last picture.")
}

extension JSON {
    /// A request with the file that it is about, if one was named: from the root, for the daemon has another folder than
    /// the shell.
    fileprivate func with(file: String?) -> JSON {
        file.map { with("path", JSON(URL(fileURLWithPath: $0).standardizedFileURL.path)) } ?? self
    }
}

struct SnapshotCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save the picture that others see.")
    @Argument(help: "The file; else a new one in ~/Pictures/Guise.", completion: .file(extensions: ["png", "jpg"]))
    var path: String?
    @Flag(help: "Write a text beside it that says what was worn.")
    var note = false

    var request: JSON {
        let request = Self.baseRequest.with(file: path)
        return note ? request.with("note", JSON(true)) : request
    }
}

struct RecordCommand: ControlCommand {
    enum Action: String, ExpressibleByArgument, CaseIterable { case start, stop }

    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record the picture that others see.")
    @Argument(help: "start or stop.")
    var action: Action
    @Argument(
        help: "The file; else a new one in ~/Videos/Guise.", completion: .file(extensions: ["mp4", "mkv", "webm"]))
    var path: String?

    var request: JSON { Self.baseRequest.with("action", JSON(action.rawValue)).with(file: path) }

    func run() throws {
        var client = try connect()
        let answer = try client.perform(request)
        if let path = answer["path"]?.string { print(plain(path)) }
        // What was written is there; that it ended before its time is a failure all the same.
        if let problem = answer["problem"]?.string { throw RequestError(.failed, problem) }
    }
}

struct ReloadCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "reload", abstract: "Read the configuration again.")
}

struct SaveCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Save the current settings and masks to your config.json.")
}

struct UseCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "use", abstract: "Switch to another camera.")
    @Argument(help: "Its name or node (`guise devices`), `auto`, or `sample`.")
    var device: String

    var request: JSON { Self.baseRequest.with("device", JSON(device)) }
}

struct StopCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop Guise; the device keeps showing a placeholder.")
}

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Watch rates, delays, costs and faces, live, until interrupted.")
    @Flag(help: "Print the events as they come, one JSON object a line.")
    var json = false

    func run() throws {
        var client = try connect()
        if json {
            _ = try client.perform(JSON(["request": "subscribe"]))
            while let event = try client.next(within: 60) { print(event.text) }
            return
        }
        let isTerminal = isatty(1) == 1
        while true {
            let lines = StatusText.lines(try client.perform(JSON(["request": "status"]))).map(plain)
            // From the top left, clearing what was there.
            if isTerminal { printNow("\u{1B}[H\u{1B}[2J") }
            printNow(lines.joined(separator: "\n") + "\n")
            sleep(1)
        }
    }
}

/// The daemon's status for people.
enum StatusText {
    static func lines(_ status: JSON) -> [String] {
        func text(_ key: String) -> String { status[key]?.string ?? "" }
        func number(_ key: String) -> Double { status[key]?.number ?? 0 }
        let seconds = Int(number("seconds"))
        var lines = [
            "\(text("state")) for \(seconds / 3600) h \(seconds / 60 % 60) min \(seconds % 60) s  (guise \(text("version")), process "
                + "\(Int(number("pid"))))",
            maskText(status),
            "camera: \(text("camera"))\(text("source").isEmpty ? "" : ", \(text("source"))")",
        ]
        for output in status["outputs"]?.elements ?? [] { lines.append("output: \(output.string ?? "")") }
        lines.append(status["watched"]?.bool == true ? "watched" : "nobody watches")
        let dropped = status["dropped"]
        func count(_ key: String) -> Int { Int(dropped?[key]?.number ?? 0) }
        lines.append(
            "\(decimal(number("rate"), places: 1)) frames a second, \(Int(number("frames"))) in all, "
                + "\(count("early")) early, \(count("damaged")) damaged, \(count("filled")) placeholders and repeats")
        lines.append("faces: \(Int(number("faces")))")
        lines.append(
            "cpu \(decimal(status["cpu"]?["process"]?.number ?? 0, places: 1)) % of a core, "
                + "memory \(Int(number("memory"))) MB")
        if let path = status["recording"]?["path"]?.string { lines.append("recording: \(path)") }
        lines.append("milliseconds            median      95 %      99 %")
        func row(_ name: String, _ row: JSON?) {
            let columns = ["median", "p95", "p99"].map { decimal(row?[$0]?.number ?? 0, places: 2, width: 10) }
            lines.append(column(name, width: 20) + columns.joined())
        }
        row("added delay", status["latency"])
        for stage in ["frame", "search", "landmarks", "fit", "compose", "publish"] {
            row("cpu, \(stage)", status["cpu"]?[stage])
        }
        return lines
    }
}
