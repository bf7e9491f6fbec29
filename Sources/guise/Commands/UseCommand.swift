import ArgumentParser
import Control

extension SourceReply: PrintableReply {
    var line: String? { source }
}

struct UseCommand: ControlCommand {
    typealias Reply = SourceReply

    static let configuration = CommandConfiguration(commandName: "use", abstract: "Switch to another camera.")
    @Argument(help: "The camera's name or device node (see `guise devices`), `auto`, or `sample`.")
    var device: String

    var request: Command { .device(.use(device)) }
}
