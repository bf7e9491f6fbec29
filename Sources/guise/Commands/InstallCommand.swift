import ArgumentParser
import Doctor
import Glibc
import SystemKit

/// The options of `install` and `uninstall`.
struct InstallOptions: ParsableArguments {
    @Flag(help: "Only print what would be done.")
    var dryRun = false
    @Flag(help: "Don't set up the virtual camera, which needs root.")
    var noModule = false
    @Flag(help: "Also replace or remove files that you have edited.")
    var force = false

    func installer() throws -> Installer {
        guard let program = realPath(of: "/proc/self/exe") else {
            throw Problem(.system, "/proc/self/exe cannot be read", fix: "mount /proc")
        }
        var options = Installer.Options()
        (options.isDryRun, options.includesModule, options.force) = (dryRun, !noModule, force)
        let hasTerminal = isatty(STDIN_FILENO) == 1
        let user = Installer.Console(
            print: { printNow("\(terminalSafe($0))\n") }, confirm: hasTerminal ? { confirm($0) } : nil,
            runInTerminal: { ChildProcess.runInTerminal($0) })
        return try Installer(
            .here(shared: try Paths().shared, setting: .read(file: nil, width: 0, height: 0)), program: program,
            completions: Dictionary(uniqueKeysWithValues: Shell.allCases.map { ($0, $0.completions) }),
            options: options, user: user)
    }
}

/// Asks a question that is answered with yes or no. Anything else means no.
func confirm(_ question: String) -> Bool {
    printNow(question)
    return ["y", "Y", "yes"].contains(readLine() ?? "")
}

/// `guise install`: installs the service, the completions, and the module's options.
struct InstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Set up the service, completions and the virtual camera for this user.",
        discussion: "Shows the commands that need root, and asks before it runs them.")

    @OptionGroup var options: InstallOptions

    func run() throws { try options.installer().install() }
}

/// `guise uninstall`: removes what `guise install` installed.
struct UninstallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall", abstract: "Remove what `guise install` set up. What you have made stays.")

    @OptionGroup var options: InstallOptions

    func run() throws { try options.installer().uninstall() }
}
