import ArgumentParser
import Control
import Doctor
import SystemKit

@main
struct Guise: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guise",
        abstract: "Hats, beards and masks on the faces in your webcam, live, in any video call.",
        version: guiseCommit.isEmpty ? guiseVersion : "\(guiseVersion) (\(guiseCommit))",
        subcommands: [
            RunCommand.self, ApplyCommand.self, TrackCommand.self, MasksCommand.self, DevicesCommand.self,
            BenchCommand.self, DoctorCommand.self, PageCommand.self, InstallCommand.self, UninstallCommand.self,
            LandmarksCommand.self,
        ],
        groupedSubcommands: [CommandGroup(name: "To a running guise", subcommands: controlCommands)])

    /// Without a subcommand: what is there, and what to do next.
    func run() throws {
        let system = System.here(shared: (try? Paths())?.shared, setting: .current())
        for line in system.firstSteps { print(terminalSafe(line)) }
    }

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

/// The commands that send requests to the control socket.
let controlCommands: [any ParsableCommand.Type] = [
    StatusCommand.self, WatchCommand.self, ShowCommand.self, HideCommand.self, ToggleCommand.self, OnlyCommand.self,
    NextCommand.self, PreviousCommand.self, ClearCommand.self, WearCommand.self, RandomCommand.self,
    SurpriseCommand.self, SetCommand.self, PauseCommand.self, ResumeCommand.self, FreezeCommand.self,
    SnapshotCommand.self, RecordCommand.self, ReloadCommand.self, SaveCommand.self, UseCommand.self, StopCommand.self,
]
