import Control
import JSON

/// A command line that is only a request about masks or the picture: its name and, for some, masks. These are often
/// bound to keys, so they run without ArgumentParser, which takes longer than everything else.
struct QuickCommand {
    let command: Command

    /// - Parameter arguments: the command line without the program's name.
    /// - Returns: nil if ArgumentParser is needed: for options, other commands and errors.
    init?(_ arguments: [String]) {
        guard let name = arguments.first, !arguments.contains(where: { $0.hasPrefix("-") }) else { return nil }
        let request = JSON(["request": JSON(name)])
        let masks = arguments.dropFirst().map { JSON($0) }
        // A request takes one mask, a list of masks, or none.
        var forms = masks.isEmpty ? [request] : [request.with("masks", JSON(masks))]
        if masks.count == 1 { forms.append(request.with("mask", masks[0])) }
        let parsed = forms.lazy.compactMap { try? Request(id: nil, $0) }.first
        guard case .command(let command) = parsed?.content else { return nil }
        switch command {
        case .mask(.masks): return nil
        case .mask, .picture(.pause), .picture(.panic), .picture(.resume), .picture(.freeze): self.command = command
        case .look, .history, .thing, .picture, .device, .configuration, .service: return nil
        }
    }

    func run() throws {
        if case .mask = command {
            try printReply(to: command, as: WornReply.self)
        } else {
            try printReply(to: command, as: StateReply.self)
        }
    }
}
