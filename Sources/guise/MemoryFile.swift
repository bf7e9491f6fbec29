import CLinux
import Glibc
import SystemKit

/// An anonymous file in memory, for bytes that another program is to read.
struct MemoryFile: ~Copyable {
    private let descriptor: CInt

    /// The path by which this process and its children can open the file.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Writes bytes to a new file.
    /// - Parameter what: the bytes' name for messages: "a photo".
    /// - Throws: `Problem` of kind `system` if there is not enough memory.
    init(_ bytes: [UInt8], what: String) throws(Problem) {
        descriptor = unsafe clinux_memory_file("guise")
        guard descriptor >= 0 else {
            throw Problem(.system, "no memory for \(what): \(errorMessage(of: -descriptor))")
        }
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer {
                unsafe write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written)
            }
            guard count > 0 else { throw Problem(.system, "no memory for \(what): \(errorMessage(of: errno))") }
            written += count
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
