import Frames

/// Where the frame changed, cell by cell: what enters moves, so it is looked for there first.
public struct FrameMotion: ~Copyable {
    /// Side of a cell, pixels, for a frame whose longer side is 1280: some 2000 cells for every frame size.
    private static let cell = 24
    /// Samples of a cell that are compared, across and down.
    private static let samples = 3
    /// Steps of mean brightness that are no noise.
    private static let threshold = 8

    /// Half of a head's width with its hair, and half of the shoulders', in widths of a face's box (brows to chin).
    private static let head: Float = 1
    private static let shoulders: Float = 2

    private let columns: Int
    private let rows: Int
    private let side: Int
    /// Of each cell, the sum of its samples when it was last looked at.
    private var last: [Int32]
    /// Moved cells above and left of each corner, `columns + 1` a row.
    private var sums: [Int32]
    private var isFirst = true

    /// - Parameters:
    ///   - width: the frame's, pixels.
    ///   - height: the frame's, pixels.
    public init(width: Int, height: Int) {
        side = max(4, max(width, height) * Self.cell / 1280)
        (columns, rows) = (width / side, height / side)
        last = Array(repeating: 0, count: columns * rows)
        sums = Array(repeating: 0, count: (columns + 1) * (rows + 1))
    }

    /// Compares a frame with the one that was seen before.
    /// - Parameter known: boxes of the faces that are known, pixels: where they and their shoulders move, nobody enters.
    public mutating func update(_ luma: borrowing LumaView, known: Span<Rect>) {
        let step = side / Self.samples
        let limit = Int32(Self.threshold * Self.samples * Self.samples)
        for row in 0..<rows {
            var moved: Int32 = 0
            for column in 0..<columns {
                var sum: Int32 = 0
                for y in 0..<Self.samples {
                    let line = (row * side + step / 2 + y * step) * luma.rowStride
                    for x in 0..<Self.samples {
                        let at = line + (column * side + step / 2 + x * step) * luma.pixelStride
                        sum += Int32(luma.samples[at])
                    }
                }
                let at = row * columns + column
                if abs(sum - last[at]) > limit && !isFirst {
                    let place = Point(Float(column * side + side / 2), Float(row * side + side / 2))
                    if !Self.isExplained(place, known) { moved += 1 }
                }
                last[at] = sum
                let corner = (row + 1) * (columns + 1) + column + 1
                sums[corner] = sums[corner - columns - 1] + moved
            }
        }
        isFirst = false
    }

    /// Whether a place is a known head's, or below it and not wider than shoulders.
    private static func isExplained(_ place: Point, _ known: Span<Rect>) -> Bool {
        for i in known.indices {
            let box = known[i]
            let isBelow = place.y > box.center.y
            let across = abs(place.x - box.center.x) / box.width
            if isBelow ? across < shoulders : across < head && place.y > box.center.y - 1.2 * box.height { return true }
        }
        return false
    }

    /// Of the whole frame's cells; 0 where it is smaller than one.
    var share: Float { Float(sums[sums.count - 1]) / Float(max(1, columns * rows)) }

    /// The part of a rectangle's cells that moved, 0 to 1; of those inside the frame.
    public func share(of rect: Rect) -> Float {
        func cell(_ position: Float, _ count: Int) -> Int { max(0, min(Int(position / Float(side)), count)) }
        let (left, top) = (cell(rect.x, columns), cell(rect.y, rows))
        let (right, bottom) = (cell(rect.x + rect.width, columns), cell(rect.y + rect.height, rows))
        guard right > left, bottom > top else { return 0 }
        let stride = columns + 1
        let moved =
            sums[bottom * stride + right] - sums[top * stride + right] - sums[bottom * stride + left]
            + sums[top * stride + left]
        return Float(moved) / Float((right - left) * (bottom - top))
    }
}
