import Control
import JSON

/// A command line that is just a request for masks or for the picture: its name and, for some, a mask. These are often
/// bound to keys, so they run without the parser of all commands, which takes longer than everything else.
struct PlainRequest {
    let command: Command

    /// - Parameter words: the command line without the program.
    /// - Returns: nil if the parser of all commands is needed: for options, other commands and mistakes.
    init?(_ words: [String]) {
        guard let name = words.first, words.count <= 2, !words.contains(where: { $0.hasPrefix("-") }) else {
            return nil
        }
        let request = JSON(["request": JSON(name)])
        let parsed = try? Request(id: nil, words.count == 2 ? request.with("mask", JSON(words[1])) : request)
        guard case .command(let command) = parsed?.content else { return nil }
        switch command {
        case .mask(.masks): return nil
        case .mask, .picture(.pause), .picture(.panic), .picture(.resume), .picture(.freeze): self.command = command
        case .look, .history, .picture, .device, .configuration, .service: return nil
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
