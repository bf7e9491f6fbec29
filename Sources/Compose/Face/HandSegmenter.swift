import Frames
import Track

/// Finds hands that come before a person's head, so that what is worn there is drawn behind them.
///
/// A grid of cells moves with the head and learns where skin usually is; another one is fixed to the picture and
/// learns where the room looks like skin. Skin where neither has any is a hand. Before the face, which is skin itself,
/// a hand is what differs from how the face usually looks and is connected to a hand beside it, or to something that
/// is no skin and as large as a mug: nothing else there counts, so that a face that talks and turns keeps its mask.
/// Holds no memory but its own, allocated once.
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

    /// Frames in which the face was seen.
    private var frames = 0
    /// Seconds since the cells learnt last.
    private var sinceLearning: Float = 0
    /// The cells that usually are skin, and with those beside them: the face's edge moves a little over the cells.
    private var (usualSkin, nearSkin) = (CellSet(), CellSet())
    /// The usual share of cells of the forehead and the cheeks that look as usual; 0 where hair covers them.
    private var usualFamiliar = SIMD2<Float>.zero
    /// The head's usual yaw and pitch, degrees.
    private var usualTurn = SIMD2<Float>.zero
    /// By how much the face is brighter than usual, as a logarithm.
    private var offset: Float = 0
    /// How often each cell was skin, 0...1.
    private var usual: [Float]
    /// The logarithm of each cell's luma, as the face is usually lit.
    private var light: [Float]
    /// By how much it usually differs from that, as in faces that talk and heads that tilt.
    private var changes: [Float]
    /// How often each cell of the picture was skin, 0...1, and the logarithm of its usual luma.
    private var (room, roomLight): ([Float], [Float])
    /// What the newest frame shows: the likelihood of skin, and the logarithm of luma.
    private var (seen, luma): ([Float], [Float])

    /// Cells of the picture.
    private static let (roomColumns, roomRows) = (64, 36)
    /// Seconds by which the cells follow at first, later, and those of the picture, and how much slower they follow
    /// where a hand is: a hand at a chin is not the chin.
    private static let (firstTime, time, roomTime): (Float, Float, Float) = (0.3, 1.5, 4)
    private static let (handShare, lightShare, roomShare): (Float, Float, Float) = (0.4, 0.15, 0.05)
    /// How much slower all cells follow while there is a hand.
    private static let besideShare: Float = 0.2
    /// Frames after which a head is known well enough, and those of which cells follow fast.
    private static let (knownFrames, fastFrames) = (20, 15)
    /// The fewest cells of a hand: a finger's length. The largest part of the grid that is one; more is a new scene.
    private static let (fewest, most) = (14, CellSet.columns * CellSet.rows / 5)
    /// The share of time in which a cell is skin, from which on nothing there is a hand, and from which on it may be a
    /// part of the face.
    private static let (rare, seldom): (Float, Float) = (0.4, 0.3)
    /// The share of time in which a cell is skin, from which on anything else there is held by the hand.
    private static let always: Float = 0.8
    /// How much chroma, relative to the skin's, and luma, as a logarithm, vary in one light; and the part of the usual
    /// share of familiar cells below which the light has changed.
    private static let (otherLight, leastFamiliar): (Float, Float) = (0.3, 0.4)
    /// The fewest cells of what is held before a face.
    private static let fewestHeld = 30
    /// Degrees of yaw and pitch by which a head looks other than usual, with skin where hair or the room was.
    private static let turned: SIMD2<Float> = [12, 15]
    /// The outline of the features, grown so much, in which skin is the face's own.
    private static let faceReach: Float = 1.2
    /// Cells by which a hand may be larger than its part that is well away from the face.
    private static let edge = 4
    /// The difference of luma, as a logarithm, from which on a cell hardly counts for the light on the face.
    private static let outlier: Float = 0.08
    /// Steps by a cell across or down from a hand beside the face to its tip before the face: a hand, aslant.
    private static let reach = 18
    /// Differences of a cell's luma from the usual, as a logarithm: of skin before skin, and of anything else.
    private static let (skinDifference, difference): (Float, Float) = (0.12, 0.35)
    /// How many times as much as usual a cell must differ, and the largest difference that is learnt.
    private static let (unusualChange, mostChange): (Float, Float) = (2.5, 0.5)
    /// The smallest head, pixels between the eyes: below, a cell is smaller than two pixels.
    private static let smallestHead: Float = 14
    /// No head of a picture is farther from its corner, in pixels: keeps conversions to whole numbers defined.
    private static let farthest: Float = 100_000

    /// An ellipse around the features, for cells that belong to the face even if they are no skin.
    private static let face = CellSet { x, y in x * x + (y - 0.75) * (y - 0.75) / (1.35 * 1.35) < 1 }
    /// Face and neck. Elsewhere, such as in hair, only what has the colour of skin can be a hand.
    private static let skinParts = CellSet { x, y in
        x * x / (1.15 * 1.15) + (y - 0.5) * (y - 0.5) / (1.75 * 1.75) < 1 || (abs(x) < 1 && y > 1.5)
    }
    /// Where a head may move over the cells, and its neck.
    private static let nearHead = CellSet { x, y in
        x * x / (1.6 * 1.6) + (y - 0.3) * (y - 0.3) / (2.4 * 2.4) < 1 || (abs(x) < 1.3 && y > 1)
    }
    /// Forehead and cheeks.
    private static let cheeks = CellSet { x, y in abs(abs(x) - 0.55) < 0.25 && abs(y - 0.75) < 0.3 }
    private static let forehead = CellSet { x, y in abs(x) < 0.4 && abs(y + 0.55) < 0.2 }
    private static let bareParts = cheeks.union(forehead)

    init() {
        let cells = Array(repeating: Float(0), count: CellSet.columns * CellSet.rows)
        (usual, light, changes, seen, luma) = (cells, cells, cells, cells, cells)
        room = Array(repeating: 0, count: Self.roomColumns * Self.roomRows)
        roomLight = room
    }

    /// Begins with another face.
    mutating func start(_ id: Int) {
        self.id = id
        startAnew()
    }

    /// Forgets all that was learnt.
    private mutating func startAnew() {
        (frames, sinceLearning, skin) = (0, 0, SkinKey())
        clear()
    }

    /// Sees no hand until the next update.
    mutating func clear() { (hand, fringe) = (CellSet(), CellSet()) }

    /// Looks for a hand in a frame on which nothing is drawn yet.
    /// - Parameters:
    ///   - face: in pixels of the frame.
    ///   - isRoomNew: whether the picture's cells are to be looked at, as they are five times a second.
    ///   - elapsed: seconds since the last frame, and since the picture's cells were looked at.
    ///   - time: seconds by the source's clock.
    mutating func update(
        _ pixels: borrowing PixelReader, _ face: borrowing Face, isRoomNew: Bool,
        elapsed: (frame: Float, room: Float), at time: Double
    ) {
        lastSeen = time
        let hadHand = !hand.isEmpty
        clear()
        // A face whose place is only predicted teaches nothing.
        let learns = face.state == .tracked
        let head = face.head
        guard head.scale >= Self.smallestHead, abs(head.origin.x) < Self.farthest, abs(head.origin.y) < Self.farthest,
            learns || frames > 0
        else { return }
        grid = HeadGrid(head)
        let pose = face.pose
        let turn = SIMD2(pose.yaw, pose.pitch)
        if frames == 0 { usualTurn = turn }
        sinceLearning += elapsed.frame
        if learns, isRoomNew, hasOtherLight(pixels) { startAnew() }
        if frames == 0 || isRoomNew, let color = skinColor(pixels) { skin.update(color, elapsed: elapsed.room) }
        guard skin.isSound else { return }
        let isDue = learns && (isRoomNew || frames < Self.knownFrames)
        guard isDue || hadHand || mayContainHand(pixels) else {
            if learns { frames += 1 }
            return
        }
        let likely = sample(pixels)
        if frames == 0 {
            (usual, light) = (seen, luma)
            for i in changes.indices { changes[i] = 0 }
        }
        offset = lightOffset()
        var beside = CellSet()
        // A head may turn further behind a hand that is there already.
        let (apart, most) = (turn - usualTurn, hadHand ? Self.turned * 1.5 : Self.turned)
        if frames >= Self.knownFrames, abs(apart.x) < most.x, abs(apart.y) < most.y {
            beside = findBeside(likely, HeadOutline(features: face), pixels.width, pixels.height).union(held)
        }
        if !beside.isEmpty {
            if hasOtherLight(pixels) { return startAnew() }
            hand = extended(beside)
            fringe = hand.dilated().subtracting(hand).intersection(unusual)
        }
        guard learns else { return }
        if isDue || !hand.isEmpty { learn(turn) }
        if hand.isEmpty, frames == 0 || isRoomNew {
            usualFamiliar +=
                (familiarShares(pixels) - usualFamiliar) * (frames == 0 ? 1 : min(1, elapsed.room / Self.time))
        }
        if frames == 0 || isRoomNew { learnRoom(pixels, elapsed: elapsed.room) }
        frames += 1
    }

    /// The skin's luma, U and V: the mean of the forehead's and cheeks' middle half by luma, without hair and shine;
    /// nil if too little of them is in the frame.
    private func skinColor(_ pixels: borrowing PixelReader) -> SIMD3<Float>? {
        var levels: [64 of UInt16] = .init(repeating: 0)
        var count = 0
        for y in 0..<CellSet.rows where Self.bareParts[y] != 0 {
            for x in 0..<CellSet.columns where Self.bareParts.contains(x, y) {
                guard let pixel = pixel(pixels, x, y) else { continue }
                levels[pixel.luma >> 2] += 1
                count += 1
            }
        }
        guard count >= 8 else { return nil }
        var (low, high, sum) = (0, 63, 0)
        for i in 0..<64 {
            sum += Int(levels[i])
            if sum <= count / 4 { low = i + 1 }
            if sum < count * 3 / 4 { high = i + 1 }
        }
        var (mean, weight) = (SIMD3<Float>.zero, Float(0))
        for y in 0..<CellSet.rows where Self.bareParts[y] != 0 {
            for x in 0..<CellSet.columns where Self.bareParts.contains(x, y) {
                guard let pixel = pixel(pixels, x, y), (low...max(low, high)).contains(pixel.luma >> 2) else {
                    continue
                }
                mean += SIMD3(Float(pixel.luma), pixel.chroma.x, pixel.chroma.y)
                weight += 1
            }
        }
        return weight > 0 ? mean / weight : nil
    }

    /// The share of cells whose colour is close to the skin's, and whose luma is not far from the cell's usual.
    private func familiarShare(_ cells: CellSet, _ pixels: borrowing PixelReader) -> Float {
        var (familiar, count) = (0, 0)
        for y in 0..<CellSet.rows where cells[y] != 0 {
            for x in 0..<CellSet.columns where cells.contains(x, y) {
                guard let pixel = pixel(pixels, x, y) else { continue }
                count += 1
                let level = Self.logarithms[4 * pixel.luma]
                let isUsual = abs(level - light[y * CellSet.columns + x]) < Self.otherLight
                if isUsual, skin.distance(Float(pixel.luma), pixel.chroma) < Self.otherLight { familiar += 1 }
            }
        }
        return count >= 4 ? Float(familiar) / Float(count) : 0
    }

    /// These shares of the forehead and the cheeks.
    private func familiarShares(_ pixels: borrowing PixelReader) -> SIMD2<Float> {
        SIMD2(familiarShare(Self.forehead, pixels), familiarShare(Self.cheeks, pixels))
    }

    /// Whether neither forehead nor cheeks look as usual. No hand covers both.
    private func hasOtherLight(_ pixels: borrowing PixelReader) -> Bool {
        frames > 0 && all(familiarShares(pixels) .<= usualFamiliar * Self.leastFamiliar)
    }

    /// The pixel in the middle of a cell; nil outside of the frame.
    private func pixel(_ pixels: borrowing PixelReader, _ x: Int, _ y: Int) -> (luma: Int, chroma: SIMD2<Float>)? {
        let p = grid.point(x, y)
        return pixels.contains(p) ? pixels[Int(p.x), Int(p.y)] : nil
    }

    /// What the frame shows of a cell.
    /// - Returns: the sum of four samples of luma, and the likelihood of skin; nil outside of the frame.
    @inline(__always)
    private func look(_ pixels: borrowing PixelReader, _ x: Int, _ y: Int) -> (sum: Int, skin: Float)? {
        let (p, apart) = (grid.point(x, y), grid.apart)
        let (px, py) = (Int(p.x) - apart / 2, Int(p.y) - apart / 2)
        guard px >= 0, py >= 0, px < pixels.width - apart, py < pixels.height - apart else { return nil }
        let (first, chroma) = pixels[px, py]
        let sum =
            first + pixels.luma(px + apart, py) + pixels.luma(px, py + apart) + pixels.luma(px + apart, py + apart)
        return (sum, skin.likelihood(Float(sum) / 4, chroma))
    }

    /// Whether the frame may contain a hand, by one of eight cells, which is all that most frames need. They are others
    /// in the next frame.
    private func mayContainHand(_ pixels: borrowing PixelReader) -> Bool {
        var (count, held) = (0, 0)
        for y in stride(from: frames % 2 * 2, to: CellSet.rows, by: 4) {
            for x in stride(from: y / 4 % 2, to: CellSet.columns, by: 2) {
                let isFace = Self.face.contains(x, y)
                guard isFace || !(nearSkin.contains(x, y) && Self.nearHead.contains(x, y)),
                    let cell = look(pixels, x, y)
                else { continue }
                if isFace {
                    if isOther(y * CellSet.columns + x, cell.skin) { held += 1 }
                    continue
                }
                guard cell.skin > 0.5 else { continue }
                let level = Self.logarithms[cell.sum]
                if !isUsual(level, x, y, nearSkin), !isRoom(grid.point(x, y), level, pixels.width, pixels.height) {
                    count += 1
                }
            }
        }
        return count > Self.fewest / 8 || held > Self.fewestHeld / 8
    }

    /// Whether a cell with the colour of skin is what the head usually shows there: near the head any skin is, and
    /// elsewhere what is lit as usual.
    /// - Parameter skin: the cells that usually are skin.
    private func isUsual(_ level: Float, _ x: Int, _ y: Int, _ skin: CellSet) -> Bool {
        let i = y * CellSet.columns + x
        return skin.contains(x, y)
            && (Self.nearHead.contains(x, y) || abs(level - light[i] - offset) <= Self.difference)
    }

    /// Looks at each cell.
    /// - Returns: the cells that are rather skin than not.
    private mutating func sample(_ pixels: borrowing PixelReader) -> CellSet {
        var (likely, usually) = (CellSet(), CellSet())
        for y in 0..<CellSet.rows {
            var (likelyRow, usualRow) = (UInt64(0), UInt64(0))
            for x in 0..<CellSet.columns {
                let i = y * CellSet.columns + x
                guard let cell = look(pixels, x, y) else {
                    (seen[i], luma[i]) = (0, Self.logarithms[0])
                    continue
                }
                (seen[i], luma[i]) = (cell.skin, Self.logarithms[cell.sum])
                if cell.skin > 0.5 { likelyRow |= 1 << UInt64(x) }
                if usual[i] > Self.rare { usualRow |= 1 << UInt64(x) }
            }
            (likely[y], usually[y]) = (likelyRow, usualRow)
        }
        usualSkin = usually
        nearSkin = usually.dilated()
        return likely
    }

    /// The hand where neither the head nor the room usually has skin, or something else of its colour.
    private func findBeside(_ likely: CellSet, _ features: HeadOutline, _ width: Int, _ height: Int) -> CellSet {
        var free = likely
        for y in 0..<CellSet.rows where free[y] != 0 {
            for x in 0..<CellSet.columns where free.contains(x, y) {
                let i = y * CellSet.columns + x
                let p = grid.point(x, y)
                if isUsual(luma[i], x, y, usualSkin) || features.distance(p) < Self.faceReach
                    || isRoom(p, luma[i], width, height)
                {
                    free[y] &= ~(1 << UInt64(x))
                }
            }
        }
        guard !free.isEmpty else { return free }
        let parts = free.subtracting(usualSkin.subtracting(free).dilated()).opened().parts(of: Self.fewest)
        let found = parts.grown(within: free, steps: Self.edge)
        return found.count > Self.most ? CellSet() : found
    }

    /// What is before the face and is no skin, such as a mug, if it is large enough; nothing if most of the face is:
    /// then the light has changed.
    private var held: CellSet {
        var (other, count) = (CellSet(), 0)
        for y in 0..<CellSet.rows where Self.face[y] != 0 {
            for x in 0..<CellSet.columns where Self.face.contains(x, y) {
                let i = y * CellSet.columns + x
                if usual[i] > Self.always { count += 1 }
                if isOther(i, seen[i]) { other.insert(x, y) }
            }
        }
        let found = other.opened().parts(of: Self.fewestHeld)
        return found.count > count * 3 / 5 ? CellSet() : found
    }

    /// Whether a cell that usually is skin is something else.
    private func isOther(_ i: Int, _ skin: Float) -> Bool { usual[i] > Self.always && skin < 1 - Self.always }

    /// The hand beside the face and what is connected to it before the face.
    private func extended(_ beside: CellSet) -> CellSet {
        var differs = CellSet()
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns where !beside.contains(x, y) {
                let i = y * CellSet.columns + x
                let (isSkin, wasSkin) = (seen[i] > 0.5, usual[i] > Self.seldom || Self.face.contains(x, y))
                let isSkinPart = Self.skinParts.contains(x, y)
                guard wasSkin ? isSkin || isSkinPart : isSkin else { continue }
                let least = isSkin && isSkinPart ? Self.skinDifference : Self.difference
                if !wasSkin || isOther(i, seen[i]) || change(i) > max(least, Self.unusualChange * changes[i]) {
                    differs.insert(x, y)
                }
            }
        }
        let grown = beside.grown(within: differs.closed(by: 1).union(beside), steps: Self.reach)
        return beside.grown(within: grown.closed(by: 2).filled().opened())
    }

    /// By how much a cell's luma differs from the usual, as a logarithm.
    private func change(_ i: Int) -> Float { abs(luma[i] - light[i] - offset) }

    /// The cells that are skin less often than not.
    private var unusual: CellSet {
        var result = CellSet()
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns where usual[y * CellSet.columns + x] < 0.5 { result.insert(x, y) }
        }
        return result
    }

    /// By how much the face is brighter than usual, as a logarithm: a mean in which outliers hardly count.
    private func lightOffset() -> Float {
        var offset: Float = 0
        for _ in 0..<4 {
            var (sum, weight) = (Float(0), Float(1e-6))
            for y in 0..<CellSet.rows where Self.face[y] != 0 {
                let row = Self.face[y]
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
    private mutating func learn(_ turn: SIMD2<Float>) {
        // What of a hand was not found must not become a part of the face either.
        let (hasHand, time) = (!hand.isEmpty, frames < Self.fastFrames ? Self.firstTime : Self.time)
        let weight = min(1, sinceLearning / time) * (hasHand ? Self.besideShare : 1)
        sinceLearning = 0
        usualTurn += (turn - usualTurn) * weight
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                let (i, isHand) = (y * CellSet.columns + x, hand.contains(x, y))
                usual[i] += (seen[i] - usual[i]) * (isHand ? weight * Self.handShare : weight)
                let share = isHand ? weight * Self.lightShare : weight
                if !hasHand { changes[i] += (min(change(i), Self.mostChange) - changes[i]) * share }
                light[i] += (luma[i] - offset - light[i]) * share
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
                let (i, share) = (y * Self.roomColumns + x, isHand ? weight * Self.roomShare : weight)
                room[i] += (likely - room[i]) * share
                roomLight[i] += (Self.logarithms[4 * pixel.luma] - roomLight[i]) * share
            }
        }
    }

    /// Whether the picture usually looks like that skin at a point, or beside it.
    private func isRoom(_ p: Point, _ level: Float, _ width: Int, _ height: Int) -> Bool {
        let (x, y) = (
            Int(p.x * Float(Self.roomColumns) / Float(width)), Int(p.y * Float(Self.roomRows) / Float(height))
        )
        for j in max(0, y - 1)...max(0, min(Self.roomRows - 1, y + 1)) {
            for i in max(0, x - 1)...max(0, min(Self.roomColumns - 1, x + 1)) {
                let cell = j * Self.roomColumns + i
                if room[cell] > 0.5 && abs(roomLight[cell] + offset - level) < Self.difference { return true }
            }
        }
        return false
    }

    /// The logarithm of the sum of four samples' luma above black, limited so that noise in the dark counts little.
    private static let logarithms: [Float] = (0...4 * 255).map { log(max(Float($0) / 4 - 10, 4)) }
}
