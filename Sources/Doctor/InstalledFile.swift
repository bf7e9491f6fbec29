import FoundationEssentials
import SystemKit

/// A shell for which Guise installs command completion.
public enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

/// A file that `guise install` writes into the user's folders.
///
/// Its last line is a checksum of the rest. It shows whether the user has edited the file, without a separate list of
/// installed files, and also to a newer Guise whose file would differ.
struct InstalledFile: Equatable {
    /// The absolute path, without `System.root`.
    let path: String
    let text: String

    enum State: Equatable {
        /// There is no file.
        case absent
        /// Written by Guise and not changed since.
        case ours
        /// Written by the user, or edited since Guise wrote it.
        case edited
    }

    init(path: String, body: String) {
        self.path = path
        let body = body.hasSuffix("\n") ? body : "\(body)\n"
        text = body + Self.checksumLine(of: body) + "\n"
    }

    /// The state of a file with this text; nil if there is no file.
    static func state(of text: String?) -> State {
        guard let text else { return .absent }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.popLast() == "", let last = lines.popLast() else { return .edited }
        return last == checksumLine(of: lines.joined(separator: "\n") + "\n") ? .ours : .edited
    }

    /// The checksum line: a comment in systemd units and in all three shells.
    private static func checksumLine(of body: String) -> String {
        "# written by guise install, check \(fingerprint(of: body))"
    }
}

extension System {
    /// The folder of the user's systemd units; nil without a home folder.
    var unitFolder: String? { path(.configuration).map { "\($0)/systemd/user" } }

    /// The user's completion file for a shell; nil without a home folder.
    func completionFile(_ shell: Shell) -> String? {
        switch shell {
        // The default of BASH_COMPLETION_USER_DIR in bash-completion.
        case .bash: path(.data).map { "\($0)/bash-completion/completions/guise" }
        // zsh has no default folder for a user's completions; this one must be added to fpath.
        case .zsh: path(.data).map { "\($0)/zsh/site-functions/_guise" }
        case .fish: path(.configuration).map { "\($0)/fish/completions/guise.fish" }
        }
    }
}
