import ArgumentParser
import Doctor
import Foundation
import Frames

/// `guise doctor`: reports what prevents the virtual camera from working on this machine, with fixes.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check what prevents calls from seeing your masks, and show how to fix it.",
        discussion: "Changes nothing. The exit code is 1 if there is an error.")

    @Flag(help: "Print one JSON object with the checks and the numbers of errors and warnings.")
    var json = false

    func run() throws {
        let report = Report(System.here(shared: (try? Paths())?.shared, setting: Self.setting()))
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(report), as: UTF8.self))
        } else {
            for line in report.lines { print(plain(line)) }
        }
        if report.errors > 0 { throw ExitCode.failure }
    }

    /// The part of the configuration that the checks use.
    static func setting() -> System.Setting {
        guard let paths = try? Paths() else { return .read(file: nil, width: 1280, height: 720) }
        do {
            let read = try ConfigurationText.load(named: nil, paths: paths)
            return .read(file: read.file, width: read.value.output.width, height: read.value.output.height)
        } catch let problem as Problem {
            return .broken(problem)
        } catch {
            return .broken(Problem(.system, "\(error)"))
        }
    }
}
