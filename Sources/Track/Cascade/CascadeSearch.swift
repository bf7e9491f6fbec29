import Frames

/// Searches pictures with one cascade: round a place where a face was, or whole pictures in slices.
///
/// Owns its integrals and lists; sized once, nothing is allocated by a search. Work is counted in stumps evaluated
/// (trees, and summing up a sample, at what they cost in stumps), never in time, so the same picture gives the same
/// result everywhere.
public struct CascadeSearch: ~Copyable {
    /// What one sample of a level costs, scaling and summing, in stumps: measured.
    static let fillWork = 1

    /// What is sought.
    public let cascade: Cascade
    /// Windows found since they were last cleared, and their groups.
    public var groups: CascadeGroups
    private let program: CascadeProgram
    private var integral: Integral
    private var hits: [CascadeHit]
    private var level = Level()

    /// The level that the integral holds: where its first sample lies in the picture, and how large a sample is.
    private struct Level {
        var x = 0
        var y = 0
        var scaleX: Float = 1
        var scaleY: Float = 1
    }

    /// - Parameters:
    ///   - maxWidth: the widest part of a level that is searched at once, in samples of the level.
    ///   - maxHeight: the highest; whole pictures are swept in strips of this height.
    ///   - capacity: the most windows that a search lists.
    ///   - isCoarse: whether windows at even columns alone are judged, at half the cost.
    public init(_ cascade: Cascade, maxWidth: Int, maxHeight: Int, capacity: Int = 256, isCoarse: Bool = false) {
        self.cascade = cascade
        integral = Integral(
            maxWidth: max(maxWidth, cascade.windowWidth), maxHeight: max(maxHeight, cascade.windowHeight),
            planes: cascade.planes, isSplit: isCoarse)
        program = cascade.program(for: integral)
        hits = [CascadeHit](repeating: CascadeHit(), count: integral.maxWidth)
        groups = CascadeGroups(capacity: capacity)
    }

    /// A level's size for a window of that width in the picture: rounded as OpenCV rounds.
    func levelSize(of picture: borrowing LumaView, window: Float) -> (width: Int, height: Int) {
        let scale = window / Float(cascade.windowWidth)
        return (
            Int((Float(picture.width) / scale).rounded(.toNearestOrEven)),
            Int((Float(picture.height) / scale).rounded(.toNearestOrEven))
        )
    }

    /// Sums up a part of the level at which the cascade's window is `window` picture pixels wide.
    /// - Returns: false where nothing is left of the part inside the level.
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

    /// Judges windows of one row of the filled part and adds those that pass `stage` stages.
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

// Round a predicted place.
extension CascadeSearch {
    /// How a known face is sought.
    public struct Near: Sendable {
        /// Where the cascade's window is expected: pixels of the picture.
        public var rect: Rect
        /// How far its place may be off, in samples of the level (twentieths of a window, for a window of 20).
        public var reach: Int
        /// Window sizes to try, as factors of the expected one, the likeliest first.
        public var sizes: [3 of Float]
        /// Stages that a window must pass: the cascade's number to find, fewer to keep.
        public var stage: Int
        /// Windows that must agree for the search to end early.
        public var agree: Int

        /// Sought at the same size, then a tenth larger and smaller, until three windows agree.
        public init(rect: Rect, reach: Int = 8, sizes: [3 of Float] = [1, 1.1, 0.9], stage: Int, agree: Int = 3) {
            (self.rect, self.reach, self.sizes, self.stage, self.agree) = (rect, reach, sizes, stage, agree)
        }
    }

    /// Searches from the expected window outward, row by row, then at the other sizes, until enough windows agree.
    ///
    /// The windows and their groups are in `groups`, which is cleared first.
    /// - Parameter work: grows by the work done.
    /// - Returns: the strongest group of `agree` windows or more, or of the largest number found; nil: none at all.
    public mutating func find(_ picture: borrowing LumaView, near: Near, work: inout Int) -> CascadeFind? {
        groups.removeAll()
        guard near.rect.width >= 1, near.rect.width.isFinite, near.rect.center.x.isFinite, near.rect.center.y.isFinite
        else { return nil }
        let room = min(integral.maxWidth - cascade.windowWidth, integral.maxHeight - cascade.windowHeight) / 2
        let reach = max(0, min(near.reach, room))
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
                x: x - reach, y: y - reach, width: cascade.windowWidth + 2 * reach,
                height: cascade.windowHeight + 2 * reach)
            guard fill(picture, size: size, part: part, work: &work) else { continue }
            if spiral(near, x - level.x, y - level.y, reach, &work) { break }
        }
        groups.group(atLeast: near.agree)
        if groups.finds.isEmpty { groups.group(atLeast: 1) }
        return groups.finds.first
    }

    /// - Returns: whether enough windows agree.
    private mutating func spiral(_ near: Near, _ x: Int, _ y: Int, _ reach: Int, _ work: inout Int) -> Bool {
        for ring in 0...reach {
            let columns = (x - reach)..<(x + reach)
            scanRow(row: y - ring, columns: columns, step: 1, stage: near.stage, work: &work)
            if ring > 0 { scanRow(row: y + ring, columns: columns, step: 1, stage: near.stage, work: &work) }
            if groups.windows.count >= near.agree { return true }
        }
        return false
    }
}

// Whole pictures, in slices.
extension CascadeSearch {
    /// How far a sweep has come, and what it sweeps. Copied freely; the search itself remembers nothing of it.
    public struct Scan: Sendable {
        /// Window widths, pixels of the picture; the largest is searched first.
        public let smallest: Float
        /// Not larger than the picture's shorter side, or its levels are empty.
        public let largest: Float
        /// Each size is this many times the next smaller one.
        public let factor: Float
        /// Where windows may lie, pixels of the picture; nil: everywhere.
        public let region: Rect?
        /// Samples from one window to the next, across and down. 1, or 2 in a coarse search, judges eight windows at
        /// once.
        public let step: Int
        /// Stages that a window must pass to be listed.
        public let stage: Int
        /// The size that is next, counted from the largest.
        public internal(set) var size = 0
        /// The next row of its level.
        public internal(set) var row = 0
        /// Whether all is swept.
        public internal(set) var isDone = false

        /// A sweep from its start; one with no sizes is done at once.
        public init(
            smallest: Float, largest: Float, factor: Float = 1.1, region: Rect? = nil, step: Int = 1, stage: Int
        ) {
            (self.smallest, self.largest, self.factor) = (max(1, smallest), largest, max(1.01, factor))
            (self.region, self.step, self.stage) = (region, max(1, step), stage)
            isDone = !(self.smallest <= largest)
        }

        /// Window widths from the smallest up, and how many there are.
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

    /// Goes on with a sweep until it is done or `budget` is used up; the windows are added to `groups`.
    ///
    /// A level wider than this search was made for is left out. Stops between two rows of windows, so it goes over the
    /// budget by one row's work at the most, and by the sums of one strip of rows. The picture may be another one each
    /// time.
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

    /// First samples of the windows that lie in the sweep's region, in the level.
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
