import Frames
import Track

/// A grid of cells before a head: it turns with the head in the picture's plane, and is as large as the head.
struct HeadGrid: Sendable {
    /// The side of a cell, in eye distances, and the left and upper edge of the grid.
    static let side: Float = 0.125
    static let (left, top): (Float, Float) = (-2.75, -3)

    /// The side of a cell, pixels.
    let cell: Float
    /// Pixels between the samples of a cell.
    let apart: Int
    /// The middle of the first cell, pixels, and the steps from cell to cell across and down.
    private let first: Point
    private let (across, down): (Point, Point)

    /// A grid that is nowhere.
    init() { (cell, apart, first, across, down) = (0, 1, .zero, .zero, .zero) }

    init(_ head: HeadPlacement) {
        let roll = radians(head.pose.roll)
        cell = head.scale * Self.side
        apart = max(1, Int(cell / 2))
        across = Point(cos(roll), sin(roll)) * cell
        down = Point(-across.y, across.x)
        first = head.origin + across * (Self.left / Self.side + 0.5) + down * (Self.top / Self.side + 0.5)
    }

    /// The middle of a cell, pixels.
    @inline(__always)
    func point(_ x: Int, _ y: Int) -> Point { first + across * Float(x) + down * Float(y) }

    /// The position of a pixel in the grid: whole numbers are the middles of cells.
    @inline(__always)
    func position(of p: Point) -> SIMD2<Float> {
        let (d, area) = (p - first, max(cell * cell, 1e-6))
        return SIMD2((d * across).sum(), (d * down).sum()) / area
    }

    /// The cell at a pixel; nil outside of the grid.
    func cell(at p: Point) -> (x: Int, y: Int)? {
        let place = position(of: p)
        guard place.x > -0.5, place.y > -0.5, place.x < Float(CellSet.columns) - 0.5,
            place.y < Float(CellSet.rows) - 0.5
        else { return nil }
        return (Int(place.x.rounded()), Int(place.y.rounded()))
    }
}

extension CellSet {
    /// The cells whose middles have a property.
    /// - Parameter contains: of a point of head space, in eye distances.
    init(_ contains: (_ x: Float, _ y: Float) -> Bool) {
        self.init()
        for y in 0..<Self.rows {
            for x in 0..<Self.columns {
                let (px, py) = (Float(x) + 0.5, Float(y) + 0.5)
                if contains(HeadGrid.left + px * HeadGrid.side, HeadGrid.top + py * HeadGrid.side) { insert(x, y) }
            }
        }
    }
}
