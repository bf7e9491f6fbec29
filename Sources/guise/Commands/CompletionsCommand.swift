import ArgumentParser
import Doctor

extension Shell: ExpressibleByArgument {
    /// The completions of Guise's commands, in the shell's language.
    var completions: String {
        switch self {
        case .bash: Guise.completionScript(for: .bash)
        case .zsh: Guise.completionScript(for: .zsh)
        case .fish: Guise.completionScript(for: .fish)
        }
    }
}

/// `guise completions`: prints the completions of a shell, for shells whose folders `guise install` doesn't know.
struct CompletionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print the completions for a shell: bash, zsh or fish.")
    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    func run() { print(shell.completions) }
}
