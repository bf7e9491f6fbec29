import Frames
import Track

/// The visible outline of the mouth, lips included. Art can leave it free.
struct Lips {
    /// The mouth's right corner, in pixels.
    private let origin: Point
    /// Unit vectors along the mouth and down from it.
    private let (along, down): (Point, Point)
    /// Length of the mouth from corner to corner, in pixels.
    private let length: Float
    /// For each step along the mouth, how far down the edges of the upper and lower lip are, in pixels.
    private var (upper, lower): ([33 of Float], [33 of Float])
    /// Width of the soft edge, in pixels.
    private let softness: Float

    /// Bounding box of the outline with its soft edge, in pixels.
    let region: PixelRect

    /// The landmarks of the outer lips in the 68 points of iBUG 300-W, clockwise from the corner at the picture's left:
    /// the upper edge from corner to corner, then the lower edge back.
    private static let (firstCorner, secondCorner, end) = (48, 54, 60)
    private static let steps = 32
    /// Width of the soft edge, in eye distances.
    private static let edge: Float = 0.07

    init(_ face: borrowing Face) {
        let p = face.landmarks
        let (first, second, end) = (Self.firstCorner, Self.secondCorner, Self.end)
        origin = p[first]
        let width = p[second] - p[first]
        length = max(width.length, 1)
        along = width / length
        down = Point(-along.y, along.x)
        softness = max(face.head.scale * Self.edge, 1)
        upper = .init(repeating: .infinity)
        lower = .init(repeating: -.infinity)
        var (low, high) = (p[first], p[first])
        for i in first..<end {
            low = pointwiseMin(low, p[i])
            high = pointwiseMax(high, p[i])
        }
        region = PixelRect(
            x: Int(max(-1e6, min(1e6, low.x - softness))), y: Int(max(-1e6, min(1e6, low.y - softness))),
            width: Int(min(1e6, high.x - low.x + 2 * softness)) + 2,
            height: Int(min(1e6, high.y - low.y + 2 * softness)) + 2)
        for i in first..<second { add(p[i], p[i + 1], isUpper: true) }
        for i in second..<end { add(p[i], p[i + 1 == end ? first : i + 1], isUpper: false) }
    }

    /// Adds one line segment of the outline.
    private mutating func add(_ a: Point, _ b: Point, isUpper: Bool) {
        let (p, q) = (local(a), local(b))
        let (from, to) = (min(p.x, q.x), max(p.x, q.x))
        let last = Float(Self.steps)
        guard from <= last, to >= 0 else { return }  // false if either is NaN, too
        for step in Int(max(0, from))...Int(min(last, to)) where Float(step) >= from && Float(step) <= to {
            let part = to - from < 1e-3 ? 0 : (Float(step) - p.x) / (q.x - p.x)
            let y = p.y + (q.y - p.y) * part
            if isUpper { upper[step] = min(upper[step], y) } else { lower[step] = max(lower[step], y) }
        }
    }

    /// Converts a point to steps along the mouth (x) and pixels down from it (y).
    private func local(_ p: Point) -> Point {
        let d = p - origin
        return Point((d * along).sum() / length * Float(Self.steps), (d * down).sum())
    }

    /// Coverage of a point, from 0 (outside) to 1 (on the lips or between them).
    func covers(_ p: Point) -> Float {
        let position = local(p)
        guard position.x > 0, position.x < Float(Self.steps) else { return 0 }
        let step = Int(position.x)
        let part = position.x - Float(step)
        let top = upper[step] + (upper[step + 1] - upper[step]) * part
        let bottom = lower[step] + (lower[step + 1] - lower[step]) * part
        let inside = min(position.y - top, bottom - position.y)
        guard inside.isFinite else { return 0 }
        return smoothstep(inside / softness + 0.5)
    }

    /// Erases the mouth from the layer buffer.
    func clear(_ layer: inout LayerBuffer) {
        let area = layer.region
        let left = max(region.x, area.x)
        let right = min(region.x + region.width, area.x + area.width)
        let top = max(region.y, area.y)
        let bottom = min(region.y + region.height, area.y + area.height)
        guard left < right, top < bottom else { return }
        let stride = layer.stride
        var pixels = layer.pixels
        for y in top..<bottom {
            for x in left..<right {
                let index = (y - area.y) * stride + x - area.x
                let pixel = pixels[index]
                if pixel == 0 { continue }
                let alpha = UInt32((1 - covers(Point(Float(x), Float(y)))) * 256)
                if alpha == 256 { continue }
                pixels[index] = faded(pixel, alpha)
            }
        }
    }
}
