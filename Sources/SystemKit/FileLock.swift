import CLinux
import Glibc

/// An exclusive lock on a file (flock(2)), held by one process at a time; the file contains that process's id.
///
/// The kernel releases the lock when the process and all children that inherited the descriptor have ended, whatever
/// ended them. The file itself is not deleted.
public struct FileLock: ~Copyable, Sendable {
    /// The reason why the lock was not acquired.
    public enum Failure: Error {
        /// Another process holds the lock: "guise (4711)".
        case held(by: String)
        /// The file cannot be opened or locked; the value is an `errno`.
        case system(CInt)
    }

    /// The locked file's descriptor, for a child process that is to hold the lock too.
    public let descriptor: CInt

    /// Milliseconds between two attempts.
    private static let pause = 50

    /// Acquires the lock.
    /// - Parameters:
    ///   - path: the lock file, which is created if it doesn't exist.
    ///   - timeout: milliseconds to wait for a process that is about to release the lock.
    /// - Throws: `Failure` if another process holds the lock, or the file cannot be opened or locked.
    public init(_ path: String, timeout: Int = 0) throws(Failure) {
        // Symbolic links are not followed, and opening a pipe doesn't block.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw .system(errno) }
        var left = timeout
        while clinux_flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EWOULDBLOCK, left > 0 {
                left -= Self.pause
                usleep(UInt32(Self.pause) * 1000)
                continue
            }
            close(descriptor)
            guard code == EWOULDBLOCK else { throw .system(code) }
            throw .held(
                by: firstLine(ofFile: path).flatMap { CInt($0) }.map { "\(RunningProcess($0))" } ?? "another guise")
        }
        _ = ftruncate(descriptor, 0)
        let line = Array("\(getpid())\n".utf8)
        _ = unsafe pwrite(descriptor, line, line.count, 0)
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
