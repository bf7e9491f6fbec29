import ArgumentParser
import Control
import Glibc
import SystemKit

/// `guise page`: opens the page of the running daemon, or starts one.
struct PageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "See yourself in the browser, and choose masks there.",
        discussion: """
            Opens the page, and prints its link on a terminal: whoever has the link can use the page. A browser that has \
            opened it once no longer needs it. If Guise isn't running, this starts it.
            """)

    @Flag(help: "Print the link, even if the output is not a terminal, and open nothing.")
    var noOpen = false
    @Flag(help: "Make a new link: the old one, and pages opened with it, stop working within seconds.")
    var revoke = false

    func run() throws {
        if revoke { try Paths().pageSecrets.revoke() }
        do {
            var client = try connectToDaemon()
            let link = terminalSafe(try client.perform(.service(.page), as: PageReply.self).address)
            // Others may be able to read a file or a pipe.
            if noOpen || isatty(STDOUT_FILENO) == 1 { print(link) }
            if !noOpen { Browser.open(link) }
        } catch is NoDaemon {
            // After `--revoke`, a missing daemon is not started: the option only replaces the secret.
            if !revoke { try Launcher.serve(AppContext(), page: noOpen ? .printed : .shown) }
        }
    }
}
