import Frames

/// A closed outline of a region, clockwise as seen, in pixels of the picture.
struct Contour {
    private var points: [Point] = []
    private var smooth: [Point] = []

    /// The longest outline, in cells. A longer one is cut short.
    private static let maxPoints = 4096
    /// Neighbours on each side over which points are averaged: cells make steps, things don't.
    private static let smoothing = 3

    /// Follows the outline of a region (Moore's neighbour tracing). Allocates nothing once warm.
    mutating func trace(_ region: Region, _ segmenter: borrowing Segmenter) {
        if points.capacity < Self.maxPoints {
            points.reserveCapacity(Self.maxPoints)
            smooth.reserveCapacity(Self.maxPoints)
        }
        points.removeAll(keepingCapacity: true)
        let (columns, rows) = (segmenter.marks.columns, segmenter.marks.rows)
        func isIn(_ x: Int, _ y: Int) -> Bool {
            x >= 0 && y >= 0 && x < columns && y < rows && segmenter.marks.cells[y * columns + x] == region.mark
        }
        // The topmost cell of the region, leftmost of its row.
        let top = Int((region.box.y / segmenter.step.y).rounded())
        let left = Int((region.box.x / segmenter.step.x).rounded())
        guard let first = (left..<columns).first(where: { isIn($0, top) }) else { return }
        let steps: [8 of SIMD2<Int>] = [
            [1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1], [0, -1], [1, -1],
        ]
        var (position, direction) = (SIMD2(first, top), 0)
        repeat {
            points.append((Point(Float(position.x), Float(position.y)) + 0.5) * segmenter.step)
            // Turns left as far as possible: the next cell is the first one from there on.
            direction = (direction + 5) % 8
            var turns = 0
            while turns < 8 {
                let next = position &+ steps[direction]
                if isIn(next.x, next.y) { break }
                direction = (direction + 1) % 8
                turns += 1
            }
            guard turns < 8 else { break }
            position &+= steps[direction]
        } while position != SIMD2(first, top) && points.count < Self.maxPoints
        let count = points.count
        smooth.removeAll(keepingCapacity: true)
        guard count > 2 * Self.smoothing else { return }
        for i in 0..<count {
            var sum = Point.zero
            for k in -Self.smoothing...Self.smoothing { sum += points[(i + k + count) % count] }
            smooth.append(sum / Float(2 * Self.smoothing + 1))
        }
    }

    /// Adds the points that divide the outline into equal parts, and the direction there.
    func divide(
        spacing: Float, offset: Float, phase: Float, into outline: inout [(position: Point, direction: Point)]
    ) {
        let count = smooth.count
        guard count > 2 else { return }
        var length: Float = 0
        for i in 0..<count { length += (smooth[(i + 1) % count] - smooth[i]).length }
        let parts = max(3, (length / spacing).rounded())
        let part = length / parts
        var (next, done) = (phase * part, Float(0))
        for i in 0..<count {
            let (from, to) = (smooth[i], smooth[(i + 1) % count])
            let side = (to - from).length
            guard side > 0 else { continue }
            while next < done + side, next < length {
                // The direction over several cells, for the same reason as the smoothing.
                let ahead = smooth[(i + 3) % count] - smooth[(i + count - 2) % count]
                let direction = ahead / max(1e-3, ahead.length)
                let outwards = Point(direction.y, -direction.x)
                outline.append((from + (to - from) * ((next - done) / side) + outwards * offset, direction))
                next += part
            }
            done += side
        }
    }
}
