import ArgumentParser
import Compose
import Control
import Foundation
import Frames
import JSON

/// No guise runs: a case of its own, for scripts that start one then.
struct NoDaemon: Error {
    let problem: Problem
}

/// The verbs of the control socket, as commands.
let controlCommands: [any ParsableCommand.Type] = [
    StatusCommand.self, WatchCommand.self, ShowCommand.self, HideCommand.self, ToggleCommand.self, OnlyCommand.self,
    NextCommand.self, PreviousCommand.self, ClearCommand.self, SetCommand.self, PauseCommand.self, ResumeCommand.self,
    FreezeCommand.self, SnapshotCommand.self, RecordCommand.self, ReloadCommand.self, UseCommand.self, StopCommand.self,
]

/// A command that asks the daemon for one thing and shows its answer.
protocol ControlCommand: ParsableCommand {
    /// What goes over the socket.
    var request: JSON { get throws }
    /// What the user reads; nil: nothing.
    func words(_ answer: JSON) -> String?
}

extension ControlCommand {
    func run() throws {
        var client = try connect()
        if let words = words(try client.ask(try request)) { print(plain(words)) }
    }

    func words(_ answer: JSON) -> String? { nil }

    /// What is worn, after a change of it.
    func worn(_ answer: JSON) -> String { wornWords(answer) }
}

func wornWords(_ answer: JSON) -> String {
    let names = answer["masks"]?.elements.compactMap { $0["name"]?.string } ?? []
    return names.isEmpty ? "no mask is worn" : "worn: \(names.joined(separator: ", "))"
}

/// - Throws: `NoDaemon`, or `Problem`.
func connect() throws -> ControlClient {
    do throws(Problem) { return try ControlClient() } catch  where error.kind == .missing {
        throw NoDaemon(problem: error)
    }
}

/// The names of masks, for shells.
private func maskNames(_ words: [String], _ index: Int, _ start: String) -> [String] {
    (try? Session().wardrobe.names) ?? []
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

    var request: JSON { JSON(["request": "status"]) }

    func words(_ answer: JSON) -> String? { json ? answer.text : StatusText.lines(answer).joined(separator: "\n") }

    func run() throws {
        var client = try connect()
        // Of several lines, each made plain by itself.
        for line in (words(try client.ask(request)) ?? "").split(separator: "\n") {
            print(json ? String(line) : plain(String(line)))
        }
    }
}

struct ShowCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Put a mask on.")
    @OptionGroup var mask: MaskArgument

    var request: JSON { JSON(["request": "show", "mask": JSON(mask.mask)]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct HideCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "hide", abstract: "Take a mask off.")
    @OptionGroup var mask: MaskArgument

    var request: JSON { JSON(["request": "hide", "mask": JSON(mask.mask)]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct ToggleCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "toggle", abstract: "Put a mask on, or off again.")
    @OptionGroup var mask: MaskArgument

    var request: JSON { JSON(["request": "toggle", "mask": JSON(mask.mask)]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct OnlyCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "only", abstract: "Wear this mask and no other.")
    @OptionGroup var mask: MaskArgument

    var request: JSON { JSON(["request": "only", "mask": JSON(mask.mask)]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct NextCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "next", abstract: "Wear the next mask, by name.")
    var request: JSON { JSON(["request": "next"]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct PreviousCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "previous", abstract: "Wear the mask before, by name.")
    var request: JSON { JSON(["request": "previous"]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct ClearCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Take all masks off.")
    var request: JSON { JSON(["request": "clear"]) }
    func words(_ answer: JSON) -> String? { worn(answer) }
}

struct SetCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set what a worn mask lets you choose, or a key of the configuration.",
        discussion: """
            guise set santa opacity 0.5
            guise set rabbit-ears color '#8090a0'
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
        // A number, true, false, a list; else the word itself.
        let word = what.last ?? ""
        let value = (try? JSON(Array(word.utf8), file: "value")) ?? JSON(word)
        let target = what.count == 3 ? JSON(["request": "set", "mask": JSON(what[0])]) : JSON(["request": "set"])
        return target.with("key", JSON(what[what.count - 2])).with("value", value)
    }

    func words(_ answer: JSON) -> String? {
        answer["masks"] != nil ? worn(answer) : answer["notes"]?.elements.compactMap(\.string).joined(separator: "; ")
    }
}

struct PauseCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Show a card, and close the camera.")
    var request: JSON { JSON(["request": "pause"]) }
}

struct ResumeCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "resume", abstract: "End a pause or a freeze.")
    var request: JSON { JSON(["request": "resume"]) }
}

struct FreezeCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "freeze", abstract: "Keep the last picture.")
    var request: JSON { JSON(["request": "freeze"]) }
}

/// A path from the root, for the daemon has another folder than the shell.
private func absolute(_ path: String) -> JSON {
    JSON(URL(fileURLWithPath: path).standardizedFileURL.path)
}

struct SnapshotCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save the picture that others see.")
    @Argument(help: "The file; else a new one in ~/Pictures/Guise.", completion: .file(extensions: ["png", "jpg"]))
    var path: String?

    var request: JSON {
        let request = JSON(["request": "snapshot"])
        return path.map { request.with("path", absolute($0)) } ?? request
    }
    func words(_ answer: JSON) -> String? { answer["path"]?.string }
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

    var request: JSON {
        let request = JSON(["request": "record", "action": JSON(action.rawValue)])
        return path.map { request.with("path", absolute($0)) } ?? request
    }
    func words(_ answer: JSON) -> String? { answer["path"]?.string }
}

struct ReloadCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "reload", abstract: "Read the configuration again.")
    var request: JSON { JSON(["request": "reload"]) }
    func words(_ answer: JSON) -> String? { answer["notes"]?.elements.compactMap(\.string).joined(separator: "; ") }
}

struct UseCommand: ControlCommand {
    static let configuration = CommandConfiguration(commandName: "use", abstract: "Switch to another camera.")
    @Argument(help: "Its name or node (`guise devices`), `auto`, or `sample`.")
    var device: String

    var request: JSON { JSON(["request": "use", "device": JSON(device)]) }
    func words(_ answer: JSON) -> String? { answer["source"]?.string }
}

struct StopCommand: ControlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "End guise; the device keeps a card.")
    var request: JSON { JSON(["request": "stop"]) }
}

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Watch rates, delays, costs and faces, live, until interrupted.")
    @Flag(help: "Print the events as they come, one JSON object a line.")
    var json = false

    func run() throws {
        var client = try connect()
        if json {
            _ = try client.ask(JSON(["request": "subscribe"]))
            while let event = try client.next(within: 60) { print(event.text) }
            return
        }
        let isTerminal = isatty(1) == 1
        while true {
            let lines = StatusText.lines(try client.ask(JSON(["request": "status"]))).map(plain)
            // From the top left, clearing what was there.
            if isTerminal { FileHandle.standardOutput.write(Data("\u{1B}[H\u{1B}[2J".utf8)) }
            FileHandle.standardOutput.write(Data((lines.joined(separator: "\n") + "\n").utf8))
            Thread.sleep(forTimeInterval: 1)
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
            wornWords(status),
            "camera: \(text("camera"))\(text("source").isEmpty ? "" : ", \(text("source"))")",
        ]
        for output in status["outputs"]?.elements ?? [] { lines.append("output: \(output.string ?? "")") }
        lines.append(status["watched"]?.bool == true ? "watched" : "nobody watches")
        let dropped = status["dropped"]
        func count(_ key: String) -> Int { Int(dropped?[key]?.number ?? 0) }
        lines.append(
            String(format: "%.1f frames a second, %d in all, ", number("rate"), Int(number("frames")))
                + "\(count("early")) early, \(count("damaged")) damaged, \(count("filled")) cards and repeats")
        lines.append("faces: \(Int(number("faces")))")
        lines.append(
            String(
                format: "cpu %.1f %% of a core, memory %d MB", status["cpu"]?["process"]?.number ?? 0,
                Int(number("memory"))))
        if let path = status["recording"]?["path"]?.string { lines.append("recording: \(path)") }
        lines.append("milliseconds            median      95 %      99 %")
        func row(_ name: String, _ row: JSON?) {
            let columns = ["median", "p95", "p99"].map { String(format: "%10.2f", row?[$0]?.number ?? 0) }
            lines.append(name.padding(toLength: 20, withPad: " ", startingAt: 0) + columns.joined())
        }
        row("added delay", status["latency"])
        for stage in ["frame", "search", "landmarks", "fit", "compose", "publish"] {
            row("cpu, \(stage)", status["cpu"]?[stage])
        }
        return lines
    }
}
