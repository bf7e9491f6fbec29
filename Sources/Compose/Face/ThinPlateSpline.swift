import Frames
import SystemKit

/// Warps a picture so that each of its pins is on its landmark: a thin-plate spline (Bookstein, "Principal Warps",
/// 1989). It bends as little as possible, is exact at the pins, and is the affine map if that fits.
///
/// A spline is linear in the positions of its pins. So everything that depends on the art alone is computed once: each
/// corner of a grid over the art is at a weighted sum of the pins' positions on the face.
struct ThinPlateSpline: Sendable {
    /// Grid corners across, and down. More follow the spline closer, by a pixel or two, and cost twice as much.
    static let side = 5
    static let corners = side * side

    /// The grid's corners in art units, row by row.
    let grid: [Point]
    /// For each corner, the weight of each pin.
    private let weights: [Float]
    private let pins: Int

    /// Two triangles for each grid cell, clockwise, by indices of corners. The last lane is unused.
    static let triangles: [SIMD4<UInt8>] = (0..<(side - 1) * (side - 1)).flatMap { cell in
        let first = cell / (side - 1) * side + cell % (side - 1)
        let (a, b, c, d) = (UInt8(first), UInt8(first + 1), UInt8(first + side), UInt8(first + side + 1))
        return [SIMD4(a, b, c, 0), SIMD4(b, d, c, 0)]
    }

    /// Prepares a grid over a part of the art; nil if all pins are on one line, or two are in the same place.
    /// - Parameters:
    ///   - low: the part's top left corner, in art units.
    ///   - high: the part's bottom right corner, in art units.
    ///   - pins: the pins' positions on the art, in art units.
    init?(from low: Point, to high: Point, pins: [Point]) {
        grid = Self.grid(low, high)
        self.pins = pins.count
        // Relative to the pins' centre and radius, so that the equations are well conditioned.
        let middle = pins.reduce(.zero, +) / Float(pins.count)
        let radius = pins.map { ($0 - middle).length }.max() ?? 0
        guard pins.count >= 3, radius > 1e-3 else { return nil }
        let normalized = pins.map { ($0 - middle) / radius }
        let size = pins.count + 3
        var rows: [[Double]] = normalized.map { p in
            normalized.map { Self.kernel(p, $0) } + [1, Double(p.x), Double(p.y)]
        }
        rows.append(normalized.map { _ in 1 } + [0, 0, 0])
        rows.append(normalized.map { Double($0.x) } + [0, 0, 0])
        rows.append(normalized.map { Double($0.y) } + [0, 0, 0])
        guard let inverse = Self.inverse(rows) else { return nil }
        weights = grid.flatMap { corner -> [Float] in
            let p = (corner - middle) / radius
            let row = normalized.map { Self.kernel(p, $0) } + [1, Double(p.x), Double(p.y)]
            return (0..<pins.count).map { pin in
                Float((0..<size).reduce(0) { $0 + row[$1] * inverse[$1][pin] })
            }
        }
    }

    /// Makes a grid without pins, for art that an affine map places.
    init(from low: Point, to high: Point) {
        (grid, weights, pins) = (Self.grid(low, high), [], 0)
    }

    private static func grid(_ low: Point, _ high: Point) -> [Point] {
        (0..<corners).map { i in
            let part = Point(Float(i % side), Float(i / side)) / Float(side - 1)
            return low + (high - low) * part
        }
    }

    /// The position of a grid corner.
    /// - Parameters:
    ///   - corner: index in `grid`.
    ///   - seen: the pins' positions on the face.
    func position(_ corner: Int, _ seen: borrowing [16 of Point]) -> Point {
        var sum = Point.zero
        for i in 0..<pins { sum += seen[i] * weights[corner * pins + i] }
        return sum
    }

    /// The spline's kernel r² log r, times 2.
    private static func kernel(_ a: Point, _ b: Point) -> Double {
        let d = Double(((a - b) * (a - b)).sum())
        return d > 0 ? d * Double(log(Float(d))) : 0
    }

    /// The inverse of a matrix by Gauss-Jordan elimination with partial pivoting; nil if it is singular.
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
