import ArgumentParser
import Control
import SystemKit

@main
struct Guise: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guise",
        abstract: "Hats, beards and masks on the faces in your webcam, live, in any video call.",
        version: guiseVersion,
        subcommands: [
            RunCommand.self, ApplyCommand.self, TrackCommand.self, MasksCommand.self, DevicesCommand.self,
            BenchCommand.self, DoctorCommand.self, PageCommand.self, InstallCommand.self, UninstallCommand.self,
        ],
        groupedSubcommands: [CommandGroup(name: "To a running guise", subcommands: controlCommands)])

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
