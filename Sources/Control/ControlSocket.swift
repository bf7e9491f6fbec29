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
                fix: "log in through a session that sets it, or set it to a folder that is yours alone (0700)")
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
        try makeOwnFolder(folder)
        // Whoever made it made it for others too.
        guard unsafe chmod(folder, 0o700) == 0 else {
            throw Problem(.system, "could not keep others out of \(folder): \(errorMessage(of: errno))")
        }
        return folder
    }
}

/// The end at which a daemon listens. The socket is removed with the value, unless systemd made it.
public struct Listener: ~Copyable, Sendable {
    let descriptor: CInt
    /// Nil: systemd's own.
    private let path: String?
    /// Held as long as the daemon lives, so that two that start at once do not both take a dead one's socket away. Nil:
    /// systemd sees to that.
    private let lock: FileLock?

    /// The descriptor that systemd hands over begins here (sd_listen_fds(3)).
    private static let firstActivated: CInt = 3

    /// Takes what systemd hands over, else makes the socket; one that a dead daemon left behind is replaced.
    /// - Throws: `busy` that names who listens there, `missing`, or `system`.
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(Problem) {
        if let activated = Self.activated(environment) {
            (descriptor, path) = (activated, nil)
            lock = nil
            return
        }
        let path = try ControlSocket.path(environment: environment)
        try ControlSocket.makeFolder(environment: environment)
        let lock: FileLock
        do throws(FileLock.Failure) {
            lock = try FileLock("\(path).lock")
        } catch {
            switch error {
            case .held(let holder): throw Self.busy(path, holder)
            case .system(let code):
                throw Problem(.system, "could not lock \(path).lock: \(errorMessage(of: code))", fix: "remove it")
            }
        }
        var made = unsafe clinux_local_listen(path)
        if made == -EADDRINUSE {
            let other = unsafe clinux_local_connect(path)
            if other >= 0 {
                defer { close(other) }
                let holder = Self.peer(of: other).map { processName($0.process) } ?? "another program"
                throw Self.busy(path, holder)
            }
            if unsafe unlink(path) == 0 { made = unsafe clinux_local_listen(path) }
        }
        guard made >= 0 else {
            throw Problem(
                .system, "could not listen at \(path): \(errorMessage(of: -made))",
                fix: made == -ENAMETOOLONG ? "set XDG_RUNTIME_DIR to a shorter path" : "look at that folder's owner")
        }
        (descriptor, self.path) = (made, path)
        self.lock = consume lock
    }

    deinit {
        if let path { unsafe unlink(path) }
        close(descriptor)
    }

    private static func busy(_ path: String, _ holder: String) -> Problem {
        Problem(
            .busy, "could not listen at \(path): \(holder) already does",
            fix: "use that one (`guise status`), or stop it (`guise stop`, "
                + "`systemctl --user stop guise.socket guise.service`)")
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
}
