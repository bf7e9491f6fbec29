import ArgumentParser
import Control

extension WornReply: PrintableReply {
    var line: String? {
        let worn = masks.isEmpty ? "no mask is worn" : "worn: \(masks.map(\.name).joined(separator: ", "))"
        guard let kept else { return worn }
        return worn + " (to show faces again: " + kept.map { "guise hide \($0)" }.joined(separator: ", ") + ")"
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

/// A command that changes the active masks.
protocol MaskCommand: ControlCommand where Reply == WornReply {}

struct ShowCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Put a mask on.")
    @OptionGroup var mask: MaskArgument

    var request: Command { .mask(.show(mask.mask)) }
}

struct HideCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "hide", abstract: "Take a mask off.")
    @OptionGroup var mask: MaskArgument

    var request: Command { .mask(.hide(mask.mask)) }
}

struct ToggleCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "toggle", abstract: "Put a mask on, or take it off.")
    @OptionGroup var mask: MaskArgument

    var request: Command { .mask(.toggle(mask.mask)) }
}

struct OnlyCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "only", abstract: "Wear this mask and no other.")
    @OptionGroup var mask: MaskArgument

    var request: Command { .mask(.only(mask.mask)) }
}

struct NextCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "next", abstract: "Wear the next mask in the order of names.")

    var request: Command { .mask(.next) }
}

struct PreviousCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "previous", abstract: "Wear the previous mask in the order of names.")

    var request: Command { .mask(.previous) }
}

struct ClearCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "clear", abstract: "Take all masks off.")

    var request: Command { .mask(.clear) }
}

struct WearCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Wear exactly these masks, the first at the bottom.")
    @Argument(help: "The masks; those you already wear keep their settings.", completion: .custom(maskNames))
    var masks: [String]

    var request: Command { .mask(.wear(masks)) }
}

struct RandomCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "random", abstract: "Switch to a random mask.")

    var request: Command { .mask(.random) }
}

struct SurpriseCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "surprise", abstract: "Give each person a random mask.")

    var request: Command { .mask(.surprise) }
}
