import ArgumentParser
import Control

/// `guise requests`: prints what programs can send to the control socket.
struct RequestsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requests", abstract: "List the requests that programs can send to the control socket.",
        discussion: "Each is one line of JSON: {\"request\": \"toggle\", \"mask\": \"santa\"}.")

    func run() {
        for (name, help) in Request.help {
            let keys = help.keys.isEmpty ? "" : " (\(help.keys))"
            print("\(name)\(keys)\n    \(help.meaning)".replacing("`", with: ""))
        }
    }
}
