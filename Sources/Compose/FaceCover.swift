import Frames
import SystemKit
import Track

/// What to do when a face that a mask should hide is lost.
public enum LostFacePolicy: String, CaseIterable, Sendable {
    /// Do nothing: the mask is decoration.
    case show
    /// Cover its last position, then replace the whole picture until the face is found again. Possible new faces are
    /// covered before they are confirmed.
    case cover
}

/// Hides faces that the tracker has lost or not confirmed yet, if the user wants faces hidden.
///
/// The mask itself covers tracked faces, and for a moment predicted ones. This type covers the rest: candidates that
/// aren't refuted yet, the last position of a lost face, and whatever moves away from there or from a predicted one,
/// which may have moved further than the tracker looks. It asks for the placeholder instead of the picture until
/// everything was searched once, and when the only face has been lost for too long.
public struct FaceCover: ~Copyable {
    /// A face that was covered and is no longer tracked.
    private struct MissingFace {
        var id = 0
        /// Bounding box of the head, in pixels of the searched frame.
        var rect = Rect(x: 0, y: 0, width: 0, height: 0)
        /// When the face was last seen, in seconds, or when another one was last in front of it.
        var since = 0.0
        /// When the face was last seen, in seconds.
        var lastSeen = 0.0
        /// When the face was found, in seconds.
        var found = 0.0
        /// The middle of its head then, in pixels.
        var foundAt = Point.zero
        /// Whether the frame showed the face.
        var isSeen = false
        /// The id of another face that was in the very same place when the frame showed this one last; 0: of none.
        var double = 0
        /// Whether it need not be there: the tracker finally decided that it wasn't a face, or follows it elsewhere.
        var isBrief = false
        /// Whether nothing is known of it since the picture was turned or away: then nothing is shown if it is the only
        /// face.
        var isUncertain = false
        /// Whether it was the only face before a gap, so that whoever is found afterwards is that one, wherever it is.
        var wasAlone = false

        /// Whether the face was not tracked in the frame before.
        var isNew: Bool { found == since }

        /// Moves the places.
        mutating func move(by map: Affine) {
            let (center, half) = (map(rect.center), map.linear(Point(rect.width, rect.height) / 2))
            let size = Point(abs(half.x), abs(half.y))
            rect = Rect(x: center.x - size.x, y: center.y - size.y, width: 2 * size.x, height: 2 * size.y)
            foundAt = map(foundAt)
        }

        /// The area to cover at a time. It grows with each second, while somebody else is in front only for the first.
        func area(at time: Double) -> Rect {
            let growth = 1 + Float(min(time - lastSeen, max(time - since, FaceCover.timeout))) * FaceCover.growth
            let (width, height) = (rect.width * growth, rect.height * growth)
            return Rect(x: rect.center.x - width / 2, y: rect.center.y - height / 2, width: width, height: height)
        }
    }

    private var missing: [MissingFace] = []
    /// Faces of the last frame.
    private var known: [MissingFace] = []
    /// Faces of the frame before.
    private var before: [MissingFace] = []
    /// When a lost face was last left out because too many were missing, in seconds.
    private var lastOverflow = -Double.infinity
    private var boxes: [Rect] = []
    private var motion: FrameMotion?
    /// For each cell of the searched frame, when something that came from the position of a lost or predicted face last
    /// moved there; seconds.
    private var moved: [Double] = []
    /// Whether all of that came from predicted faces, which are covered by masks again once they are tracked.
    private var isOfPredicted = true
    /// Size of the searched frame in pixels.
    private var size = (width: 0, height: 0)
    /// Time of the last frame, in seconds.
    private var last: Double?
    /// The last time at which a face was tracked or missing, or the frame wasn't fully searched yet; seconds.
    private var lastDoubt = 0.0
    /// Whether the last frame was shown.
    private var wasShown = false
    /// When the first of the faces in the last frame was found; seconds.
    private var firstFace: Double?
    /// Side of the square of grid cells that the mosaic shows as one. A power of two, so that the squares of each size
    /// consist of whole smaller ones: when the size changes, all pictures together show no more than the finest does.
    private var joined = 1

    /// Side of a grid cell relative to the picture's longer side. The mosaic over a head of up to six of them shows
    /// these cells; over a larger head, it joins them.
    private static let cell: Float = 1 / 28
    /// The most cells of the mosaic along the longer side of a head, as in a pixelated face.
    private static let maxCells: Float = 6
    /// Seconds for which a lost face's position is covered while the tracker searches there. Then the placeholder is
    /// shown.
    private static let timeout = 1.5
    /// Seconds for which a lost face's position is covered if other faces are tracked. Then the person is taken to have
    /// left.
    private static let longTimeout = 10.0
    /// Seconds for which a face behind another one is taken to be there still.
    private static let longestBehind = 60.0
    /// Seconds between two frames after which nobody need be where they were.
    private static let maxGap = 2.0
    /// Seconds after which the only person is taken to have left if the face was lost inside the picture, where the
    /// person may still sit unseen. Until then the picture isn't shown.
    private static let aloneTimeout = 30.0
    /// Seconds without any face after which the picture is shown. On clips with 8294 labelled faces, 1 s would leave no
    /// more of them bare, 0.5 s ten more, and 0 s seventeen more.
    private static let emptyTimeout = 2.0
    /// The distance to the frame's upper edge, in heights of a head, within which a face may be a part of a larger one
    /// that is cut off there: nose and mouth are less than half as high as the head.
    private static let entryReach: Float = 1.5
    /// The speed of such a face, in its widths per second. Somebody who sits down is as fast.
    private static let entrySpeed: Float = 0.3
    /// The share of the frame that moves when it comes in, before its own speed is known.
    private static let entryMotion: Float = 0.005
    /// Seconds after which somebody who still moves is shown with the face covered as it is.
    private static let longestEntry = 1.0
    /// Growth of the covered area per second, relative to its size, since the person in it may move.
    private static let growth: Float = 1.2
    /// Seconds for which a moving cell stays covered. A face that is there is found within half of that.
    private static let motionHold = 0.7
    /// Part of a cell that must have moved for the cell to count as moving.
    private static let movedFraction: Float = 0.2
    /// The id of a place that a track has left at once: no face's, so that it is covered for its time.
    private static let nobody = 0
    /// Capacity of the lists of known and missing faces.
    private static let maxCovers = 2 * Tracker.maxFaces

    /// The part of the picture that was covered in the last frame, 0 to 1, without what masks cover.
    public private(set) var share: Float = 0

    /// Starts without any known face.
    public init() {
        missing.reserveCapacity(Self.maxCovers)
        known.reserveCapacity(Self.maxCovers)
        before.reserveCapacity(Self.maxCovers)
        boxes.reserveCapacity(Self.maxCovers)
    }

    /// Forgets all faces. Call it when nothing has to be hidden any more.
    public mutating func reset() {
        missing.removeAll(keepingCapacity: true)
        known.removeAll(keepingCapacity: true)
        motion = nil
        last = nil
        joined = 1
        lastOverflow = -.infinity
    }

    /// Moves all places to where they are in the searched frames from now on, which are rotated or mirrored otherwise.
    /// - Parameter map: from the pixels of the frames before to those of the next ones: axes to axes, without scaling.
    public mutating func movePlaces(by map: Affine) {
        if let last { missAll(at: last) }
        for i in missing.indices { missing[i].move(by: map) }
        if map.a == 0 { size = (size.height, size.width) }
    }

    /// Goes on after a gap, such as of a camera that stalled, as if it had not been: whoever was there may still sit
    /// there unseen, in the same place or in another.
    /// - Parameters:
    ///   - last: the time of the last frame before it, seconds.
    ///   - time: of the first frame after it, seconds.
    private mutating func resume(after last: Double, at time: Double) {
        for i in missing.indices {
            missing[i].since += time - last
            missing[i].lastSeen += time - last
        }
        lastOverflow += time - last
        missAll(at: time)
        if missing.count == 1 { missing[0].wasAlone = true }
        (firstFace, lastDoubt) = (nil, time)
    }

    /// Takes all known faces for missing ones until they are found again.
    private mutating func missAll(at time: Double) {
        for var face in known {
            (face.since, face.lastSeen) = (time, time)
            miss(face, at: time)
        }
        known.removeAll(keepingCapacity: true)
        for i in missing.indices { missing[i].isUncertain = true }
        // What differs now is not what people did.
        motion = nil
    }

    /// Adds a missing face, or notes that there are too many to cover.
    private mutating func miss(_ face: MissingFace, at time: Double) {
        if missing.count < Self.maxCovers { missing.append(face) } else { lastOverflow = time }
    }

    /// Covers what masks can't, on the composed frame.
    /// - Parameters:
    ///   - faces: of this frame, in pixels of the searched frame.
    ///   - candidateHeads: heads of candidates that aren't refuted, in the same pixels.
    ///   - refuted: ids of faces in the last frame that turned out not to be faces.
    ///   - placement: map from those pixels to the canvas's.
    ///   - hasSearchedAll: whether the tracker has searched the whole frame at least once.
    ///   - time: seconds, by the source's clock.
    /// - Returns: false if the frame must not be shown at all.
    public mutating func cover(
        _ canvas: inout Canvas, faces: [Face], candidateHeads: [Rect], refuted: [Int], placement: Affine,
        hasSearchedAll: Bool, at time: Double
    ) -> Bool {
        let isGap = last.map { time < $0 || time > $0 + Self.maxGap } ?? false
        if let last, isGap { resume(after: last, at: time) }
        let isFirst = last == nil
        if isFirst { lastDoubt = time }
        last = time
        share = 0
        updateMissing(faces, refuted, at: time)
        let isMoving = markMotion(at: time)
        if isMoving || !missing.isEmpty || !candidateHeads.isEmpty {
            drawMosaic(candidateHeads, isMoving: isMoving, onto: &canvas, placement, at: time)
        } else {
            joined = 1
        }
        if !(faces.isEmpty && missing.isEmpty && hasSearchedAll) { lastDoubt = time }
        wasShown = mayBeShown(faces, hasSearchedAll, isFirst: isFirst || isGap, at: time)
        return wasShown
    }

    /// Whether the frame may be shown, with what is covered in it.
    private mutating func mayBeShown(
        _ faces: [Face], _ hasSearchedAll: Bool, isFirst: Bool, at time: Double
    ) -> Bool {
        if faces.isEmpty { firstFace = nil }
        guard hasSearchedAll, time - lastOverflow > Self.timeout else { return false }
        if !faces.isEmpty {
            let first = firstFace ?? time
            firstFace = first
            let mayEnter = !wasShown && !isFirst && time - first < Self.longestEntry
            return !(mayEnter && isEntering(at: time))
        }
        if !missing.isEmpty { return !missing.contains { $0.isUncertain || time - $0.since > Self.timeout } }
        return time - lastDoubt >= Self.emptyTimeout
    }

    /// The share of the frame that moved, 0 to 1.
    private var movedShare: Float {
        switch motion {
        case .some(let motion): motion.share
        case .none: 0
        }
    }

    /// Whether a face may be a part of a larger one that comes in over the frame's upper edge, as when the lid of a
    /// laptop is opened: until the eyes are in the frame, nose and mouth may be taken for a face. It has moved down,
    /// near that edge. Of its first frame nothing is known but whether something moves.
    private func isEntering(at time: Double) -> Bool {
        known.contains { face in
            guard face.rect.y < Self.entryReach * face.rect.height else { return false }
            guard !face.isNew else { return movedShare > Self.entryMotion }
            let way = face.rect.center.y - face.foundAt.y
            return way > Float(time - face.found) * Self.entrySpeed * face.rect.width
        }
    }

    /// Covers face candidates on a composed photo.
    /// - Parameters:
    ///   - candidateHeads: heads, in pixels of the searched photo.
    ///   - placement: map from those pixels to the canvas's.
    public mutating func cover(photo canvas: inout Canvas, candidateHeads: [Rect], placement: Affine) {
        reset()
        share = 0
        if !candidateHeads.isEmpty { drawMosaic(candidateHeads, isMoving: false, onto: &canvas, placement, at: 0) }
    }

    /// Measures motion in the searched frame: in the output, masks move too, and a zoom moves everything.
    /// - Parameters:
    ///   - luma: of the searched frame.
    ///   - faces: the tracked faces, in its pixels.
    public mutating func measureMotion(_ luma: borrowing LumaView, faces: [Face]) {
        if size != (luma.width, luma.height) { reset() }
        size = (luma.width, luma.height)
        if motion == nil {
            motion = FrameMotion(width: luma.width, height: luma.height)
            let side = Self.side(luma.width, luma.height)
            moved = Array(repeating: -.infinity, count: (luma.width / side + 1) * (luma.height / side + 1))
        }
        boxes.removeAll(keepingCapacity: true)
        for face in faces.prefix(Self.maxCovers) where face.state == .tracked { boxes.append(face.box) }
        Self.measureMotion(&motion, luma, boxes)
    }

    // Static, because parts of one value can be borrowed separately only as arguments.
    private static func measureMotion(_ motion: inout FrameMotion?, _ luma: borrowing LumaView, _ known: [Rect]) {
        motion?.update(luma, known: known.span)
    }

    /// Side of a grid cell in pixels, even.
    private static func side(_ width: Int, _ height: Int) -> Int { max(8, Int(Float(max(width, height)) * cell) & ~1) }

    /// Updates the lists of missing and known faces.
    private mutating func updateMissing(_ faces: [Face], _ refuted: [Int], at time: Double) {
        for old in known {
            let face = faces.first { $0.id == old.id }
            let hasJumped = face.map { Self.hasJumped(old, to: $0) } ?? false
            guard face == nil || hasJumped else { continue }
            miss(
                MissingFace(
                    id: hasJumped ? Self.nobody : old.id, rect: old.rect, since: time, lastSeen: time,
                    double: old.double,
                    isBrief: hasJumped || refuted.contains(old.id)),
                at: time)
        }
        swap(&known, &before)
        known.removeAll(keepingCapacity: true)
        for face in faces.prefix(Self.maxCovers) {
            let outline = HeadOutline(face)
            let half = outline.halfSize
            let rect = Rect(
                x: outline.center.x - half.x, y: outline.center.y - half.y, width: 2 * half.x, height: 2 * half.y)
            let old = before.first { $0.id == face.id }
            known.append(
                MissingFace(
                    id: face.id, rect: rect, since: time, found: old?.found ?? time,
                    foundAt: old?.foundAt ?? rect.center, isSeen: face.state == .tracked))
        }
        noteDoubles()
        let isAlone = faces.isEmpty
        let (size, known) = (size, known)
        for i in missing.indices where !missing[i].isBrief {
            let lost = missing[i]
            // Whoever is behind somebody else may come out again when that one moves.
            let isBehind = known.contains { $0.isSeen && $0.rect.overlap(lost.rect) > lost.rect.area / 2 }
            if isBehind && time - lost.lastSeen < Self.longestBehind { missing[i].since = time }
        }
        missing.removeAll { lost in
            let isBack =
                known.contains { $0.id == lost.id || Self.mayBe(lost, $0) }
                || lost.wasAlone && !known.isEmpty
            let isOut =
                (lost.isBrief || !lost.isUncertain && Self.isLeaving(lost.rect, size))
                && time - lost.since > Self.timeout
            return isBack || isOut || time - lost.since > (isAlone ? Self.aloneTimeout : Self.longTimeout)
        }
    }

    /// Whether a track has left its face: no head moves by half its width from one frame that shows it to the next.
    private static func hasJumped(_ before: MissingFace, to face: Face) -> Bool {
        before.isSeen && face.state == .tracked
            && (HeadOutline(face).center - before.rect.center).length > before.rect.width / 2
    }

    /// Notes which faces are in one place: the tracker may have two tracks of one face.
    private mutating func noteDoubles() {
        for i in known.indices {
            guard known[i].isSeen else {
                // What passes in front of a face that is not seen is not that face.
                known[i].double = before.first { $0.id == known[i].id }?.double ?? 0
                continue
            }
            let face = known[i]
            known[i].double = known.first { $0.id != face.id && Self.areInOnePlace(face.rect, $0.rect) }?.id ?? 0
        }
    }

    private static func areInOnePlace(_ a: Rect, _ b: Rect) -> Bool {
        (a.center - b.center).length < min(a.width, b.width) / 4
    }

    /// Whether a lost face is tracked again with another id: a new face near its place, or one that was there with it.
    private static func mayBe(_ lost: MissingFace, _ face: MissingFace) -> Bool {
        let (a, b) = (lost.rect, face.rect)
        return face.isNew
            ? (a.center - b.center).length < max(a.width, a.height, b.width, b.height) / 2
            : face.id == lost.double && areInOnePlace(a, b)
    }

    /// Whether the frame's edge cuts into the face itself. If a person sits close to the camera, the edge always cuts
    /// off hair or a shoulder.
    private static func isLeaving(_ rect: Rect, _ size: (width: Int, height: Int)) -> Bool {
        let (middle, quarter) = (rect.center, Point(rect.width, rect.height) / 4)
        return middle.x < quarter.x || middle.y < quarter.y || middle.x > Float(size.width) - quarter.x
            || middle.y > Float(size.height) - quarter.y
    }

    /// Marks the moving cells in the area of a lost or predicted face or next to cells that were marked before: the
    /// person went there.
    /// - Returns: whether any cell was marked recently.
    private mutating func markMotion(at time: Double) -> Bool {
        let side = Self.side(size.width, size.height)
        let (columns, rows) = (size.width / side + 1, size.height / side + 1)
        var isAny = false
        let isAnyUnseen = !missing.isEmpty || known.contains { !$0.isSeen }
        isOfPredicted = isOfPredicted && missing.isEmpty
        for i in moved.indices {
            let (column, row) = (i % columns, i / columns)
            let cell = Rect(x: Float(column * side), y: Float(row * side), width: Float(side), height: Float(side))
            if isAnyUnseen, motion?.share(of: cell) ?? 0 > Self.movedFraction {
                // Within two cells of the face too: it moved on before it was missed.
                let reach = Rect(
                    x: cell.x - 2 * cell.width, y: cell.y - 2 * cell.height, width: 5 * cell.width,
                    height: 5 * cell.height)
                var isTheirs =
                    missing.contains { $0.area(at: time).overlap(reach) > 0 }
                    || known.contains { !$0.isSeen && $0.rect.overlap(reach) > 0 }
                for y in max(0, row - 2)...min(row + 2, rows - 1) where !isTheirs {
                    for x in max(0, column - 2)...min(column + 2, columns - 1) {
                        let noted = moved[y * columns + x]
                        if noted < time && time - noted < Self.motionHold { isTheirs = true }
                    }
                }
                if isTheirs { moved[i] = time }
            }
            if isOfPredicted, !isAnyUnseen { moved[i] = -.infinity }
            if time - moved[i] < Self.motionHold { isAny = true }
        }
        if !isAny { isOfPredicted = true }
        return isAny
    }

    /// Sets how many cells the mosaic joins: so many that few lie along the largest head that it covers. The areas
    /// around heads grow with time, but what is in them doesn't.
    /// - Parameters:
    ///   - tile: side of a grid cell, in pixels of the canvas.
    ///   - limit: the canvas's longer side; larger squares would show no less.
    private mutating func updateJoined(
        _ candidateHeads: [Rect], isMoving: Bool, tile: Int, limit: Int, _ placement: Affine
    ) {
        var longest: Float = 0
        for head in candidateHeads { longest = max(longest, Self.length(of: head, placement)) }
        for lost in missing { longest = max(longest, Self.length(of: lost.rect, placement)) }
        for face in known where !face.isSeen { longest = max(longest, Self.length(of: face.rect, placement)) }
        var needed = 1
        while Float(needed * tile) * Self.maxCells < longest && needed * tile < limit { needed *= 2 }
        // What still moves may be a head that is no longer among the missing ones.
        joined = isMoving ? max(joined, needed) : needed
    }

    /// The longer side of a head's box on the canvas, in pixels.
    private static func length(of head: Rect, _ placement: Affine) -> Float {
        max(placement.linear(Point(head.width, 0)).length, placement.linear(Point(0, head.height)).length)
    }

    /// Draws the mosaic over candidates, missing faces and marked cells.
    /// - Parameter isMoving: whether any cell was marked recently.
    private mutating func drawMosaic(
        _ candidateHeads: [Rect], isMoving: Bool, onto canvas: inout Canvas, _ placement: Affine, at time: Double
    ) {
        guard let back = placement.inverse else { return }
        let layout = canvas.frame.layout
        let tile = Self.side(layout.width, layout.height)
        canvas.effects.pixelation.average(
            canvas.frame, origin: .zero, side: Float(tile), columns: layout.width / tile + 1,
            rows: layout.height / tile + 1)
        updateJoined(
            candidateHeads, isMoving: isMoving, tile: tile, limit: max(layout.width, layout.height), placement)
        canvas.effects.pixelation.join(joined)
        canvas.effects.pixelation.quantize()
        let side = Self.side(size.width, size.height)
        let (columns, rows) = (size.width / side + 1, size.height / side + 1)
        let (moved, missing) = (moved, missing)
        func isCovered(_ low: Point, _ high: Point) -> Bool {
            func cell(_ position: Float, _ step: Int, _ count: Int) -> Int {
                max(0, min(Int((position / Float(side)).rounded(.down)) + step, count - 1))
            }
            if isMoving {
                // The neighbouring cells too: what moves is larger than the part of it that changed.
                for y in cell(low.y, -1, rows)...cell(high.y, 1, rows) {
                    for x in cell(low.x, -1, columns)...cell(high.x, 1, columns)
                    where time - moved[y * columns + x] < Self.motionHold { return true }
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
            let corner = Point(Float(column * tile), Float(row * tile))
            guard isCovered(back(corner), back(corner + Point(repeating: Float(tile - 1)))) else { return 0 }
            tiles += 1
            return 255
        }
        share = min(1, Float(tiles * tile * tile) / Float(layout.width * layout.height))
        canvas.effects.pixelation.fill(&canvas.frame)
    }
}
