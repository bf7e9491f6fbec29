import Frames

/// What a check found: one line for the user.
public struct Finding: Equatable, Sendable {
    /// How bad it is. A warning keeps nobody from a call, or only some programs.
    public enum State: String, Codable, Sendable { case ok, warning, error }

    public let state: State
    /// What is the case, a sentence without a full stop.
    public let message: String
    /// The one command that fixes it, or what to do where no command can; empty where all is well.
    public let fix: String

    static func ok(_ message: String) -> Finding { Finding(state: .ok, message: message, fix: "") }
    static func warning(_ message: String, fix: String) -> Finding {
        Finding(state: .warning, message: message, fix: fix)
    }
    static func error(_ message: String, fix: String) -> Finding { Finding(state: .error, message: message, fix: fix) }
}

/// One thing that keeps people from a masked camera.
public struct Check: Sendable {
    /// A word or two.
    public let name: String
    /// Looks; nil where another check's error leaves nothing to look at. It changes nothing.
    public let probe: @Sendable (System) -> Finding?

    init(_ name: String, _ probe: @escaping @Sendable (System) -> Finding?) { (self.name, self.probe) = (name, probe) }

    /// All, in the order in which they are best fixed.
    public static let all: [Check] = [
        .module, .kernel, .version, .secureBoot, .permission,
        .device, .exclusiveCaps, .capabilities, .label, .size, .writer, .readers,
        .camera, .cascades, .landmarks, .ffmpeg, .configuration,
        .service, .socket, .pipeWire, .snap, .flatpak,
    ]
}

/// What all checks found.
public struct Report: Encodable, Sendable {
    /// What one check found.
    public struct Line: Encodable, Sendable {
        /// The check's name.
        public let check: String
        /// How bad it is.
        public let state: Finding.State
        /// What is the case.
        public let message: String
        /// Empty where all is well.
        public let fix: String
    }

    /// In the order in which they are best fixed.
    public let checks: [Line]
    public let errors: Int
    public let warnings: Int

    /// Runs the checks.
    public init(_ system: System, checks: [Check] = Check.all) {
        self.checks = checks.compactMap { check in
            check.probe(system).map { Line(check: check.name, state: $0.state, message: $0.message, fix: $0.fix) }
        }
        errors = self.checks.count { $0.state == .error }
        warnings = self.checks.count { $0.state == .warning }
    }

    /// One line for each check, in columns.
    public var lines: [String] {
        let wide = checks.map(\.check.count).max() ?? 0
        return checks.map { line in
            "\(column(line.state.rawValue, width: 7))  \(column(line.check, width: wide))  \(line.message)"
                + (line.fix.isEmpty ? "" : "; fix: \(line.fix)")
        }
    }
}
