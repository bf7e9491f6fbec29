import Frames
import SystemKit

/// A cached picture of a mesh layer on one head. While the head hardly turns, the picture is moved by an affine map, at
/// a fifth of the cost of drawing it. Some of the mesh's corners, projected and lit in each frame, tell whether that is
/// accurate enough. (An impostor, after Maciel and Shirley, "Visual navigation of large environments using textured
/// clusters", 1995, with a measured error instead of an estimated one.)
///
/// A finer map does not help: a field that interpolates what an affine map leaves at the corners (Gaussians of 0.15 to
/// 0.5 eye distances, each corner judged by the others) would save 0 to 15 % of the drawings of three hats in two clips
/// of talking heads, since what is left jumps where a brim lies before a crown.
struct Impostor: ~Copyable {
    /// The layer and the face that an impostor belongs to.
    struct Owner: Equatable {
        /// The mesh layer's number.
        let number: Int
        /// The face's id.
        let face: Int
    }

    /// A reference corner, with its position and colour when the picture was drawn.
    struct Corner {
        /// Index of the mesh in the layer.
        let submesh: Int
        /// Index of the vertex in the mesh.
        let vertex: Int
        /// The position in pixels.
        let position: Point
        /// The lit colour, as in `RasterVertex`.
        let color: SIMD4<Float>
    }

    /// The picture, including the contact shadow.
    var layer = LayerBuffer()
    /// The detail with which the picture was drawn.
    private(set) var detail = MeshDetail.full
    /// The width of the hair behind which it was drawn.
    private var hair = HairWidth()
    /// The layer and face that the picture shows; nil if the entry was never used.
    fileprivate(set) var owner: Owner?
    /// The cache's clock when the picture was last used; 0: never.
    fileprivate var used: UInt64 = 0
    /// The reference corners; none if there is no valid picture.
    private(set) var referenceCorners: [Corner] = []
    /// The head's position in the last frame, in pixels.
    fileprivate var head: Point?
    /// The head's fastest motion of late, in pixels per frame.
    fileprivate(set) var motion: Float = 0
    /// Frames since the picture was drawn.
    private(set) var age = 0
    /// Whether the picture is complete; false if a part beyond the frame's edges was left out.
    private var isWhole = true

    /// Positions of the reference corners in a frame. More corners would add no accuracy.
    typealias Positions = [96 of Point]
    static let maxReferenceCorners = Positions.count
    /// The error of the reference corners: root mean square and maximum, each relative to the largest invisible one.
    struct Deviation {
        /// The largest invisible root mean square and maximum.
        private let mean, peak: Float
        private var sum: Float = 0
        private var worst: Float = 0

        /// For position errors in pixels.
        static var ofPositions: Deviation { Deviation(mean: 0.5, peak: 1) }
        /// For colour errors in levels. The maximum is large, because a glint moves over a few corners at once.
        static var ofColors: Deviation { Deviation(mean: 4, peak: 16) }

        private init(mean: Float, peak: Float) { (self.mean, self.peak) = (mean, peak) }

        /// Adds a corner.
        /// - Parameter square: its squared error.
        mutating func add(_ square: Float) {
            sum += square
            worst = max(worst, square)
        }

        /// The error of all corners; up to 1 it is invisible.
        func size(over corners: Int) -> Float {
            max((sum / Float(max(corners, 1))).squareRoot() / mean, worst.squareRoot() / peak)
        }
    }

    /// Additional deviation that is allowed per pixel of the head's motion since the last frame. A camera that exposes
    /// for half of the frame's time blurs the motion over half a pixel; corners may then be off by a tenth of that on
    /// average.
    static let smear: Float = 0.1
    /// The largest deviation, per pixel between the eyes, at which an outdated picture may be shown once more before it
    /// is redrawn: no corner is off by more than 6 % of the eye distance, for one frame, on a head that moves fast and
    /// so is blurred.
    static let maxLag: Float = 0.06
    /// The part of that up to which it may be shown twice, so that a head that turns is drawn in every other frame.
    static let maxSecondLag: Float = 0.75
    /// The part of `motion` that is left in the next frame, so that detail doesn't change with each frame.
    private static let calming: Float = 0.5
    /// The largest `warpError` in pixels: for a head at rest, and for one that moves fast.
    private static let usualWarpError: Float = 1 / 16
    static let maxWarpError: Float = 1 / 5

    /// Pixels beyond the frame's edges that are drawn too, since they may move into the frame; even.
    static let margin = 4 * warpBorder

    /// The change of the hair's width from which on a picture is outdated.
    private static let hairStep: Float = 0.03

    init() { referenceCorners.reserveCapacity(Self.maxReferenceCorners) }

    /// Records the head's position in this frame.
    /// - Parameters:
    ///   - head: in pixels.
    ///   - scale: pixels between the eyes.
    /// - Returns: how far the head moved since the last frame, in pixels.
    mutating func trackHead(_ head: Point, scale: Float) -> Float {
        let moved = self.head.map { (head - $0).length } ?? 0
        self.head = head
        age += 1
        // A head that is elsewhere was found again.
        motion = moved > scale ? 0 : max(moved, motion * Self.calming)
        return moved
    }

    /// Discards the picture, and prepares for a new one.
    /// - Parameters:
    ///   - region: the new picture's bounding box in pixels.
    ///   - detail: the detail with which it will be drawn.
    ///   - hair: the width of the hair behind which it will be drawn.
    /// - Returns: false if none of it is near the frame.
    mutating func begin(_ region: PixelRect, _ detail: MeshDetail, hair: HairWidth, in layout: FrameLayout) -> Bool {
        invalidate()
        (self.detail, self.hair, age) = (detail, hair, 0)
        guard layer.begin(region, in: layout, margin: Self.margin) else { return false }
        isWhole = layer.region.width >= region.width && layer.region.height >= region.height
        return true
    }

    /// Whether the picture is good enough for a detail and for hair of a width.
    func suffices(for detail: MeshDetail, hair: HairWidth) -> Bool {
        self.detail.suffices(for: detail) && hair.distance(to: self.hair) < Self.hairStep
    }

    /// Discards the picture.
    mutating func invalidate() { referenceCorners.removeAll(keepingCapacity: true) }

    /// Adds a reference corner, up to `maxReferenceCorners`.
    mutating func recordCorner(_ reference: Corner) {
        if referenceCorners.count < Self.maxReferenceCorners { referenceCorners.append(reference) }
    }

    /// The affine map that moves the reference corners as closely as possible to their positions now (least squares),
    /// and the remaining deviation; nil if the map isn't a small change.
    /// - Parameter positions: the corners' positions now, in pixels.
    func map(to positions: borrowing Positions) -> (map: Affine, deviation: Float)? {
        guard referenceCorners.count >= 3 else { return nil }
        // Relative to the first corner, so that Float is precise enough for the sums.
        let (origin, end) = (referenceCorners[0].position, positions[0])
        var (sum, sumEnd) = (Point.zero, Point.zero)
        var (xx, xy, yy) = (Float(0), Float(0), Float(0))
        var (byX, byY) = (Point.zero, Point.zero)
        for i in referenceCorners.indices {
            let (p, q) = (referenceCorners[i].position - origin, positions[i] - end)
            sum += p
            sumEnd += q
            xx += p.x * p.x
            xy += p.x * p.y
            yy += p.y * p.y
            byX += q * p.x
            byY += q * p.y
        }
        let count = Float(referenceCorners.count)
        let (mean, meanEnd) = (sum / count, sumEnd / count)
        xx -= sum.x * mean.x
        xy -= sum.x * mean.y
        yy -= sum.y * mean.y
        byX -= sumEnd * mean.x
        byY -= sumEnd * mean.y
        let determinant = xx * yy - xy * xy
        guard determinant > 1e-3 * xx * yy else { return nil }
        let column = (byX * yy - byY * xy) / determinant
        let other = (byY * xx - byX * xy) / determinant
        let shift = end + meanEnd - column * (origin.x + mean.x) - other * (origin.y + mean.y)
        let map = Affine(a: column.x, b: other.x, c: column.y, d: other.y, tx: shift.x, ty: shift.y)
        guard canComposite(map, within: Self.maxWarpError) else { return nil }
        var deviation = Deviation.ofPositions
        for i in referenceCorners.indices {
            let off = map(referenceCorners[i].position) - positions[i]
            deviation.add(off.x * off.x + off.y * off.y)
        }
        let size = max(deviation.size(over: referenceCorners.count), warpError(map) / Self.usualWarpError)
        return isWhole || reaches(map) ? (map, size) : nil
    }

    /// Whether the part that was left out beyond the frame's edges stays outside.
    private func reaches(_ map: Affine) -> Bool {
        let region = layer.region
        let far = Float(Self.margin - warpBorder)
        for corner in 0..<4 {
            let p = Point(
                Float(region.x + (corner & 1) * region.width), Float(region.y + (corner >> 1) * region.height))
            let moved = map(p) - p
            guard abs(moved.x) < far, abs(moved.y) < far else { return false }
        }
        return true
    }
}

/// The impostors that were drawn last.
struct ImpostorCache: ~Copyable {
    typealias Entries = [16 of Impostor]
    static let capacity = Entries.count
    var entries: Entries = InlineArray { _ in Impostor() }
    /// Number of requests so far.
    private var clock: UInt64 = 0

    init() {}

    /// Requests after which an unused picture counts as abandoned: masks come and go.
    private static let timeout: UInt64 = 100

    /// The index of an owner's entry; nil if there is none.
    func find(_ owner: Impostor.Owner) -> Int? {
        for i in entries.indices where entries[i].owner == owner { return i }
        return nil
    }

    /// The index of an owner's entry. If there is none, an abandoned entry is invalidated and reused, since its memory
    /// is already allocated; otherwise one that was never used, or else the least recently used one.
    mutating func slot(of owner: Impostor.Owner) -> Int {
        clock += 1
        if let known = find(owner) {
            entries[known].used = clock
            return known
        }
        var (oldest, free): (Int?, Int?) = (nil, nil)
        for i in entries.indices {
            if entries[i].used == 0 {
                free = free ?? i
            } else if oldest.map({ entries[i].used < entries[$0].used }) ?? true {
                oldest = i
            }
        }
        var slot = free ?? oldest ?? 0
        if let oldest, clock - entries[oldest].used > Self.timeout { slot = oldest }
        (entries[slot].owner, entries[slot].used) = (owner, clock)
        (entries[slot].head, entries[slot].motion) = (nil, 0)
        entries[slot].invalidate()
        return slot
    }
}
