import Frames
import JSON

/// A layer's animation: `"motion": {"frames": [{"art": "a.svg", "milliseconds": 80}, ...], "repeat": "forever",
/// "swing": {"frequency": 1.5, "damping": 0.12, "limit": 40}}`. All keys are optional.
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

/// Tells which animation frame is shown at which time.
struct Timeline: Sendable {
    /// The end of each frame, in milliseconds after the start.
    private let ends: [Double]
    private let repetition: Motion.Repetition

    /// Makes a timeline.
    /// - Parameter durations: of each frame, in milliseconds. At least one; durations below 1 ms count as 1 ms.
    init(durations: [Double], _ repetition: Motion.Repetition) {
        precondition(!durations.isEmpty)
        var end = 0.0
        // Forwards and backwards, without showing the last and the first frame twice.
        let all =
            repetition == .backAndForth && durations.count > 2
            ? durations + durations.dropFirst().dropLast().reversed() : durations
        ends = all.map {
            end += max($0, 1)
            return end
        }
        count = durations.count
        self.repetition = repetition
    }

    private let count: Int

    /// The index of the frame that is shown at a time.
    /// - Parameter time: milliseconds since the start.
    func frame(at time: Double) -> Int {
        guard ends.count > 1, time.isFinite, time > 0, let whole = ends.last else { return 0 }
        if repetition == .once && time >= whole { return count - 1 }
        let phase = time.truncatingRemainder(dividingBy: whole)
        var (low, high) = (0, ends.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] > phase { high = middle } else { low = middle + 1 }
        }
        return low < count ? low : 2 * (count - 1) - low
    }
}

/// The parameters of a damped pendulum that hangs from the head or stands on it: `"swing"`.
struct Swing: Sendable {
    /// Undamped frequency in swings per second (hertz).
    let frequency: Float
    /// The damping ratio: at 0 it swings forever, at 1 it doesn't overshoot.
    let damping: Float
    /// The largest angle in degrees.
    let limit: Float
    /// Whether it is an inverted pendulum, which stands as ears and feathers do. It lags the other way, and is stiff
    /// enough to ignore gravity.
    let isInverted: Bool

    init(_ fields: Fields) throws {
        var fields = fields
        frequency = Float(try fields.number("frequency", in: 0.2...8, default: 1.5))
        damping = Float(try fields.number("damping", in: 0.02...1, default: 0.15))
        limit = Float(try fields.number("limit", in: 1...90, default: 40))
        isInverted = try fields.bool("stands", default: false)
        try fields.finish()
    }

    init(frequency: Float, damping: Float, limit: Float, isInverted: Bool = false) {
        (self.frequency, self.damping, self.limit, self.isInverted) = (frequency, damping, limit, isInverted)
    }
}

/// The state of a pendulum, from frame to frame.
struct Pendulum: Sendable {
    /// The angles from where it hangs when the head is upright and still: in the picture's plane, and towards the
    /// viewer; radians.
    private(set) var angle = SIMD2<Float>.zero
    /// Angular velocity in radians per second.
    private var speed = SIMD2<Float>.zero
    /// The pivot's velocity in the last frame, in eye distances per second.
    private var pivotSpeed = SIMD2<Float>.zero
    /// The angles towards which gravity pulls it, in radians.
    private var rest = SIMD2<Float>.zero
    private var isNew = true

    /// Gravity in eye distances (63 mm) per second squared.
    private static let gravity: Float = 9.81 / 0.063
    /// Dead band of the pivot's velocity, in eye distances per second: slower motion is landmark noise.
    private static let speedDeadBand = SIMD2<Float>(0.35, 0.6)
    /// Dead band of the head's tilt, in radians: smaller changes are noise.
    private static let tiltDeadBand = SIMD2<Float>(1.5, 4) * .pi / 180
    /// Angle in radians, and angular velocity in radians per second, below which it comes to rest.
    private static let end: (angle: Float, speed: Float) = (0.003, 0.03)

    /// The angles in degrees: in the picture's plane, and towards the viewer.
    var degrees: SIMD2<Float> { angle * (180 / .pi) }

    /// Advances the pendulum to the next frame.
    /// - Parameters:
    ///   - seen: the pivot's velocity: to the picture's right, and away from the viewer; eye distances per second.
    ///   - tilt: the head's roll, and how far it nods forward; radians.
    ///   - elapsed: seconds since the last frame.
    mutating func step(_ swing: Swing, speed seen: SIMD2<Float>, tilt: SIMD2<Float>, elapsed: Float) {
        // The rest angle follows the tilt at the edge of the dead band: noise within the band moves nothing.
        let target = swing.isInverted ? SIMD2<Float>.zero : -tilt
        for i in 0..<2 {
            let off = target[i] - rest[i]
            let band = Self.tiltDeadBand[i]
            if isNew {
                rest[i] = abs(target[i]) < band ? 0 : target[i]
            } else {
                rest[i] += off > band ? off - band : off < -band ? off + band : 0
            }
        }
        guard !isNew, elapsed > 0, elapsed < 0.5 else {
            (angle, speed, pivotSpeed, isNew) = (rest, .zero, .zero, false)
            return
        }
        var pivot = seen
        for i in 0..<2 {
            let band = Self.speedDeadBand[i]
            pivot[i] = seen[i] > band ? seen[i] - band : seen[i] < -band ? seen[i] + band : 0
        }
        let omega = 2 * .pi * swing.frequency
        // The length of a pendulum of this frequency, in eye distances.
        let length = Self.gravity / (omega * omega)
        speed += (pivot - pivotSpeed) / length * (swing.isInverted ? -1 : 1)
        pivotSpeed = pivot
        oscillate(omega, swing.damping, elapsed)
        let limit = swing.limit * .pi / 180
        for i in 0..<2 {
            if abs(angle[i]) > limit {
                angle[i] = angle[i] > 0 ? limit : -limit
                // Stop at the limit, and swing back from there.
                if (speed[i] > 0) == (angle[i] > 0) { speed[i] = 0 }
            }
            let goal = max(-limit, min(limit, rest[i]))
            if abs(angle[i] - goal) < Self.end.angle && abs(speed[i]) < Self.end.speed && pivot[i] == 0 {
                (angle[i], speed[i]) = (goal, 0)
            }
        }
    }

    /// Advances by the exact motion of a damped oscillator around `rest`. It is stable for steps of any length, so at
    /// any frame rate.
    private mutating func oscillate(_ omega: Float, _ damping: Float, _ elapsed: Float) {
        let ratio = min(damping, 0.999)
        let decay = ratio * omega
        let dampedFrequency = omega * (1 - ratio * ratio).squareRoot()
        let envelope = exp(-decay * elapsed)
        let (c, s) = (cos(dampedFrequency * elapsed), sin(dampedFrequency * elapsed))
        let displacement = angle - rest
        let push = (speed + displacement * decay) / dampedFrequency
        angle = rest + (displacement * c + push * s) * envelope
        speed =
            ((push * dampedFrequency - displacement * decay) * c - (displacement * dampedFrequency + push * decay) * s)
            * envelope
    }
}
