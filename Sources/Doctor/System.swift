import FoundationEssentials
import Frames
import Glibc
import V4L2

/// The machine as the checks see it. Everything comes through here, so that tests can make one up.
public struct System: Sendable {
    /// Stands before every path; empty on the real machine.
    public var root = ""
    public var environment: [String: String]
    /// Of the user who asks.
    public var user: UInt32
    /// All video nodes.
    public var devices: [DeviceListing]
    /// Guise's own files (`Cascades`, `systemd`, ...); nil where they were not found.
    public var shared: String?
    public var setting: Setting
    /// Whether another program has a camera's stream.
    public var isTaken: @Sendable (_ camera: String) -> Bool
    /// Runs a program and returns what it printed.
    public var run: @Sendable (_ arguments: [String]) -> Output
    /// Sends a line to a Unix socket and returns the line that comes back.
    public var query: @Sendable (_ socket: String, _ line: String) -> Answer

    /// What `config.json` says, as far as a camera's readers see it.
    public enum Setting: Equatable, Sendable {
        /// Width and height of the output in pixels; nil: no file, so the defaults.
        case read(file: String?, width: Int, height: Int)
        case broken(Problem)
    }

    /// What came of running a program.
    public enum Output: Equatable, Sendable {
        /// What it printed; it ended with 0.
        case text(String)
        /// It ended otherwise, or not in time.
        case failed
        /// It is not installed.
        case absent

        /// What it printed; nil where it could not do its work.
        public var text: String? {
            if case .text(let text) = self { text } else { nil }
        }
    }

    /// What came of asking a socket.
    public enum Answer: Equatable, Sendable {
        case line(String)
        /// Nobody listens.
        case refused
        /// Somebody listens and says nothing.
        case silent
    }

    /// A machine that is made up.
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

    /// This machine.
    public static func here(shared: String?, setting: Setting) -> System {
        System(
            environment: ProcessInfo.processInfo.environment, user: getuid(), devices: listDevices(), shared: shared,
            setting: setting, isTaken: cameraIsTaken, run: { runProgram($0) }, query: { querySocket($0, $1) })
    }
}

extension System {
    func has(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }

    func names(in folder: String) -> [String] { entries(of: root + folder) }

    func bytes(_ path: String) -> [UInt8]? { try? contents(of: root + path) }

    func text(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The first line of a small file; nil where there is none.
    func line(_ path: String) -> String? {
        text(path)?.split(separator: "\n", maxSplits: 1).first.map(String.init)
    }

    /// "6.1.0-31-amd64".
    var kernel: String { line("/proc/sys/kernel/osrelease") ?? "unknown" }

    /// Where a program is, by PATH; nil where it is not installed.
    func program(_ name: String) -> String? {
        let folders = environment["PATH"]?.split(separator: ":").map(String.init) ?? ["/usr/bin", "/bin"]
        return folders.lazy.map { "\($0)/\(name)" }.first { has($0) }
    }

    /// Programs of this user that have a node open.
    func holders(of node: String) -> [Holder] {
        Device.holders(of: node, processes: "\(root)/proc").map(Holder.init)
    }

    /// The folder of an XDG variable, else the one below the home; nil without either.
    func base(_ variable: String, _ fallback: String) -> String? {
        if let folder = environment[variable], folder.hasPrefix("/") { return folder }
        if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/\(fallback)" }
        return nil
    }

    /// `$XDG_RUNTIME_DIR`; nil where it is not set.
    var runtime: String? { environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    /// Fixes a session without one, as su and sudo leave it.
    var findRuntime: String {
        let folder = "/run/user/\(user)"
        return has(folder) ? "export XDG_RUNTIME_DIR=\(folder)" : "log in as this user, and not through su or sudo"
    }
    /// Where the daemon listens; nil without a runtime folder.
    var socket: String? { runtime.map { "\($0)/guise/control.sock" } }

    /// What the user manager says of a unit; nil where no manager answers.
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
    /// False where a service that asks for a user namespace would not start, as on Ubuntu since 24.04, whose AppArmor keeps
    /// them from users. True where no user manager can be asked.
    var hasUserNamespaces: Bool {
        let probe = ["systemd-run", "--user", "--quiet", "--wait"]
        return run(probe + ["--property=PrivateUsers=yes", "true"]).text != nil || run(probe + ["true"]).text == nil
    }
}

/// A program that has a node open: "firefox (1234)".
struct Holder: Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    var name: String { description.split(separator: " (").first.map(String.init) ?? description }
    var process: String { description.split(separator: "(").last?.split(separator: ")").first.map(String.init) ?? "" }
    var isGuise: Bool { name == "guise" }
    /// The session's media server, which looks at cameras for others.
    var isMediaServer: Bool { ["wireplumber", "pipewire", "pipewire-media-session"].contains(name) }
}

extension [Holder] {
    /// "firefox (12), zoom (34)".
    var list: String { map(\.description).joined(separator: ", ") }
}

/// A unit of systemd, by its properties (systemctl show).
struct Unit {
    let properties: [String: String]

    private func has(_ key: String, _ value: String) -> Bool { properties[key] == value }
    var isLoaded: Bool { has("LoadState", "loaded") }
    var isActive: Bool { has("ActiveState", "active") }
    var isStarting: Bool { has("ActiveState", "activating") }
    var hasFailed: Bool { has("ActiveState", "failed") }
    /// What it said last about itself; empty where it said nothing.
    var words: String { properties["StatusText"] ?? "" }
    /// "{ path=/usr/bin/guise ; argv[]=... }" holds the program.
    var program: String? {
        properties["ExecStart"]?.split(separator: " ").first { $0.hasPrefix("path=") }.map { String($0.dropFirst(5)) }
    }
}
