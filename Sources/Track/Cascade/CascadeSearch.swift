import Frames

/// A search of pictures with one cascade: around a predicted face, or the whole picture.
///
/// Owns its integrals and lists. They are sized once; a search allocates nothing.
public struct CascadeSearch: ~Copyable {
    /// The cascade to search with.
    public let cascade: Cascade
    /// Windows found since the last `removeAll()`, and their groups.
    public var groups: CascadeGroups
    private let program: CascadeProgram
    private var integral: Integral
    private var hits: [CascadeHit]
    private var level = Level()

    /// The level in the integral: the first sample of the filled part, and a sample's size in picture pixels.
    private struct Level {
        var x = 0
        var y = 0
        var scaleX: Float = 1
        var scaleY: Float = 1
    }

    /// - Parameters:
    ///   - maxWidth: the widest part of a level that is searched at once, in samples of the level.
    ///   - maxHeight: the tallest such part; whole pictures are scanned in strips of this height.
    ///   - capacity: the maximum number of windows that a search lists.
    ///   - isCoarse: whether to evaluate only windows at even columns, at half the cost.
    public init(_ cascade: Cascade, maxWidth: Int, maxHeight: Int, capacity: Int = 256, isCoarse: Bool = false) {
        self.cascade = cascade
        integral = Integral(
            maxWidth: max(maxWidth, cascade.windowWidth), maxHeight: max(maxHeight, cascade.windowHeight),
            planes: cascade.planes, isSplit: isCoarse)
        program = cascade.program(for: integral)
        hits = [CascadeHit](repeating: CascadeHit(), count: integral.maxWidth)
        groups = CascadeGroups(capacity: capacity)
    }

    /// A level's size, in samples, for a window `window` picture pixels wide; rounded as OpenCV rounds.
    func levelSize(of picture: borrowing LumaView, window: Float) -> (width: Int, height: Int) {
        let scale = window / Float(cascade.windowWidth)
        return (
            Int((Float(picture.width) / scale).rounded(.toNearestOrEven)),
            Int((Float(picture.height) / scale).rounded(.toNearestOrEven))
        )
    }

    /// Fills the integral with a part of a level.
    /// - Returns: false if no part is inside the level.
    private mutating func fill(
        _ picture: borrowing LumaView, size: (width: Int, height: Int), part: PixelRect
    ) -> Bool {
        let inside = part.clamped(width: size.width, height: size.height)
        guard integral.fill(from: picture, levelWidth: size.width, levelHeight: size.height, part: inside) else {
            return false
        }
        level = Level(
            x: inside.x, y: inside.y, scaleX: Float(picture.width) / Float(size.width),
            scaleY: Float(picture.height) / Float(size.height))
        return true
    }

    /// Evaluates the windows of one row of the filled part and adds those that pass `minStages` stages.
    private mutating func scanRow(row: Int, columns: Range<Int>, step: Int, minStages: Int) {
        let count = Self.scanLevel(program, integral, row, columns, step, minStages, &hits)
        let (width, height) = (Float(cascade.windowWidth), Float(cascade.windowHeight))
        for i in 0..<count {
            let hit = hits[i]
            let rect = Rect(
                x: (Float(hit.x) + Float(level.x)) * level.scaleX, y: (Float(hit.y) + Float(level.y)) * level.scaleY,
                width: width * level.scaleX, height: height * level.scaleY)
            groups.add(CascadeWindow(rect: rect, result: hit.result))
        }
    }

    private static func scanLevel(
        _ program: borrowing CascadeProgram, _ integral: borrowing Integral, _ row: Int, _ columns: Range<Int>,
        _ step: Int, _ minStages: Int, _ hits: inout [CascadeHit]
    ) -> Int {
        var count = 0
        var span = hits.mutableSpan
        program.scan(integral, row: row, columns: columns, step: step, minStages: minStages, hits: &span, count: &count)
        return count
    }
}

// Search around a predicted place.
extension CascadeSearch {
    /// Parameters of a search for a known face.
    public struct Area: Sendable {
        /// The expected window, pixels of the picture.
        public var rect: Rect
        /// The maximum offset from the expected place, in samples of the level (for a window of 20: twentieths
        /// of its side). To the right it is one less, so that an offset of 8 is two groups of eight windows.
        public var maxOffset: Int
        /// Window sizes to try, as factors of the expected size, the likeliest first.
        public var sizes: [3 of Float]
        /// Stages that a window must pass: the cascade's `stageCount` to detect a new face, fewer to keep a known one.
        public var minStages: Int
        /// The number of passing windows that ends the search early.
        public var enoughWindows: Int

        /// By default, searches the expected size, then a tenth larger and a tenth smaller, until three windows pass.
        public init(
            rect: Rect, maxOffset: Int = 8, sizes: [3 of Float] = [1, 1.1, 0.9], minStages: Int, enoughWindows: Int = 3
        ) {
            (self.rect, self.maxOffset, self.sizes, self.minStages, self.enoughWindows) = (
                rect, maxOffset, sizes, minStages, enoughWindows
            )
        }
    }

    /// Searches outward from the expected window, row by row, then at the other sizes, until enough windows pass.
    ///
    /// Clears `groups` first, and leaves the windows and their groups there.
    /// - Returns: the strongest group of `enoughWindows` windows or more, otherwise the strongest of any size; nil if
    ///   no window passed.
    public mutating func find(_ picture: borrowing LumaView, near area: Area) -> CascadeMatch? {
        groups.removeAll()
        guard area.rect.width >= 1, area.rect.width.isFinite, area.rect.center.x.isFinite, area.rect.center.y.isFinite
        else { return nil }
        let room = min(integral.maxWidth - cascade.windowWidth, integral.maxHeight - cascade.windowHeight) / 2
        let maxOffset = max(0, min(area.maxOffset, room))
        for i in 0..<3 where area.sizes[i] > 0 {
            let window = area.rect.width * area.sizes[i]
            let size = levelSize(of: picture, window: window)
            let scale = window / Float(cascade.windowWidth)
            let center = area.rect.center
            guard size.width < 1 << 14, size.height < 1 << 14, abs(center.x) < 1e6, abs(center.y) < 1e6 else {
                continue
            }
            // The expected window's first sample in the level.
            let x = Int((center.x / scale - Float(cascade.windowWidth) / 2).rounded())
            let y = Int((center.y / scale - Float(cascade.windowHeight) / 2).rounded())
            let part = PixelRect(
                x: x - maxOffset, y: y - maxOffset, width: cascade.windowWidth + 2 * maxOffset,
                height: cascade.windowHeight + 2 * maxOffset)
            guard fill(picture, size: size, part: part) else { continue }
            if scanRowsOutward(area, x - level.x, y - level.y, maxOffset) { break }
        }
        groups.group(atLeast: area.enoughWindows)
        if groups.matches.isEmpty { groups.group(atLeast: 1) }
        return groups.matches.first
    }

    /// Scans rows alternately above and below the expected one.
    /// - Returns: whether enough windows passed.
    private mutating func scanRowsOutward(_ area: Area, _ x: Int, _ y: Int, _ maxOffset: Int) -> Bool {
        for rowOffset in 0...maxOffset {
            let columns = (x - maxOffset)..<(x + maxOffset)
            scanRow(row: y - rowOffset, columns: columns, step: 1, minStages: area.minStages)
            if rowOffset > 0 { scanRow(row: y + rowOffset, columns: columns, step: 1, minStages: area.minStages) }
            if groups.windows.count >= area.enoughWindows { return true }
        }
        return false
    }
}

// Search of a whole picture.
extension CascadeSearch {
    /// Settings of a scan.
    public struct Scan: Sendable {
        /// The smallest window width, pixels of the picture.
        public let smallest: Float
        /// The upper bound of the window width. Levels are empty for windows larger than the picture's shorter side.
        public let largest: Float
        /// The ratio of each window size to the next smaller one.
        public let factor: Float
        /// Samples from one window to the next, across and down. A step of 1, or of 2 in a coarse search, evaluates
        /// eight windows at once.
        public let step: Int
        /// Stages that a window must pass to be listed.
        public let minStages: Int

        /// A scan at sizes from `smallest` up; of nothing if `smallest` exceeds `largest`.
        public init(smallest: Float, largest: Float, factor: Float = 1.1, step: Int = 1, minStages: Int) {
            (self.smallest, self.largest, self.factor) = (max(1, smallest), largest, max(1.01, factor))
            (self.step, self.minStages) = (max(1, step), minStages)
        }

        /// The number of window widths.
        var count: Int {
            var (n, width) = (0, smallest)
            while width <= largest, n < 1000 { (n, width) = (n + 1, width * factor) }
            return n
        }

        /// The width of a window, counted from the largest.
        func window(_ index: Int) -> Float {
            var width = smallest
            for _ in 0..<max(0, count - 1 - index) { width *= factor }
            return width
        }
    }

    /// Scans a whole picture, the largest windows first, and adds the windows that pass to `groups`.
    ///
    /// A level wider than this search was sized for is skipped; a higher one is scanned in strips.
    public mutating func scan(_ picture: borrowing LumaView, _ scan: Scan) {
        for index in 0..<scan.count {
            let size = levelSize(of: picture, window: scan.window(index))
            let (columns, rows) = (size.width - cascade.windowWidth + 1, size.height - cascade.windowHeight + 1)
            var top = 0
            while top < rows {
                let strip = min(rows - top, integral.maxHeight - cascade.windowHeight + 1)
                let part = PixelRect(
                    x: 0, y: top, width: size.width, height: strip + cascade.windowHeight - 1)
                guard columns > 0, size.width <= integral.maxWidth, fill(picture, size: size, part: part) else { break }
                var row = 0
                while row < strip {
                    scanRow(row: row, columns: 0..<columns, step: scan.step, minStages: scan.minStages)
                    row += scan.step
                }
                top += row
            }
        }
    }
}
