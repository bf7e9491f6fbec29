import Frames

/// A detector of scene changes: a cut in a clip, another camera, a lid that is opened.
///
/// Each frame is reduced to a coarse grid of means. Two consecutive frames of a scene have the same texture at the same
/// place, except where something moves or covers it; frames of two scenes have it nowhere, however alike they are in
/// composition and light. So small windows of the grid are compared one by one, by correlation, which ignores
/// brightness and contrast, and each counts the same, however strong its edges are. Windows that are plain in both
/// frames say nothing, nor do black bars beside or above the scene.
///
/// If another person sits before the same wall, most of the picture stays as it was. So it is a cut too if a part of
/// the size of a head and shoulders becomes something that nothing near it in the frame before explains. What moved is
/// still there, some cells away, and in sum the part has kept its brightness and colours; a hand before the camera
/// changes them all the same way.
///
/// A cut may be blended over some frames, of which each is like the one before. So the newest frame is also compared
/// with some from longer ago, and is another scene if it is unlike one of them and those in between are mixtures of
/// both. Whatever moves, turns, zooms or covers instead shows in between what is in neither.
struct SceneCut: ~Copyable {
    /// How a frame differs from those before it.
    enum Change {
        case none
        /// Within the last second the scene became another, or most of it moved: a long dissolve, a wipe, a pan.
        case gradual
        /// It shows another scene than the frame before, or than one a few frames ago that it was blended with since.
        case cut
    }

    /// Cells of the grid: so many that a window is smaller than a head, and so few that a head's movement between two
    /// frames is less than a window.
    private static let (columns, rows) = (36, 21)
    private static let cells = columns * rows
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

    /// The difference of a cell's mean above which it counts as changed at all: more than by noise and small movements.
    private static let changed: Float = 8
    /// The mean correlation of a window and its neighbours above which another frame explains them. Higher than for
    /// the whole picture, since some windows resemble one of so many places by chance.
    private static let explained: Float = 0.5
    /// The number of changed cells below which windows are not compared. Between two people more than 130 change; in
    /// most frames of a call fewer do, and cost little.
    private static let leastChanged = 2 * person
    /// Cells from a window to its furthest neighbour: together they are as wide as a head.
    private static let reach = 2
    /// The variance of a window's cells above which it shows an edge, also in a bad light.
    private static let clear: Float = 64
    /// The number of windows, clear in both frames and not explained, that are another person.
    private static let person = fewest
    /// Their share of all windows that are not explained. Behind a hand it is lower: a hand is smooth, and a wall too.
    private static let clearShare: Float = 0.3
    /// The mean change of the part's cells in luma or chroma, as a share of their mean absolute change. What moves is
    /// below the range, what covers above it.
    private static let imbalance: Range<Float> = 0.2..<0.975
    /// The least mean absolute change that is divided by: below it there is mostly noise.
    private static let leastChange: Float = 4
    /// How many times as much must change as in the two frames before: movement lasts, and cameras repeat frames.
    private static let sudden = 3

    /// How many frames ago those are with which the newest frame is compared for a blended cut, ascending. The longest
    /// spans a fade of nine blended frames; for a short fade a short span is best, since less moves meanwhile.
    private static let spans = [2, 3, 5, 7, 10]
    /// The newest frame and those up to the longest span before it.
    private static let kept = 11
    /// What mixtures of two frames leave of those between them, in squares of grey levels, as a share of a(1 - a) times
    /// the squares between the two, where a is the newer one's weight. In nine of ten fades it is below 0.12, and 1 if
    /// cells change one after the other, as in a wipe. Moving pictures that are unlike leave at least 0.2.
    private static let mixture: Float = 0.2
    /// The least sum of a(1 - a) over the frames between: one frame halfway has 0.25.
    private static let leastMixed: Float = 0.1
    /// How much less of the newest frame a mixture may have than the one before it.
    private static let backwards: Float = 0.05
    /// The share that the last frame of a fade adds at least: that of one that lasts twenty frames.
    private static let leastStep: Float = 0.05

    private var last = [Float](repeating: 0, count: columns * rows)
    private var fresh = [Float](repeating: 0, count: columns * rows)
    /// The means of U and V, doubled: chroma differs less than luma between clothes, skin, hair and wall.
    private var lastChroma = [SIMD2<Float>](repeating: .zero, count: columns * rows)
    private var freshChroma = [SIMD2<Float>](repeating: .zero, count: columns * rows)
    /// Whether `freshChroma` was measured in the newest frame; it is zero for a gray one.
    private var hasChroma = false
    private var size = (width: 0, height: 0)
    /// Two frames from longer ago, and the number of frames since the newer one.
    private var (newer, older) = (
        [Float](repeating: 0, count: columns * rows), [Float](repeating: 0, count: columns * rows)
    )
    private var age = 0
    /// The number of frames between those two: longer than a dissolve mostly takes.
    private static let interval = 15
    /// The number of clear windows whose place in the frame before does not explain them, in each of the last frames.
    private var changes = (newest: 0, last: 0, oldest: 0)
    /// The grids of the last frames: luma, U and V. The newest is in `slot`, the one before it in the slot before.
    private var recent = [SIMD4<Float>](repeating: .zero, count: kept * cells)
    private var slot = 0
    /// How many frames before the newest show the same scene, or blend into it, as far as they are in `recent`.
    private var history = 0
    /// The number of frames since a blended cut was noticed; `kept` if none was in these frames.
    private var sinceBlend = kept
    /// A grid from `recent`, in place of that of the newest frame.
    private var spare = [Float](repeating: 0, count: columns * rows)
    private var spareChroma = [SIMD2<Float>](repeating: .zero, count: columns * rows)
    /// The windows at their place in the frame before, and at another place that was tried. `best` is the highest
    /// correlation of the places, with the neighbours'.
    private var still = Windows()
    private var moved = Windows()
    private var best = [Float](repeating: 0, count: columns * rows)
    /// Cells near windows that are not explained.
    private var isInPart = [Bool](repeating: false, count: columns * rows)

    /// The windows of two frames by their middle cell.
    private struct Windows: ~Copyable {
        /// The correlation, and 1; both zero for a window that is plain or lies in or beside a bar.
        var correlations = [SIMD2<Float>](repeating: .zero, count: columns * rows)
        /// Sums of these over the neighbours above and below.
        var sums = [SIMD2<Float>](repeating: .zero, count: columns * rows)
        /// Whether the window shows an edge in both frames.
        var isClear = [Bool](repeating: false, count: columns * rows)
    }

    init() {}

    /// Compares the next frame with those before it; the first frame of a size with none.
    /// - Parameters:
    ///   - chroma: nil for a gray picture.
    ///   - isThorough: whether to notice also that people before the same wall are replaced, blended cuts, and gradual
    ///     changes. While a blend goes on after it was noticed, each frame is a cut.
    mutating func update(_ luma: borrowing LumaView, chroma: ChromaView? = nil, isThorough: Bool) -> Change {
        guard luma.width >= Self.columns * Self.samples, luma.height >= Self.rows * Self.samples else { return .none }
        swap(&last, &fresh)
        measure(luma)
        let isFirst = size != (luma.width, luma.height)
        size = (luma.width, luma.height)
        let canCompare = hasChroma && !isFirst
        hasChroma = isThorough
        if isThorough {
            swap(&lastChroma, &freshChroma)
            measure(chroma)
            keep()
            if canCompare { history = min(history + 1, Self.kept - 1) } else { forget() }
        }
        var change = Change.none
        if !isThorough || isFirst { changes = (0, 0, 0) }
        if !isFirst && !isAlike(last) {
            change = .cut
            changes = (0, 0, 0)
            forget()
        } else if isThorough && canCompare && hasReplaced() {
            change = .cut
            forget()
        } else if isThorough && canCompare && hasBlended() {
            change = .cut
        } else if isThorough && !isFirst && !isAlike(older) {
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

    /// Whether a part of the newest frame, as large as a head and shoulders, was not there in the frame before.
    private mutating func hasReplaced() -> Bool {
        changes = (0, changes.newest, changes.last)
        // In most frames of a call little has changed.
        guard hasChanged(from: 1, to: 0) else { return false }
        changes.newest = countChanges()
        return changes.newest > Self.sudden * max(changes.last, changes.oldest) && isReplaced(changes.newest)
    }

    /// The number of windows, clear in both frames, that their place in `last` does not explain.
    private mutating func countChanges() -> Int {
        let (columns, rows) = cellsBetweenBars(last)
        guard columns.count > 2, rows.count > 2 else { return 0 }
        Self.compare(
            last, lastChroma, fresh, freshChroma, columns, rows, movedBy: (0, 0), &still)
        for i in best.indices { best[i] = -1 }
        Self.keepBest(&still, columns, rows, &best)
        return countUnexplained().clear
    }

    /// Whether what changed is a person who was not there in `last`, rather than what moved or covers.
    /// - Parameter count: what `countChanges` has just returned.
    private mutating func isReplaced(_ count: Int) -> Bool {
        guard count >= Self.person, Self.imbalance.contains(measureImbalance()) else { return false }
        let (columns, rows) = cellsBetweenBars(last)
        let distances = -Self.farthest...Self.farthest
        for down in distances {
            for across in distances where (across, down) != (0, 0) {
                let (columns, rows) = (Self.overlap(columns, across), Self.overlap(rows, down))
                guard columns.count > 2, rows.count > 2 else { continue }
                Self.compare(
                    last, lastChroma, fresh, freshChroma, columns, rows, movedBy: (across, down), &moved)
                Self.keepBest(&moved, columns, rows, &best)
            }
        }
        let unexplained = countUnexplained()
        return unexplained.clear >= Self.person
            && Float(unexplained.clear) >= Self.clearShare * Float(unexplained.all)
    }

    /// Whether enough cells differ between two of the recent frames for a part to be another.
    /// - Parameter before: frames ago, as is `now`.
    private func hasChanged(from before: Int, to now: Int) -> Bool {
        let (first, second) = (place(before), place(now))
        var count = 0
        for i in 0..<Self.cells {
            let change = recent[second + i] - recent[first + i]
            count += pointwiseMax(change, -change).max() > Self.changed ? 1 : 0
        }
        return count >= Self.leastChanged
    }

    /// Whether the newest frame shows another scene, or another person, than a recent one, and those between them blend
    /// the two. Leaves another frame in `last`, which the next one replaces.
    private mutating func hasBlended() -> Bool {
        sinceBlend = min(sinceBlend + 1, Self.kept)
        var longest = 0
        for span in Self.spans where span <= history { longest = span }
        // In most frames of a call little has changed since then either.
        guard longest > 0, hasChanged(from: longest, to: 0) else { return false }
        for span in Self.spans where span <= longest && hasChanged(from: span, to: 0) {
            guard isMixed(since: span), isOther(since: span) else { continue }
            sinceBlend = 0
            return true
        }
        return false
    }

    /// Whether the frames since an earlier one are mixtures of it and the newest, each with more of the newest.
    private func isMixed(since span: Int) -> Bool {
        let (old, new) = (place(span), place(0))
        var squares = SIMD4<Float>.zero
        for i in 0..<Self.cells {
            let way = recent[new + i] - recent[old + i]
            squares += way * way
        }
        let whole = squares.sum()
        var (rest, mixed, share) = (Float(0), Float(0), Float(0))
        for ago in stride(from: span - 1, to: 0, by: -1) {
            let middle = place(ago)
            var (parts, products) = (SIMD4<Float>.zero, SIMD4<Float>.zero)
            for i in 0..<Self.cells {
                let before = recent[old + i]
                let part = recent[middle + i] - before
                parts += part * part
                products += part * (recent[new + i] - before)
            }
            // By least squares.
            let next = products.sum() / whole
            guard next > share - Self.backwards else { return false }
            rest += parts.sum() - next * next * whole
            mixed += max(0, next * (1 - next)) * whole
            share = next
        }
        guard 1 - share > -Self.backwards, mixed > Self.leastMixed * whole, rest < Self.mixture * mixed else {
            return false
        }
        // After a cut was noticed in the middle of a fade, the rest of the fade is one too, but not what follows: the
        // new scene is to be searched as it is at last.
        return span <= sinceBlend || 1 - share >= Self.leastStep
    }

    /// Whether the newest frame shows another scene, or another person, than an earlier one.
    private mutating func isOther(since span: Int) -> Bool {
        let start = place(span)
        Self.unpack(recent, from: start, to: &last, &lastChroma)
        if !isAlike(last) { return true }
        let count = countChanges()
        guard isReplaced(count) else { return false }
        // Where frames are blended to convert their rate, those of whoever moves fast are mixtures too.
        return count > Self.sudden * countChanges(before: span)
    }

    /// The same number of windows as `countChanges` for an earlier frame, and one as long before it as that is ago, or
    /// the earliest. Leaves another frame in `last`.
    private mutating func countChanges(before span: Int) -> Int {
        let longer = span + min(span, history - span)
        guard longer > span, hasChanged(from: longer, to: span) else { return 0 }
        let (start, end) = (place(longer), place(span))
        Self.unpack(recent, from: start, to: &last, &lastChroma)
        Self.unpack(recent, from: end, to: &spare, &spareChroma)
        swap(&fresh, &spare)
        swap(&freshChroma, &spareChroma)
        let count = countChanges()
        swap(&fresh, &spare)
        swap(&freshChroma, &spareChroma)
        return count
    }

    /// Keeps the newest frame's grid in place of the oldest.
    private mutating func keep() {
        slot = (slot + 1) % Self.kept
        let start = place(0)
        for i in fresh.indices { recent[start + i] = SIMD4(fresh[i], freshChroma[i].x, freshChroma[i].y, 0) }
    }

    /// Compares no later frame with those before the newest.
    private mutating func forget() {
        (history, sinceBlend) = (0, Self.kept)
    }

    /// The first cell in `recent` of a frame.
    private func place(_ ago: Int) -> Int {
        (slot + Self.kept - ago) % Self.kept * Self.cells
    }

    private static func unpack(
        _ frames: borrowing [SIMD4<Float>], from start: Int, to luma: inout [Float], _ chroma: inout [SIMD2<Float>]
    ) {
        for i in luma.indices {
            let cell = frames[start + i]
            luma[i] = cell.x
            chroma[i] = SIMD2(cell.y, cell.z)
        }
    }

    /// The number of windows with texture that nothing near them explains, and of those that are clear in both frames.
    private func countUnexplained() -> (all: Int, clear: Int) {
        var (all, clear) = (0, 0)
        for i in best.indices where isUnexplained(i) {
            all += 1
            clear += still.isClear[i] ? 1 : 0
        }
        return (all, clear)
    }

    private func isUnexplained(_ window: Int) -> Bool {
        still.correlations[window].y > 0 && best[window] < Self.explained
    }

    /// How one-sidedly the part that changed did so: its mean change as a share of the mean absolute change, in luma, U
    /// or V, whichever is the largest.
    private mutating func measureImbalance() -> Float {
        for i in isInPart.indices { isInPart[i] = false }
        // No window lies at the edge of the grid.
        for row in 1..<Self.rows - 1 {
            for column in 1..<Self.columns - 1 where isUnexplained(row * Self.columns + column) {
                for y in max(0, row - Self.reach)...min(Self.rows - 1, row + Self.reach) {
                    for x in max(0, column - Self.reach)...min(Self.columns - 1, column + Self.reach) {
                        isInPart[y * Self.columns + x] = true
                    }
                }
            }
        }
        var (sum, absolute, count) = (SIMD4<Float>.zero, SIMD4<Float>.zero, Float(0))
        for i in isInPart.indices where isInPart[i] {
            let chroma = freshChroma[i] - lastChroma[i]
            let change = SIMD4(fresh[i] - last[i], chroma.x, chroma.y, 0)
            sum += change
            absolute += change.replacing(with: -change, where: change .< 0)
            count += 1
        }
        let share = sum / pointwiseMax(absolute, SIMD4(repeating: Self.leastChange * max(count, 1)))
        return max(abs(share.x), abs(share.y), abs(share.z))
    }

    /// Sums over cells of two frames: of the means of luma and chroma, their squares and their products.
    private struct Sums {
        private var (first, second) = (SIMD4<Float>.zero, SIMD4<Float>.zero)
        private var (squares, others, products) = (SIMD4<Float>.zero, SIMD4<Float>.zero, SIMD4<Float>.zero)

        @inline(__always)
        mutating func add(_ x: SIMD4<Float>, _ y: SIMD4<Float>) {
            first += x
            second += y
            squares += x * x
            others += y * y
            products += x * y
        }

        /// The variances of both frames, and their covariance, of a window of three columns.
        @inline(__always)
        func covariances(_ middle: Sums, _ right: Sums) -> (Float, Float, Float) {
            let x = (first + middle.first + right.first) / 9
            let y = (second + middle.second + right.second) / 9
            return (
                ((squares + middle.squares + right.squares) / 9 - x * x).sum(),
                ((others + middle.others + right.others) / 9 - y * y).sum(),
                ((products + middle.products + right.products) / 9 - x * y).sum()
            )
        }
    }

    /// Correlates the windows in a part of the grid with those of another frame, in luma and chroma.
    /// - Parameters:
    ///   - columns: columns that are in the other frame also when moved.
    ///   - rows: rows that are there.
    ///   - move: as in `likeness`.
    private static func compare(
        _ before: borrowing [Float], _ chromaBefore: borrowing [SIMD2<Float>], _ now: borrowing [Float],
        _ chromaNow: borrowing [SIMD2<Float>],
        _ columns: Range<Int>, _ rows: Range<Int>, movedBy move: (across: Int, down: Int), _ windows: inout Windows
    ) {
        for i in windows.correlations.indices { windows.correlations[i] = .zero }
        let moved = move.down * Self.columns + move.across
        for row in rows.dropFirst().dropLast() {
            // Sums over the window's columns, as in `likeness`.
            var (left, middle) = (Sums(), Sums())
            for column in columns {
                var right = Sums()
                for cell in stride(
                    from: (row - 1) * Self.columns + column, through: (row + 1) * Self.columns + column,
                    by: Self.columns)
                {
                    let (u, v) = (chromaBefore[cell + moved], chromaNow[cell])
                    right.add(SIMD4(before[cell + moved], u.x, u.y, 0), SIMD4(now[cell], v.x, v.y, 0))
                }
                let (varied, varies, product) = left.covariances(middle, right)
                (left, middle) = (middle, right)
                guard column > columns.lowerBound + 1, max(varied, varies) > texture else { continue }
                let correlation = product / ((varied + rounding) * (varies + rounding)).squareRoot()
                let window = row * Self.columns + column - 1
                windows.correlations[window] = SIMD2(correlation, 1)
                windows.isClear[window] = min(varied, varies) > clear
            }
        }
    }

    /// Raises `best` to the mean correlation of each window and its neighbours.
    private static func keepBest(
        _ windows: inout Windows, _ columns: Range<Int>, _ rows: Range<Int>, _ best: inout [Float]
    ) {
        // Running sums over the rows, and over the columns.
        for column in columns {
            var sum = SIMD2<Float>.zero
            for row in rows.lowerBound..<rows.upperBound + reach {
                if row < rows.upperBound { sum += windows.correlations[row * Self.columns + column] }
                let gone = row - 2 * reach - 1
                if gone >= rows.lowerBound { sum -= windows.correlations[gone * Self.columns + column] }
                if row - reach >= rows.lowerBound { windows.sums[(row - reach) * Self.columns + column] = sum }
            }
        }
        for row in rows.dropFirst().dropLast() {
            var sum = SIMD2<Float>.zero
            for column in columns.lowerBound..<columns.upperBound + reach {
                if column < columns.upperBound { sum += windows.sums[row * Self.columns + column] }
                let gone = column - 2 * reach - 1
                if gone >= columns.lowerBound { sum -= windows.sums[row * Self.columns + gone] }
                let window = column - reach
                guard window > columns.lowerBound, window < columns.upperBound - 1 else { continue }
                // Where all is plain, nothing is to be explained.
                let mean = sum.y > 0.5 ? sum.x / sum.y : 1
                best[row * Self.columns + window] = max(best[row * Self.columns + window], mean)
            }
        }
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

    /// Measures the means of chroma, of fewer samples than luma's: it has fewer, and less noise.
    private mutating func measure(_ chroma: ChromaView?) {
        let samples = Self.samples / 2
        guard let chroma else {
            for i in freshChroma.indices { freshChroma[i] = .zero }
            return
        }
        let (across, down) = (chroma.width / Self.columns, chroma.height / Self.rows)
        for row in 0..<Self.rows {
            for column in 0..<Self.columns {
                var sum = SIMD2<Int>.zero
                for y in 0..<samples {
                    let line = row * down + (2 * y + 1) * down / (2 * samples)
                    for x in 0..<samples {
                        let at = column * across + (2 * x + 1) * across / (2 * samples)
                        sum &+= chroma.sample(x: at, y: line)
                    }
                }
                let mean = SIMD2<Float>(sum) / Float(samples * samples)
                freshChroma[row * Self.columns + column] = 2 * (mean - 128)
            }
        }
    }
}
