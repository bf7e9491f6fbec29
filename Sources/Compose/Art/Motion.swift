import Frames
import JSON

/// What moves by itself: `"motion": {"frames": [{"art": "a.svg", "milliseconds": 80}, ...], "repeat": "forever",
/// "swing": {"frequency": 1.5, "damping": 0.12, "limit": 40}}`. All keys may be absent.
struct Motion: Sendable {
    /// A picture and how long it is shown.
    struct Picture: Sendable {
        let art: String
        let milliseconds: Double
    }

    /// What follows when all pictures were shown.
    enum Repetition: String, CaseIterable, Sendable {
        case forever
        case once
        case backAndForth = "back and forth"
    }

    /// Art files in turn; none: the layer's own art, which may move by itself (APNG).
    let pictures: [Picture]
    /// Nil: as the art says.
    let repetition: Repetition?
    /// Nil: nothing dangles.
    let swing: Swing?

    /// More hold too much memory at once.
    static let mostPictures = 64

    init(_ fields: inout Fields) throws {
        var motion = try fields.object("motion")
        pictures = try motion.objects("frames").map {
            var picture = $0
            let art = try picture.string("art")
            let milliseconds = try picture.number("milliseconds", in: 10...60_000, default: 100)
            try picture.finish()
            return Picture(art: art, milliseconds: milliseconds)
        }
        guard pictures.count <= Self.mostPictures else {
            throw motion.wrong("frames", "\(pictures.count) pictures", allowed: "at most \(Self.mostPictures)")
        }
        repetition = motion.has("repeat") ? try motion.oneOf("repeat", Repetition.self) : nil
        swing = motion.has("swing") ? try Swing(try motion.object("swing")) : nil
        try motion.finish()
    }
}

/// Which of some pictures is shown when.
struct Timeline: Sendable {
    /// Milliseconds after the beginning at which each picture ends.
    private let ends: [Double]
    private let repetition: Motion.Repetition

    /// - Parameter durations: milliseconds; at least one, each more than 0.
    init(durations: [Double], _ repetition: Motion.Repetition) {
        precondition(!durations.isEmpty)
        var end = 0.0
        // There and back, without showing the last and the first twice.
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

    /// The picture shown at a time.
    /// - Parameter time: milliseconds since the beginning.
    func picture(at time: Double) -> Int {
        guard ends.count > 1, time.isFinite, time > 0, let whole = ends.last else { return 0 }
        if repetition == .once && time >= whole { return count - 1 }
        let place = time.truncatingRemainder(dividingBy: whole)
        var (low, high) = (0, ends.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] > place { high = middle } else { low = middle + 1 }
        }
        return low < count ? low : 2 * (count - 1) - low
    }
}

/// A damped pendulum that hangs on the head, or stands on it: what dangles.
struct Swing: Sendable {
    /// Swings a second when nothing damps it.
    let frequency: Float
    /// The damping ratio: 0 swings for ever, 1 does not swing over.
    let damping: Float
    /// Degrees.
    let limit: Float
    /// Ears and feathers stand: they lag the other way, and their own strength holds them against gravity.
    let stands: Bool

    init(_ fields: Fields) throws {
        var fields = fields
        frequency = Float(try fields.number("frequency", in: 0.2...8, default: 1.5))
        damping = Float(try fields.number("damping", in: 0.02...1, default: 0.15))
        limit = Float(try fields.number("limit", in: 1...90, default: 40))
        stands = try fields.bool("stands", default: false)
        try fields.finish()
    }

    init(frequency: Float, damping: Float, limit: Float, stands: Bool = false) {
        (self.frequency, self.damping, self.limit, self.stands) = (frequency, damping, limit, stands)
    }
}

/// How far something has swung, from frame to frame.
struct Pendulum: Sendable {
    /// Radians from where it hangs when the head is upright and still; (in the picture's plane, towards the viewer).
    private(set) var angle = SIMD2<Float>.zero
    /// Radians a second.
    private var speed = SIMD2<Float>.zero
    /// Of the pivot, in the frame before: eye distances a second.
    private var pivotSpeed = SIMD2<Float>.zero
    /// Where gravity pulls it to, radians.
    private var rest = SIMD2<Float>.zero
    private var isNew = true

    /// Gravity in eye distances (63 mm) a second a second.
    private static let gravity: Float = 9.81 / 0.063
    /// A pivot that seems to move slower than this does not: landmarks shake so much. Eye distances a second.
    private static let stillSpeed = SIMD2<Float>(0.35, 0.6)
    /// A head that seems to lean less far from where it did does not, radians.
    private static let stillLean = SIMD2<Float>(1.5, 4) * .pi / 180
    /// Below these it comes to rest: radians, and radians a second.
    private static let end: (angle: Float, speed: Float) = (0.003, 0.03)

    /// Degrees.
    var degrees: SIMD2<Float> { angle * (180 / .pi) }

    /// Goes on to the next frame.
    /// - Parameters:
    ///   - speed: of the pivot: to the picture's right and away from the viewer, eye distances a second.
    ///   - lean: of the head: its roll, and how far it nods forward, radians.
    ///   - elapsed: seconds.
    mutating func step(_ swing: Swing, speed seen: SIMD2<Float>, lean: SIMD2<Float>, elapsed: Float) {
        // Away from rest by no more than the dead band: what shakes within it moves nothing.
        let target = swing.stands ? SIMD2<Float>.zero : -lean
        for i in 0..<2 {
            let off = target[i] - rest[i]
            let band = Self.stillLean[i]
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
            let band = Self.stillSpeed[i]
            pivot[i] = seen[i] > band ? seen[i] - band : seen[i] < -band ? seen[i] + band : 0
        }
        let omega = 2 * .pi * swing.frequency
        // A pendulum of this frequency is so long, in eye distances.
        let length = Self.gravity / (omega * omega)
        speed += (pivot - pivotSpeed) / length * (swing.stands ? -1 : 1)
        pivotSpeed = pivot
        oscillate(omega, swing.damping, elapsed)
        let limit = swing.limit * .pi / 180
        for i in 0..<2 {
            if abs(angle[i]) > limit {
                angle[i] = angle[i] > 0 ? limit : -limit
                // It stops at its limit and swings back from there.
                if (speed[i] > 0) == (angle[i] > 0) { speed[i] = 0 }
            }
            let goal = max(-limit, min(limit, rest[i]))
            if abs(angle[i] - goal) < Self.end.angle && abs(speed[i]) < Self.end.speed && pivot[i] == 0 {
                (angle[i], speed[i]) = (goal, 0)
            }
        }
    }

    /// The exact motion of a damped oscillator about `rest`, however long the step: so it is stable at any frame rate.
    private mutating func oscillate(_ omega: Float, _ damping: Float, _ elapsed: Float) {
        let ratio = min(damping, 0.999)
        let decay = ratio * omega
        let turn = omega * (1 - ratio * ratio).squareRoot()
        let fade = exp(-decay * elapsed)
        let (c, s) = (cos(turn * elapsed), sin(turn * elapsed))
        let away = angle - rest
        let push = (speed + away * decay) / turn
        angle = rest + (away * c + push * s) * fade
        speed = ((push * turn - away * decay) * c - (away * turn + push * decay) * s) * fade
    }
}
