import ArgumentParser
import CLinux
import Control
import FoundationEssentials
import Frames
import Glibc

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
        groupedSubcommands: [CommandGroup(name: "To a running guise", subcommands: controlCommands)])

    /// The edge: every problem is shown here, once, in one line. Exit code 1 for problems, 3 where no daemon runs, 64 for
    /// wrong options.
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

/// One line on standard error.
func logError(_ what: any Error) { log("guise: \(what)", .error) }

/// How much a line matters, as the journal counts it (sd-daemon(3)).
enum LogLevel: Int { case error = 3, warning = 4, info = 6 }

/// The journal reads a line's priority from its beginning; a terminal would show it.
let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil

/// One line on standard error, without a name before it.
func log(_ line: String, _ priority: LogLevel = .info) {
    let prefix = isJournal ? "<\(priority.rawValue)>" : ""
    let bytes = Array("\(prefix)\(plain(line))\n".utf8)
    // A full disk or a closed terminal is no reason to end.
    _ = unsafe bytes.withUnsafeBufferPointer { unsafe clinux_write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Text on standard output, without a line's end, and at once: a pipe's reader waits for it, and other programs write there
/// too.
func printNow(_ text: String) {
    print(text, terminator: "")
    fflush(nil)
}

/// Text that may hold what a stranger wrote, in one line and without what a terminal would obey.
func plain(_ text: String) -> String {
    let most = 1000
    let shown = text.unicodeScalars.prefix(most).map { scalar in
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            ? "?" : Character(scalar)
    }
    return String(shown) + (text.unicodeScalars.count > most ? "..." : "")
}
