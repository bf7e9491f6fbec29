import Frames

/// Which parts of a frame are searched next: tiles of all likely sizes of faces, of smaller and of turned ones, and
/// first of all what moved.
struct FrameSearch: ~Copyable {
    /// The frame's size, pixels.
    let (width, height): (Int, Int)
    /// The smallest window of the likely sizes, pixels.
    private var smallest: Float
    private var likely: ScanScheduler
    /// The search for faces below the likely sizes, while faces must be hidden: whoever is to be hidden may be far
    /// away. Of its own, since it has the most tiles, which would keep larger faces waiting.
    private var small: ScanScheduler?
    /// The search for turned faces, while faces must be hidden.
    private var turned: ScanScheduler?
    private var motion: FrameMotion
    /// The level of the likely sizes that `nextMoved` has searched last.
    private var movedLevel = 0
    /// Boxes of the faces that are known, pixels.
    private var known: [Rect] = []

    /// The head tilts at which frames of clips and cameras are searched, degrees.
    static let rolls: [Float] = [0, 40, -40]
    /// The tilts of somebody who lies, or of a camera that stands on its side or its head, degrees.
    private static let turnedRolls: [Float] = [90, -90, 180]
    /// Side of the smallest window searched for while faces must be hidden, pixels: that of a face 20 pixels wide.
    static let smallestThorough: Float = 24

    /// A search of no frame.
    init() { self.init(width: 0, height: 0, smallest: 1, faces: 0) }

    /// - Parameters:
    ///   - smallest: the smallest window of the likely sizes, pixels.
    ///   - faces: the number of known faces for which room is reserved.
    init(width: Int, height: Int, smallest: Float, faces: Int) {
        (self.width, self.height, self.smallest) = (width, height, smallest)
        likely = ScanScheduler(width: width, height: height, smallest: smallest, rolls: Self.rolls)
        motion = FrameMotion(width: width, height: height)
        known.reserveCapacity(faces)
    }

    /// Prepares for the next frame.
    mutating func prepare(smallest: Float, isThorough: Bool) {
        if self.smallest != smallest {
            self.smallest = smallest
            likely = ScanScheduler(width: width, height: height, smallest: smallest, rolls: Self.rolls)
            small = nil
        }
        if !isThorough {
            (small, turned) = (nil, nil)
            return
        }
        if turned == nil {
            // Of tilted faces, the smallest level is not searched.
            turned = ScanScheduler(
                width: width, height: height, smallest: smallest / ScanScheduler.levelFactor, rolls: Self.turnedRolls)
        }
        if small == nil {
            small = ScanScheduler(
                width: width, height: height, smallest: Self.smallestThorough, limit: smallest, rolls: [0])
        }
    }

    var hasFrame: Bool { width > 0 }
    /// The width from which on a face is large, pixels.
    var largeWidth: Float { ScanScheduler.largeShare * Float(min(width, height)) }

    /// Whether all upright tiles of the likely sizes were searched.
    var isComplete: Bool { likely.isComplete }
    /// Whether they were searched often enough to show a frame while faces must be hidden.
    func isComplete(awaitsLarge: Bool) -> Bool { likely.isComplete(awaitsLarge: awaitsLarge) }
    /// Whether all tiles of smaller sizes were searched; nil if those are not searched.
    var isSmallComplete: Bool? { small?.isComplete }
    /// Whether some tile was searched less often than it is to be at first while faces must be hidden.
    var lacksSearches: Bool { likely.lacksSearches }

    /// Asks for all searches again that are needed while faces must be hidden.
    mutating func restartSearches() {
        likely.restartSearches()
        turned = nil
    }

    /// Asks for searches again because the scene may have changed slowly.
    mutating func repeatSearches() { likely.repeatSearches() }

    /// Makes the tiles around a lost face's position, in pixels, urgent.
    mutating func prioritize(around point: Point) {
        likely.prioritize(around: point)
        small?.prioritize(around: point)
    }

    /// Looks at what has moved.
    /// - Parameter tracks: the confirmed ones are known faces, whose motion is ignored.
    /// - Returns: the share of the frame that moved, 0 to 1.
    mutating func recordMotion(_ luma: borrowing LumaView, besides tracks: [Track]) -> Float {
        known.removeAll(keepingCapacity: true)
        for track in tracks where track.isConfirmed { known.append(track.box) }
        Self.update(&motion, luma, known)
        likely.record(motion)
        small?.record(motion)
        return motion.share
    }

    /// The next tile of the likely sizes; nil if known faces cover everything.
    mutating func next(thorough: Bool) -> PatchTransform? { Self.advance(&likely, known, thorough: thorough) }

    /// The next tile of smaller sizes; nil if there is none.
    mutating func nextSmall() -> PatchTransform? { Self.advance(&small, known, thorough: false) }

    /// The next tile of turned faces; nil once all were searched twice.
    mutating func nextTurned() -> PatchTransform? { turned?.searchTwice() }

    /// The tile of large faces in which most has moved; nil if too little did.
    mutating func nextMovedLarge() -> PatchTransform? { likely.searchMovedLarge() }

    /// The number of tiles of large faces.
    var largeCount: Int { likely.largeCount }
    /// Repeats the search of a tile of large faces that was searched too few times; nil if it was not searched yet, or
    /// often enough.
    mutating func repeatLarge(_ tile: Int) -> PatchTransform? { likely.repeatLarge(tile) }

    /// The tile in which most has moved, of one level of the likely sizes after the other; nil if nothing has that may
    /// be a head.
    mutating func nextMoved() -> PatchTransform? {
        let count = likely.levels.count
        for _ in 0..<count {
            movedLevel = (movedLevel + 1) % count
            if let tile = likely.searchMoved(level: movedLevel) { return tile }
        }
        return nil
    }

    /// The number of levels of sizes, of the likely and of smaller ones.
    var levelCount: Int { likely.levels.count + (small?.levels.count ?? 0) }
    /// The tile of a level in which most has moved; nil if too little did.
    mutating func nextMoved(level: Int) -> PatchTransform? {
        let count = likely.levels.count
        return level < count ? likely.searchMoved(level: level) : small?.searchMoved(level: level - count)
    }

    /// Searches a tile for cats.
    func search(
        for cats: inout CatDetector?, _ luma: borrowing LumaView, besides people: [Track], at seconds: Double,
        _ nextID: inout Int
    ) { cats?.search(luma, motion, known: known.span, besides: people, at: seconds, &nextID) }

    // Static functions that take each part by itself: a span of one part would keep the whole from being changed.
    private static func update(_ motion: inout FrameMotion, _ luma: borrowing LumaView, _ known: borrowing [Rect]) {
        motion.update(luma, known: known.span)
    }

    private static func advance(
        _ scheduler: inout ScanScheduler, _ known: borrowing [Rect], thorough: Bool
    ) -> PatchTransform? { scheduler.advance(known: known.span, thorough: thorough) }

    private static func advance(
        _ scheduler: inout ScanScheduler?, _ known: borrowing [Rect], thorough: Bool
    ) -> PatchTransform? { scheduler?.advance(known: known.span, thorough: thorough) }
}
