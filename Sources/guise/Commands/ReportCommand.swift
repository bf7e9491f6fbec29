import ArgumentParser
import Doctor
import FoundationEssentials
import JSON
import SystemKit

/// `guise report`: everything that helps to find the cause of a problem, in one text to attach to a bug report.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Print one text for a bug report: versions, doctor, devices, configuration, status and costs.",
        discussion: """
            Names of the user, the computer and the home folder are replaced, and texts of masks are left out. It has \
            no pictures. Look through it before you publish it. Changes nothing.
            """)

    /// Frames of the benchmark: a few seconds, in which `System.run` gives it up on a machine that cannot do it.
    private static let benchFrames = 120

    func run() throws {
        let system = System.here(shared: (try? Paths())?.shared, setting: .current())
        let redactor = Redactor(environment: system.environment, host: ProcessInfo.processInfo.hostName)
        var lines = ["guise \(Guise.configuration.version)"] + system.summary
        func add(_ title: String, _ more: [String]) {
            lines += ["", "## \(title)", ""] + more.flatMap { $0.split(separator: "\n").map(String.init) }
        }
        add("Doctor", Report(system).lines)
        add("Devices", system.devices.isEmpty ? ["none"] : system.devices.map(\.description))
        add("Configuration", Self.configurationLines)
        add("Status", Self.statusLines)
        add("Bench", Self.benchLines(system))
        for line in lines { print(terminalSafe(redactor.redact(line))) }
    }

    /// The options of masks that are left out: the text of a name tag, stamps, which may have texts, and the names of
    /// the user's own pictures.
    private static let personalOptions = ["text", "items", "picture"]

    private static var configurationLines: [String] {
        do {
            let text = try AppContext().configurationText
            let shown = personalOptions.reduce(text.value.json) { $0.replacing($1, with: "left out") }
            return [text.file ?? "no file: defaults", shown.prettyText]
        } catch { return ["\(error)"] }
    }

    private static var statusLines: [String] {
        do {
            var client = try connectToDaemon()
            return try client.perform(.service(.status), as: StatusReply.self).lines
        } catch is NoDaemon { return ["not running"] } catch { return ["\(error)"] }
    }

    /// The benchmark runs in a process of its own, so that it has a time limit.
    private static func benchLines(_ system: System) -> [String] {
        let command = ["/proc/self/exe", "bench", "--frames", "\(benchFrames)"]
        return [system.run(command).text ?? "failed, or took too long: see `guise bench`"]
    }
}
