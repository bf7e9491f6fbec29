import Control
import Foundation
import JSON
import Testing

/// A running Guise with a temporary home, and a connection to its control socket. For one test at a time: a suite that
/// shares one is serialized.
public final class RunningGuise: @unchecked Sendable {
    public let scratch: ScratchFolder
    public let running: Running
    private var client: ControlClient

    /// The sample, at its own pace, small and slow enough to leave the processor to other tests.
    public static let sample = ["--source", "sample", "--realtime"]
    public static let smallOutput = smallOutput(rate: 10)

    /// - Parameter rate: frames per second.
    public static func smallOutput(rate: Int) -> String {
        #""output": {"width": 640, "height": 360, "rate": \#(rate)}"#
    }

    /// Starts Guise and waits until it publishes.
    /// - Parameters:
    ///   - command: `run`, or `page`, which serves the page too.
    ///   - config: the user's own config.json.
    ///   - isPublishing: false if it waits for viewers.
    public init(
        _ options: [String], command: String = "run", config: String = "{\(smallOutput)}",
        in given: ScratchFolder? = nil,
        isPublishing: Bool = true
    ) throws {
        scratch = try given ?? ScratchFolder()
        if scratch.runtime == nil { try scratch.makeRuntimeFolder() }
        try scratch.write(config, "config/guise/config.json")
        running = try Running([command] + options, in: scratch)
        guard running.waits(for: "->") else { throw Ended(text: running.said) }
        client = try ControlClient(environment: scratch.environment)
        guard isPublishing else { return }
        try #require(waits { $0["frames"]?.number ?? 0 > 3 }, "\(running.said)")
    }

    struct Ended: Error { var text: String }

    /// More than any test needs; a busy machine may take its time.
    private static let timeout = 1_000_000

    /// Sends a request over the socket.
    @discardableResult
    public func ask(_ request: String, _ more: KeyValuePairs<String, JSON> = [:]) throws -> JSON {
        let json = more.reduce(JSON(["request": JSON(request)])) { $0.with($1.key, $1.value) }
        return try client.perform(json, within: Self.timeout)
    }

    public func status() throws -> JSON { try ask("status") }

    /// Runs a command of the command line to its end.
    public func guise(_ arguments: String...) throws -> Program.Outcome { try guise(arguments) }
    public func guise(_ arguments: [String]) throws -> Program.Outcome { try Program.run(arguments, in: scratch) }

    public var worn: [String] { get throws { try status()["masks"]?.elements.compactMap { $0["name"]?.string } ?? [] } }

    /// The number of published frames and placeholders.
    private func published(_ status: JSON) -> Int {
        Int(status["frames"]?.number ?? 0) + Int(status["dropped"]?["repeated"]?.number ?? 0)
    }

    /// The number of published pictures after which a wait fails. A busy machine publishes fewer, so the limit grows
    /// with its load.
    private static let maxPictures = 1500

    /// Waits until the status is as wanted.
    /// - Returns: false if it is not so after `maxPictures` more.
    public func waits(until isMet: (JSON) throws -> Bool) -> Bool {
        guard let first = try? status() else { return false }
        while let now = try? status() {
            if (try? isMet(now)) == true { return true }
            if published(now) > published(first) + Self.maxPictures { return false }
            // The loop's state may change with its next picture. A status costs both programs a millisecond.
            usleep(25_000)
        }
        return false
    }

    /// Waits until a number of further pictures are published.
    public func waits(pictures: Int) throws {
        let first = published(try status())
        try #require(waits { published($0) >= first + pictures })
    }

    /// The next published picture.
    public func snapshot() throws -> Picture {
        let path = scratch.path("snapshot-\(UUID().uuidString.prefix(8)).png")
        try ask("snapshot", ["path": JSON(path)])
        return try scratch.picture(path)
    }

    /// Restores the state at its start: no masks, nothing paused.
    public func reset() throws {
        try ask("resume")
        for mask in try worn { try ask("remove", ["mask": JSON(mask)]) }
        try #require(waits { try $0["state"]?.string == "running" && worn.isEmpty })
    }

    /// Uses almost no CPU time until the next `reset`, while the tests that share it wait for their turn.
    public func rest() { _ = try? ask("pause") }

    /// Ends it and waits for its end.
    @discardableResult
    public func end() throws -> Program.Outcome {
        try ask("stop")
        return running.wait()
    }
}
