import FoundationEssentials
import Frames

/// A shell that completes what is typed.
public enum Shell: String, CaseIterable, Sendable { case bash, zsh, fish }

/// A file that `guise install` writes into the user's folders.
///
/// Its last line is a mark over the rest, so that a file that the user has edited is known without a list of files kept
/// elsewhere, also by a newer Guise that would write another text.
struct InstalledFile: Equatable {
    /// Absolute, without `System.root`.
    let path: String
    let text: String

    enum State: Equatable {
        case absent
        /// Written by us and not touched since.
        case ours
        /// The user's own, or ours with the user's changes.
        case edited
    }

    init(path: String, body: String) {
        self.path = path
        let body = body.hasSuffix("\n") ? body : "\(body)\n"
        text = body + Self.mark(of: body) + "\n"
    }

    /// What stands at the path.
    static func state(of text: String?) -> State {
        guard let text else { return .absent }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.popLast() == "", let last = lines.popLast() else { return .edited }
        return last == mark(of: lines.joined(separator: "\n") + "\n") ? .ours : .edited
    }

    /// A comment in systemd's units and in all three shells.
    private static func mark(of body: String) -> String {
        // FNV-1a of 64 bits: it tells an edit, and guards against nobody.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in body.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "# written by guise install, check \(String(hash, radix: 16))"
    }
}

extension System {
    /// The folder of the user manager's units; nil without a home.
    var unitFolder: String? { base("XDG_CONFIG_HOME", ".config").map { "\($0)/systemd/user" } }

    /// Where a shell looks for completions of the user's own; nil without a home.
    func completionFile(_ shell: Shell) -> String? {
        switch shell {
        // bash-completion's default of BASH_COMPLETION_USER_DIR.
        case .bash: base("XDG_DATA_HOME", ".local/share").map { "\($0)/bash-completion/completions/guise" }
        // zsh has no folder of the user's own; this one must be named in fpath.
        case .zsh: base("XDG_DATA_HOME", ".local/share").map { "\($0)/zsh/site-functions/_guise" }
        case .fish: base("XDG_CONFIG_HOME", ".config").map { "\($0)/fish/completions/guise.fish" }
        }
    }
}
