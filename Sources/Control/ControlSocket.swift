import CLinux
import FoundationEssentials
import Glibc
import SystemKit

/// The location of the control socket: `$XDG_RUNTIME_DIR/guise/control.sock`.
public enum ControlSocket {
    /// The socket's path.
    /// - Throws: `Problem` of kind `missing` if XDG_RUNTIME_DIR is not set: a socket elsewhere could be open to other
    ///   users.
    public static func path(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        guard let path = UserFolder.controlSocket(in: environment) else {
            throw Problem(
                .missing, "no folder for the control socket: XDG_RUNTIME_DIR is not set",
                fix: "log in through a session that sets it, or set it to a folder that only you can access (0700)")
        }
        return path
    }

    /// Creates the runtime folder that the daemons of a session share, accessible to this user only.
    /// - Returns: the folder's path.
    /// - Throws: `Problem` of kind `missing` if XDG_RUNTIME_DIR is not set, `system` if the folder belongs to somebody
    ///   else.
    @discardableResult
    public static func makeFolder(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Problem) -> String {
        let path = try path(environment: environment)
        let folder = parentFolder(of: path)
        try makeOwnFolder(folder)
        // The folder may exist already, with wider permissions.
        guard unsafe chmod(folder, 0o700) == 0 else {
            throw Problem(.system, "could not restrict access to \(folder): \(errorMessage(of: errno))")
        }
        return folder
    }
}

/// The daemon's listening socket. The socket file is removed with the value, unless systemd created it.
public struct Listener: ~Copyable, Sendable {
    let descriptor: CInt
    /// The socket file; nil if systemd passed the socket.
    public let path: String?
    /// The lock file, locked while the daemon lives. It keeps two daemons that start at once from both replacing a dead
    /// daemon's socket. Nil if systemd passed the socket.
    private let lock: FileLock?

    /// The first descriptor that systemd passes (`SD_LISTEN_FDS_START` in sd_listen_fds(3)).
    private static let firstActivated: CInt = 3
    /// Milliseconds between two attempts.
    private static let pause = 50

    /// Uses the socket that systemd passed, or creates one. A socket left behind by a dead daemon is replaced.
    /// - Parameter timeout: milliseconds to wait for what a killed daemon leaves: a child that it was just starting has
    ///   its descriptors until it runs its program.
    /// - Throws: `Problem` of kind `busy` that names the process that listens there, `missing`, or `system`.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment, timeout: Int = 1500
    ) throws(Problem) {
        if let activated = Self.activated(environment) {
            (descriptor, path) = (activated, nil)
            lock = nil
            return
        }
        let path = try ControlSocket.path(environment: environment)
        try ControlSocket.makeFolder(environment: environment)
        let lock: FileLock
        do throws(FileLock.Failure) {
            lock = try FileLock("\(path).lock", timeout: timeout)
        } catch {
            switch error {
            case .held(let holder): throw Self.busy(path, holder)
            case .system(let code):
                throw Problem(.system, "could not lock \(path).lock: \(errorMessage(of: code))", fix: "remove it")
            }
        }
        var made = unsafe clinux_local_listen(path)
        var left = timeout
        while made == -EADDRINUSE {
            let other = unsafe clinux_local_connect(path, 1)
            guard other >= 0 else {
                if removeFile(path) { made = unsafe clinux_local_listen(path) }
                break
            }
            let holder = Self.peer(of: other)?.process
            close(other)
            guard left > 0, holder.map(Self.hasEnded) == true else {
                throw Self.busy(path, holder.map { "\(RunningProcess($0))" } ?? "another program")
            }
            left -= Self.pause
            usleep(UInt32(Self.pause) * 1000)
            made = unsafe clinux_local_listen(path)
        }
        guard made >= 0 else {
            throw Problem(
                .system, "could not listen at \(path): \(errorMessage(of: -made))",
                fix: made == -ENAMETOOLONG ? "set XDG_RUNTIME_DIR to a shorter path" : "check the owner of its folder")
        }
        (descriptor, self.path) = (made, path)
        self.lock = consume lock
    }

    deinit {
        if let path { removeFile(path) }
        close(descriptor)
    }

    private static func busy(_ path: String, _ holder: String) -> Problem {
        Problem(
            .busy, "could not listen at \(path): \(holder) already listens there",
            fix: "use that one (`guise status`), or stop it (`guise stop`, "
                + "`systemctl --user stop guise.socket guise.service`)")
    }

    /// Whether there is no such process any more.
    private static func hasEnded(_ process: pid_t) -> Bool { kill(process, 0) != 0 && errno == ESRCH }

    /// The user and process at the other end of a connection.
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
        // Child processes must not inherit the socket.
        _ = fcntl(found, F_SETFD, FD_CLOEXEC)
        _ = fcntl(found, F_SETFL, O_NONBLOCK)
        return found
    }
}
