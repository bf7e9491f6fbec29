import CLinux
import FoundationEssentials
import Frames
import Glibc

/// Where the control socket lies: `$XDG_RUNTIME_DIR/guise/control.sock`.
public enum ControlSocket {
    /// - Throws: `missing` without XDG_RUNTIME_DIR: a socket elsewhere would not be this user's alone.
    public static func path(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else {
            throw Problem(
                .missing, "there is no place for the control socket: XDG_RUNTIME_DIR is not set",
                cure: "log in through a session that sets it, or set it to a folder that is yours alone (0700)")
        }
        return "\(folder)/guise/control.sock"
    }

    /// Makes the folder of what one session's daemons leave for each other, for this user alone, and names it.
    /// - Throws: `missing` without XDG_RUNTIME_DIR, `system` where the folder is not ours.
    @discardableResult
    public static func makeFolder(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        let path = try path(environment: environment)
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        var status = stat()
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
            throw Problem(
                .system, "could not make the folder \(folder): \(message(of: errno))",
                cure: "set XDG_RUNTIME_DIR to a folder of this user")
        }
        guard unsafe lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == getuid(),
            unsafe chmod(folder, 0o700) == 0
        else {
            throw Problem(
                .system, "could not use the folder \(folder): it is not ours",
                cure: "set XDG_RUNTIME_DIR to a folder of this user")
        }
        return folder
    }
}

/// The end at which a daemon listens. The socket is removed with the value, unless systemd made it.
public struct Listener: ~Copyable, Sendable {
    let descriptor: CInt
    /// Nil: systemd's own.
    private let path: String?
    /// Held as long as the daemon lives, so that two that start at once do not both take a dead one's socket away.
    private let lock: CInt

    /// The descriptor that systemd hands over begins here (sd_listen_fds(3)).
    private static let firstActivated: CInt = 3

    /// Takes what systemd hands over, else makes the socket; one that a dead daemon left behind is replaced.
    /// - Throws: `busy` that names who listens there, `missing`, or `system`.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(Problem) {
        if let activated = Self.activated(environment) {
            (descriptor, path, lock) = (activated, nil, -1)
            return
        }
        let path = try ControlSocket.path(environment: environment)
        try ControlSocket.makeFolder(environment: environment)
        let lock = try Self.lock("\(path).lock", for: path)
        var made = unsafe clinux_local_listen(path)
        if made == -EADDRINUSE {
            let other = unsafe clinux_local_connect(path)
            if other >= 0 {
                defer { close(other) }
                let holder = Self.peer(of: other).map { processName($0.process) } ?? "another program"
                close(lock)
                throw Problem(
                    .busy, "could not listen at \(path): \(holder) already does",
                    cure: "use that one (`guise status`), or stop it (`guise stop`, "
                        + "`systemctl --user stop guise.socket guise.service`)")
            }
            if unsafe unlink(path) == 0 { made = unsafe clinux_local_listen(path) }
        }
        guard made >= 0 else {
            close(lock)
            throw Problem(
                .system, "could not listen at \(path): \(message(of: -made))",
                cure: made == -ENAMETOOLONG ? "set XDG_RUNTIME_DIR to a shorter path" : "look at that folder's owner")
        }
        (descriptor, self.path, self.lock) = (made, path, lock)
    }

    deinit {
        if let path { unsafe unlink(path) }
        close(descriptor)
        if lock >= 0 { close(lock) }
    }

    /// Who is at the other end of a connection.
    static func peer(of descriptor: CInt) -> (user: uid_t, process: pid_t)? {
        var (user, process) = (uid_t(), pid_t())
        guard unsafe clinux_local_peer(descriptor, &user, &process) == 0 else { return nil }
        return (user, process)
    }

    private static func activated(_ environment: [String: String]) -> CInt? {
        guard environment["LISTEN_PID"].flatMap({ Int32($0) }) == getpid(),
            let count = environment["LISTEN_FDS"].flatMap({ CInt($0) }), count > 0
        else { return nil }
        let found = (firstActivated..<firstActivated + min(count, 16)).first { clinux_local_listens($0) != 0 }
        guard let found else { return nil }
        // Children are no daemons.
        _ = fcntl(found, F_SETFD, FD_CLOEXEC)
        _ = fcntl(found, F_SETFL, O_NONBLOCK)
        return found
    }

    /// The kernel releases it when the daemon ends, however it ends.
    private static func lock(_ file: String, for path: String) throws(Problem) -> CInt {
        let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw Problem(.system, "could not open \(file): \(message(of: errno))", cure: "remove it")
        }
        guard clinux_flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            let holder = (try? contents(of: file, limit: 64)).flatMap {
                pid_t(String(decoding: $0, as: UTF8.self).filter(\.isNumber))
            }
            throw Problem(
                .busy, "could not listen at \(path): \(holder.map(processName) ?? "another guise") already does",
                cure: "use that one (`guise status`), or stop it first (`guise stop`)")
        }
        _ = ftruncate(descriptor, 0)
        let line = Array("\(getpid())\n".utf8)
        _ = unsafe pwrite(descriptor, line, line.count, 0)
        return descriptor
    }
}

/// "guise (4711)".
private func processName(_ process: pid_t) -> String {
    let name = (try? contents(of: "/proc/\(process)/comm", limit: 64)).map {
        String(decoding: $0, as: UTF8.self).filter { !$0.isNewline }
    }
    return "\(name ?? "a process") (\(process))"
}
