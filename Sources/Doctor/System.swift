import FoundationEssentials
import Glibc
import SystemKit
import V4L2

/// The machine, as the checks see it. Checks reach the machine only through this type, so that tests can replace it.
public struct System: Sendable {
    /// A prefix for every path; empty on the real machine.
    public var root = ""
    public var environment: [String: String]
    /// The numeric id of the user who runs the command.
    public var user: UInt32
    /// All video device nodes.
    public var devices: [DeviceListing]
    /// The folder of Guise's own files (`Cascades`, `systemd`, ...); nil if it was not found.
    public var shared: String?
    public var setting: Setting
    /// Whether another program streams from a camera.
    public var isTaken: @Sendable (_ camera: String) -> Bool
    /// Runs a program and returns its output.
    public var run: @Sendable (_ arguments: [String]) -> Output
    /// Sends one line to a Unix socket and returns the reply line.
    public var query: @Sendable (_ socket: String, _ line: String) -> Answer

    /// The part of `config.json` that the checks need.
    public enum Setting: Equatable, Sendable {
        /// The file, and the width and height of the output in pixels. Without a file (nil), the defaults.
        case read(file: String?, width: Int, height: Int)
        /// The file could not be read.
        case broken(Problem)
    }

    /// The result of running a program.
    public enum Output: Equatable, Sendable {
        /// The program's standard output; its exit status was 0.
        case text(String)
        /// The program exited with another status, or ran too long.
        case failed
        /// The program is not installed.
        case absent

        /// The program's output; nil if it is not installed or failed.
        public var text: String? {
            if case .text(let text) = self { text } else { nil }
        }
    }

    /// The result of a request to a socket.
    public enum Answer: Equatable, Sendable {
        /// The reply line.
        case line(String)
        /// No process listens at the socket.
        case refused
        /// A process listens, but did not reply.
        case silent
    }

    /// Creates a description of a machine, for tests.
    public init(
        root: String = "", environment: [String: String], user: UInt32, devices: [DeviceListing] = [],
        shared: String? = nil, setting: Setting = .read(file: nil, width: 1280, height: 720),
        isTaken: @escaping @Sendable (String) -> Bool = { _ in false },
        run: @escaping @Sendable ([String]) -> Output = { _ in .absent },
        query: @escaping @Sendable (String, String) -> Answer = { _, _ in .refused }
    ) {
        (self.root, self.environment, self.user, self.devices) = (root, environment, user, devices)
        (self.shared, self.setting, self.isTaken, self.run, self.query) = (shared, setting, isTaken, run, query)
    }

    /// The machine that this program runs on.
    /// - Parameter devices: its video devices; listing them opens each.
    public static func here(
        shared: String?, setting: Setting, devices: [DeviceListing] = listDevices()
    ) -> System {
        System(
            environment: ProcessInfo.processInfo.environment, user: getuid(), devices: devices, shared: shared,
            setting: setting, isTaken: cameraIsTaken, run: { runProgram($0) }, query: { querySocket($0, $1) })
    }
}

extension System {
    func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }

    /// Whether the Debian package is installed.
    var isPackaged: Bool { has("/usr/lib/systemd/user/guise.socket") }

    func names(in folder: String) -> [String] { entries(of: root + folder) }

    func bytes(_ path: String) -> [UInt8]? { try? contents(of: root + path) }

    func text(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The first line of a small file; nil if the file does not exist.
    func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n", maxSplits: 1).first.map(String.init)
    }

    /// The release of the running kernel: "6.1.0-31-amd64".
    var kernel: String { line("/proc/sys/kernel/osrelease") ?? "unknown" }

    /// The path of a program found through PATH; nil if it is not installed.
    func program(_ name: String) -> String? {
        let folders = environment["PATH"]?.split(separator: ":").map(String.init) ?? ["/usr/bin", "/bin"]
        return folders.lazy.map { "\($0)/\(name)" }.first { has($0) }
    }

    /// The processes of this user that have a device node open; this one too, which may be the daemon.
    func holders(of node: String) -> [RunningProcess] {
        Device.holders(of: node, processes: "\(root)/proc", includesOwn: true)
    }

    /// Whether the kernel shows what other processes of this user have open. In a user namespace, such as that of the
    /// service, it does not, and not all users are mapped (user_namespaces(7)).
    var showsHolders: Bool { line("/proc/self/uid_map")?.contains("\(UInt32.max)") ?? true }

    /// What messages call a program that holds a device and is not among its holders.
    var unseenHolder: String {
        let program = showsHolders ? "another user's program" : "another program"
        return relays.isEmpty ? program : "\(program), maybe \(relays.joined(separator: ", "))"
    }

    /// The programs that copy a camera's pictures into a loopback of their own, by the names that they have in /proc.
    private static let relayPrograms = ["v4l2-relayd"]

    /// The running relays of all users: the service's unit, or else the process.
    var relays: [String] {
        let processes = names(in: "/proc").compactMap { CInt($0) }.sorted()
        let running = processes.map { RunningProcess($0, processes: "\(root)/proc") }
        var found: [String] = []
        for relay in running.filter({ Self.relayPrograms.contains($0.name) }).map({ unit(of: $0) ?? $0.description })
        where !found.contains(relay) {
            found.append(relay)
        }
        return found
    }

    /// The name of the service that a process belongs to; nil: none. It ends the path of the process's control group.
    private func unit(of process: RunningProcess) -> String? {
        let name = line("/proc/\(process.id)/cgroup")?.split(separator: "/").last.map(String.init)
        return name?.hasSuffix(".service") ?? false ? name : nil
    }

    /// One of the user's folders; nil without a home folder.
    func path(_ folder: UserFolder) -> String? { folder.path(in: environment) }

    /// `$XDG_RUNTIME_DIR`; nil if it is not set.
    var runtime: String? { UserFolder.runtime(in: environment) }
    /// The command or instruction that fixes a session without XDG_RUNTIME_DIR, as su and sudo leave it.
    var findRuntime: String {
        let folder = UserFolder.loginRuntime(of: user)
        return has(folder) ? "export XDG_RUNTIME_DIR=\(folder)" : "log in as this user, not through su or sudo"
    }
    /// The path of the control socket; nil without a runtime folder.
    var socket: String? { UserFolder.controlSocket(in: environment) }

    /// A unit's state, from the user's systemd; nil if no user manager answers.
    func unit(_ name: String) -> Unit? {
        guard let text = run(["systemctl", "--user", "show", name]).text else { return nil }
        var properties: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let key = line.prefix { $0 != "=" }
            properties[String(key)] = String(line.dropFirst(key.count + 1))
        }
        return Unit(properties: properties)
    }
}

extension System {
    /// Whether a service may have its own user namespace. False on systems such as Ubuntu since 24.04, where AppArmor
    /// denies them to users, so that a service which needs one would not start. True if no user manager answers.
    var hasUserNamespaces: Bool {
        let probe = ["systemd-run", "--user", "--quiet", "--wait"]
        return run(probe + ["--property=PrivateUsers=yes", "true"]).text != nil || run(probe + ["true"]).text == nil
    }
}

extension RunningProcess {
    var isGuise: Bool { name == "guise" }
    /// Whether the process is the session's media server, which opens cameras for other programs.
    var isMediaServer: Bool { ["wireplumber", "pipewire", "pipewire-media-session"].contains(name) }
}

extension [RunningProcess] {
    /// The processes as a list: "firefox (12), zoom (34)".
    var list: String { map(\.description).joined(separator: ", ") }
}

/// A systemd unit, described by its properties (`systemctl show`).
struct Unit {
    let properties: [String: String]

    private func has(_ key: String, _ value: String) -> Bool { properties[key] == value }
    var isLoaded: Bool { has("LoadState", "loaded") }
    var isActive: Bool { has("ActiveState", "active") }
    var isStarting: Bool { has("ActiveState", "activating") }
    var hasFailed: Bool { has("ActiveState", "failed") }
    /// The unit's last status message; empty if it has none.
    var statusText: String { properties["StatusText"] ?? "" }
    /// The path of the program that the unit starts, from "{ path=/usr/bin/guise ; argv[]=... }".
    var program: String? {
        properties["ExecStart"]?.split(separator: " ").first { $0.hasPrefix("path=") }.map { String($0.dropFirst(5)) }
    }
}
