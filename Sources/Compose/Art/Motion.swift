import JSON

/// A layer's animation: `"motion": {"frames": [{"art": "a.svg", "milliseconds": 80}, ...], "repeat": "forever",
/// "swing": {"frequency": 1.5, "damping": 0.12, "limit": 40, "stands": false}}`. All keys but `art` are optional.
struct Motion: Sendable {
    /// An animation frame and its duration.
    struct AnimationFrame: Sendable {
        let art: String
        let milliseconds: Double
    }

    /// What happens after the last frame.
    enum Repetition: String, CaseIterable, Sendable {
        case forever
        case once
        case backAndForth = "back and forth"
    }

    /// The animation frames. If there are none, the layer's own art is used, which may be animated itself (APNG).
    let frames: [AnimationFrame]
    /// How the animation repeats; nil: as the art says.
    let repetition: Repetition?
    /// The pendulum of swinging art; nil: the art doesn't swing.
    let swing: Swing?

    /// The most animation frames. More would take too much memory.
    static let maxFrames = 64

    init(_ fields: inout Fields) throws {
        var motion = try fields.object("motion")
        frames = try motion.objects("frames").map {
            var frame = $0
            let art = try frame.string("art")
            let milliseconds = try frame.number("milliseconds", in: 10...60_000, default: 100)
            try frame.finish()
            return AnimationFrame(art: art, milliseconds: milliseconds)
        }
        guard frames.count <= Self.maxFrames else {
            throw motion.wrong("frames", "\(frames.count) pictures", allowed: "at most \(Self.maxFrames)")
        }
        repetition = motion.has("repeat") ? try motion.oneOf("repeat", Repetition.self) : nil
        swing = motion.has("swing") ? try Swing(try motion.object("swing")) : nil
        try motion.finish()
    }
}
