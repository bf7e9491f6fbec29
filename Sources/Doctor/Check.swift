import SystemKit

/// The result of a check, shown to the user on one line.
public struct Finding: Equatable, Sendable {
    /// The severity. A warning does not prevent calls, or affects only some programs.
    public enum State: String, Codable, Sendable { case ok, warning, error }

    /// The severity.
    public let state: State
    /// The state found, as a sentence without a full stop.
    public let message: String
    /// The one command that fixes the problem, or an instruction if no command can. Empty if the state is `ok`.
    public let fix: String

    static func ok(_ message: String) -> Finding { Finding(state: .ok, message: message, fix: "") }
    static func warning(_ message: String, fix: String) -> Finding {
        Finding(state: .warning, message: message, fix: fix)
    }
    static func error(_ message: String, fix: String) -> Finding { Finding(state: .error, message: message, fix: fix) }
}

/// A check for one thing that the virtual camera needs.
public struct Check: Sendable {
    /// The name, one or two words.
    public let name: String
    /// Runs the check, without changing anything. Nil if another check's error leaves nothing to examine.
    public let probe: @Sendable (System) -> Finding?

    init(_ name: String, _ probe: @escaping @Sendable (System) -> Finding?) { (self.name, self.probe) = (name, probe) }

    /// All checks, in the order in which problems are best fixed.
    public static let all: [Check] = [
        .usbCamera, .feeder, .module, .kernel, .version, .secureBoot, .options, .relay, .permission,
        .device, .exclusiveCaps, .capabilities, .label, .size, .writer, .readers,
        .camera, .cascades, .landmarks, .ffmpeg, .configuration,
        .service, .socket, .pipeWire, .snap, .flatpak,
    ]
}

/// The results of all checks.
public struct Report: Encodable, Sendable {
    /// The result of one check.
    public struct Line: Encodable, Sendable {
        /// The check's name.
        public let check: String
        /// The severity.
        public let state: Finding.State
        /// The state found, as a sentence without a full stop.
        public let message: String
        /// The command or instruction that fixes the problem. Empty if the state is `ok`.
        public let fix: String
    }

    /// The results, in the order in which problems are best fixed.
    public let checks: [Line]
    /// The number of results with state `error`.
    public let errors: Int
    /// The number of results with state `warning`.
    public let warnings: Int

    /// Runs the checks.
    public init(_ system: System, checks: [Check] = Check.all) {
        self.checks = checks.compactMap { check in
            check.probe(system).map { Line(check: check.name, state: $0.state, message: $0.message, fix: $0.fix) }
        }
        errors = self.checks.count { $0.state == .error }
        warnings = self.checks.count { $0.state == .warning }
    }

    /// The report as text: one line for each check, in columns.
    public var lines: [String] {
        let nameWidth = checks.map(\.check.count).max() ?? 0
        return checks.map { line in
            "\(column(line.state.rawValue, width: 7))  \(column(line.check, width: nameWidth))  \(line.message)"
                + (line.fix.isEmpty ? "" : "; fix: \(line.fix)")
        }
    }
}
