import ArgumentParser
import Control
import Doctor
import JSON
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
            ReportCommand.self, CompletionsCommand.self, RequestsCommand.self, LandmarksCommand.self,
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
            if let request = QuickCommand(Array(CommandLine.arguments.dropFirst())) { return try request.run() }
            if let word = CommandLine.arguments.dropFirst().first, let problem = unknownCommand(word) {
                logError(problem)
                exit(withError: ExitCode.validationFailure)
            }
            var command = try parseAsRoot(withNegativeNumbers(Array(CommandLine.arguments.dropFirst())))
            try command.run()
        } catch let requestError as RequestError {
            logError(requestError)
            exit(withError: ExitCode.failure)
        } catch let noDaemon as NoDaemon {
            logError(noDaemon.problem)
            exit(withError: ExitCode(3))
        } catch let problem as Problem {
            logError(problem)
            exit(withError: ExitCode.failure)
        } catch {
            exit(withError: error)
        }
    }
}

extension Guise {
    /// The arguments of a command that sets a value, with a negative number behind all options: the parser would take
    /// it for one.
    static func withNegativeNumbers(_ arguments: [String]) -> [String] {
        guard ["camera", "set"].contains(arguments.first), !arguments.contains("--") else { return arguments }
        let numbers = arguments.filter { $0.hasPrefix("-") && Double($0) != nil }
        return numbers.isEmpty ? arguments : arguments.filter { !numbers.contains($0) } + ["--"] + numbers
    }

    /// Words that people try, and the commands that they mean.
    private static let meanings = [
        "mask": "masks", "list": "masks", "start": "run", "off": "clear", "on": "wear", "show": "wear",
        "hide": "remove", "put": "wear", "config": "set", "photo": "snapshot", "web": "page", "ui": "page",
        "quit": "stop", "exit": "stop", "check": "doctor", "favorite": "favourite", "blank": "panic",
    ]

    /// The error for a word that is no command, with the command that may be meant; nil for a command or an option.
    static func unknownCommand(_ word: String) -> Problem? {
        // Closures, because the compiler crashes on key paths of these types.
        let commands = configuration.ungroupedSubcommands + configuration.groupedSubcommands.flatMap { $0.subcommands }
        let names = commands.compactMap { $0.configuration.commandName } + ["help"]
        // A word with two hyphens before it is one of the parser's own, such as for completions.
        guard !word.hasPrefix("-"), !names.contains(word), !word.isEmpty else { return nil }
        let meant = meanings[word] ?? nearest(to: word, among: names)
        return Problem(
            .invalid, "no command '\(brief(word))'",
            fix: meant.map { "did you mean `guise \($0)`?" } ?? "list them with `guise --help`")
    }
}

/// The commands that send requests to the control socket.
let controlCommands: [any ParsableCommand.Type] = [
    StatusCommand.self, WatchCommand.self, RemoveCommand.self, ToggleCommand.self, OnlyCommand.self,
    NextCommand.self, PreviousCommand.self, ClearCommand.self, WearCommand.self, AddCommand.self, OrderCommand.self,
    RandomCommand.self, SurpriseCommand.self, LooksCommand.self, LookCommand.self, FavouriteCommand.self,
    UndoCommand.self, RedoCommand.self, SetCommand.self, PanicCommand.self, PauseCommand.self, ResumeCommand.self,
    FreezeCommand.self, SnapshotCommand.self, RecordCommand.self, TeachCommand.self, ForgetCommand.self,
    ThingsCommand.self, ReloadCommand.self, SaveCommand.self, UseCommand.self, CameraCommand.self, StopCommand.self,
]
