import ArgumentParser
import CLinux
import Control
import Foundation
import Frames

@main
struct Guise: ParsableCommand {
    static let version = "0.5"

    static let configuration = CommandConfiguration(
        commandName: "guise",
        abstract: "Hats, beards and masks on the faces in your webcam, live, in any video call.",
        version: version,
        subcommands: [
            RunCommand.self, ApplyCommand.self, TrackCommand.self, MasksCommand.self, DevicesCommand.self,
            BenchCommand.self, DoctorCommand.self, PageCommand.self, InstallCommand.self, UninstallCommand.self,
        ],
        groupedSubcommands: [CommandGroup(name: "For a running Guise", subcommands: controlCommands)])

    /// Runs a command. Every error is printed here, once, on one line. The exit code is 1 for errors, 3 if no daemon is
    /// running, and 64 for invalid options.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let requestError as RequestError {
            logError(requestError)
            exit(withError: ExitCode.failure)
        } catch let absence as NoDaemon {
            logError(absence.problem)
            exit(withError: ExitCode(3))
        } catch let problem as Problem {
            logError(problem)
            exit(withError: ExitCode.failure)
        } catch {
            exit(withError: error)
        }
    }
}

/// Prints an error as one line on standard error.
func logError(_ what: any Error) { log("guise: \(what)", .error) }

/// The severity of a log line, as the journal counts it (sd-daemon(3)).
enum LogLevel: Int { case error = 3, warning = 4, info = 6 }

/// Whether standard error is the journal, which reads a line's priority from its beginning. A terminal would show it.
let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

/// Prints one line on standard error, without the program's name.
func log(_ line: String, _ priority: LogLevel = .info) {
    let prefix = isJournal ? "<\(priority.rawValue)>" : ""
    let bytes = Array("\(prefix)\(plain(line))\n".utf8)
    // A full disk or a closed terminal does not end the program.
    _ = unsafe bytes.withUnsafeBufferPointer { unsafe clinux_write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Makes untrusted text safe for a terminal: one line, without control characters, of at most 1000 characters.
func plain(_ text: String) -> String {
    let most = 1000
    let shown = text.unicodeScalars.prefix(most).map { scalar in
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            ? "?" : Character(scalar)
    }
    return String(shown) + (text.unicodeScalars.count > most ? "..." : "")
}
