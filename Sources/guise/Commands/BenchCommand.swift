import ArgumentParser
import CAllocations
import Capture
import Compose
import Engine
import Frames
import JSON
import SystemKit
import Track

/// `guise bench`: measures the cost of frames.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure CPU time per frame and stage, memory, allocations, and the time to the first mask.",
        discussion: """
            Frames are processed as in `guise apply`, as fast as they are decoded; decoding is not measured. Unlike \
            `guise run`, each frame's search for more faces is done before the frame is ready. Times are this \
            thread's CPU time, so other load on the machine has little effect. "tracking" is the sum of the first two \
            stages, from luma to landmarks and pose; "whole frame" is the sum of all stages.
            """)

    @Argument(help: "A photo or clip (default: the sample). It is repeated if it is shorter than --frames.")
    var input: String?
    @Option(name: .customLong("mask"), help: "A mask to wear; can be given several times (default: santa).")
    var masks: [String] = []
    @Option(help: "Frames to measure.")
    var frames = 300
    @Flag(help: "Print one JSON object with each frame's values instead of the table; omits memory and allocations.")
    var json = false
    @OptionGroup var logOptions: LogOptions

    /// The number of frames after which all buffers have their final size.
    private static let warmUp = 60

    func validate() throws {
        guard (1...1_000_000).contains(frames) else { throw ValidationError("--frames must be from 1 to 1000000") }
    }

    func run() throws {
        var starting = BenchStart()
        let context = try AppContext()
        var source = try context.openSource(SourceSpec(input ?? "sample"), loop: true)
        starting.note("source opened")
        // The format that a loopback device gets.
        let size = context.configuration.output
        let output = FrameLayout(width: size.width, height: size.height, format: .yuyv)
        let names = masks.isEmpty ? ["santa"] : masks
        let worn = try context.masks(names.map { MaskSelection($0) }, for: output)
        starting.note("masks drawn")
        var pipeline = Pipeline(tracker: try context.tracker(), masks: worn, output: output)
        starting.note("tracker ready")
        if !json { print("\(source.description) -> \(output), \(names.joined(separator: ", ")), \(frames) frames") }

        var metrics = BenchMetrics(frames: frames)
        // A stand-in for the sink's buffer.
        var published = Frame(output)
        while metrics.count < frames {
            let number = metrics.count
            let result = try source.withFrame { view, time in
                let before = callocations_count()
                // As in a call, with what a frame leaves for the time until the next one.
                pipeline.process(view, at: time, .prompt)
                let composed = threadTime()
                convert(pipeline.gate.canvas.frame, into: &published)
                let copied = threadTime() - composed
                pipeline.drawDeferred(view)
                metrics.add(
                    pipeline.cost, copy: copied, covered: pipeline.gate.coveredShare,
                    allocations: number < Self.warmUp ? nil : callocations_count() - before)
                if !pipeline.tracker.faces.isEmpty { starting.end("first masked frame") }
            }
            switch result {
            case .frame: break
            case .nothing: waitUntilReadable(source.descriptor)
            case .end: throw Problem(.unusable, "\(source.description) ended after \(number) frames")
            }
        }
        guard !json else { return print(JSON(encoding: metrics.result).text) }
        metrics.report()
        starting.report()
        print("memory: \(residentMemory())")
    }
}
