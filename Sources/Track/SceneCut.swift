import Frames

/// A detector of scene changes: a cut in a clip, another camera, a lid that is opened.
///
/// Each frame is reduced to a coarse grid of means. Two consecutive frames of a scene have the same texture at the same
/// place, except where something moves or covers it; frames of two scenes have it nowhere, however alike they are in
/// composition and light. So small windows of the grid are compared one by one, by correlation, which ignores
/// brightness and contrast, and each counts the same, however strong its edges are. Windows that are plain in both
/// frames say nothing, nor do black bars beside or above the scene.
struct SceneCut: ~Copyable {
    /// How a frame differs from those before it.
    enum Change {
        case none
        /// Within the last second the scene became another, or most of it moved: a dissolve, a wipe, a pan.
        case gradual
        /// It shows another scene than the frame before.
        case cut
    }

    /// Cells of the grid: so many that a window is smaller than a head, and so few that a head's movement between two
    /// frames is less than a window.
    private static let (columns, rows) = (36, 21)
    /// Samples per cell, across and down: the noise of a dim picture is a quarter in their mean.
    private static let samples = 4
    /// The mean correlation of the windows above which consecutive frames show the same scene; across cuts it is lower.
    private static let alike: Float = 0.3
    /// The same threshold where the picture is moved as a whole by up to `farthest` cells, as when the camera turns.
    /// Higher, since the best of so many positions has some correlation with any other scene.
    private static let (alikeMoved, farthest) = (Float(0.5), 2)
    /// The variance of a window's cells, in grey levels squared, above which it has texture: more than noise has.
    private static let texture: Float = 16
    /// The variance of rounding, added to that of each window, so that a plain window does not correlate with another.
    private static let rounding: Float = 1
    /// The number of windows with texture below which a picture is too dark or plain to compare: a small thing that
    /// comes or goes before a plain wall has fewer.
    private static let fewest = columns * rows / 16
    /// The range of grey levels in a row or column of the grid that is a bar.
    private static let barRange: Float = 2

    private var last = [Float](repeating: 0, count: columns * rows)
    private var fresh = [Float](repeating: 0, count: columns * rows)
    private var size = (width: 0, height: 0)
    /// Two frames from longer ago, and the number of frames since the newer one.
    private var (newer, older) = (
        [Float](repeating: 0, count: columns * rows), [Float](repeating: 0, count: columns * rows)
    )
    private var age = 0
    /// The number of frames between those two: longer than a dissolve mostly takes.
    private static let interval = 15

    init() {}

    /// Compares the next frame with those before it; the first frame of a size with none.
    /// - Parameter detectsGradual: whether to compare it with a frame of longer ago too.
    mutating func update(_ luma: borrowing LumaView, detectsGradual: Bool) -> Change {
        guard luma.width >= Self.columns * Self.samples, luma.height >= Self.rows * Self.samples else { return .none }
        swap(&last, &fresh)
        measure(luma)
        let isFirst = size != (luma.width, luma.height)
        size = (luma.width, luma.height)
        var change = Change.none
        if !isFirst && !isAlike(last) {
            change = .cut
        } else if !isFirst && detectsGradual && !isAlike(older) {
            change = .gradual
        }
        age += 1
        if isFirst || change != .none {
            Self.copy(fresh, to: &newer)
            Self.copy(fresh, to: &older)
            age = 0
        } else if age == Self.interval {
            swap(&newer, &older)
            Self.copy(fresh, to: &newer)
            age = 0
        }
        return change
    }

    private static func copy(_ grid: borrowing [Float], to other: inout [Float]) {
        for i in other.indices { other[i] = grid[i] }
    }

    /// Whether the newest frame shows the same scene as another.
    private func isAlike(_ before: borrowing [Float]) -> Bool {
        let (columns, rows) = cellsBetweenBars(before)
        return likeness(before, columns, rows) ?? 1 >= Self.alike || isMoved(before, columns, rows)
    }

    /// Whether another frame is seen at another place.
    private func isMoved(_ before: borrowing [Float], _ columns: Range<Int>, _ rows: Range<Int>) -> Bool {
        let distances = -Self.farthest...Self.farthest
        return distances.contains { down in
            distances.contains { across in
                likeness(before, columns, rows, movedBy: (across, down)) ?? 0 > Self.alikeMoved
            }
        }
    }

    /// The mean correlation of the windows with texture, of three by three cells, in a part of the grid.
    /// - Parameter move: cells by which what the other frame shows is further to the right and further down there.
    /// - Returns: nil if there are too few windows.
    private func likeness(
        _ before: borrowing [Float], _ columns: Range<Int>, _ rows: Range<Int>,
        movedBy move: (across: Int, down: Int) = (0, 0)
    ) -> Float? {
        let (columns, rows) = (Self.overlap(columns, move.across), Self.overlap(rows, move.down))
        let moved = move.down * Self.columns + move.across
        var (sum, count) = (Float(0), 0)
        for row in rows.dropFirst().dropLast() {
            // Sums over the window's columns: both frames' cells, their squares and their product.
            var (left, middle) = (SIMD8<Float>.zero, SIMD8<Float>.zero)
            for column in columns {
                var right = SIMD8<Float>.zero
                for cell in stride(
                    from: (row - 1) * Self.columns + column, through: (row + 1) * Self.columns + column,
                    by: Self.columns)
                {
                    let (x, y) = (before[cell + moved], fresh[cell])
                    right += SIMD8(x, y, x * x, y * y, x * y, 0, 0, 0)
                }
                let mean = (left + middle + right) / 9
                (left, middle) = (middle, right)
                guard column > columns.lowerBound + 1 else { continue }
                let (before, now) = (mean[2] - mean[0] * mean[0], mean[3] - mean[1] * mean[1])
                guard max(before, now) > Self.texture else { continue }
                sum += (mean[4] - mean[0] * mean[1]) / ((before + Self.rounding) * (now + Self.rounding)).squareRoot()
                count += 1
            }
        }
        return count < Self.fewest ? nil : sum / Float(count)
    }

    /// The lines that are among `lines` also when moved.
    private static func overlap(_ lines: Range<Int>, _ move: Int) -> Range<Int> {
        let first = lines.lowerBound + max(0, -move)
        return first..<max(first, lines.upperBound - max(0, move))
    }

    /// The columns and rows of the grid between the bars of both frames.
    private func cellsBetweenBars(_ before: borrowing [Float]) -> (columns: Range<Int>, rows: Range<Int>) {
        let (columns, rows) = (0..<Self.columns, 0..<Self.rows)
        let inner = Self.trim(rows) { row in isBar(before, columns.lazy.map { row * Self.columns + $0 }) }
        let middle = Self.trim(columns) { column in isBar(before, inner.lazy.map { $0 * Self.columns + column }) }
        return (middle, inner)
    }

    /// The lines that remain without the bars at both ends, and without the next lines, which may be partly bars: the
    /// edge of a bar is the same in all scenes.
    private static func trim(_ lines: Range<Int>, isBar: (Int) -> Bool) -> Range<Int> {
        guard let first = lines.first(where: { !isBar($0) }), let last = lines.last(where: { !isBar($0) }) else {
            return lines.lowerBound..<lines.lowerBound
        }
        let start = first == lines.lowerBound ? first : first + 1
        return start..<max(start, last + 1 == lines.upperBound ? last + 1 : last)
    }

    /// Whether these cells have one grey level, the same in both frames.
    private func isBar(_ before: borrowing [Float], _ cells: some Sequence<Int>) -> Bool {
        var (low, high) = (Float.infinity, -Float.infinity)
        for cell in cells {
            low = min(low, before[cell], fresh[cell])
            high = max(high, before[cell], fresh[cell])
        }
        return high - low <= Self.barRange
    }

    private mutating func measure(_ luma: borrowing LumaView) {
        let (across, down) = (luma.width / Self.columns, luma.height / Self.rows)
        for row in 0..<Self.rows {
            for column in 0..<Self.columns {
                var sum = 0
                for y in 0..<Self.samples {
                    let line = (row * down + (2 * y + 1) * down / (2 * Self.samples)) * luma.rowStride
                    for x in 0..<Self.samples {
                        let at = column * across + (2 * x + 1) * across / (2 * Self.samples)
                        sum += Int(luma.samples[line + at * luma.pixelStride])
                    }
                }
                // About the middle grey: sums of squares stay exact.
                fresh[row * Self.columns + column] = Float(sum) / Float(Self.samples * Self.samples) - 128
            }
        }
    }
}
