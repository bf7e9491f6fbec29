import CLinux
import Glibc
import SystemKit

/// An anonymous file in memory (memfd), which becomes the input of a child process.
struct MemoryFile: ~Copyable {
    private let descriptor: CInt

    /// The path by which this process can open the file.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Writes bytes to a new file.
    /// - Parameter what: what the bytes are, for messages: "a photo".
    /// - Throws: `Problem` of kind `system` if there is not enough memory, or no free descriptor.
    init(_ bytes: [UInt8], what: String) throws(Problem) {
        func failed(_ error: CInt) -> Problem {
            Problem(.system, "cannot keep \(what) in memory: \(errorMessage(of: error))")
        }
        let made = unsafe clinux_memory_file("guise")
        guard made >= 0 else { throw failed(-made) }
        guard writeAll(bytes.span, to: made) else {
            let error = errno
            close(made)
            throw failed(error)
        }
        descriptor = made
    }

    deinit { close(descriptor) }
}
