import Frames

/// How a picture is bent so that each of its pins lies on its landmark: a thin-plate spline (Bookstein, "Principal
/// Warps", 1989), which bends no more than it must, is exact at the pins, and is the affine map where that will do.
///
/// A spline is linear in where its pins go. So all that depends on the art is worked out once: where each corner of a grid
/// over the art lies is a weighted sum of where the pins are seen.
struct ThinPlateSpline: Sendable {
    /// Corners across and down. More follow the spline closer, by a pixel or two, and cost twice as much.
    static let side = 5
    static let corners = side * side

    /// Art units, row by row.
    let grid: [Point]
    /// For each corner, the weight of each pin.
    private let weights: [Float]
    private let pins: Int

    /// Two triangles for each cell of the grid, clockwise.
    static let triangles: [SIMD4<UInt8>] = (0..<(side - 1) * (side - 1)).flatMap { cell in
        let first = cell / (side - 1) * side + cell % (side - 1)
        let (a, b, c, d) = (UInt8(first), UInt8(first + 1), UInt8(first + side), UInt8(first + side + 1))
        return [SIMD4(a, b, c, 0), SIMD4(b, d, c, 0)]
    }

    /// A grid over a part of the art.
    /// - Parameters:
    ///   - low: its top left corner, art units.
    ///   - pins: where they hold the art; nil from `init` where all lie on one line, or two on one spot.
    init?(from low: Point, to high: Point, pins: [Point]) {
        grid = Self.grid(low, high)
        self.pins = pins.count
        // About the pins' middle and in their own scale, so that the equations are sound.
        let middle = pins.reduce(.zero, +) / Float(pins.count)
        let spread = pins.map { ($0 - middle).length }.max() ?? 0
        guard pins.count >= 3, spread > 1e-3 else { return nil }
        let places = pins.map { ($0 - middle) / spread }
        let size = pins.count + 3
        var rows: [[Double]] = places.map { p in
            places.map { Self.kernel(p, $0) } + [1, Double(p.x), Double(p.y)]
        }
        rows.append(places.map { _ in 1 } + [0, 0, 0])
        rows.append(places.map { Double($0.x) } + [0, 0, 0])
        rows.append(places.map { Double($0.y) } + [0, 0, 0])
        guard let inverse = Self.inverse(rows) else { return nil }
        weights = grid.flatMap { corner -> [Float] in
            let p = (corner - middle) / spread
            let row = places.map { Self.kernel(p, $0) } + [1, Double(p.x), Double(p.y)]
            return (0..<pins.count).map { pin in
                Float((0..<size).reduce(0) { $0 + row[$1] * inverse[$1][pin] })
            }
        }
    }

    /// A grid that is laid by a map.
    init(from low: Point, to high: Point) {
        (grid, weights, pins) = (Self.grid(low, high), [], 0)
    }

    private static func grid(_ low: Point, _ high: Point) -> [Point] {
        (0..<corners).map { i in
            let part = Point(Float(i % side), Float(i / side)) / Float(side - 1)
            return low + (high - low) * part
        }
    }

    /// Where a corner lies when the pins are seen at these places.
    func place(_ corner: Int, _ seen: borrowing [16 of Point]) -> Point {
        var sum = Point.zero
        for i in 0..<pins { sum += seen[i] * weights[corner * pins + i] }
        return sum
    }

    /// r² log r, but for a factor.
    private static func kernel(_ a: Point, _ b: Point) -> Double {
        let d = Double(((a - b) * (a - b)).sum())
        return d > 0 ? d * Double(log(Float(d))) : 0
    }

    /// By elimination with the largest pivot; nil for a matrix that has no inverse.
    private static func inverse(_ matrix: [[Double]]) -> [[Double]]? {
        let size = matrix.count
        var rows = matrix.indices.map { i in matrix[i] + (0..<size).map { $0 == i ? 1 : 0 } }
        for column in 0..<size {
            guard let pivot = (column..<size).max(by: { abs(rows[$0][column]) < abs(rows[$1][column]) }),
                abs(rows[pivot][column]) > 1e-6
            else { return nil }
            rows.swapAt(column, pivot)
            let scale = rows[column][column]
            rows[column] = rows[column].map { $0 / scale }
            for row in 0..<size where row != column {
                let factor = rows[row][column]
                if factor == 0 { continue }
                for i in 0..<2 * size { rows[row][i] -= factor * rows[column][i] }
            }
        }
        return rows.map { Array($0[size...]) }
    }
}
