import ArgumentParser
import Control
import JSON
import SystemKit

extension SettingReply: PrintableReply {
    var line: String? { (["\(key): \(value.text)"] + notes).joined(separator: "; ") }
}

extension ReloadReply: PrintableReply {
    var line: String? { (["config.json was read again"] + notes).joined(separator: "; ") }
}

extension SaveReply: PrintableReply {
    var line: String? { path }
}

struct SetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Set an option of a mask you wear, or a configuration key.",
        discussion: """
            guise set santa opacity 50%
            guise set full-beard hair '#8090a0'      or a name: black, white, red, ...
            guise set background-picture picture ~/holiday.jpg     or a clip
            guise set camera.when always
            """)
    @Argument(help: "A mask, one of its options and a value; or a configuration key and a value.")
    var what: [String]

    func validate() throws {
        guard what.count == 2 || what.count == 3 else {
            let count = what.count == 1 ? "one word" : "\(what.count) words"
            throw ValidationError("expected: MASK OPTION VALUE, or KEY VALUE; found \(count)")
        }
    }

    func run() throws {
        var client = try connectToDaemon()
        guard what.count == 3 else {
            let reply = try client.perform(request, as: SettingReply.self)
            return print(terminalSafe(reply.line ?? ""))
        }
        let worn = try client.perform(request, as: WornReply.self).masks.first { $0.name == what[0] }
        let now = what[1] == "opacity" ? worn.map { JSON(encoding: $0.opacity).text } : worn?.choices[what[1]]
        print(terminalSafe("\(what[0]): \(what[1]) \(now ?? what[2])"))
    }

    var request: Command {
        // Values for a mask are strings, except its opacity. A configuration key's value is parsed as JSON (a number,
        // true, false or a list), and is a string if that fails. The daemon may run in another folder than this
        // command.
        var word = what.last ?? ""
        // A mask's own pictures have names without a dot, so a file or folder of that name does not get in their way.
        let mayBeFile = word.contains("/") || word.contains(".") && isReadable(word)
        if what.count == 3, what[1] == "picture", mayBeFile { word = absolute(word) }
        let isWord = what.count == 3 && what[1] != "opacity"
        let value = isWord ? JSON(word) : (try? JSON(Array(word.utf8), file: "value")) ?? JSON(word)
        let mask = what.count == 3 ? what[0] : nil
        return .configuration(.set(mask: mask, key: what[what.count - 2], value: value))
    }
}

struct ReloadCommand: ControlCommand {
    typealias Reply = ReloadReply

    static let configuration = CommandConfiguration(commandName: "reload", abstract: "Reload the configuration.")

    var request: Command { .configuration(.reload) }
}

struct SaveCommand: ControlCommand {
    typealias Reply = SaveReply

    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Save the masks you wear to config.json, for the next start.",
        discussion: "Settings are saved by themselves.")

    var request: Command { .configuration(.save) }
}
