import Frames
import SystemKit
import Track

/// Closes the landmarks' eyelids when the eyes are closed. The regression trees follow a blink only half way, which
/// would leave a slit of bare skin between made-up lids. The pixels between the lids tell the rest: closed lids have an
/// even luma and the skin's colour, while white and iris have neither.
struct BlinkDetector: Sendable {
    private var right = Eyelid(first: 36)
    private var left = Eyelid(first: 42)

    /// Moves the upper lids' landmarks down if the eyes are closed or closing.
    /// - Parameters:
    ///   - face: a tracked face, with the lids as the trees found them.
    ///   - pixels: of the frame in which the face was tracked, before anything is drawn on it.
    ///   - elapsed: seconds since the face's last frame.
    mutating func closeLids(_ face: inout Face, _ pixels: borrowing PixelReader, elapsed: Float) {
        guard let right = right.openness(face, pixels, elapsed: elapsed),
            let left = left.openness(face, pixels, elapsed: elapsed)
        else { return }
        // Eyes mostly blink together: an eye that looks open is closed further if the other one looks closed.
        let both = (right + left) / 2
        self.right.closeLids(&face, min(right, both))
        self.left.closeLids(&face, min(left, both))
    }
}

/// One eye's lids and their baselines.
private struct Eyelid: Sendable {
    /// Index of the eye's first landmark. Six go round the eye, from the corner at the picture's left along the upper
    /// lid.
    let first: Int
    private var contrast = Baseline()
    private var color = Baseline()

    /// Openness up to which an eye is closed, and from which it is left as it is. From clips: closed eyes have 0.1 to
    /// 0.4, open ones that look aside or squint 0.6 and more.
    private static let (isShut, isOpen): (Float, Float) = (0.4, 0.6)
    /// The least part of the gap between the lids that stays. Lids that meet would leave triangles without area.
    private static let least: Float = 0.04
    /// The sample grid: parts of the way from corner to corner, and from upper to lower lid.
    private static let across: (first: Float, step: Float, count: Int) = (0.14, 0.045, 17)
    private static let down: (first: Float, step: Float, count: Int) = (0.2, 0.09, 6)
    /// Distance below the lower lid at which skin is sampled for comparison, in eye widths.
    private static let below: Float = 0.35
    /// Least mean luma to divide by, 0...255. In darker eyes, the differences are noise.
    private static let darkest: Float = 8
    /// Least chroma difference between an open eye and skin, in 8-bit samples. Below it the picture has too little
    /// colour to tell, and contrast alone counts.
    private static let faintest: Float = 3

    init(first: Int) { self.first = first }

    /// How open the eye looks, relative to its baseline; nil if the eye leaves the frame.
    mutating func openness(_ face: borrowing Face, _ pixels: borrowing PixelReader, elapsed: Float) -> Float? {
        guard let seen = measure(face, pixels) else { return nil }
        let contrast = self.contrast.normalize(of: seen.contrast, elapsed: elapsed)
        let color = self.color.normalize(of: seen.color, elapsed: elapsed)
        return self.color.value < Self.faintest ? contrast : (contrast + color) / 2
    }

    /// Moves the upper lid's landmarks towards the lower lid's.
    func closeLids(_ face: inout Face, _ openness: Float) {
        guard openness < Self.isOpen else { return }
        let openFraction = max(Self.least, (openness - Self.isShut) / (Self.isOpen - Self.isShut))
        for i in 1...2 {
            let (upper, lower) = (first + i, first + 6 - i)
            face.landmarks[upper] =
                face.landmarks[lower] + (face.landmarks[upper] - face.landmarks[lower]) * openFraction
        }
    }

    /// Measures what is between the lids. Contrast is the standard deviation of luma over its mean, times the gap over
    /// the eye's width. Color is the distance between the mean chroma there and that of the skin below, in samples.
    private func measure(
        _ face: borrowing Face, _ pixels: borrowing PixelReader
    ) -> (contrast: Float, color: Float)? {
        let p = face.landmarks
        let upper = (p[first], p[first + 1], p[first + 2], p[first + 3])
        let lower = (p[first], p[first + 5], p[first + 4], p[first + 3])
        let corners = upper.3 - upper.0
        let skin = Point(-corners.y, corners.x) * Self.below
        var (sum, squares): (Float, Float) = (0, 0)
        var (between, beside): (SIMD2<Float>, SIMD2<Float>) = (.zero, .zero)
        for column in 0..<Self.across.count {
            let x = Self.across.first + Float(column) * Self.across.step
            let (top, bottom) = (Self.along(upper, x), Self.along(lower, x))
            guard pixels.contains(top), pixels.contains(bottom + skin) else { return nil }
            beside += pixels[Int(bottom.x + skin.x), Int(bottom.y + skin.y)].chroma
            for row in 0..<Self.down.count {
                let point = top + (bottom - top) * (Self.down.first + Float(row) * Self.down.step)
                guard pixels.contains(point) else { return nil }
                let (luma, chroma) = pixels[Int(point.x), Int(point.y)]
                sum += Float(luma)
                squares += Float(luma * luma)
                between += chroma
            }
        }
        let count = Float(Self.across.count * Self.down.count)
        let mean = sum / count
        let deviation = max(0, squares / count - mean * mean).squareRoot()
        let lidDistance = (upper.1 + upper.2 - lower.1 - lower.2).length / 2
        return (
            deviation / max(mean, Self.darkest) * lidDistance / max(corners.length, 1),
            (between / count - beside / Float(Self.across.count)).length
        )
    }

    /// A point on a lid of four landmarks; `x` goes from 0 at the first corner to 1 at the second.
    private static func along(_ lid: (Point, Point, Point, Point), _ x: Float) -> Point {
        let position = x * 3
        return if position < 1 {
            lid.0 + (lid.1 - lid.0) * position
        } else if position < 2 {
            lid.1 + (lid.2 - lid.1) * (position - 1)
        } else {
            lid.2 + (lid.3 - lid.2) * (position - 2)
        }
    }
}

/// The value that is usual for an open eye. It rises quickly and falls slowly, so it survives long blinks and downcast
/// eyes.
private struct Baseline: Sendable {
    /// The smoothed value; less than 0 before the first sample.
    private(set) var value: Float = -1

    /// Time constants in seconds.
    private static let (rise, fall): (Float, Float) = (0.3, 8)

    /// Updates the baseline and returns the sample relative to it.
    mutating func normalize(of seen: Float, elapsed: Float) -> Float {
        if value < 0 { value = seen }
        value += (seen - value) * (1 - exp(-elapsed / (seen > value ? Self.rise : Self.fall)))
        return seen / max(value, 1e-6)
    }
}
