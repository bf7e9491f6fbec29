import ArgumentParser
import Compose
import Control
import FoundationEssentials
import Glibc
import JSON
import SystemKit

/// An error for a daemon that is not running. It has its own exit code, so that scripts can start one.
struct NoDaemon: Error {
    let problem: Problem
}

/// The commands that send requests to the control socket.
let controlCommands: [any ParsableCommand.Type] = [
    StatusCommand.self, WatchCommand.self, ShowCommand.self, HideCommand.self, ToggleCommand.self, OnlyCommand.self,
    NextCommand.self, PreviousCommand.self, ClearCommand.self, WearCommand.self, RandomCommand.self,
    SurpriseCommand.self, SetCommand.self, PauseCommand.self, ResumeCommand.self, FreezeCommand.self,
    SnapshotCommand.self, RecordCommand.self, ReloadCommand.self, SaveCommand.self, UseCommand.self, StopCommand.self,
]

/// A command that sends one request to the daemon and prints the reply. Its name is the request's.
protocol ControlCommand: ParsableCommand {
    /// The request.
    var request: JSON { get }
    /// The text to print for a reply; nil for none.
    func text(_ answer: JSON) -> String?
}

extension ControlCommand {
    /// The request with only its name.
    static var baseRequest: JSON { JSON(["request": JSON(configuration.commandName)]) }

    var request: JSON { Self.baseRequest }

    func run() throws {
        var client = try connectToDaemon()
        if let words = text(try client.perform(request)) { print(plain(words)) }
    }

    /// The active masks after a change, the path of a file, the current camera, or notes on changes that take effect
    /// later.
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
func connectToDaemon() throws -> ControlClient {
    do throws(Problem) { return try ControlClient() } catch  where error.kind == .missing {
        throw NoDaemon(problem: error)
    }
}

/// Completes the names of masks in shells.
private func maskNames(_ words: [String], _ index: Int, _ start: String) -> [String] {
    (try? AppContext().library.names) ?? []
}

/// The argument that names a mask.
struct MaskArgument: ParsableArguments {
    @Argument(help: "The mask.", completion: .custom(maskNames))
    var mask: String
}

struct StatusCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what Guise is doing. The exit code is 3 if it isn't running.")
    @Flag(help: "Print the socket's reply, one JSON object.")
    var json = false

    func text(_ answer: JSON) -> String? { json ? answer.text : StatusText.lines(answer).joined(separator: "\n") }

    func run() throws {
        var client = try connectToDaemon()
        // Each line is escaped separately.
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
    static let configuration = CommandConfiguration(commandName: "toggle", abstract: "Put a mask on, or take it off.")
    @OptionGroup var mask: MaskArgument
}

struct OnlyCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "only", abstract: "Wear this mask and no other.")
    @OptionGroup var mask: MaskArgument
}

struct NextCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "next", abstract: "Wear the next mask in the order of names.")
}

struct PreviousCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "previous", abstract: "Wear the previous mask in the order of names.")
}

struct ClearCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Take all masks off.")
}

struct WearCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Wear exactly these masks, the first at the bottom.")
    @Argument(help: "The masks; those you already wear keep their settings.", completion: .custom(maskNames))
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
    @Argument(help: "A mask, one of its options and a value; or a configuration key and a value.")
    var what: [String]

    func validate() throws {
        guard what.count == 2 || what.count == 3 else {
            throw ValidationError("wanted: MASK OPTION VALUE, or KEY VALUE; found \(what.count) words")
        }
    }

    var request: JSON {
        // Values for a mask are strings, except its opacity. A configuration key's value is parsed as JSON (a number,
        // true, false or a list), and is a string if that fails.
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
    /// The request with a file's path, if one is given. The path is made absolute, because the daemon's working
    /// directory differs from the shell's.
    fileprivate func with(file: String?) -> JSON {
        file.map { with("path", JSON(URL(fileURLWithPath: $0).standardizedFileURL.path)) } ?? self
    }
}

struct SnapshotCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save the picture that others see.")
    @Argument(
        help: "The file (default: a new one in ~/Pictures/Guise).", completion: .file(extensions: ["png", "jpg"]))
    var path: String?
    @Flag(help: "Also write a text file that lists the masks.")
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
        help: "The file (default: a new one in ~/Videos/Guise).", completion: .file(extensions: ["mp4", "mkv", "webm"]))
    var path: String?

    var request: JSON { Self.baseRequest.with("action", JSON(action.rawValue)).with(file: path) }

    func run() throws {
        var client = try connectToDaemon()
        let answer = try client.perform(request)
        if let path = answer["path"]?.string { print(plain(path)) }
        // The file was written, but a recording that ended early is still a failure.
        if let problem = answer["problem"]?.string { throw RequestError(.failed, problem) }
    }
}

struct ReloadCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "reload", abstract: "Reload the configuration.")
}

struct SaveCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Save the current settings and masks to your config.json.")
}

struct UseCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "use", abstract: "Switch to another camera.")
    @Argument(help: "Its name or device node (see `guise devices`), `auto`, or `sample`.")
    var device: String

    var request: JSON { Self.baseRequest.with("device", JSON(device)) }
}

struct StopCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop Guise; the device keeps showing a placeholder.")
}

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show rates, delays, CPU times and faces live, until interrupted.")
    @Flag(help: "Print the events as they arrive, one JSON object per line.")
    var json = false

    func run() throws {
        var client = try connectToDaemon()
        if json {
            _ = try client.perform(JSON(["request": "subscribe"]))
            while let event = try client.next(within: 60) { print(event.text) }
            return
        }
        let isTerminal = isatty(1) == 1
        while true {
            let lines = StatusText.lines(try client.perform(JSON(["request": "status"]))).map(plain)
            // Clear the screen and write from the top left.
            if isTerminal { printNow("\u{1B}[H\u{1B}[2J") }
            printNow(lines.joined(separator: "\n") + "\n")
            sleep(1)
        }
    }
}

/// The daemon's status as text.
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
        lines.append(status["watched"]?.bool == true ? "watched" : "nobody is watching")
        let dropped = status["dropped"]
        func count(_ key: String) -> Int { Int(dropped?[key]?.number ?? 0) }
        lines.append(
            "\(decimal(number("rate"), places: 1)) frames per second, \(Int(number("frames"))) in total, "
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
        for stage in ["frame", "search", "landmarks", "fit", "outline", "compose", "publish"] {
            row("cpu, \(stage)", status["cpu"]?[stage])
        }
        return lines
    }
}
