import Control
import JSON

/// A command line that is only a request about masks or the picture: its name and, for some, a mask. These are often
/// bound to keys, so they run without ArgumentParser, which takes longer than everything else.
struct QuickCommand {
    let command: Command

    /// - Parameter arguments: the command line without the program's name.
    /// - Returns: nil if ArgumentParser is needed: for options, other commands and errors.
    init?(_ arguments: [String]) {
        guard let name = arguments.first, arguments.count <= 2, !arguments.contains(where: { $0.hasPrefix("-") }) else {
            return nil
        }
        let request = JSON(["request": JSON(name)])
        let parsed = try? Request(id: nil, arguments.count == 2 ? request.with("mask", JSON(arguments[1])) : request)
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
