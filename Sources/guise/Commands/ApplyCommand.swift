import ArgumentParser
import Capture
import Compose
import Frames
import Publish

/// `guise apply`: a photo to a photo, a clip to a clip.
struct ApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply", abstract: "Dress the faces of a photo or clip and write the result.")

    @Argument(help: "A photo or clip.")
    var input: String
    @Option(name: .shortAndLong, help: "The file to write; its ending says what it becomes.")
    var output: String
    @Option(name: .customLong("mask"), help: "A mask to wear; may be given several times.")
    var masks: [String] = []

    @Flag(help: "Write a photo in which no face is found as it is, though a mask is to hide faces.")
    var allowUncovered = false

    func run() throws {
        let session = try Session()
        var clip = try Clip(path: input)
        let isPhoto = clip.isPhoto
        let wishes = masks.isEmpty ? session.configuration.masks : masks.map { Wish($0) }
        let worn = try session.masks(wishes, for: clip.layout)
        var pipeline = Pipeline(tracker: try session.tracker(), masks: worn, output: clip.layout)
        pipeline.onLostFace = session.configuration.onLostFace
        var sink = try FileSink(
            path: output, layout: clip.layout, rate: clip.rate ?? 30, audioFrom: isPhoto ? nil : input)
        let placeholder = pipeline.isCovering ? Self.placeholder(clip.layout) : nil
        var (faces, frames, withheld) = (0, 0, 0)
        loop: while true {
            let arrival = try clip.withFrame { view, time in
                try pipeline.dress(view, at: time, isPhoto ? .whole : .following)
                faces += pipeline.tracker.faces.count
                frames += 1
                if isPhoto, pipeline.isCovering, faces == 0, !allowUncovered {
                    throw Problem(
                        .unusable, "no face that could be hidden was found in \(input); \(output) was not written",
                        cure: "look whether one is in it; --allow-uncovered writes it as it is")
                }
                // A photo was searched whole; in a clip somebody may be there who was not found yet, or was lost.
                switch placeholder {
                case .some(let placeholder) where !isPhoto && !pipeline.mayBeSeen:
                    withheld += 1
                    try sink.publish(placeholder.view)
                default: try sink.publish(pipeline.canvas.frame.view)
                }
            }
            switch arrival {
            case .frame: break
            case .nothing: clip.wait()
            case .end: break loop
            }
        }
        try sink.finish(card: pipeline.canvas.frame.view)
        if let warning = clip.warning { tell("guise: \(warning)") }
        if withheld > 0 {
            tell("guise: \(withheld) of \(frames) frames were covered whole: a face that was not found may be in them")
        }
        if faces == 0 { tell("guise: no face was found in \(input); \(output) is as it was") }
    }

    /// In place of a frame in which a face may be bare.
    private static func placeholder(_ layout: FrameLayout) -> Frame {
        var frame = Frame(layout)
        frame.fillAsCard()
        // Without words where they cannot be drawn.
        try? Card.draw(title: "Covered", text: "A face that was not found may be in this picture.", into: &frame)
        return frame
    }
}
