import Frames
import Track

/// Hair that a hat presses to the head: in the picture, what lies between the head that the hat covers and the outline
/// of the hair is moved inwards, and the background beside it follows. Without that, hair stands beside and above the
/// hat, which looks held in front of the head; hats that are as wide as the hair look like buckets.
struct HairPress {
    /// Half the width of an outline at the rim, and the height of its top above the rim; eye distances.
    private struct Size {
        var (half, top): (Float, Float)

        /// The distance of the outline, half an ellipse, from its centre.
        /// - Parameter direction: unit vector, across and up.
        func radius(_ direction: Point) -> Float {
            let (x, y) = (direction.x / half, direction.y / top)
            return 1 / (x * x + y * y).squareRoot()
        }
    }

    /// What the hat covers, and the hair.
    private let (covered, hair): (Size, Size)
    /// The centre of the rim in the picture, pixels, and unit vectors from there across the head and up.
    private let (center, across, up): (Point, Point, Point)
    /// Pixels per eye distance.
    private let scale: Float

    /// The centre of the rim in head space.
    private static let rim: SIMD3<Float> = [0, -HeadFit.rim, AverageHead.middle]
    /// Where the outline of the head is taken for its width, above the eyes.
    private static let row: Float = 1.1
    /// What is added to the hair, since single hairs stand out of its outline, eye distances.
    private static let margin: Float = 0.1
    /// The part of what the hat covers that stays as it is.
    private static let still: Float = 0.72
    /// How far the background is stretched beyond what the hat covers: times the hair's reach beyond that, and as much
    /// again in eye distances.
    private static let (stretch, least): (Float, Float) = (3, 0.3)
    /// Heights relative to the rim, eye distances, between which the hair comes out again below the hat.
    private static let (free, pressed): (Float, Float) = (-0.55, 0.05)
    /// The largest part of a head's scale by which hair may be moved: more looks torn.
    private static let farthest: Float = 0.9

    /// How much of the way to the head hair is pressed: all of it at the rim and above.
    /// - Parameter height: relative to the rim, in eye distances.
    static func part(at height: Float) -> Float { smoothstep((height - free) / (pressed - free)) }

    /// Nil if the hat covers all of the hair.
    /// - Parameters:
    ///   - hair: how much larger the hair is than that of the head that hats are made for.
    ///   - fit: that of what the hat covers.
    init?(_ head: HeadPlacement, hair: HeadFit, fit: HeadFit) {
        let half = AverageHead.visibleHalf(of: AverageHead.section(at: Self.row), yaw: head.pose.yaw)
        func size(_ fit: HeadFit) -> Size {
            Size(half: half * HeadFit.usualWidth * fit.width, top: (HeadFit.usualHeight - HeadFit.rim) * fit.height)
        }
        let reach = size(hair)
        covered = size(fit)
        guard reach.half > covered.half || reach.top > covered.top else { return nil }
        self.hair = Size(
            half: min(reach.half + Self.margin, covered.half + Self.farthest),
            top: min(reach.top + Self.margin, covered.top + Self.farthest))
        scale = max(head.scale, 1e-3)
        center = head(Self.rim)
        let row = Point(head.x.x, head.y.x)
        guard row.length > 1e-3 * scale else { return nil }
        across = row / row.length
        up = Point(across.y, -across.x)
    }

    /// The part of the picture that changes, pixels.
    var box: PixelRect {
        let reach =
            max(
                covered.half + Self.stretch * (hair.half - covered.half),
                covered.top + Self.stretch * (hair.top - covered.top)) + Self.least
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for number in 0..<4 {
            let (x, y) = (number & 1 == 0 ? -reach : reach, number < 2 ? reach : Self.free)
            let corner = center + (across * x + up * y) * scale
            (low, high) = (pointwiseMin(low, corner), pointwiseMax(high, corner))
        }
        let limit: Float = 20_000  // keeps Int conversions defined
        low = pointwiseMax(low, Point(repeating: -limit))
        high = pointwiseMin(high, Point(repeating: limit))
        return PixelRect(
            x: Int(low.x), y: Int(low.y), width: Int(high.x - low.x) + 2, height: Int(high.y - low.y) + 2)
    }

    /// The place in the picture that is shown at another, pixels.
    func source(of point: Point) -> Point {
        let offset = (point - center) / scale
        let place = Point((offset * across).sum(), (offset * up).sum())
        let (distance, height) = (place.length, place.y)
        guard height > Self.free, distance > 1e-3 else { return point }
        let direction = place / distance
        let edge = covered.radius(direction)
        let moved = (hair.radius(direction) - edge) * Self.part(at: height)
        let (first, end) = (edge * Self.still, edge + moved * Self.stretch + Self.least)
        guard moved > 0, distance > first, distance < end else { return point }
        // Beyond the edge the displacement ends smoothly: straight lines in the background would show a kink.
        let rest = 1 - (distance - edge) / (end - edge)
        let from =
            distance < edge
            ? first + (distance - first) * (edge + moved - first) / (edge - first)
            : distance + moved * rest * rest
        return center + (point - center) * (from / distance)
    }
}
