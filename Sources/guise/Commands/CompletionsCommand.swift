import ArgumentParser

/// `guise completions`: prints the completions of a shell, for shells whose folders `guise install` doesn't know.
struct CompletionsCommand: ParsableCommand {
    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish

        var script: String {
            switch self {
            case .bash: Guise.completionScript(for: .bash)
            case .zsh: Guise.completionScript(for: .zsh)
            case .fish: Guise.completionScript(for: .fish)
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print the completions for a shell: bash, zsh or fish.")
    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    func run() { print(shell.script) }
}
