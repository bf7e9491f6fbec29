import SystemKit

/// Replaces a small text file as a whole, and creates its folders. A link stays, and the file that it leads to is
/// replaced, or created if the link dangles: programs that manage dotfiles link `config.json` into a folder of theirs.
/// - Throws: `Problem` of kind `system` if it cannot be written, `unusable` if a link leads to itself.
func writeAtomically(_ text: String, to path: String) throws(Problem) {
    let target = try resolvedPath(of: path)
    do throws(Problem) {
        try makeOwnFolders(parentFolder(of: target))
        try replaceFile(Array(text.utf8), at: target)
    } catch {
        guard target != path else { throw error }
        throw Problem(error.kind, "\(path) leads to \(target): \(error.message)", fix: error.fix)
    }
}
