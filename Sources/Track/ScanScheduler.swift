import Frames
import SystemKit

/// A schedule that searches the whole frame in tiles, so that no frame is delayed: patches of one size that cover the
/// frame at every face size and tilt.
///
/// In the first pass the largest faces come first, since they are the cheapest to search for and the likeliest. After
/// that the tile that has waited longest is next, weighted up if something moved in it since it was last searched, and
/// down for tilted heads. All of this depends only on the frames, so a clip gives the same faces on every run and
/// machine.
struct ScanScheduler: Sendable {
    /// Side of a patch, pixels: large enough that its margin (half a face) is a small part of it, small enough for one
    /// frame's search.
    static let side = 160
    /// Window sizes searched in one patch, pixels: three steps of 1.2 from the cascade's own window.
    static let sizes = 20...29
    static let step: Float = 1.2
    /// The ratio between levels of face sizes: the steps that one patch covers.
    static let levelFactor: Float = 1.728

    /// Weights of a tile's waiting time, if all of it moved since it was last searched and for tilted heads.
    private static let motionWeight: Float = 32
    private static let tiltWeight: Float = 0.4
    /// The weight of a tile that contains a known face of about the size searched there, and the range of that face's
    /// box width in pixels of the patch: people stand beside people, equally far away.
    private static let neighborWeight: Float = 4
    private static let neighborWidths: Range<Float> = 14..<36
    /// The share of a tile that known faces must cover for it to be skipped.
    private static let covered: Float = 0.7

    /// The width of a large face, as a share of the frame's shorter side: one whose loss nobody would overlook.
    static let largeShare: Float = 0.25
    /// Factors of the window sizes in consecutive thorough searches of a tile: each is between those of the others, by
    /// thirds of `step`.
    static let phases: [Float] = [1, 1.063, 1.129]
    /// While faces must be hidden, the number of searches with which a tile is done at first: of upright faces, of
    /// large ones, and of tilted ones. The cascade overlooks even a large frontal face now and then.
    private static let (uprightSearches, largeSearches, tiltedSearches) = (3, 5, 1)
    /// The numbers of searches of upright faces, and of large ones, that a frame which is shown waits for.
    private static let (completeSearches, completeLargeSearches) = (2, 3)

    let tiles: [PatchTransform]
    /// The upright tiles of each level of sizes, the largest first.
    let levels: [Range<Int>]
    /// The weight of each tile's waiting time.
    private let weights: [Float]
    /// When each tile was last searched, as a count of scanned tiles. Initially 0 or negative: the largest faces first.
    private var searched: [Int]
    private var tilesScanned = 0
    /// The number of searches of each tile since the start, or since `restartSearches`.
    private var searches: [Int]
    /// The number of tiles of large faces, which are the first of `tiles`.
    let largeCount: Int
    /// The largest share of each tile that moved in one frame since the tile was last searched, 0 to 1. Initially 1 for
    /// upright ones, so that what moves elsewhere delays no first search.
    private var moved: [Float]
    /// The share that counts as all of a tile. For small faces that of a head, one and a half times as wide and high as
    /// a face of 25 of the tile's pixels; for all sizes a whole tile, since in a crowd some head always moves.
    private let wholeShare: Float
    private static let headShare: Float = 0.055

    /// - Parameters:
    ///   - smallest: side of the smallest window to search for, pixels of the frame.
    ///   - limit: side of the smallest window that is too large, pixels of the frame; nil: the frame's shorter side.
    ///   - rolls: head tilts to search for, degrees, in order.
    init(width: Int, height: Int, smallest: Float, limit: Float? = nil, rolls: [Float]) {
        wholeShare = limit == nil ? 1 : Self.headShare
        let largest = limit ?? Float(min(width, height))
        var scales: [Float] = []
        var size = smallest
        while size < largest {
            scales.append(size / Float(Self.sizes.lowerBound))
            size *= Self.levelFactor
        }
        var tiles: [PatchTransform] = []
        var weights: [Float] = []
        var levels: [Range<Int>] = []
        for roll in rolls {
            for (level, scale) in scales.enumerated().reversed() {
                // The smallest faces are searched upright only: most tiles are theirs, and few of these faces are
                // tilted.
                if roll != 0 && level == 0 && scales.count > 2 { continue }
                let first = tiles.count
                Self.cover(width, height, scale: scale, roll: roll, into: &tiles)
                if roll == 0 { levels.append(first..<tiles.count) }
                // A compromise between equal shares for all tiles and equal shares for all sizes.
                let weight = 1 / Float(max(1, tiles.count - first)).squareRoot()
                for _ in first..<tiles.count { weights.append(roll == 0 ? weight : weight * Self.tiltWeight) }
            }
        }
        self.tiles = tiles
        self.levels = levels
        searches = Array(repeating: 0, count: tiles.count)
        let large = limit == nil ? Self.largeShare * largest / Float(Self.sizes.lowerBound) : .infinity
        largeCount = tiles.prefix { $0.roll == 0 && $0.scale >= large }.count
        self.weights = weights
        moved = tiles.map { $0.roll == 0 ? 1 : 0 }
        // The largest faces come first, and all upright tiles before any tilted one.
        searched = tiles.indices.map { tiles[$0].roll == 0 ? -10 * (tiles.count - $0) : 0 }
    }

    private static func cover(
        _ width: Int, _ height: Int, scale: Float, roll: Float, into tiles: inout [PatchTransform]
    ) {
        // The frame's extent in the rotated patch's axes, and a stride at which every window is entirely inside some
        // patch.
        let angle = radians(roll)
        let (c, s) = (abs(cos(angle)), abs(sin(angle)))
        let (w, h) = (Float(width) / scale, Float(height) / scale)
        let extent = Point(w * c + h * s, w * s + h * c)
        let stride = Float(side - sizes.upperBound)
        let columns = max(1, Int(((extent.x - Float(sizes.upperBound)) / stride).rounded(.up)))
        let rows = max(1, Int(((extent.y - Float(sizes.upperBound)) / stride).rounded(.up)))
        let middle = Point(Float(width - 1) / 2, Float(height - 1) / 2)
        let turn = Affine(scale: scale, angle: angle, origin: middle)
        for row in 0..<rows {
            for column in 0..<columns {
                let offset = Point(Float(column) - Float(columns - 1) / 2, Float(row) - Float(rows - 1) / 2) * stride
                let center = turn(offset)
                let reach = Float(side) / 2 * scale
                // Skip patches that a rotated grid places outside the frame.
                if center.x < -reach * 0.7 || center.y < -reach * 0.7 { continue }
                if center.x > Float(width) + reach * 0.7 || center.y > Float(height) + reach * 0.7 { continue }
                tiles.append(PatchTransform(center: center, scale: scale, roll: roll))
            }
        }
    }

    /// Whether all upright tiles were searched since the start, and since `prioritize` last asked for them.
    var isComplete: Bool { zip(searched, tiles).allSatisfy { $0 > 0 || $1.roll != 0 } }

    /// Whether all upright tiles were searched often enough to show a frame while faces must be hidden.
    /// - Parameter awaitsLarge: whether a large face may have been overlooked.
    func isComplete(awaitsLarge: Bool) -> Bool {
        isComplete && tiles.indices.allSatisfy { searches[$0] >= searchesShown($0, awaitsLarge: awaitsLarge) }
    }

    /// Whether some tile was searched less often than it is to be at first while faces must be hidden.
    var lacksSearches: Bool { tiles.indices.contains { searches[$0] < searchesNeeded($0) } }

    /// Asks for all searches again that are needed while faces must be hidden.
    mutating func restartSearches() { for i in searches.indices { searches[i] = 0 } }

    /// Asks for searches again because the scene may have changed slowly: as many as there still are to be once a frame
    /// may be shown.
    mutating func repeatSearches() {
        for i in searches.indices { searches[i] = min(searches[i], searchesShown(i)) }
    }

    /// The number of searches of a tile that a frame which is shown waits for.
    private func searchesShown(_ tile: Int, awaitsLarge: Bool = true) -> Int {
        if tiles[tile].roll != 0 { return 0 }
        return awaitsLarge && tile < largeCount ? Self.completeLargeSearches : Self.completeSearches
    }

    private func searchesNeeded(_ tile: Int) -> Int {
        tiles[tile].roll != 0 ? Self.tiltedSearches : tile < largeCount ? Self.largeSearches : Self.uprightSearches
    }

    /// Repeats the search of a tile of large faces that was searched too few times.
    /// - Returns: nil if it was not searched yet, or often enough.
    mutating func repeatLarge(_ tile: Int) -> PatchTransform? {
        (1..<Self.largeSearches).contains(searches[tile]) ? search(tile, thorough: true) : nil
    }

    /// Searches the tile of large faces in which most has moved since its last search, if that is a head's area.
    mutating func searchMovedLarge() -> PatchTransform? { searchMoved(0..<largeCount) }

    /// Searches the tile of one level in which most has moved since its last search, if that is a head's area.
    mutating func searchMoved(level: Int) -> PatchTransform? { searchMoved(levels[level]) }

    private mutating func searchMoved(_ candidates: Range<Int>) -> PatchTransform? {
        var (tile, most) = (Int?.none, Float(0))
        for i in candidates where moved[i] * wholeShare >= Self.headShare && moved[i] > most {
            (tile, most) = (i, moved[i])
        }
        return tile.map { search($0, thorough: true) }
    }

    /// The next tile that was not searched twice yet, at different sizes; first those that were not searched at all.
    /// - Returns: nil if all were.
    mutating func searchTwice() -> PatchTransform? {
        let tile = tiles.indices.first { searches[$0] == 0 } ?? tiles.indices.first { searches[$0] == 1 }
        return tile.map { search($0, thorough: true) }
    }

    /// Marks a tile as searched.
    /// - Parameter thorough: whether the sizes differ from search to search.
    private mutating func search(_ tile: Int, thorough: Bool) -> PatchTransform {
        var region = tiles[tile]
        if thorough { region.scale *= Self.phases[searches[tile] % Self.phases.count] }
        (searched[tile], moved[tile]) = (tilesScanned, 0)
        searches[tile] += 1
        return region
    }

    /// The tile that was searched least of those that lack searches: the largest faces first, and tilted ones after the
    /// first upright pass.
    private var leastSearched: Int? {
        var (best, least) = (Int?.none, Int.max)
        for i in tiles.indices where searches[i] < searchesNeeded(i) {
            let count = tiles[i].roll == 0 ? searches[i] : searches[i] + 1
            if count < least { (best, least) = (i, count) }
        }
        return best
    }

    /// Records how much of each tile moved in the newest frame. Whatever moved stays urgent until it is searched, also
    /// if it has stopped.
    mutating func record(_ motion: borrowing FrameMotion) {
        for i in tiles.indices {
            let share = motion.share(of: tiles[i].bounds(side: Self.side))
            moved[i] = max(moved[i], min(1, share / wholeShare))
        }
    }

    /// The most urgent tile, which is then marked as searched.
    /// - Parameters:
    ///   - known: boxes of the known faces, pixels.
    ///   - thorough: whether faces must be hidden: then all tiles are searched several times first.
    /// - Returns: nil if known faces cover everything.
    mutating func advance(known: Span<Rect>, thorough: Bool = false) -> PatchTransform? {
        var (best, urgency) = (-1, Float(0))
        tilesScanned += 1
        // Once the frame may be shown, every second tile is the most urgent one, since somebody may come in meanwhile.
        if thorough, let tile = leastSearched, tilesScanned.isMultiple(of: 2) || !isComplete(awaitsLarge: false) {
            return search(tile, thorough: true)
        }
        for i in tiles.indices {
            let rect = tiles[i].bounds(side: Self.side)
            let waited = Float(tilesScanned - searched[i]) * weights[i] * (1 + Self.motionWeight * moved[i])
            guard waited * Self.neighborWeight > urgency else { continue }
            var free = rect.area
            var factor: Float = 1
            for j in known.indices {
                let overlap = known[j].overlap(rect)
                free -= overlap
                let width = known[j].width / tiles[i].scale
                if overlap > 0 && width > Self.neighborWidths.lowerBound && width < Self.neighborWidths.upperBound {
                    factor = Self.neighborWeight
                }
            }
            let weighted = waited * factor
            guard weighted > urgency else { continue }
            guard free > rect.area * (1 - Self.covered) else {
                _ = search(i, thorough: thorough)
                continue
            }
            (best, urgency) = (i, weighted)
        }
        return best >= 0 ? search(best, thorough: thorough) : nil
    }

    /// Makes the tiles around a lost face's position, in pixels, urgent: it may come back at any size and tilt.
    mutating func prioritize(around point: Point) {
        for i in tiles.indices {
            let rect = tiles[i].bounds(side: Self.side)
            guard abs(rect.center.x - point.x) < rect.width / 2, abs(rect.center.y - point.y) < rect.height / 2 else {
                continue
            }
            searched[i] = min(searched[i], -10 * searched.count)
        }
    }
}
