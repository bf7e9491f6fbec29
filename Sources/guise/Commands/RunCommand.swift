import ArgumentParser
import Engine
import SystemKit

/// `guise run`: runs the daemon in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Start Guise: camera in, masked video out, until interrupted.")

    @Option(help: "The configuration file (default: the user's, or else the installed one).")
    var config: String?
    @Option(help: "\(SourceSpec.forms.list).")
    var source: String?
    @Option(name: .customLong("sink"), help: "\(SinkSpec.forms.list); can be given several times.")
    var sinks: [String] = []
    @Option(name: .customLong("mask"), help: "A mask to wear; can be given several times.")
    var masks: [String] = []
    @Flag(help: "Process a file at its own frame rate instead of as fast as possible.")
    var realtime = false
    @Flag(help: "Start a file again at its end.")
    var loop = false
    @Flag(help: "Replace files that exist.")
    var overwrite = false
    @OptionGroup var logOptions: LogOptions

    func run() throws {
        try Launcher.serve(
            AppContext(configuration: config),
            Launcher.Options(
                source: source.map { SourceSpec($0) }, sinks: sinks.map { SinkSpec($0) }, masks: masks,
                isRealtime: realtime, isLooped: loop, overwrites: overwrite, page: .asChosen))
    }
}
