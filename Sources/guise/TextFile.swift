import FoundationEssentials
import SystemKit

/// Replaces a small text file as a whole, and creates its folders. A link stays, and the file that it leads to is
/// replaced, or created if the link dangles: programs that manage dotfiles link `config.json` into a folder of theirs.
/// - Throws: `Problem` of kind `system` if it cannot be written, `unusable` if a link leads to itself.
func writeAtomically(_ text: String, to path: String) throws {
    let target = try resolvedPath(of: path)
    let file = URL(fileURLWithPath: target)
    do {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    } catch {
        let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
        let link = target == path ? "" : ", where \(path) leads"
        throw Problem(
            .system, "could not write \(target)\(link): \(code.map { errorMessage(of: $0) } ?? "\(error)")",
            fix: "check the owner of its folder, and the free space")
    }
}
