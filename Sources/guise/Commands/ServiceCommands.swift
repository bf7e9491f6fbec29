import ArgumentParser
import Control
import Glibc
import JSON
import SystemKit

extension EmptyReply: PrintableReply {
    var line: String? { nil }
}

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show what Guise is doing. The exit code is 3 if it isn't running.")
    @Flag(help: "Print the socket's reply, one JSON object.")
    var json = false

    func run() throws {
        var client = try connectToDaemon()
        if json { return print(try client.perform(.service(.status), as: JSON.self).text) }
        for line in try client.perform(.service(.status), as: StatusReply.self).lines { print(terminalSafe(line)) }
    }
}

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show rates, delays, CPU times and faces live, until interrupted.")
    @Flag(help: "Print the events as they arrive, one JSON object per line.")
    var json = false

    func run() throws {
        var client = try connectToDaemon()
        if json {
            _ = try client.perform(SubscriptionRequest.subscribe(Topic.allCases).json)
            while let event = try client.next(within: 60) { printNow("\(event.text)\n") }
            return
        }
        let isTerminal = isatty(1) == 1
        while true {
            let lines = try client.perform(.service(.status), as: StatusReply.self).lines.map(terminalSafe)
            // Clear the screen and write from the top left.
            if isTerminal { printNow("\u{1B}[H\u{1B}[2J") }
            printNow(lines.joined(separator: "\n") + "\n")
            sleep(1)
        }
    }
}

struct StopCommand: ControlCommand {
    typealias Reply = EmptyReply

    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop Guise; the device keeps showing a placeholder.")

    var request: Command { .service(.stop) }
}

extension StatusReply {
    /// The status as text.
    var lines: [String] {
        let seconds = Int(summary.seconds)
        var lines = [
            "\(summary.state)  (guise \(summary.version), process \(summary.pid), started "
                + "\(seconds / 3600) h \(seconds / 60 % 60) min \(seconds % 60) s ago)",
            WornReply(masks: summary.masks).line ?? "",
            "camera: \(metrics.camera)\(summary.source.isEmpty ? "" : ", \(summary.source)")",
        ]
        lines += summary.outputs.map { "output: \($0)" }
        lines.append(metrics.watched ? "watched" : "nobody is watching")
        let dropped = metrics.dropped
        lines.append(
            "\(decimal(metrics.rate, places: 1)) frames per second, \(metrics.frames) in total, "
                + "\(dropped.overRate) over the rate, \(dropped.damaged) damaged, \(dropped.repeated) repeated")
        lines.append("faces: \(metrics.faces)")
        lines.append("cpu \(decimal(metrics.cpu.process, places: 1)) % of a core, memory \(metrics.memory) MB")
        if let recording = metrics.recording { lines.append("recording: \(recording.path)") }
        lines.append("milliseconds            median      95 %      99 %")
        let cpu = metrics.cpu
        let rows: KeyValuePairs = [
            "added delay": metrics.latency, "cpu, frame": cpu.frame, "cpu, search": cpu.search,
            "cpu, landmarks": cpu.landmarks, "cpu, transform": cpu.transform, "cpu, segmentation": cpu.segmentation,
            "cpu, compose": cpu.compose,
            "cpu, publish": cpu.publish,
        ]
        for (name, row) in rows {
            let columns = [row.median, row.p95, row.p99].map { decimal($0, places: 2, width: 10) }
            lines.append(column(name, width: 20) + columns.joined())
        }
        return lines
    }
}
