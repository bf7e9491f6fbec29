import Frames
import JSON

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
    /// The angles from its equilibrium with the head upright and still: in the picture's plane, and towards the viewer;
    /// radians.
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
    ///   - elapsed: seconds since the last frame; 0 if they are unknown; nil: the frame is the same.
    mutating func step(_ swing: Swing, speed seen: SIMD2<Float>, tilt: SIMD2<Float>, elapsed: Float?) {
        guard isNew || elapsed != nil else { return }
        let elapsed = elapsed ?? 0
        // After the first frame the rest angle follows the tilt at the edge of the dead band: noise within it moves
        // nothing.
        let target = swing.isInverted ? SIMD2<Float>.zero : -tilt
        for i in 0..<2 {
            let band = Self.tiltDeadBand[i]
            if isNew {
                rest[i] = abs(target[i]) < band ? 0 : target[i]
            } else {
                rest[i] += Self.excess(target[i] - rest[i], over: band)
            }
        }
        let limit = swing.limit * .pi / 180
        guard !isNew, elapsed > 0, elapsed < 0.5 else {
            angle = pointwiseMax(pointwiseMin(rest, SIMD2(repeating: limit)), SIMD2(repeating: -limit))
            (speed, pivotSpeed, isNew) = (.zero, .zero, false)
            return
        }
        var pivot = seen
        for i in 0..<2 { pivot[i] = Self.excess(seen[i], over: Self.speedDeadBand[i]) }
        let omega = 2 * .pi * swing.frequency
        // The length of a pendulum of this frequency, in eye distances.
        let length = Self.gravity / (omega * omega)
        speed += (pivot - pivotSpeed) / length * (swing.isInverted ? -1 : 1)
        pivotSpeed = pivot
        oscillate(omega, swing.damping, elapsed)
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

    /// By how much a value is outside of a dead band around 0.
    private static func excess(_ value: Float, over band: Float) -> Float {
        value > band ? value - band : value < -band ? value + band : 0
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
