import Foundation
import JSON
import Testing

/// A guise that dresses the sample, alone in a folder of its own.
final class Stage {
    let workshop: Workshop
    let running: Running
    let output: String

    /// - Parameter more: options of `run`.
    init(_ more: [String] = [], config: String? = nil) throws {
        workshop = try Workshop()
        try workshop.makeRuntimeFolder()
        if let config { try workshop.write(config, "config/guise/config.json") }
        output = workshop.path("out.mkv")
        running = try Running(
            ["run", "--source", "sample", "--realtime", "--sink", "null", "--mask", "santa-hat"] + more,
            in: workshop)
        try #require(answers { try status()["frames"]?.number ?? 0 > 3 }, "\(running.said)")
    }

    /// Waits ten seconds at most.
    func answers(_ holds: () throws -> Bool) -> Bool {
        for _ in 0..<100 {
            if (try? holds()) == true { return true }
            Thread.sleep(forTimeInterval: 0.1)
        }
        return false
    }

    func guise(_ arguments: String...) throws -> Program.Outcome { try Program.run(arguments, in: workshop) }

    func status() throws -> JSON {
        let outcome = try Program.run(["status", "--json"], in: workshop)
        return try JSON(Array(outcome.out.utf8), file: "status")
    }

    /// The picture that is published now.
    func snapshot(_ name: String) throws -> Picture {
        let path = workshop.path("\(name).png")
        let outcome = try guise("snapshot", path)
        try #require(outcome.code == 0, "\(outcome)")
        return try workshop.pixels(path)
    }

    func end() throws -> Program.Outcome {
        _ = try guise("stop")
        return running.wait()
    }
}
