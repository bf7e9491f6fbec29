import ArgumentParser
import Capture
import Compose
import Engine
import Glibc
import Privacy
import Publish
import SystemKit
import Track

/// `guise apply`: masks the faces of a photo or clip.
struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Put masks on the faces of a photo or clip and write the result.")

    @Argument(help: "A photo or clip.")
    var input: String
    @Option(name: .shortAndLong, help: "The file to write; its extension sets the format.")
    var output: String
    @Option(name: .customLong("mask"), help: "A mask to wear; can be given several times.")
    var masks: [String] = []

    @Option(
        help: """
            A JSON file with landmarks placed by hand, for a photo: what `guise track --json --landmarks` prints, \
            corrected, or parts of it.
            """)
    var points: String?

    @Flag(help: "Write a photo unchanged if no face is found, even if a mask must hide faces.")
    var allowUncovered = false

    @Flag(help: "Replace the output file if it exists.")
    var overwrite = false
    @OptionGroup var logOptions: LogOptions

    /// What happened to the frames.
    private struct Counts {
        /// The number of faces in all frames.
        var faces = 0
        var frames = 0
        /// The number of frames that the gate withheld.
        var withheld = 0
    }

    func run() throws {
        let interruption = try Interruption()
        let context = try AppContext()
        var clip = try Clip(path: input)
        let isPhoto = clip.isPhoto
        let selections = self.masks.isEmpty ? context.configuration.masks : self.masks.map { MaskSelection($0) }
        var pipeline = try makePipeline(for: clip, wearing: selections, context)
        let overwrites = overwrite || mayReplace()
        var sink = try interruption.open {
            try FileSink(
                path: output, layout: clip.layout, rate: clip.rate ?? 30, audioFrom: isPhoto ? nil : input,
                overwrites: overwrites)
        }
        let placeholder =
            pipeline.isCovering
            ? Placeholder(
                title: "Covered", text: "This picture may show a face that was not found.", clip.layout)
            : Placeholder(plain: clip.layout)
        let progress = Progress(of: isPhoto ? nil : clip.expectedFrames)
        var counts = Counts()
        try clip.forEachFrame { view, time in
            pipeline.process(view, at: time, isPhoto ? .whole : .following)
            try checkCorrections(unused: pipeline.unusedCorrections)
            counts.faces += pipeline.tracker.faces.count
            counts.frames += 1
            progress?.show(counts.frames)
            switch pipeline.gate.outcome {
            case .publishable(let frame): try sink.publish(frame)
            case .withheld(.noFaceFound):
                throw Problem(
                    .unusable, "no face to hide was found in \(input); \(output) was not written",
                    fix: "check the photo, or pass --allow-uncovered to write it unchanged")
            case .withheld:
                counts.withheld += 1
                try sink.publish(placeholder.frame)
            }
        }
        progress?.clear()
        try sink.finish(placeholder: placeholder.frame)
        if let warning = clip.warning { logWarning(warning) }
        report(counts, pipeline, wearing: selections, isPhoto: isPhoto)
    }

    /// A pipeline that masks the clip's faces, with the landmarks of `--points`.
    private func makePipeline(
        for clip: borrowing Clip, wearing selections: [MaskSelection], _ context: AppContext
    ) throws -> Pipeline {
        let (isPhoto, layout) = (clip.isPhoto, clip.layout)
        if points != nil, !isPhoto {
            throw Problem(.invalid, "--points is for photos; \(input) is a clip", fix: "leave it out")
        }
        let corrections = try points.map { try readFacePoints($0, for: layout) } ?? []
        let masks = try context.masks(selections, for: layout)
        var pipeline = Pipeline(tracker: try context.tracker(isPhoto: isPhoto), masks: masks, output: layout)
        pipeline.corrections = corrections
        pipeline.onLostFace = context.configuration.onLostFace
        pipeline.allowsUncoveredPhotos = allowUncovered
        return pipeline
    }

    /// Throws if landmarks of `--points` belong to no face of the photo.
    private func checkCorrections(unused: [Int]) throws {
        guard let index = unused.first, let points else { return }
        throw Problem(
            .unusable,
            "\(points): 'faces[\(index)]' has only some landmarks, and no face was found there; "
                + "\(output) was not written",
            fix: "place all 68 landmarks: guise track --json --landmarks prints those of a face")
    }

    /// Prints what was written, after warnings about what the user may not expect.
    private func report(
        _ counts: Counts, _ pipeline: borrowing Pipeline, wearing selections: [MaskSelection], isPhoto: Bool
    ) {
        let candidates = pipeline.tracker.candidateHeads.count
        if isPhoto, candidates > 0 {
            logWarning("\(candidates) more places that may be faces were also covered")
        }
        if counts.withheld > 0 {
            logWarning(
                "\(counts.withheld) of \(counts.frames) frames were covered completely: they may show a face that "
                    + "was not found")
        }
        let isWithoutFaces = counts.faces == 0 && counts.withheld == 0
        let isSame = isWithoutFaces && !pipeline.changesPictureWithoutFaces && candidates == 0
        if isWithoutFaces {
            logWarning("no face was found in \(input)\(isSame ? "; \(output) shows the same" : "")")
        }
        if isPhoto, counts.faces >= Tracker.Settings.maxInPhoto {
            let others = pipeline.isCovering ? "others are only covered" : "others wear nothing"
            logWarning("\(counts.faces) people wear masks, which is the most in a photo; \(others)")
        }
        if !isPhoto, FileSink.isPhoto(output) { logWarning("\(output) has one picture: the first of the clip") }
        // On standard output, which scripts may ignore.
        let worn = isSame || selections.isEmpty ? "nothing" : selections.map(\.mask).joined(separator: ", ")
        print(terminalSafe("wrote \(output), wearing: \(worn)"))
    }

    /// Asks whether to replace an existing file, if somebody is there to answer.
    private func mayReplace() -> Bool {
        mayExist(output) && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
            && confirm("\(terminalSafe(output)) exists. Replace it? [y/N] ")
    }

    /// How far a clip has come, on a line of the terminal that is written again and again.
    private final class Progress {
        private let count: Int
        private var shown: UInt64 = 0

        /// Nanoseconds between two looks at the number.
        private static let interval: UInt64 = 500_000_000

        /// - Parameter count: the number of frames; nil: unknown, then nothing is shown.
        init?(of count: Int?) {
            guard let count, count > 0, isatty(STDOUT_FILENO) == 1 else { return nil }
            self.count = count
        }

        func show(_ frames: Int) {
            let now = monotonicTime()
            guard now >= shown + Self.interval else { return }
            shown = now
            // The count is an estimate.
            printNow("\r\(min(frames, count)) of \(count) frames (\(min(100, frames * 100 / count)) %)\u{1B}[K")
        }

        func clear() { if shown > 0 { printNow("\r\u{1B}[K") } }
    }
}
