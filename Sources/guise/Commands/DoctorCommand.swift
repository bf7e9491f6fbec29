import ArgumentParser
import Doctor
import FoundationEssentials
import Frames

/// `guise doctor`: what keeps this machine from a masked camera, and the fixes.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Report what keeps calls from seeing your masks, and the command that fixes it.",
        discussion: "Changes nothing. The exit code is 1 where there is an error.")

    @Flag(help: "One JSON object: the checks, and how many errors and warnings there are.")
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

    /// What the configuration says of what the checks look at.
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
