import ArgumentParser
import Control

extension WornReply: PrintableReply {
    var line: String? {
        var worn = masks.isEmpty ? "no mask is worn" : "worn: \(masks.map(\.name).joined(separator: ", "))"
        if let replaced { worn += " (replaced: \(replaced.joined(separator: ", ")))" }
        guard let kept else { return worn }
        return worn + " (to take off what hides: " + kept.map { "guise remove \($0)" }.joined(separator: ", ") + ")"
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

struct RemoveCommand: MaskCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Take a mask off.")
    @OptionGroup var mask: MaskArgument

    var request: Command { .mask(.remove(mask.mask)) }
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

/// The argument that names masks.
struct MasksArgument: ParsableArguments {
    @Argument(help: "The masks; those you already wear keep their settings.", completion: .custom(maskNames))
    var masks: [String]
}

struct WearCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "wear", abstract: "Put masks on, each in place of those of its kind.",
        discussion:
            "A hat replaces a hat, and a beard a beard; masks of other kinds stay. `guise add` replaces nothing.")
    @OptionGroup var masks: MasksArgument

    var request: Command { .mask(.wear(masks.masks)) }
}

struct AddCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Put masks on, on top of those you wear.")
    @OptionGroup var masks: MasksArgument

    var request: Command { .mask(.add(masks.masks)) }
}

struct OrderCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "order", abstract: "Draw the masks you wear in this order, the first at the bottom.")
    @OptionGroup var masks: MasksArgument

    var request: Command { .mask(.order(masks.masks)) }
}

/// Which masks a random choice is made from.
struct RandomOptions: ParsableArguments {
    @Flag(help: "Choose from all masks, not only from those that are marked as fit for work.")
    var all = false
}

struct RandomCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "random", abstract: "Switch to a random mask that is fit for work.")
    @OptionGroup var options: RandomOptions

    var request: Command { .mask(.random(all: options.all)) }
}

struct SurpriseCommand: MaskCommand {
    static let configuration = CommandConfiguration(
        commandName: "surprise", abstract: "Give each person a random mask that is fit for work.")
    @OptionGroup var options: RandomOptions

    var request: Command { .mask(.surprise(all: options.all)) }
}
