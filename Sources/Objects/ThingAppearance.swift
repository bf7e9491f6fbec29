import Frames

/// What a thing looks like, in numbers that can be compared: its colours, its shape, and its key points.
public struct ThingAppearance: Sendable {
    /// A histogram of U and V relative to the luma, with a sum of 1; smoothed over neighbouring bins.
    let chroma: [Float]
    /// A histogram of the luma, with a sum of 1; smoothed over neighbouring bins.
    let luma: [Float]
    /// Numbers of the mask that don't change as the thing is moved, rotated or scaled.
    let shape: [Float]
    let points: [KeyPoint]

    private static let side = 11
    /// U and V relative to the luma at the histogram's edge.
    private static let largestChroma: Float = 0.55
    private static let lumaBins = 8

    /// Measures a cut-out.
    /// - Parameter points: its key points.
    init(_ cutout: borrowing Cutout, points: [KeyPoint]) {
        self.points = points
        let side = Self.side
        var chroma = [Float](repeating: 0, count: side * side)
        var luma = [Float](repeating: 0, count: Self.lumaBins)
        var (area, sum) = (Float(0), Point.zero)
        for i in 0..<cutout.mask.count where cutout.mask[i] != 0 {
            let y = Float(cutout.y[i])
            // Dark pixels have little colour, and much noise in it; blown ones none.
            let weight = min(1, y / 70) * (y > 248 ? 0.2 : 1)
            let uv = SIMD2(Float(cutout.u[i]) - 128, Float(cutout.v[i]) - 128) / max(y, 36)
            let bin = (uv / Self.largestChroma + 1) / 2 * Float(side - 1)
            Self.add(weight, at: bin, to: &chroma)
            let level = min(Float(Self.lumaBins) - 1.001, y / 256 * Float(Self.lumaBins - 1))
            luma[Int(level)] += 1 - (level - level.rounded(.down))
            luma[Int(level) + 1] += level - level.rounded(.down)
            area += 1
            sum += Point(Float(i % Cutout.side), Float(i / Cutout.side))
        }
        self.chroma = Self.normalized(Self.smoothed(chroma, width: side))
        self.luma = Self.normalized(Self.smoothed(luma, width: Self.lumaBins))
        shape = Self.shape(cutout, area: max(1, area), center: sum / max(1, area))
    }

    /// Adds a weight to the four bins around a place.
    private static func add(_ weight: Float, at bin: SIMD2<Float>, to bins: inout [Float]) {
        let limit = Float(side) - 1.001
        let (x, y) = (max(0, min(limit, bin.x)), max(0, min(limit, bin.y)))
        let (x0, y0) = (Int(x), Int(y))
        let (fx, fy) = (x - Float(x0), y - Float(y0))
        bins[y0 * side + x0] += weight * (1 - fx) * (1 - fy)
        bins[y0 * side + x0 + 1] += weight * fx * (1 - fy)
        bins[(y0 + 1) * side + x0] += weight * (1 - fx) * fy
        bins[(y0 + 1) * side + x0 + 1] += weight * fx * fy
    }

    /// Each bin with half of its neighbours' values, so that a little more or less light changes little.
    private static func smoothed(_ bins: [Float], width: Int) -> [Float] {
        var across = bins
        for i in bins.indices {
            let column = i % width
            if column > 0 { across[i] += bins[i - 1] / 2 }
            if column + 1 < width { across[i] += bins[i + 1] / 2 }
        }
        guard bins.count > width else { return across }
        var down = across
        for i in bins.indices {
            if i >= width { down[i] += across[i - width] / 2 }
            if i + width < bins.count { down[i] += across[i + width] / 2 }
        }
        return down
    }

    private static func normalized(_ bins: [Float]) -> [Float] {
        let sum = bins.reduce(0, +)
        return sum > 0 ? bins.map { $0 / sum } : bins
    }

    /// The shape: how long it is compared with its width, how much of the ellipse with its moments it fills, how far
    /// its points are from the centre, and how much more of it is at one end.
    private static func shape(_ cutout: borrowing Cutout, area: Float, center: Point) -> [Float] {
        var (xx, xy, yy) = (Float(0), Float(0), Float(0))
        for i in 0..<cutout.mask.count where cutout.mask[i] != 0 {
            let d = Point(Float(i % Cutout.side), Float(i / Cutout.side)) - center
            (xx, xy, yy) = (xx + d.x * d.x, xy + d.x * d.y, yy + d.y * d.y)
        }
        (xx, xy, yy) = (xx / area, xy / area, yy / area)
        let (mean, spread) = ((xx + yy) / 2, (((xx - yy) / 2) * ((xx - yy) / 2) + xy * xy).squareRoot())
        let (long, short) = (max(0.1, mean + spread).squareRoot(), max(0.1, mean - spread).squareRoot())
        let axis = atan2(2 * xy, xx - yy) / 2
        let (ax, ay) = (cos(axis), sin(axis))
        var skew: Float = 0
        var rings = [Float](repeating: 0, count: 6)
        let unit = (area / .pi).squareRoot()
        for i in 0..<cutout.mask.count where cutout.mask[i] != 0 {
            let d = Point(Float(i % Cutout.side), Float(i / Cutout.side)) - center
            let along = (d.x * ax + d.y * ay) / long
            skew += along * along * along
            rings[min(5, Int(d.length / unit * 3))] += 1 / area
        }
        return [log(long / short), area / (4 * .pi * long * short), abs(skew) / area] + rings
    }

    /// The differences of two things: of their colours and their luma, from 0 (the same) to 1 (nothing in common), and
    /// of their shapes, where 1 is a different one.
    func differences(from other: ThingAppearance) -> (chroma: Float, luma: Float, shape: Float) {
        var shape: Float = 0
        // Weights, since these have different units: a coin that is tilted by 30 degrees is 1.15 times as long as wide.
        let weights: [Float] = [1.3, 3, 0.8, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2]
        for i in weights.indices {
            let d = (self.shape[i] - other.shape[i]) * weights[i]
            shape += d * d
        }
        return (
            Self.hellinger(chroma, other.chroma), Self.hellinger(luma, other.luma), shape.squareRoot()
        )
    }

    /// The Hellinger distance of two distributions, 0...1.
    private static func hellinger(_ a: [Float], _ b: [Float]) -> Float {
        var overlap: Float = 0
        for i in a.indices { overlap += (a[i] * b[i]).squareRoot() }
        return max(0, 1 - overlap).squareRoot()
    }
}
