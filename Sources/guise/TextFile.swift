import SystemKit

/// Replaces a small text file as a whole, and creates its folders. A link stays, and the file that it leads to is
/// replaced, or created if the link dangles: programs that manage dotfiles link `config.json` into a folder of theirs.
/// - Parameter mayReplace: asked right before the file is replaced.
/// - Returns: what was written, whoever has changed it since; nil if the file might not be replaced, and was not.
/// - Throws: `Problem` of kind `system` if it cannot be written, `unusable` if a link leads to itself.
@discardableResult
func writeAtomically(
    _ text: String, to path: String, if mayReplace: () -> Bool = { true }
) throws(Problem) -> FileVersion? {
    let target = try resolvedPath(of: path)
    do throws(Problem) {
        try makeOwnFolders(parentFolder(of: target))
        var version = try replaceFile(Array(text.utf8), at: target, if: mayReplace)
        version?.path = path
        return version
    } catch {
        guard target != path else { throw error }
        throw Problem(error.kind, "\(path) leads to \(target): \(error.message)", fix: error.fix)
    }
}
