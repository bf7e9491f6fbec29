import ArgumentParser
import Control
import SystemKit

/// An error for a daemon that is not running. It has its own exit code, so that scripts can start one.
struct NoDaemon: Error {
    let problem: Problem
}

/// A reply that the command line prints.
protocol PrintableReply: Decodable {
    /// The line to print; nil for none.
    var line: String? { get }
    /// The lines to print; by default `line` alone.
    var lines: [String] { get }
}

extension PrintableReply {
    var lines: [String] { line.map { [$0] } ?? [] }
}

/// A command that sends one request to the daemon and prints the reply. Its name is the request's.
protocol ControlCommand: ParsableCommand {
    /// The reply of the request.
    associatedtype Reply: PrintableReply
    /// The request.
    var request: Command { get }
    /// The longest wait for the reply, in seconds.
    var replyTimeout: Int { get }
}

extension ControlCommand {
    var replyTimeout: Int { ControlClient.replyTimeout }

    func run() throws { _ = try send() }

    /// Sends the request, and prints the reply.
    func send() throws -> Reply { try printReply(to: request, as: Reply.self, within: replyTimeout) }
}

/// Sends a request to the daemon, and prints the reply.
/// - Parameter seconds: the longest wait for the reply, in seconds.
/// - Throws: as `connectToDaemon`, and the daemon's error.
@discardableResult
func printReply<Reply: PrintableReply>(
    to request: Command, as type: Reply.Type, within seconds: Int = ControlClient.replyTimeout
) throws -> Reply {
    var client = try connectToDaemon()
    let reply = try client.perform(request, as: type, within: seconds)
    for line in reply.lines { print(terminalSafe(line)) }
    return reply
}

/// Connects to the daemon.
/// - Throws: `NoDaemon` if none is running, or `Problem`.
func connectToDaemon() throws -> ControlClient {
    do throws(Problem) { return try ControlClient() } catch  where error.kind == .missing {
        throw NoDaemon(problem: error)
    }
}
