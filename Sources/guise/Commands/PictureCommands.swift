import ArgumentParser
import Control
import FoundationEssentials
import SystemKit

extension StateReply: PrintableReply {
    var line: String? { nil }
}

extension SnapshotReply: PrintableReply {
    var line: String? { path }
}

extension RecordingReply: PrintableReply {
    var line: String? { path }
}

struct PauseCommand: ControlCommand {
    typealias Reply = StateReply

    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Show a placeholder and close the camera.")

    var request: Command { .picture(.pause) }
}

struct PanicCommand: ControlCommand {
    typealias Reply = StateReply

    static let configuration = CommandConfiguration(
        commandName: "panic", abstract: "Show a placeholder at once, until `guise resume`.",
        discussion: "For a key that you can press without looking: pressed twice, it still shows the placeholder.")

    var request: Command { .picture(.panic) }
}

struct ResumeCommand: ControlCommand {
    typealias Reply = StateReply

    static let configuration = CommandConfiguration(commandName: "resume", abstract: "End a pause or a freeze.")

    var request: Command { .picture(.resume) }
}

struct FreezeCommand: ControlCommand {
    typealias Reply = StateReply

    static let configuration = CommandConfiguration(commandName: "freeze", abstract: "Keep showing the last picture.")

    var request: Command { .picture(.freeze) }
}

/// The absolute path of a file, because the daemon's working directory differs from the shell's.
func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }

struct SnapshotCommand: ControlCommand {
    typealias Reply = SnapshotReply

    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save the picture that others see.")
    @Argument(
        help: "The file (default: a new one in ~/Pictures/Guise).", completion: .file(extensions: ["png", "jpg"]))
    var path: String?
    @Flag(help: "Also write a text file that lists the masks.")
    var note = false

    var request: Command { .picture(.snapshot(path.map(absolute), note: note)) }
}

struct RecordCommand: ControlCommand {
    typealias Reply = RecordingReply

    enum Action: String, ExpressibleByArgument, CaseIterable { case start, stop }

    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record the picture that others see.")
    @Argument(help: "start or stop.")
    var action: Action
    @Argument(
        help: "The file (default: a new one in ~/Videos/Guise).", completion: .file(extensions: ["mp4", "mkv", "webm"]))
    var path: String?
    @Flag(help: "Record the microphone too.")
    var sound = false

    var request: Command {
        switch action {
        case .start: .picture(.startRecording(path.map(absolute), sound: sound))
        case .stop: .picture(.stopRecording)
        }
    }

    /// A stopped recording is copied once more, so that players can seek in it, and its sound is encoded: that may take
    /// minutes.
    var replyTimeout: Int { action == .stop ? 3600 : ControlClient.replyTimeout }

    func run() throws {
        // The file was written, but a recording that ended early is still a failure.
        if let problem = try send().problem { throw RequestError(.failed, problem) }
    }
}
