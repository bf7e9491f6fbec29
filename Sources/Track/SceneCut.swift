import Frames
import SystemKit

/// A detector of scene changes: a cut in a clip, another camera, a lid that is opened.
///
/// Two consecutive frames look alike however people move and the light changes; frames of two scenes do not. Each frame
/// is reduced to a coarse grid of means and compared with the previous one by correlation, which ignores brightness
/// and contrast. Black bars beside or above the scene are left out: they are alike in all scenes.
struct SceneCut: ~Copyable {
    private static let columns = 24
    private static let rows = 14
    /// Samples per cell, across and down.
    private static let samples = 3
    /// The correlation above which consecutive frames show the same scene; across cuts it is lower.
    private static let alike: Float = 0.6
    /// The standard deviation of the grid, in grey levels, below which a picture is too dark or plain to compare.
    private static let plain: Float = 2
    /// The range of grey levels in a row or column of the grid that is a bar.
    private static let barRange: Float = 2
    /// The smallest scene between bars, in cells of the grid; less is compared as a whole. An upright clip in a wide
    /// picture is a third of it.
    private static let (minColumns, minRows) = (columns / 4, rows / 4)

    private var last = [Float](repeating: 0, count: columns * rows)
    private var fresh = [Float](repeating: 0, count: columns * rows)
    private var size = (width: 0, height: 0)

    init() {}

    /// Compares the next frame with the previous one.
    /// - Returns: whether it shows another scene; false for the first frame of a size.
    mutating func update(_ luma: borrowing LumaView) -> Bool {
        guard luma.width >= Self.columns * Self.samples, luma.height >= Self.rows * Self.samples else { return false }
        swap(&last, &fresh)
        measure(luma)
        let isFirst = size != (luma.width, luma.height)
        size = (luma.width, luma.height)
        guard !isFirst else { return false }
        let (columns, rows) = cellsBetweenBars()
        var (a, b, aa, bb, ab) = (Float(0), Float(0), Float(0), Float(0), Float(0))
        for row in rows {
            for column in columns {
                let (x, y) = (last[row * Self.columns + column], fresh[row * Self.columns + column])
                (a, b, aa, bb, ab) = (a + x, b + y, aa + x * x, bb + y * y, ab + x * y)
            }
        }
        // Sums of squares about the mean; those of 336 grey levels are exact enough in 24 bits.
        let count = Float(rows.count * columns.count)
        let (before, now, both) = (aa - a * a / count, bb - b * b / count, ab - a * b / count)
        // If either frame is plain, it is a cut if the other is not.
        let plain = Self.plain * Self.plain * count
        guard before > plain, now > plain else { return (before > plain) != (now > plain) }
        return both < Self.alike * (before * now).squareRoot()
    }

    /// The columns and rows of the grid between the bars of both frames.
    private func cellsBetweenBars() -> (columns: Range<Int>, rows: Range<Int>) {
        let (columns, rows) = (0..<Self.columns, 0..<Self.rows)
        let inner = Self.trim(rows, to: Self.minRows) { row in
            isBar(columns.lazy.map { row * Self.columns + $0 })
        }
        let middle = Self.trim(columns, to: Self.minColumns) { column in
            isBar(inner.lazy.map { $0 * Self.columns + column })
        }
        return (middle, inner)
    }

    /// The lines that remain without the bars at both ends, or all if fewer than a minimum would.
    private static func trim(_ lines: Range<Int>, to minimum: Int, isBar: (Int) -> Bool) -> Range<Int> {
        guard let first = lines.first(where: { !isBar($0) }), let last = lines.last(where: { !isBar($0) }),
            last - first >= minimum - 1
        else { return lines }
        return first..<last + 1
    }

    /// Whether these cells have one grey level, the same in both frames.
    private func isBar(_ cells: some Sequence<Int>) -> Bool {
        var (low, high) = (Float.infinity, -Float.infinity)
        for cell in cells {
            low = min(low, last[cell], fresh[cell])
            high = max(high, last[cell], fresh[cell])
        }
        return high - low <= Self.barRange
    }

    private mutating func measure(_ luma: borrowing LumaView) {
        let (cell, down) = (luma.width / Self.columns, luma.height / Self.rows)
        for row in 0..<Self.rows {
            for column in 0..<Self.columns {
                var sum = 0
                for y in 0..<Self.samples {
                    let line = (row * down + (2 * y + 1) * down / (2 * Self.samples)) * luma.rowStride
                    for x in 0..<Self.samples {
                        let at = column * cell + (2 * x + 1) * cell / (2 * Self.samples)
                        sum += Int(luma.samples[line + at * luma.pixelStride])
                    }
                }
                fresh[row * Self.columns + column] = Float(sum) / Float(Self.samples * Self.samples)
            }
        }
    }
}
