import ArgumentParser
import Capture
import Compose
import Foundation
import Frames
import Publish

/// `guise run`: the daemon, in the foreground.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Dress the faces of a camera and publish the picture, until it is interrupted.")

    @Option(help: "Configuration file; else the user's, else the installed one.")
    var config: String?
    @Option(help: "camera, /dev/videoN, sample, or a photo or clip.")
    var source: String?
    @Option(
        name: .customLong("sink"), help: "loopback, /dev/videoN, page, null, or a file; may be given several times.")
    var sinks: [String] = []
    @Option(name: .customLong("mask"), help: "A mask to wear; may be given several times.")
    var masks: [String] = []
    @Flag(help: "Give a file's frames at their own pace instead of as fast as they can be made.")
    var realtime = false
    @Flag(help: "Begin a file again at its end.")
    var loop = false

    func run() throws {
        let session = try Session(configuration: config)
        let settings = session.configuration
        let (sourceSpec, sinkSpecs, notes) = session.choose(
            source: source ?? settings.source, sinks: sinks.isEmpty ? settings.sinks : sinks)
        notes.forEach(tell)

        let signals = try Signals()
        var source = try session.openSource(sourceSpec, loop: loop)
        // The first device decides the size and format: it may have been fixed by others.
        let isFile = !source.isLive && sourceSpec != "sample"
        let size = settings.output
        var canvas =
            isFile && sinkSpecs.allSatisfy(Self.isFile)
            ? source.layout : FrameLayout(width: size.width, height: size.height, format: .yuyv)
        let rate = source.isLive ? size.rate : source.rate ?? size.rate
        var outputs: [Output] = []
        for spec in sinkSpecs.sorted(by: { Self.isDevice($0) && !Self.isDevice($1) }) {
            let output = Output(try session.openSink(spec, canvas, rate: rate), canvas: outputs.isEmpty ? nil : canvas)
            if outputs.isEmpty { canvas = output.layout }
            outputs.append(output)
            tell("\(source.description) -> \(output.description)")
        }
        // Loaded before the first frame: no face is shown undressed.
        let room = try session.dressingRoom(masks.isEmpty ? settings.masks : masks, for: canvas)
        var pipeline = Pipeline(tracker: try session.tracker(), room: room, output: canvas)
        room.open()
        defer { room.close() }
        // The sample has no pace of its own; where somebody watches it goes at its own rate.
        let watched = sinkSpecs.contains { Self.isDevice($0) || $0 == "page" }
        let isPaced = !source.isLive && (realtime || (sourceSpec == "sample" && watched))
        var loop = FrameLoop(signals: signals, rate: rate, isPaced: isPaced)
        do {
            try loop.run(&source, &pipeline, outputs)
        } catch {
            // The face goes from the device whatever happened.
            for output in outputs { try? output.finish() }
            throw error
        }
        for output in outputs { try output.finish() }
    }

    private static func isDevice(_ spec: String) -> Bool { spec == "loopback" || spec.hasPrefix("/dev/video") }

    private static func isFile(_ spec: String) -> Bool { !isDevice(spec) && spec != "page" && spec != "null" }
}
