import Frames

/// A solid's picture on one head, kept: while the head hardly turns it is laid again where a plane map carries it, at a
/// fifth of what drawing it costs. Whether it may is seen at some of the solid's corners, which are placed and lit anew for
/// each frame. (An impostor, after Maciel and Shirley, "Visual navigation of large environments using textured clusters",
/// 1995, whose error is measured and not guessed.)
struct Impostor: ~Copyable {
    /// Whose picture it is.
    struct Owner: Equatable {
        /// The solid's.
        let number: Int
        /// The person's.
        let face: Int
    }

    /// A corner, as it was when the picture was drawn.
    struct Corner {
        let piece: Int
        let vertex: Int
        let position: Point
        let color: SIMD4<Float>
    }

    /// The picture, with the contact shadow.
    var layer = LayerBuffer()
    fileprivate(set) var owner: Owner?
    fileprivate var used: UInt64 = 0
    private(set) var referenceCorners: [Corner] = []
    /// Where its head lay in the frame before, pixels.
    fileprivate var head: Point?
    /// False where a part of it was left out, beyond the frame's edges.
    private var isWhole = true

    /// Where marks lie in a frame. More of them say no more.
    typealias Places = [96 of Point]
    static let maxReferenceCorners = Places.count
    /// How far corners are off altogether: in the mean of squares, and none by much more.
    struct Deviation {
        private let mean, most: Float
        private var sum: Float = 0
        private var worst: Float = 0

        /// Pixels by which corners lie beside their places.
        static var ofPlaces: Deviation { Deviation(mean: 0.5, most: 1) }
        /// Levels by which colours are off: a glint wanders over a few corners at once.
        static var ofColors: Deviation { Deviation(mean: 4, most: 16) }

        private init(mean: Float, most: Float) { (self.mean, self.most) = (mean, most) }

        /// - Parameter square: of one corner's.
        mutating func add(_ square: Float) {
            sum += square
            worst = max(worst, square)
        }

        /// Up to 1 nobody sees it.
        func size(over corners: Int) -> Float {
            max((sum / Float(max(corners, 1))).squareRoot() / mean, worst.squareRoot() / most)
        }
    }

    /// The deviation that a picture may have more for each pixel by which it moves in a frame. A camera that exposes for
    /// half of a frame's time smears it over half a pixel; corners then lie off by a tenth of that in the mean.
    static let smear: Float = 0.1
    /// The deviation up to which a picture that is about to be drawn anew may be laid once more, for each pixel between the
    /// eyes: no corner lies further off than 6 % of that, for one frame, of a head that moves fast, and so is blurred.
    static let mostLag: Float = 0.06
    /// Pixels by which laying may put pixels beside their own places: of a head at rest, and of one that moves fast.
    private static let usualWarpError: Float = 1 / 16
    static let maxWarpError: Float = 1 / 5

    /// Pixels beyond the frame's edges that are drawn too, since they may come in, even.
    private static let margin = 4 * warpBorder

    init() { referenceCorners.reserveCapacity(Self.maxReferenceCorners) }

    /// Follows its head from one frame to the next.
    /// - Parameter head: where it lies now, pixels.
    /// - Returns: the deviation up to which the picture is laid again.
    mutating func trackHead(_ head: Point) -> Float {
        let moved = self.head.map { (head - $0).length } ?? 0
        self.head = head
        return 1 + Self.smear * moved
    }

    /// Forgets the picture, and makes room for another.
    /// - Returns: false where nothing of it lies near the frame.
    mutating func begin(_ region: PixelRect, in layout: FrameLayout) -> Bool {
        invalidate()
        guard layer.begin(region, in: layout, margin: Self.margin) else { return false }
        isWhole = layer.region.width >= region.width && layer.region.height >= region.height
        return true
    }

    mutating func invalidate() { referenceCorners.removeAll(keepingCapacity: true) }

    mutating func recordCorner(_ reference: Corner) {
        if referenceCorners.count < Self.maxReferenceCorners { referenceCorners.append(reference) }
    }

    /// Whether anything was drawn where a corner lies: none of it was where the head hides it.
    func shows(_ place: Point) -> Bool {
        let region = layer.region
        let (x, y) = (place.x.rounded() - Float(region.x), place.y.rounded() - Float(region.y))
        guard x >= 0, y >= 0, x < Float(region.width), y < Float(region.height) else { return false }
        return layer.readPixels[Int(y) * layer.stride + Int(x)] >> 24 != 0
    }

    /// The map that carries the marks nearest to where they lie now, by least squares, and how far they lie from there;
    /// nil where the map is no small change.
    /// - Parameter places: of the marks, now.
    func map(to places: borrowing Places) -> (map: Affine, deviation: Float)? {
        guard referenceCorners.count >= 3 else { return nil }
        // About the first mark, so that floats hold the sums.
        let (origin, end) = (referenceCorners[0].position, places[0])
        var (sum, sumEnd) = (Point.zero, Point.zero)
        var (xx, xy, yy) = (Float(0), Float(0), Float(0))
        var (byX, byY) = (Point.zero, Point.zero)
        for i in referenceCorners.indices {
            let (p, q) = (referenceCorners[i].position - origin, places[i] - end)
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
        var deviation = Deviation.ofPlaces
        for i in referenceCorners.indices {
            let off = map(referenceCorners[i].position) - places[i]
            deviation.add(off.x * off.x + off.y * off.y)
        }
        let size = max(deviation.size(over: referenceCorners.count), warpError(map) / Self.usualWarpError)
        return isWhole || reaches(map) ? (map, size) : nil
    }

    /// Whether what was left out beyond the frame's edges stays there.
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

/// The pictures of what was worn last.
struct ImpostorCache: ~Copyable {
    typealias Entries = [16 of Impostor]
    static let most = Entries.count
    var entries: Entries = InlineArray { _ in Impostor() }
    private var clock: UInt64 = 0

    init() {}

    /// Draws after which a picture that was not asked for is nobody's: masks come and go.
    private static let patience: UInt64 = 100

    /// The place of an owner's picture; nil: there is none.
    func find(_ owner: Impostor.Owner) -> Int? {
        for i in entries.indices where entries[i].owner == owner { return i }
        return nil
    }

    /// The place of an owner's picture. Where there is none, one that nobody asks for any more, emptied: its memory is
    /// there already; else one that was never used, else the one that was not used for longest.
    mutating func place(of owner: Impostor.Owner) -> Int {
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
        var place = free ?? oldest ?? 0
        if let oldest, clock - entries[oldest].used > Self.patience { place = oldest }
        (entries[place].owner, entries[place].used) = (owner, clock)
        entries[place].head = nil
        entries[place].invalidate()
        return place
    }
}
