import ArgumentParser
import Doctor
import JSON
import SystemKit

/// `guise doctor`: reports what prevents the virtual camera from working on this machine, with fixes.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what prevents calls from seeing your masks, and show how to fix it.",
        discussion: "Changes nothing. The exit code is 1 if there is an error.")

    @Flag(help: "Print one JSON object with the checks and the numbers of errors and warnings.")
    var json = false

    func run() throws {
        let report = Report(System.here(shared: (try? Paths())?.shared, setting: .current()))
        if json {
            print(JSON(encoding: report).text)
        } else {
            for line in report.lines { print(terminalSafe(line)) }
        }
        if report.errors > 0 { throw ExitCode.failure }
    }
}
