import Frames
import Track

/// Finds hands that come before a person's head, so that what is worn there is drawn behind them.
///
/// A grid of cells moves with the head and learns where skin usually is; another one is fixed to the picture and learns
/// where the room looks like skin. Skin where neither has any is a hand. Before the face, which is skin itself, a hand
/// is what differs from how the face usually looks and is connected to a hand beside it: by itself nothing there counts
/// as one, so that a face that talks and turns keeps its mask. Holds no memory but its own, allocated once.
struct HandSegmenter: Sendable {
    /// The id of the face that is watched; nil: none yet.
    private(set) var id: Int?
    /// When the face was seen last, in seconds by the source's clock.
    private(set) var lastSeen: Double = 0
    /// The cells that a hand covers.
    private(set) var hand = CellSet()
    /// The cells beside it in which only what has the skin's colour belongs to it: the hand's outline where nothing
    /// behind it is skin.
    private(set) var fringe = CellSet()
    private(set) var skin = SkinKey()
    private(set) var grid = HeadGrid()

    private var frames = 0
    /// How often each cell was skin, 0...1.
    private var usual: [Float]
    /// The logarithm of each cell's luma, as the face is usually lit.
    private var light: [Float]
    /// How often each cell of the picture was skin, 0...1.
    private var room: [Float]
    /// What the newest frame shows: the likelihood of skin, and the logarithm of luma.
    private var seen: [Float]
    private var luma: [Float]

    /// Cells of the picture.
    private static let (roomColumns, roomRows) = (64, 36)
    /// Seconds by which the cells follow at first, later, and those of the picture, and how much slower they follow
    /// where a hand is: a hand at a chin is not the chin.
    private static let (firstTime, time, roomTime): (Float, Float, Float) = (0.3, 1.5, 4)
    private static let (handShare, lightShare, roomShare): (Float, Float, Float) = (0.08, 0.03, 0.05)
    /// Frames after which a head is known well enough, and those of which cells follow fast.
    private static let (knownFrames, fastFrames) = (20, 15)
    /// The fewest cells of a hand: a finger's length. The largest part of the grid that is one; more is a new scene.
    private static let (fewest, most) = (14, CellSet.columns * CellSet.rows / 5)
    /// The share of time in which a cell is skin, from which on nothing there is a hand, and from which on it may be a
    /// part of the face.
    private static let (rare, seldom): (Float, Float) = (0.4, 0.3)
    /// Cells by which a hand may be larger than its part that is well away from the face.
    private static let edge = 4
    /// The difference of luma, as a logarithm, from which on a cell hardly counts for the light on the face.
    private static let outlier: Float = 0.08
    /// Cells from a hand beside the face to its tip before the face: a hand's length.
    private static let reach = 14
    /// Differences of a cell's luma from the usual, as a logarithm: of skin before skin, and of anything else.
    private static let (skinDifference, difference): (Float, Float) = (0.10, 0.35)
    /// The smallest head, pixels between the eyes: below, a cell is smaller than two pixels.
    static let smallestHead: Float = 14

    /// An ellipse around the features, for cells that belong to the face even if they are no skin.
    private static let face = CellSet { x, y in x * x + (y - 0.75) * (y - 0.75) / (1.35 * 1.35) < 1 }
    /// Forehead and cheeks.
    private static let cheeks = CellSet { x, y in
        (abs(abs(x) - 0.55) < 0.25 && abs(y - 0.75) < 0.3) || (abs(x) < 0.4 && abs(y + 0.55) < 0.2)
    }

    init() {
        let cells = CellSet.columns * CellSet.rows
        (usual, light, seen, luma) = (
            Array(repeating: 0, count: cells), Array(repeating: 0, count: cells), Array(repeating: 0, count: cells),
            Array(repeating: 0, count: cells)
        )
        room = Array(repeating: 0, count: Self.roomColumns * Self.roomRows)
    }

    /// Begins with another face.
    mutating func start(_ id: Int) {
        (self.id, frames, skin) = (id, 0, SkinKey())
        clear()
    }

    /// Sees no hand until the next update.
    mutating func clear() { (hand, fringe) = (CellSet(), CellSet()) }

    /// Looks for a hand in a frame on which nothing is drawn yet.
    /// - Parameters:
    ///   - head: in pixels of the frame.
    ///   - learns: whether the face is seen, and not only its place predicted.
    ///   - isRoomNew: whether the picture's cells are to be looked at, as they are five times a second.
    ///   - elapsed: seconds since the last frame, and since the picture's cells were looked at.
    ///   - time: seconds by the source's clock.
    mutating func update(
        _ pixels: borrowing PixelReader, _ head: HeadPlacement, learns: Bool, isRoomNew: Bool,
        elapsed: (frame: Float, room: Float), at time: Double
    ) {
        lastSeen = time
        clear()
        guard head.scale >= Self.smallestHead, learns || frames > 0 else { return }
        grid = HeadGrid(head)
        if frames == 0 || isRoomNew { updateSkin(pixels, elapsed: elapsed.room) }
        guard skin.isSound else { return }
        let (likely, usually) = sample(pixels)
        if frames == 0 {
            (usual, light) = (seen, luma)
            for i in room.indices { room[i] = 0 }
        }
        var beside = CellSet()
        if frames >= Self.knownFrames { beside = findBeside(likely, usually, pixels.width, pixels.height) }
        let offset = lightOffset(leavingOut: beside)
        if !beside.isEmpty {
            hand = extended(beside, offset)
            fringe = hand.dilated().subtracting(hand).intersection(unusual)
        }
        if learns {
            learn(offset, elapsed: elapsed.frame)
            if frames == 0 || isRoomNew { learnRoom(pixels, elapsed: elapsed.room) }
            frames += 1
        }
    }

    /// Follows the skin's colour: the mean of the forehead's and cheeks' middle half by luma, without hair and shine.
    private mutating func updateSkin(_ pixels: borrowing PixelReader, elapsed: Float) {
        var levels: [64 of UInt16] = .init(repeating: 0)
        var count = 0
        func each(_ body: (_ luma: Int, _ chroma: SIMD2<Float>) -> Void) {
            for y in 0..<CellSet.rows where Self.cheeks[y] != 0 {
                for x in 0..<CellSet.columns where Self.cheeks.contains(x, y) {
                    let p = grid.point(x, y)
                    guard pixels.contains(p) else { continue }
                    let pixel = pixels[Int(p.x), Int(p.y)]
                    body(pixel.luma, pixel.chroma)
                }
            }
        }
        each { luma, _ in
            levels[luma >> 2] += 1
            count += 1
        }
        guard count >= 8 else { return }
        var (low, high, sum) = (0, 63, 0)
        for i in 0..<64 {
            sum += Int(levels[i])
            if sum <= count / 4 { low = i + 1 }
            if sum < count * 3 / 4 { high = i + 1 }
        }
        var (mean, weight) = (SIMD3<Float>.zero, Float(0))
        each { luma, chroma in
            guard luma >> 2 >= low, luma >> 2 <= high else { return }
            mean += SIMD3(Float(luma), chroma.x, chroma.y)
            weight += 1
        }
        if weight > 0 { skin.update(mean / weight, elapsed: elapsed) }
    }

    /// Looks at each cell.
    /// - Returns: the cells that are rather skin than not, and those that usually are.
    private mutating func sample(_ pixels: borrowing PixelReader) -> (likely: CellSet, usual: CellSet) {
        var (likely, usually) = (CellSet(), CellSet())
        let apart = max(1, Int(grid.cell / 2))
        let (width, height) = (pixels.width - apart, pixels.height - apart)
        for y in 0..<CellSet.rows {
            var (likelyRow, usualRow) = (UInt64(0), UInt64(0))
            for x in 0..<CellSet.columns {
                let (p, i) = (grid.point(x, y), y * CellSet.columns + x)
                let (px, py) = (Int(p.x) - apart / 2, Int(p.y) - apart / 2)
                guard px >= 0, py >= 0, px < width, py < height else {
                    (seen[i], luma[i]) = (0, Self.logarithms[0])
                    continue
                }
                let (first, chroma) = pixels[px, py]
                let sum =
                    first + pixels.luma(px + apart, py) + pixels.luma(px, py + apart)
                    + pixels.luma(px + apart, py + apart)
                luma[i] = Self.logarithms[sum]
                seen[i] = skin.likelihood(Float(sum) / 4, chroma)
                if seen[i] > 0.5 { likelyRow |= 1 << UInt64(x) }
                if usual[i] > Self.rare { usualRow |= 1 << UInt64(x) }
            }
            (likely[y], usually[y]) = (likelyRow, usualRow)
        }
        return (likely, usually)
    }

    /// The hand where neither the head nor the room usually has skin.
    private func findBeside(_ likely: CellSet, _ usually: CellSet, _ width: Int, _ height: Int) -> CellSet {
        var free = likely.subtracting(usually)
        guard !free.isEmpty else { return free }
        for y in 0..<CellSet.rows where free[y] != 0 {
            for x in 0..<CellSet.columns where free.contains(x, y) && isRoom(grid.point(x, y), width, height) {
                free[y] &= ~(1 << UInt64(x))
            }
        }
        // Not the edge of the face, which moves a little over the cells.
        let parts = free.subtracting(usually.dilated()).opened().parts(of: Self.fewest)
        let found = parts.grown(within: free, steps: Self.edge)
        return found.count > Self.most ? CellSet() : found
    }

    /// The hand beside the face and what is connected to it before the face.
    private func extended(_ beside: CellSet, _ offset: Float) -> CellSet {
        var differs = CellSet()
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                let i = y * CellSet.columns + x
                guard usual[i] > Self.seldom || Self.face.contains(x, y) else { continue }
                let change = abs(luma[i] - light[i] - offset)
                if change > (seen[i] > Self.seldom ? Self.skinDifference : Self.difference) { differs.insert(x, y) }
            }
        }
        let grown = beside.grown(within: differs.closed().union(beside), steps: Self.reach)
        return beside.grown(within: grown.closed().filled().opened())
    }

    /// The cells that are skin less often than not.
    private var unusual: CellSet {
        var result = CellSet()
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns where usual[y * CellSet.columns + x] < 0.5 { result.insert(x, y) }
        }
        return result
    }

    /// By how much the face is brighter than usual, as a logarithm: a mean in which outliers hardly count.
    private func lightOffset(leavingOut hand: CellSet) -> Float {
        var offset: Float = 0
        for _ in 0..<4 {
            var (sum, weight) = (Float(0), Float(1e-6))
            for y in 0..<CellSet.rows where Self.face[y] != 0 {
                let row = Self.face[y] & ~hand[y]
                for x in 0..<CellSet.columns where row >> UInt64(x) & 1 != 0 {
                    let change = luma[y * CellSet.columns + x] - light[y * CellSet.columns + x]
                    let apart = (change - offset) / Self.outlier
                    let share = 1 / (1 + apart * apart)
                    sum += change * share
                    weight += share
                }
            }
            offset = sum / weight
        }
        return offset
    }

    /// Learns how the head usually looks, slowly where a hand is.
    private mutating func learn(_ offset: Float, elapsed: Float) {
        let weight = min(1, elapsed / (frames < Self.fastFrames ? Self.firstTime : Self.time))
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                let (i, isHand) = (y * CellSet.columns + x, hand.contains(x, y))
                usual[i] += (seen[i] - usual[i]) * (isHand ? weight * Self.handShare : weight)
                light[i] += (luma[i] - offset - light[i]) * (isHand ? weight * Self.lightShare : weight)
            }
        }
    }

    /// Learns where the picture looks like skin, slowly where a hand is.
    private mutating func learnRoom(_ pixels: borrowing PixelReader, elapsed: Float) {
        let weight = frames == 0 ? 1 : min(1, elapsed / Self.roomTime)
        let side = SIMD2(Float(pixels.width) / Float(Self.roomColumns), Float(pixels.height) / Float(Self.roomRows))
        let covered = hand.dilated()
        for y in 0..<Self.roomRows {
            for x in 0..<Self.roomColumns {
                let p = SIMD2(Float(x) + 0.5, Float(y) + 0.5) * side
                let pixel = pixels[Int(p.x), Int(p.y)]
                let likely = skin.likelihood(Float(pixel.luma), pixel.chroma)
                let isHand = grid.cell(at: p).map { covered.contains($0.x, $0.y) } ?? false
                let i = y * Self.roomColumns + x
                room[i] += (likely - room[i]) * (isHand ? weight * Self.roomShare : weight)
            }
        }
    }

    /// Whether the picture usually looks like skin at a point, or beside it.
    private func isRoom(_ p: Point, _ width: Int, _ height: Int) -> Bool {
        let (x, y) = (
            Int(p.x * Float(Self.roomColumns) / Float(width)), Int(p.y * Float(Self.roomRows) / Float(height))
        )
        for j in max(0, y - 1)...max(0, min(Self.roomRows - 1, y + 1)) {
            for i in max(0, x - 1)...max(0, min(Self.roomColumns - 1, x + 1))
            where room[j * Self.roomColumns + i] > 0.5 { return true }
        }
        return false
    }

    /// The logarithm of the sum of four samples' luma above black, limited so that noise in the dark counts little.
    private static let logarithms: [Float] = (0...4 * 255).map { log(max(Float($0) / 4 - 10, 4)) }
}

/// A grid of cells before a head: it turns with the head in the picture's plane, and is as large as the head.
struct HeadGrid: Sendable {
    /// The side of a cell, in eye distances, and the left and upper edge of the grid.
    static let side: Float = 0.125
    static let (left, top): (Float, Float) = (-2.75, -3)

    /// The side of a cell, pixels.
    let cell: Float
    /// The middle of the first cell, pixels, and the steps from cell to cell across and down.
    private let first: Point
    private let (across, down): (Point, Point)

    /// A grid that is nowhere.
    init() { (cell, first, across, down) = (0, .zero, .zero, .zero) }

    init(_ head: HeadPlacement) {
        let roll = radians(head.pose.roll)
        cell = head.scale * Self.side
        across = Point(cos(roll), sin(roll)) * cell
        down = Point(-across.y, across.x)
        first = head.origin + across * (Self.left / Self.side + 0.5) + down * (Self.top / Self.side + 0.5)
    }

    /// The middle of a cell, pixels.
    @inline(__always)
    func point(_ x: Int, _ y: Int) -> Point { first + across * Float(x) + down * Float(y) }

    /// The position of a pixel in the grid: whole numbers are the middles of cells.
    @inline(__always)
    func position(of p: Point) -> SIMD2<Float> {
        let (d, area) = (p - first, max(cell * cell, 1e-6))
        return SIMD2((d * across).sum(), (d * down).sum()) / area
    }

    /// The cell at a pixel; nil outside of the grid.
    func cell(at p: Point) -> (x: Int, y: Int)? {
        let place = position(of: p)
        guard place.x > -0.5, place.y > -0.5, place.x < Float(CellSet.columns) - 0.5,
            place.y < Float(CellSet.rows) - 0.5
        else { return nil }
        return (Int(place.x.rounded()), Int(place.y.rounded()))
    }
}
