import Frames

/// A search of pictures with one cascade: around a predicted face, or the whole picture in budgeted steps.
///
/// Owns its integrals and lists. They are sized once; a search allocates nothing. Work is counted in stump evaluations
/// (a tree, or summing one sample, counts as many as it costs), never in time, so the same picture gives the same
/// result on every machine.
public struct CascadeSearch: ~Copyable {
    /// Cost of scaling and summing one sample of a level, in stump evaluations: measured.
    static let fillWork = 1

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
        _ picture: borrowing LumaView, size: (width: Int, height: Int), part: PixelRect, work: inout Int
    ) -> Bool {
        let inside = part.clamped(width: size.width, height: size.height)
        guard integral.fill(from: picture, levelWidth: size.width, levelHeight: size.height, part: inside) else {
            return false
        }
        work += inside.width * inside.height * Self.fillWork
        level = Level(
            x: inside.x, y: inside.y, scaleX: Float(picture.width) / Float(size.width),
            scaleY: Float(picture.height) / Float(size.height))
        return true
    }

    /// Evaluates the windows of one row of the filled part and adds those that pass `stage` stages.
    private mutating func scanRow(row: Int, columns: Range<Int>, step: Int, stage: Int, work: inout Int) {
        let count = Self.scanLevel(program, integral, row, columns, step, stage, &hits, &work)
        let (width, height) = (Float(cascade.windowWidth), Float(cascade.windowHeight))
        for i in 0..<count {
            let hit = hits[i]
            let rect = Rect(
                x: (Float(hit.x) + Float(level.x)) * level.scaleX, y: (Float(hit.y) + Float(level.y)) * level.scaleY,
                width: width * level.scaleX, height: height * level.scaleY)
            groups.add(CascadeWindow(rect: rect, verdict: hit.verdict))
        }
    }

    private static func scanLevel(
        _ program: borrowing CascadeProgram, _ integral: borrowing Integral, _ row: Int, _ columns: Range<Int>,
        _ step: Int, _ stage: Int, _ hits: inout [CascadeHit], _ work: inout Int
    ) -> Int {
        var count = 0
        var span = hits.mutableSpan
        program.scan(
            integral, row: row, columns: columns, step: step, stage: stage, hits: &span, count: &count, work: &work)
        return count
    }
}

// Search around a predicted place.
extension CascadeSearch {
    /// Parameters of a search for a known face.
    public struct Near: Sendable {
        /// The expected window, pixels of the picture.
        public var rect: Rect
        /// The maximum offset from the expected place, in samples of the level (for a window of 20: twentieths
        /// of its side).
        public var maxOffset: Int
        /// Window sizes to try, as factors of the expected size, the likeliest first.
        public var sizes: [3 of Float]
        /// Stages that a window must pass: the cascade's `stageCount` to detect a new face, fewer to keep a known one.
        public var stage: Int
        /// The number of passing windows that ends the search early.
        public var enoughWindows: Int

        /// By default, searches the expected size, then a tenth larger and a tenth smaller, until three windows pass.
        public init(
            rect: Rect, maxOffset: Int = 8, sizes: [3 of Float] = [1, 1.1, 0.9], stage: Int, enoughWindows: Int = 3
        ) {
            (self.rect, self.maxOffset, self.sizes, self.stage, self.enoughWindows) = (
                rect, maxOffset, sizes, stage, enoughWindows
            )
        }
    }

    /// Searches outward from the expected window, row by row, then at the other sizes, until enough windows pass.
    ///
    /// Clears `groups` first, and leaves the windows and their groups there.
    /// - Parameter work: increased by the work done.
    /// - Returns: the strongest group of `enoughWindows` windows or more, otherwise the strongest of any size; nil if
    ///   no window passed.
    public mutating func find(_ picture: borrowing LumaView, near: Near, work: inout Int) -> CascadeFind? {
        groups.removeAll()
        guard near.rect.width >= 1, near.rect.width.isFinite, near.rect.center.x.isFinite, near.rect.center.y.isFinite
        else { return nil }
        let room = min(integral.maxWidth - cascade.windowWidth, integral.maxHeight - cascade.windowHeight) / 2
        let maxOffset = max(0, min(near.maxOffset, room))
        for i in 0..<3 where near.sizes[i] > 0 {
            let window = near.rect.width * near.sizes[i]
            let size = levelSize(of: picture, window: window)
            let scale = window / Float(cascade.windowWidth)
            let center = near.rect.center
            guard size.width < 1 << 14, size.height < 1 << 14, abs(center.x) < 1e6, abs(center.y) < 1e6 else {
                continue
            }
            // The expected window's first sample in the level.
            let x = Int((center.x / scale - Float(cascade.windowWidth) / 2).rounded())
            let y = Int((center.y / scale - Float(cascade.windowHeight) / 2).rounded())
            let part = PixelRect(
                x: x - maxOffset, y: y - maxOffset, width: cascade.windowWidth + 2 * maxOffset,
                height: cascade.windowHeight + 2 * maxOffset)
            guard fill(picture, size: size, part: part, work: &work) else { continue }
            if spiral(near, x - level.x, y - level.y, maxOffset, &work) { break }
        }
        groups.group(atLeast: near.enoughWindows)
        if groups.finds.isEmpty { groups.group(atLeast: 1) }
        return groups.finds.first
    }

    /// Scans rows alternately above and below the expected one.
    /// - Returns: whether enough windows passed.
    private mutating func spiral(_ near: Near, _ x: Int, _ y: Int, _ maxOffset: Int, _ work: inout Int) -> Bool {
        for ring in 0...maxOffset {
            let columns = (x - maxOffset)..<(x + maxOffset)
            scanRow(row: y - ring, columns: columns, step: 1, stage: near.stage, work: &work)
            if ring > 0 { scanRow(row: y + ring, columns: columns, step: 1, stage: near.stage, work: &work) }
            if groups.windows.count >= near.enoughWindows { return true }
        }
        return false
    }
}

// Search of a whole picture, in steps.
extension CascadeSearch {
    /// Settings and progress of a scan. A value that may be copied; `CascadeSearch` keeps no scan state of its own.
    public struct Scan: Sendable {
        /// The smallest window width, pixels of the picture.
        public let smallest: Float
        /// The largest window width, searched first. Levels are empty for windows larger than the
        /// picture's shorter side.
        public let largest: Float
        /// The ratio of each window size to the next smaller one.
        public let factor: Float
        /// The region that windows must be inside, pixels of the picture; nil: the whole picture.
        public let region: Rect?
        /// Samples from one window to the next, across and down. A step of 1, or of 2 in a coarse search, evaluates
        /// eight windows at once.
        public let step: Int
        /// Stages that a window must pass to be listed.
        public let stage: Int
        /// Index of the next window size, counted from the largest.
        public internal(set) var size = 0
        /// The next row of that size's level.
        public internal(set) var row = 0
        /// Whether the scan is complete.
        public internal(set) var isDone = false

        /// Creates a scan at its start. If `smallest` exceeds `largest`, it is complete at once.
        public init(
            smallest: Float, largest: Float, factor: Float = 1.1, region: Rect? = nil, step: Int = 1, stage: Int
        ) {
            (self.smallest, self.largest, self.factor) = (max(1, smallest), largest, max(1.01, factor))
            (self.region, self.step, self.stage) = (region, max(1, step), stage)
            isDone = !(self.smallest <= largest)
        }

        /// The number of window widths, counted from the smallest up.
        var count: Int {
            var (n, width) = (1, smallest * factor)
            while width <= largest, n < 1000 { (n, width) = (n + 1, width * factor) }
            return n
        }

        func window(_ index: Int) -> Float {
            var width = smallest
            for _ in 0..<max(0, count - 1 - index) { width *= factor }
            return width
        }
    }

    /// Continues a scan until it is complete or `budget` is used up; adds the windows to `groups`.
    ///
    /// A level wider than this search was sized for is skipped. The scan stops only between two rows of windows, so it
    /// may exceed the budget by one row's work plus the sums of one strip of rows. Each call may pass a different
    /// picture.
    /// - Returns: the work done.
    public mutating func scan(_ picture: borrowing LumaView, _ scan: inout Scan, budget: Int) -> Int {
        var work = 0
        while work < budget, !scan.isDone {
            let window = scan.window(scan.size)
            let size = levelSize(of: picture, window: window)
            let origins = self.origins(scan, size, of: picture)
            let first = max(origins.y, scan.row)
            let last = origins.y + origins.height
            let strip = min(last - first, integral.maxHeight - cascade.windowHeight + 1)
            let part = PixelRect(
                x: origins.x, y: first, width: origins.width + cascade.windowWidth - 1,
                height: strip + cascade.windowHeight - 1)
            guard strip > 0, origins.width > 0, part.width <= integral.maxWidth,
                fill(picture, size: size, part: part, work: &work)
            else {
                Self.advance(&scan)
                continue
            }
            var row = 0
            while row < strip, work < budget {
                scanRow(row: row, columns: 0..<origins.width, step: scan.step, stage: scan.stage, work: &work)
                row += scan.step
            }
            scan.row = first + row
            if scan.row >= last { Self.advance(&scan) }
        }
        return work
    }

    private static func advance(_ scan: inout Scan) {
        scan.size += 1
        scan.row = 0
        scan.isDone = scan.size >= scan.count
    }

    /// The first samples of the windows inside the scan's region, in the level.
    private func origins(
        _ scan: Scan, _ size: (width: Int, height: Int), of picture: borrowing LumaView
    ) -> PixelRect {
        let scale = (x: Float(picture.width) / Float(size.width), y: Float(picture.height) / Float(size.height))
        var (left, top, right, bottom) = (0, 0, size.width, size.height)
        if let region = scan.region, region.width > 0, region.height > 0, abs(region.x) < 1e6, abs(region.y) < 1e6,
            region.width < 1e6, region.height < 1e6
        {
            left = max(0, Int((region.x / scale.x).rounded(.down)))
            top = max(0, Int((region.y / scale.y).rounded(.down)))
            right = min(right, Int(((region.x + region.width) / scale.x).rounded(.up)))
            bottom = min(bottom, Int(((region.y + region.height) / scale.y).rounded(.up)))
        }
        return PixelRect(
            x: left, y: top, width: max(0, right - left - cascade.windowWidth + 1),
            height: max(0, bottom - top - cascade.windowHeight + 1))
    }
}
