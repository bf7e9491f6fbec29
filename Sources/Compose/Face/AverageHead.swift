import Frames

/// The shape of an average adult's head without hair.
enum AverageHead {
    /// Horizontal sections of an average adult's head: height (up), half the width, front and back, in head units.
    /// Below the brow they follow the mean landmarks. The skull is 2.4 wide and 2.9 long for an eye distance of 1 (a
    /// head of 152 x 185 mm, eyes 63 mm apart: Farkas, "Anthropometry of the head and face", 1994).
    static let sections: [(up: Float, half: Float, front: Float, back: Float)] = [
        (1.92, 0.06, 1.02, 1.20), (1.85, 0.45, 0.62, 1.66), (1.62, 0.84, 0.28, 2.12), (1.25, 1.09, 0.02, 2.42),
        (0.80, 1.19, -0.13, 2.56), (0.40, 1.19, -0.22, 2.60), (0.10, 1.15, -0.10, 2.58), (-0.20, 1.14, -0.08, 2.48),
        (-0.60, 1.11, -0.14, 2.20), (-1.00, 1.04, -0.16, 1.85), (-1.40, 0.84, -0.12, 1.60), (-1.70, 0.54, -0.06, 1.45),
        (-1.90, 0.40, 0.30, 1.40), (-2.60, 0.72, 0.40, 1.80),
    ]

    /// The depth of the middle of the head above the eyes, in head space.
    static let middle: Float = 1.25

    /// Half the width of a section as it is seen, in head units: a turned head shows some of its length.
    /// - Parameter yaw: degrees.
    static func visibleHalf(of section: (half: Float, long: Float), yaw: Float) -> Float {
        let (c, s) = (section.half * cos(radians(yaw)), section.long * sin(radians(yaw)))
        return (c * c + s * s).squareRoot()
    }

    /// Half the width and half the length of the head at a height, in head units.
    /// - Parameter up: the height above the eyes; 0 is returned above and below the head.
    static func section(at up: Float) -> (half: Float, long: Float) {
        for (upper, lower) in zip(sections, sections.dropFirst()) where up <= upper.up && up >= lower.up {
            let part = (upper.up - up) / (upper.up - lower.up)
            let (long, next) = ((upper.back - upper.front) / 2, (lower.back - lower.front) / 2)
            return (upper.half + (lower.half - upper.half) * part, long + (next - long) * part)
        }
        return (0, 0)
    }
}
