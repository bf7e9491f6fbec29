import Frames
import Track

/// Shuts the landmarks' lids where the eyes are shut. The trees follow a blink half the way, and would leave a slit of bare
/// skin between lids that are made up. What lies between the lids tells the rest: lids are of one luma, and of the skin's
/// colour; white and iris are neither.
struct BlinkDetector: Sendable {
    private var right = Eyelid(first: 36)
    private var left = Eyelid(first: 42)

    /// - Parameters:
    ///   - face: tracked, its lids as the trees have them.
    ///   - pixels: of the frame that it was measured on, before anything is drawn.
    ///   - elapsed: seconds since its last frame.
    mutating func closeLids(_ face: inout Face, _ pixels: borrowing PixelReader, elapsed: Float) {
        guard let right = right.openness(face, pixels, elapsed: elapsed),
            let left = left.openness(face, pixels, elapsed: elapsed)
        else { return }
        // Eyes mostly blink together: the surer one speaks for the other.
        let both = (right + left) / 2
        self.right.closeLids(&face, min(right, both))
        self.left.closeLids(&face, min(left, both))
    }
}

private struct Eyelid: Sendable {
    /// The eye's first landmark: six go round it, from the corner at the picture's left over the upper lid.
    let first: Int
    private var contrast = Baseline()
    private var color = Baseline()

    /// Openness at which an eye is shut, and from which it is left as it is: by the clips, where shut eyes have 0.1 to 0.4,
    /// and open ones that look aside or squint 0.6 and more.
    private static let (isShut, isOpen): (Float, Float) = (0.4, 0.6)
    /// Of the gap: lids that meet would leave triangles of no area.
    private static let least: Float = 0.04
    /// What is looked at, of the eye from corner to corner and from lid to lid.
    private static let across: (first: Float, step: Float, count: Int) = (0.14, 0.045, 17)
    private static let down: (first: Float, step: Float, count: Int) = (0.2, 0.09, 6)
    /// The skin for comparison lies so far below the lower lid, eye widths.
    private static let below: Float = 0.35
    /// Of 0...255: darker than this, noise is all that differs.
    private static let darkest: Float = 8
    /// Samples of 8 bits: where an open eye differs less from skin, the picture has too little colour to tell.
    private static let faintest: Float = 3

    init(first: Int) { self.first = first }

    /// What is seen of the open eye, as a share of what is usual. Nil where the eye leaves the frame.
    mutating func openness(_ face: borrowing Face, _ pixels: borrowing PixelReader, elapsed: Float) -> Float? {
        guard let seen = measure(face, pixels) else { return nil }
        let contrast = self.contrast.normalize(of: seen.contrast, elapsed: elapsed)
        let color = self.color.normalize(of: seen.color, elapsed: elapsed)
        return self.color.value < Self.faintest ? contrast : (contrast + color) / 2
    }

    /// Lets the upper lid down.
    func closeLids(_ face: inout Face, _ openness: Float) {
        guard openness < Self.isOpen else { return }
        let gap = max(Self.least, (openness - Self.isShut) / (Self.isOpen - Self.isShut))
        for i in 1...2 {
            let (upper, lower) = (first + i, first + 6 - i)
            face.landmarks[upper] = face.landmarks[lower] + (face.landmarks[upper] - face.landmarks[lower]) * gap
        }
    }

    /// How much luma differs between the lids, by its mean, times the gap by the eye's width; and how far the colour there is
    /// from that of the skin below, in samples of chroma.
    private func measure(
        _ face: borrowing Face, _ pixels: borrowing PixelReader
    ) -> (contrast: Float, color: Float)? {
        let p = face.landmarks
        let upper = (p[first], p[first + 1], p[first + 2], p[first + 3])
        let lower = (p[first], p[first + 5], p[first + 4], p[first + 3])
        let way = upper.3 - upper.0
        let skin = Point(-way.y, way.x) * Self.below
        var (sum, squares): (Float, Float) = (0, 0)
        var (between, beside): (SIMD2<Float>, SIMD2<Float>) = (.zero, .zero)
        for column in 0..<Self.across.count {
            let x = Self.across.first + Float(column) * Self.across.step
            let (top, bottom) = (Self.along(upper, x), Self.along(lower, x))
            guard pixels.contains(top), pixels.contains(bottom + skin) else { return nil }
            beside += pixels[Int(bottom.x + skin.x), Int(bottom.y + skin.y)].chroma
            for row in 0..<Self.down.count {
                let place = top + (bottom - top) * (Self.down.first + Float(row) * Self.down.step)
                guard pixels.contains(place) else { return nil }
                let (luma, chroma) = pixels[Int(place.x), Int(place.y)]
                sum += Float(luma)
                squares += Float(luma * luma)
                between += chroma
            }
        }
        let count = Float(Self.across.count * Self.down.count)
        let mean = sum / count
        let deviation = max(0, squares / count - mean * mean).squareRoot()
        let gap = (upper.1 + upper.2 - lower.1 - lower.2).length / 2
        return (
            deviation / max(mean, Self.darkest) * gap / max(way.length, 1),
            (between / count - beside / Float(Self.across.count)).length
        )
    }

    /// A place on a lid of four landmarks, from corner (0) to corner (1).
    private static func along(_ lid: (Point, Point, Point, Point), _ x: Float) -> Point {
        let place = x * 3
        return if place < 1 {
            lid.0 + (lid.1 - lid.0) * place
        } else if place < 2 {
            lid.1 + (lid.2 - lid.1) * (place - 1)
        } else {
            lid.2 + (lid.3 - lid.2) * (place - 2)
        }
    }
}

/// What is usual for an eye while it is open: known soon, and remembered through long blinks and downcast eyes.
private struct Baseline: Sendable {
    /// Less than 0: not known yet.
    private(set) var value: Float = -1

    /// Time constants, seconds.
    private static let (rise, fall): (Float, Float) = (0.3, 8)

    /// What is seen now, as a share of what is usual.
    mutating func normalize(of seen: Float, elapsed: Float) -> Float {
        if value < 0 { value = seen }
        value += (seen - value) * (1 - exp(-elapsed / (seen > value ? Self.rise : Self.fall)))
        return seen / max(value, 1e-6)
    }
}
