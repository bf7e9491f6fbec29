import Frames
import JSON

extension LayerKind {
    static let particles = LayerKind("particles", onPicture: { try ParticlesLayer(&$0, $1) })
}

/// A layer of many small pieces of art that drift through the picture: snow, confetti, hearts. Their positions are a
/// function of time alone, so nothing is kept between frames and a clip looks the same every time.
struct ParticlesLayer: PictureLayer {
    private struct Particle: Sendable {
        /// Index in `arts`.
        let art: Int
        /// Position at time 0, relative to the ranges across and down that it moves in.
        let start: SIMD2<Double>
        /// Height relative to the picture's.
        let size: Double
        /// Velocity across and down, in picture heights per second.
        let speed: SIMD2<Double>
        /// Amplitude of the sideways swing, in picture heights.
        let sway: Double
        /// Period of the swing in seconds, and its phase at time 0, 0...1.
        let swing: (period: Double, phase: Double)
        /// Rotation in degrees per second, and the angle at time 0 in degrees.
        let spin: (speed: Double, start: Double)
        let opacity: Float
    }

    private let arts: [CenteredArt]
    /// For each art, how far from its middle it may reach at any angle, relative to its height; at least 1.
    private let reaches: [Double]
    /// The particles from the smallest to the largest, so that near ones are drawn over far ones.
    private let flakes: [Particle]

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let names = try fields.strings("art", default: [])
        guard (1...16).contains(names.count) else {
            throw fields.wrong("art", "a list of \(names.count) pictures", allowed: "1 to 16")
        }
        let count = try fields.integer("count", in: 1...500, default: 100)
        let size = try Self.pair(&fields, "size", in: 0.002...0.5, default: (0.012, 0.05))
        let fall = try Self.pair(&fields, "fall", in: -2...2, default: (0.05, 0.2))
        let drift = try Self.pair(&fields, "drift", in: -2...2, default: (-0.02, 0.02))
        let opacity = try Self.pair(&fields, "opacities", in: 0...1, default: (0.55, 0.95))
        let spin = try Self.pair(&fields, "spin", in: -720...720, default: (0, 0))
        let sway = try fields.number("sway", in: 0...0.5, default: 0.015)
        var random = SplitMix64(seed: UInt64(try fields.integer("seed", in: 0...1_000_000, default: 1)))
        let arts = try names.map { name in
            try CenteredArt(file: name, folder: context.folder, range: context.target.range) {
                Float(size.1) * Float(context.target.height) / $0.y
            }
        }
        self.arts = arts
        // Half the diagonal.
        reaches = arts.map { max(1, Double($0.size.length / $0.size.y) / 2) }
        let kinds = arts.count
        flakes = (0..<count).map { _ in
            // Near particles are few, large, fast and opaque. The product of two random numbers makes far ones more
            // frequent.
            let near = random.nextDouble() * random.nextDouble()
            func between(_ pair: (Double, Double), _ part: Double) -> Double { pair.0 + (pair.1 - pair.0) * part }
            return Particle(
                art: min(kinds - 1, Int(random.nextDouble() * Double(kinds))),
                start: [random.nextDouble(), random.nextDouble()],
                size: between(size, near),
                speed: [between(drift, random.nextDouble()), between(fall, 0.7 * near + 0.3 * random.nextDouble())],
                sway: sway * (0.5 + random.nextDouble()),
                swing: (period: 2.5 + 3 * random.nextDouble(), phase: random.nextDouble()),
                spin: (speed: between(spin, random.nextDouble()), start: 360 * random.nextDouble()),
                opacity: Float(between(opacity, min(1, 0.5 * near + 0.7 * random.nextDouble()))))
        }.sorted { $0.size < $1.size }
    }

    /// Reads the two ends of a range for random numbers.
    private static func pair(
        _ fields: inout Fields, _ key: String, in range: ClosedRange<Double>, default fallback: (Double, Double)
    ) throws -> (Double, Double) {
        guard fields.has(key) else { return fallback }
        let ends = try fields.numbers(key, count: 2)
        guard range.contains(ends[0]), range.contains(ends[1]) else {
            throw fields.wrong(key, "[\(ends[0]), \(ends[1])]", allowed: "\(range.lowerBound) to \(range.upperBound)")
        }
        return (ends[0], ends[1])
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let layout = canvas.frame.layout
        let (width, height) = (Double(layout.width), Double(layout.height))
        let time = scene.time
        for i in flakes.indices {
            let flake = flakes[i]
            // Particles wrap around outside the picture: the range is larger than the picture by their size and swing.
            let margin = (flake.size * reaches[flake.art] + flake.sway) * height
            let extent = SIMD2(width + 2 * margin, height + 2 * margin)
            let turns = flake.start * extent + flake.speed * (time * height)
            let position = SIMD2(Self.wrapped(turns.x, extent.x), Self.wrapped(turns.y, extent.y)) - margin
            let swing = Double(Self.wave(time / flake.swing.period + flake.swing.phase)) * flake.sway * height
            let angle = Self.wrapped(flake.spin.start + flake.spin.speed * time, 360) * .pi / 180
            arts[flake.art].draw(
                at: Point(Float(position.x + swing), Float(position.y)),
                scale: Float(flake.size * height) / arts[flake.art].size.y, angle: Float(angle),
                opacity: flake.opacity * appearance.opacity, onto: &canvas.frame)
        }
    }

    /// The value modulo the length, 0..<length.
    private static func wrapped(_ value: Double, _ length: Double) -> Double {
        value - (value / length).rounded(.down) * length
    }

    /// A smooth swing between -1 and 1 with a period of 1: two parabolas that approximate a sine.
    private static func wave(_ turn: Double) -> Double {
        let t = wrapped(turn, 1)
        return t < 0.5 ? 16 * t * (0.5 - t) : -16 * (t - 0.5) * (1 - t)
    }
}
