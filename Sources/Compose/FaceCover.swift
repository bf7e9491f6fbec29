import Frames
import Track

/// What is done about a face that a mask is to hide when it is lost.
public enum LostFacePolicy: String, CaseIterable, Sendable {
    /// Nothing: the mask is for show.
    case show
    /// Its place is covered, then the whole picture is not shown until it is found; a new face is covered before it is
    /// found.
    case cover
}

/// Sees to it that no face is shown that the user meant to hide, though the tracker has lost it or not found it yet.
///
/// The mask itself covers faces that are tracked, and for a moment those that are predicted. This covers the rest: what
/// may be a face and was not refuted yet, where a face was when it was lost, and what moves on from there. It wants the
/// placeholder shown instead of the picture until everything was searched once, and when the only face was lost for too long.
public struct FaceCover: ~Copyable {
    /// A face that was covered and is no longer known.
    private struct MissingFace {
        var id = 0
        /// Round the head, pixels of the frame that was searched.
        var place = Rect(x: 0, y: 0, width: 0, height: 0)
        var since = 0.0
        /// The tracker took it for no face in the end.
        var isRefuted = false

        /// What is covered for it: more with each second.
        func area(at time: Double) -> Rect {
            let growth = 1 + Float(time - since) * FaceCover.growth
            let (width, height) = (place.width * growth, place.height * growth)
            return Rect(x: place.center.x - width / 2, y: place.center.y - height / 2, width: width, height: height)
        }
    }

    private var missing: [MissingFace] = []
    private var known: [MissingFace] = []
    private var boxes: [Rect] = []
    private var motion: FrameMotion?
    /// Of each cell of the frame that was searched: when something that came from a lost face's place moved there last,
    /// seconds.
    private var moved: [Double] = []
    /// Of the frame that was searched, pixels.
    private var size = (width: 0, height: 0)
    private var last: Double?
    /// When a face was last there, or lost, or not everything searched yet; seconds.
    private var lastDoubt = 0.0

    /// A cell, of the mosaic too, as a part of the picture's longer side: a face that fills the picture has six across.
    private static let cell: Float = 1 / 28
    /// The place of a lost face is covered for so long, seconds, while the tracker looks for it there; then comes the card.
    private static let patience = 1.5
    /// Somebody else is still there: the place is covered for longer, seconds, and then taken for left.
    private static let longPatience = 10.0
    /// Nobody else is there: who was lost inside the picture may sit there unseen, and is taken for gone after so many
    /// seconds. Until then the picture is not shown.
    private static let alonePatience = 30.0
    /// A picture without faces is shown once nobody was there for so many seconds. On clips with 8294 labelled faces 1 s
    /// would leave no more of them bare, 0.5 s ten more, none at all seventeen.
    private static let emptyPatience = 2.0
    /// The covered place grows by this part of its size in each second, for whoever is in it moves.
    private static let growth: Float = 1.2
    /// What moved is covered for so long, seconds: a face that is there is found within half of one.
    private static let unrest = 0.7
    /// The part of a cell of the mosaic that must move.
    private static let share: Float = 0.2
    /// As many more may be missing as are seen.
    private static let most = 2 * Tracker.mostFaces

    /// The part of the picture that the last frame's cover took, 0 to 1, whatever masks cover.
    public private(set) var share: Float = 0

    /// Begins with nobody.
    public init() {
        missing.reserveCapacity(Self.most)
        known.reserveCapacity(Self.most)
        boxes.reserveCapacity(Self.most)
    }

    /// Forgets all; for when nothing is to be hidden any more.
    public mutating func reset() {
        missing.removeAll(keepingCapacity: true)
        known.removeAll(keepingCapacity: true)
        motion = nil
        last = nil
    }

    /// Covers what the masks cannot, on the dressed frame.
    /// - Parameters:
    ///   - faces: of this frame, in the pixels that were searched.
    ///   - candidateHeads: heads of what may be faces and was not refuted.
    ///   - refuted: numbers of faces of the frame before that turned out to be none.
    ///   - placement: from those to the canvas's.
    ///   - hasSearchedAll: the tracker has looked everywhere once.
    ///   - time: seconds, by the source's clock.
    /// - Returns: false where the frame must not be shown at all.
    public mutating func cover(
        _ canvas: inout Canvas, faces: [Face], candidateHeads: [Rect], refuted: [Int], placement: Affine,
        hasSearchedAll: Bool, at time: Double
    ) -> Bool {
        if last.map({ time < $0 || time > $0 + 2 }) ?? false { reset() }
        if last == nil { lastDoubt = time }
        last = time
        share = 0
        updateMissing(faces, refuted, at: time)
        let isMoving = markMotion(at: time)
        if isMoving || !missing.isEmpty || !candidateHeads.isEmpty {
            compositeLayer(candidateHeads, isMoving: isMoving, onto: &canvas, placement, at: time)
        }
        if !(faces.isEmpty && missing.isEmpty && hasSearchedAll) { lastDoubt = time }
        guard hasSearchedAll else { return false }
        if !faces.isEmpty { return true }
        if !missing.isEmpty { return !missing.contains { time - $0.since > Self.patience } }
        return time - lastDoubt >= Self.emptyPatience
    }

    /// Covers what may be a face in a photo, on the dressed picture.
    /// - Parameters:
    ///   - candidateHeads: heads, in the pixels that were searched.
    ///   - placement: from those to the canvas's.
    public mutating func cover(photo canvas: inout Canvas, candidateHeads: [Rect], placement: Affine) {
        reset()
        share = 0
        if !candidateHeads.isEmpty { compositeLayer(candidateHeads, isMoving: false, onto: &canvas, placement, at: 0) }
    }

    /// Looks for what moves in the frame that was searched: masks move too, and a zoom moves everything.
    public mutating func measureMotion(_ luma: borrowing LumaView, faces: [Face]) {
        if size != (luma.width, luma.height) { reset() }
        size = (luma.width, luma.height)
        if motion == nil {
            motion = FrameMotion(width: luma.width, height: luma.height)
            let side = Self.side(luma.width, luma.height)
            moved = Array(repeating: -.infinity, count: (luma.width / side + 1) * (luma.height / side + 1))
        }
        boxes.removeAll(keepingCapacity: true)
        for face in faces.prefix(Self.most) { boxes.append(face.box) }
        Self.measureMotion(&motion, luma, boxes)
    }

    // Parts of one value are lent apart from each other only as arguments.
    private static func measureMotion(_ motion: inout FrameMotion?, _ luma: borrowing LumaView, _ known: [Rect]) {
        motion?.update(luma, known: known.span)
    }

    private static func side(_ width: Int, _ height: Int) -> Int { max(8, Int(Float(max(width, height)) * cell) & ~1) }

    /// Who was lost, and who is back.
    private mutating func updateMissing(_ faces: [Face], _ refuted: [Int], at time: Double) {
        for before in known where missing.count < Self.most {
            var isThere = false
            for face in faces where face.id == before.id { isThere = true }
            if !isThere {
                missing.append(
                    MissingFace(
                        id: before.id, place: before.place, since: time, isRefuted: refuted.contains(before.id)))
            }
        }
        known.removeAll(keepingCapacity: true)
        for face in faces.prefix(Self.most) {
            let outline = HeadOutline(face)
            let half = outline.halfSize
            let place = Rect(
                x: outline.center.x - half.x, y: outline.center.y - half.y, width: 2 * half.x, height: 2 * half.y)
            known.append(MissingFace(id: face.id, place: place, since: time))
        }
        let isAlone = faces.isEmpty
        let (size, known) = (size, known)
        missing.removeAll { lost in
            let isBack = known.contains { $0.id == lost.id || Self.isNear($0.place, lost.place) }
            let isOut = (lost.isRefuted || Self.isLeaving(lost.place, size)) && time - lost.since > Self.patience
            return isBack || isOut || time - lost.since > (isAlone ? Self.alonePatience : Self.longPatience)
        }
    }

    private static func isNear(_ a: Rect, _ b: Rect) -> Bool {
        let between = a.center - b.center
        return between.length < max(a.width, a.height, b.width, b.height) / 2
    }

    /// Whether the frame's edge cuts into the face itself. That of who sits near cuts off hair, or a shoulder, always.
    private static func isLeaving(_ place: Rect, _ size: (width: Int, height: Int)) -> Bool {
        let (middle, quarter) = (place.center, Point(place.width, place.height) / 4)
        return middle.x < quarter.x || middle.y < quarter.y || middle.x > Float(size.width) - quarter.x
            || middle.y > Float(size.height) - quarter.y
    }

    /// Notes which cells move that lie at a lost face's place, or beside others that were noted before: there it went.
    /// - Returns: whether any has of late.
    private mutating func markMotion(at time: Double) -> Bool {
        let side = Self.side(size.width, size.height)
        let (columns, rows) = (size.width / side + 1, size.height / side + 1)
        var isAny = false
        for i in moved.indices {
            let (column, row) = (i % columns, i / columns)
            let cell = Rect(x: Float(column * side), y: Float(row * side), width: Float(side), height: Float(side))
            if !missing.isEmpty, motion?.share(of: cell) ?? 0 > Self.share {
                var isTheirs = missing.contains { $0.area(at: time).overlap(cell) > 0 }
                for y in max(0, row - 2)...min(row + 2, rows - 1) where !isTheirs {
                    for x in max(0, column - 2)...min(column + 2, columns - 1) {
                        let noted = moved[y * columns + x]
                        if noted < time && time - noted < Self.unrest { isTheirs = true }
                    }
                }
                if isTheirs { moved[i] = time }
            }
            if time - moved[i] < Self.unrest { isAny = true }
        }
        return isAny
    }

    /// - Parameter isMoving: some cells moved of late.
    private mutating func compositeLayer(
        _ candidateHeads: [Rect], isMoving: Bool, onto canvas: inout Canvas, _ placement: Affine, at time: Double
    ) {
        guard let back = placement.inverse else { return }
        let layout = canvas.frame.layout
        let layer = Self.side(layout.width, layout.height)
        canvas.effects.pixelation.measure(
            canvas.frame, origin: .zero, side: Float(layer), columns: layout.width / layer + 1,
            rows: layout.height / layer + 1)
        canvas.effects.pixelation.quantize()
        let side = Self.side(size.width, size.height)
        let (columns, rows) = (size.width / side + 1, size.height / side + 1)
        let (moved, missing) = (moved, missing)
        func isCovered(_ low: Point, _ high: Point) -> Bool {
            func cell(_ position: Float, _ step: Int, _ count: Int) -> Int {
                max(0, min(Int((position / Float(side)).rounded(.down)) + step, count - 1))
            }
            if isMoving {
                // Its neighbours too: what moves is larger than what of it changed.
                for y in cell(low.y, -1, rows)...cell(high.y, 1, rows) {
                    for x in cell(low.x, -1, columns)...cell(high.x, 1, columns)
                    where time - moved[y * columns + x] < Self.unrest { return true }
                }
            }
            let (middle, half) = ((low + high) / 2, (high - low) / 2)
            func lies(in rect: Rect) -> Bool {
                let away = middle - rect.center
                return abs(away.x) < rect.width / 2 + abs(half.x) && abs(away.y) < rect.height / 2 + abs(half.y)
            }
            return candidateHeads.contains(where: lies) || missing.contains { lies(in: $0.area(at: time)) }
        }
        var tiles = 0
        canvas.effects.pixelation.fade { column, row in
            let corner = Point(Float(column * layer), Float(row * layer))
            guard isCovered(back(corner), back(corner + Point(repeating: Float(layer - 1)))) else { return 0 }
            tiles += 1
            return 255
        }
        share = min(1, Float(tiles * layer * layer) / Float(layout.width * layout.height))
        canvas.effects.pixelation.fill(&canvas.frame)
    }
}
