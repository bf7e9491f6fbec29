import CLinux
import Glibc

/// A file that one process at a time holds (flock(2)), with its number in it. The kernel lets go of it when that process,
/// and all that inherited it, have ended, however they end; the file stays.
public struct FileLock: ~Copyable, Sendable {
    /// Why there is no lock.
    public enum Failure: Error {
        /// Another process has it: "guise (4711)".
        case held(by: String)
        /// The file cannot be opened, or not be locked; an error number.
        case system(CInt)
    }

    /// For a child that holds it too.
    public let descriptor: CInt

    /// Milliseconds between two tries.
    private static let pause = 50

    /// - Parameter patience: milliseconds to wait for one who is about to let go.
    public init(_ path: String, patience: Int = 0) throws(Failure) {
        // Not what a link leads to, nor a pipe that would be waited for.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw .system(errno) }
        var left = patience
        while clinux_flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EWOULDBLOCK, left > 0 {
                left -= Self.pause
                usleep(UInt32(Self.pause) * 1000)
                continue
            }
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .system(code) }
            throw .held(by: firstLine(ofFile: path).flatMap { CInt($0) }.map { processName($0) } ?? "another guise")
        }
        _ = ftruncate(descriptor, 0)
        let line = Array("\(getpid())\n".utf8)
        _ = unsafe pwrite(descriptor, line, line.count, 0)
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
