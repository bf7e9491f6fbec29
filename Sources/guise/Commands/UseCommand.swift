import ArgumentParser
import Control
import SystemKit

extension SourceReply: PrintableReply {
    var line: String? { source }
}

struct UseCommand: ControlCommand {
    typealias Reply = SourceReply

    static let configuration = CommandConfiguration(commandName: "use", abstract: "Switch to another camera.")
    @Argument(help: "The camera's name or device node (see `guise devices`), `auto`, `sample`, or a photo or clip.")
    var device: String

    var request: Command {
        // A camera's name may have such characters too.
        let isFile = device.contains { "/.".contains($0) } && isReadable(device)
        return .device(.use(isFile ? absolute(device) : device))
    }
}
