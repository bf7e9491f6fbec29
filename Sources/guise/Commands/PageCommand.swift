import ArgumentParser
import Control
import Foundation
import JSON

/// `guise page`: the page of the running daemon, else of one that runs from now on.
struct PageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "See yourself in the browser, and choose masks there.",
        discussion: """
            Opens the page, and prints its link on a terminal: whoever has the link can use the page. A browser that has \
            opened it once needs it no more. If Guise isn't running, this starts it.
            """)

    @Flag(help: "Print the link, wherever the output goes, and open nothing.")
    var noOpen = false
    @Flag(help: "Make a new link: the old one, and pages opened with it, stop working within seconds.")
    var revoke = false

    func run() throws {
        if revoke { try Paths().pageSecrets.revoke() }
        do {
            var client = try connectToDaemon()
            let link = plain(try client.perform(JSON(["request": "page"]))["address"]?.string ?? "")
            // A file or a pipe may be read by others.
            if noOpen || isatty(STDOUT_FILENO) == 1 { print(link) }
            if !noOpen { Browser.open(link) }
        } catch is NoDaemon {
            // There is nobody to open it anew for.
            if !revoke { try RunCommand.serve(AppContext(), page: noOpen ? .printed : .shown) }
        }
    }
}
