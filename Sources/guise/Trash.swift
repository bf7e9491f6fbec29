import Control
import FoundationEssentials
import Glibc
import SystemKit

/// The user's trash, as file managers know it: the FreeDesktop Trash specification 1.0, in the home folder only.
struct Trash {
    /// The trash's folder; nil without a home folder.
    private let folder: String?

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        folder = UserFolder.data.path(in: environment).map { "\($0)/Trash" }
    }

    /// Moves a file to the trash.
    /// - Throws: `RequestError` if it cannot be moved, such as to another file system; then it stays where it is.
    func add(_ path: String) throws {
        func failure(_ why: String) -> RequestError {
            RequestError(.failed, "could not move \(path) to the trash: \(why); delete it with a file manager")
        }
        guard let folder else { throw failure("HOME is not set") }
        do {
            for part in ["files", "info"] { try makeOwnFolders("\(folder)/\(part)") }
        } catch { throw failure("\(error)") }
        let file = fileName(of: path)
        let date = localTime(format: "%Y-%m-%dT%H:%M:%S")
        let encoded = path.utf8.map(Self.encoded).joined()
        let info = "[Trash Info]\nPath=\(encoded)\nDeletionDate=\(date)\n"
        var number = 1
        while true {
            let name = number == 1 ? file : "\(file).\(number)"
            // The info file comes first and reserves the name.
            let note = "\(folder)/info/\(name).trashinfo"
            if !isTaken(note), !isTaken("\(folder)/files/\(name)") {
                do { try writeOwnFile(Array(info.utf8), to: note) } catch { throw failure("\(error)") }
                guard renameToNew(path, "\(folder)/files/\(name)") else {
                    let why = errorMessage(of: errno)
                    removeFile(note)
                    throw failure(why)
                }
                return
            }
            number += 1
        }
    }

    /// A byte of a path as the info file has it: percent-encoded like in a URL (RFC 2396).
    private static func encoded(_ byte: UInt8) -> String {
        let scalar = Unicode.Scalar(byte)
        let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || (48...57).contains(byte))
        if isPlain || "/-._~".utf8.contains(byte) { return String(scalar) }
        return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }
}
