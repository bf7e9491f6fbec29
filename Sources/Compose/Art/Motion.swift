import JSON

/// A layer's animation: `"motion": {"frames": [{"art": "a.svg", "milliseconds": 80}, ...], "repeat": "forever",
/// "swing": {"frequency": 1.5, "damping": 0.12, "limit": 40, "stands": false}}`. All keys but `art` are optional.
struct Motion: Sendable {
    /// The keys of a motion, which not every kind of layer has.
    enum Key: String, CaseIterable, Sendable {
        case frames
        case repetition = "repeat"
        case swing
    }

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

    /// Reads the key `motion`.
    /// - Parameter keys: those that the layer has; others are errors.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ fields: inout Fields, _ keys: Set<Key> = .all) throws {
        guard !keys.isEmpty else {
            try fields.refuse("motion", allowed: "in \(LayerKind.names { !$0.motion.isEmpty }) layers")
            (frames, repetition, swing) = ([], nil, nil)
            return
        }
        var motion = try fields.object("motion")
        for key in Key.allCases where !keys.contains(key) {
            try motion.refuse(key.rawValue, allowed: "in \(LayerKind.names { $0.motion.contains(key) }) layers")
        }
        var frames: [AnimationFrame] = []
        for var frame in keys.contains(.frames) ? try motion.objects("frames") : [] {
            let art = try frame.string("art")
            let milliseconds = try frame.number("milliseconds", in: 10...60_000, default: 100)
            try frame.finish()
            frames.append(AnimationFrame(art: art, milliseconds: milliseconds))
        }
        guard frames.count <= Self.maxFrames else {
            throw motion.wrong("frames", "\(frames.count) pictures", allowed: "at most \(Self.maxFrames)")
        }
        self.frames = frames
        repetition =
            keys.contains(.repetition) && motion.has("repeat") ? try motion.oneOf("repeat", Repetition.self) : nil
        swing = keys.contains(.swing) && motion.has("swing") ? try Swing(try motion.object("swing")) : nil
        try motion.finish()
    }
}

extension Set<Motion.Key> {
    static var all: Self { Set(Motion.Key.allCases) }
}
