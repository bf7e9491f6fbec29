import Frames
import SystemKit

/// A motion map of the frame, cell by cell: whatever enters the scene moves, so moving areas are searched first.
public struct FrameMotion: ~Copyable {
    /// Side of a cell in pixels, for a frame whose longer side is 1280; gives some 2000 cells at every frame size.
    private static let cell = 24
    /// Samples compared per cell, across and down.
    private static let samples = 3
    /// The smallest change of mean brightness that is not noise, grey levels.
    private static let threshold = 8

    /// Half the width of a head with hair, and half that of the shoulders, in widths of a face's box (brows to chin).
    private static let head: Float = 1
    private static let shoulders: Float = 2

    private let columns: Int
    private let rows: Int
    private let side: Int
    /// Each cell's sum of samples at the last update.
    private var last: [Int32]
    /// Summed-area table of the moved cells, `columns + 1` entries per row.
    private var sums: [Int32]
    private var isFirst = true

    /// - Parameters:
    ///   - width: width of the frame, pixels.
    ///   - height: height of the frame, pixels.
    public init(width: Int, height: Int) {
        side = max(4, max(width, height) * Self.cell / 1280)
        (columns, rows) = (width / side, height / side)
        last = Array(repeating: 0, count: columns * rows)
        sums = Array(repeating: 0, count: (columns + 1) * (rows + 1))
    }

    /// Compares a frame with the previous one.
    /// - Parameter known: boxes of the known faces, pixels. Motion of these heads and their bodies is ignored.
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
                    let point = Point(Float(column * side + side / 2), Float(row * side + side / 2))
                    if !Self.isExplained(point, known) { moved += 1 }
                }
                last[at] = sum
                let corner = (row + 1) * (columns + 1) + column + 1
                sums[corner] = sums[corner - columns - 1] + moved
            }
        }
        isFirst = false
    }

    /// Whether a place is on a known head, or below it and within its shoulders' width.
    private static func isExplained(_ point: Point, _ known: Span<Rect>) -> Bool {
        for i in known.indices {
            let box = known[i]
            let isBelow = point.y > box.center.y
            let across = abs(point.x - box.center.x) / box.width
            if isBelow ? across < shoulders : across < head && point.y > box.center.y - 1.2 * box.height { return true }
        }
        return false
    }

    /// The share of the frame's cells that moved, 0 to 1; 0 if the frame is smaller than a cell.
    public var share: Float { Float(sums[sums.count - 1]) / Float(max(1, columns * rows)) }

    /// The share of a rectangle's cells that moved, 0 to 1. Counts only cells inside the frame.
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
