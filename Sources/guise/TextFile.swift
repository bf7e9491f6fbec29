import FoundationEssentials
import SystemKit

/// Replaces a small text file as a whole, and creates its folders. A link stays, and the file that it leads to is
/// replaced.
/// - Throws: `Problem` of kind `system` if it cannot be written.
func writeAtomically(_ text: String, to path: String) throws {
    let path = realPath(of: path) ?? path
    let file = URL(fileURLWithPath: path)
    do {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    } catch {
        let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
        throw Problem(
            .system, "could not write \(path): \(code.map { errorMessage(of: $0) } ?? "\(error)")",
            fix: "check the owner of its folder, and the free space")
    }
}
