import CLinux
import FoundationEssentials
import Frames
import Glibc

/// Keeps this user's other processes from writing to the same loopback: old drivers let two writers mix their frames.
///
/// The kernel releases it when the process and its guard end, however they end. The file stays, with the last holder's number.
public struct DeviceLock: ~Copyable {
    /// For the guard, which holds it a moment longer.
    public let descriptor: CInt

    /// Milliseconds in which the guard of a writer that crashed is done with the device.
    private static let patience = 1500

    /// - Parameters:
    ///   - device: the node; its last component names the lock.
    ///   - folder: where lock files lie, see `runtimeFolder`.
    /// - Throws: `Problem` of kind `busy` that names the holder, or `system`.
    public init(device: String, folder: String) throws(Problem) {
        let path = "\(folder)/\(Device.node(of: device)).lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw Problem(
                .system, "could not open the lock file \(path): \(errorText(errno))",
                cure: "remove it, or set XDG_RUNTIME_DIR to a folder of this user")
        }
        var tries = Self.patience / 50
        while clinux_flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            tries -= 1
            if code == EWOULDBLOCK, tries > 0 {
                usleep(50_000)
                continue
            }
            close(descriptor)
            guard code == EWOULDBLOCK else {
                throw Problem(.system, "could not lock \(path): \(errorText(code))")
            }
            let holder = firstLine(ofFile: path).flatMap { CInt($0) }.map { processName($0) } ?? "another guise"
            throw Problem(
                .busy, "could not write to \(device): \(holder) already does",
                cure: "stop it, or name another loopback with --sink")
        }
        _ = ftruncate(descriptor, 0)
        let line = Array("\(getpid())\n".utf8)
        _ = unsafe line.withUnsafeBufferPointer { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// The folder for locks and sockets, made where it is missing: `$XDG_RUNTIME_DIR/guise`, `/run/user/UID/guise` or
    /// `/tmp/guise-UID`.
    /// - Throws: `Problem` of kind `system` where none can be made that belongs to this user alone.
    public static func runtimeFolder(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        let user = getuid()
        let parents = [environment["XDG_RUNTIME_DIR"] ?? "", "/run/user/\(user)"]
        let parent = parents.first { unsafe $0.hasPrefix("/") && access($0, W_OK) == 0 }
        let folder = parent.map { "\($0)/guise" } ?? "/tmp/guise-\(user)"
        let made = unsafe mkdir(folder, 0o700) == 0
        let code = errno
        var status = stat()
        // Not somebody else's folder, nor a link to one: /tmp belongs to all.
        let isOurs = unsafe lstat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR && status.st_uid == user
        guard made || isOurs else {
            throw Problem(
                .system, "could not use the folder \(folder): \(code == EEXIST ? "it is not ours" : errorText(code))",
                cure: "set XDG_RUNTIME_DIR to a folder of this user")
        }
        return folder
    }
}
