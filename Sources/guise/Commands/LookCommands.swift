import ArgumentParser
import Control
import SystemKit

extension LooksReply: PrintableReply {
    var line: String? { nil }

    var lines: [String] {
        let numbered = looks.enumerated().map { index, look in
            "\(index + 1)  \(look.name): \(look.masks.map(\.name).joined(separator: ", "))"
        }
        let all = numbered + (favourites.isEmpty ? [] : ["favourites: \(favourites.joined(separator: ", "))"])
        return all.isEmpty ? ["no looks yet; save what you wear with `guise look NAME --save`"] : all
    }
}

extension HistoryReply: PrintableReply {
    var line: String? {
        // What hides faces or the room stays on: it takes its own command.
        let message = worn.kept == nil ? change : "\(change), except what hides"
        return ([message, worn.line ?? ""] + notes).joined(separator: "; ")
    }
}

struct LooksCommand: ControlCommand {
    typealias Reply = LooksReply

    static let configuration = CommandConfiguration(commandName: "looks", abstract: "List your looks and favourites.")

    var request: Command { .look(.looks) }
}

struct LookCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "look", abstract: "Wear a look: masks with their options, saved under a name.")
    @Argument(help: "Its name, or, to wear it, its number in `guise looks`.")
    var name: String
    @Flag(help: "Save what you wear under this name instead.")
    var save = false
    @Flag(help: "Delete the look instead.")
    var delete = false

    func validate() throws {
        guard !save || !delete else { throw ValidationError("--save and --delete exclude each other") }
    }

    func run() throws {
        if save || delete {
            try printReply(to: request, as: LooksReply.self)
        } else {
            try printReply(to: request, as: WornReply.self)
        }
    }

    var request: Command { .look(.look(name, save ? .save : delete ? .delete : .wear)) }
}

struct FavouriteCommand: ControlCommand {
    typealias Reply = LooksReply

    static let configuration = CommandConfiguration(
        commandName: "favourite", abstract: "Make a mask a favourite, which the page shows first.")
    @OptionGroup var mask: MaskArgument
    @Flag(help: "It is no favourite any more.")
    var remove = false

    var request: Command { .look(.favourite(mask.mask, isOn: !remove)) }
}

struct UndoCommand: ControlCommand {
    typealias Reply = HistoryReply

    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Take back the last change of masks or settings.",
        discussion: "Masks that hide faces stay on: they are taken off by name only.")

    var request: Command { .history(.undo) }

    func run() throws {
        var client = try connectToDaemon()
        print(terminalSafe("undone: \(try client.perform(request, as: Reply.self).line ?? "")"))
    }
}

struct RedoCommand: ControlCommand {
    typealias Reply = HistoryReply

    static let configuration = CommandConfiguration(
        commandName: "redo", abstract: "Make the change again that `guise undo` took back.")

    var request: Command { .history(.redo) }

    func run() throws {
        var client = try connectToDaemon()
        print(terminalSafe("redone: \(try client.perform(request, as: Reply.self).line ?? "")"))
    }
}
