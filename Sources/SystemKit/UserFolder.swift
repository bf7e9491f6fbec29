/// The user's folders, by the XDG Base Directory Specification.
public enum UserFolder: CaseIterable, Sendable {
    case cache, configuration, data, state

    /// The variable that names the folder.
    public var variable: String {
        switch self {
        case .cache: "XDG_CACHE_HOME"
        case .configuration: "XDG_CONFIG_HOME"
        case .data: "XDG_DATA_HOME"
        case .state: "XDG_STATE_HOME"
        }
    }

    /// The folder's place below the home folder if the variable is not set.
    private var fallback: String {
        switch self {
        case .cache: ".cache"
        case .configuration: ".config"
        case .data: ".local/share"
        case .state: ".local/state"
        }
    }

    /// The folder's path; nil if neither the variable nor HOME is set. The specification has relative paths ignored.
    public func path(in environment: [String: String]) -> String? {
        if let folder = environment[variable], folder.hasPrefix("/") { return folder }
        return Self.home(in: environment).map { "\($0)/\(fallback)" }
    }

    /// The variable that names the folder for the sockets and locks of the user's session.
    public static let runtimeVariable = "XDG_RUNTIME_DIR"

    /// That folder's path; nil if the variable is not set, as su and sudo leave it.
    public static func runtime(in environment: [String: String]) -> String? {
        environment[runtimeVariable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// The folder that systemd creates for a user's sessions, whether the variable is set or not.
    public static func loginRuntime(of user: UInt32) -> String { "/run/user/\(user)" }

    /// The path of the control socket; nil if the variable is not set: a socket elsewhere could be open to other users.
    public static func controlSocket(in environment: [String: String]) -> String? {
        runtime(in: environment).map { "\($0)/guise/control.sock" }
    }

    /// The home folder's path; nil if HOME is not set.
    public static func home(in environment: [String: String]) -> String? {
        environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
