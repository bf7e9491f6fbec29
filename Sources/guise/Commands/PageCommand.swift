import ArgumentParser
import Control
import Doctor
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
    @OptionGroup var logOptions: LogOptions

    func run() throws {
        if revoke { try Paths().pageSecrets.revoke() }
        if try open() { return }
        // After `--revoke`, a missing daemon is not started: the option only replaces the secret.
        guard !revoke else { return }
        // The service is preferred: it outlives the terminal or launcher, and a second start finds the first.
        let system = System.here(shared: nil, setting: .read(file: nil, width: 0, height: 0), devices: [])
        if system.startSocket(), try open() { return }
        try Launcher.serve(AppContext(), Launcher.Options(page: noOpen ? .printed : .shown))
    }

    /// Opens the page of the running daemon.
    /// - Returns: false if there is no daemon.
    private func open() throws -> Bool {
        do {
            var client = try connectToDaemon()
            let link = terminalSafe(try client.perform(.service(.page), as: PageReply.self).address)
            // Others may be able to read a file or a pipe.
            if noOpen || isatty(STDOUT_FILENO) == 1 { print(link) }
            if !noOpen { Browser.open(link) }
            return true
        } catch is NoDaemon {
            return false
        }
    }
}
