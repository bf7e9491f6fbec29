import Frames

/// A small upright picture cut from the frame: where it lies, how far it is shrunk and turned.
public struct PatchTransform: Equatable, Sendable {
    /// The middle, pixels of the frame.
    public var center: Point
    /// Frame pixels for one pixel of the patch.
    public var scale: Float
    /// Degrees; the patch's down is the frame's down turned by this.
    public var roll: Float

    /// An upright rectangle of the patch's size about its middle, pixels of the frame: not larger for a turned patch,
    /// whose corners say little.
    func bounds(side: Int) -> Rect {
        let size = Float(side) * scale
        return Rect(x: center.x - size / 2, y: center.y - size / 2, width: size, height: size)
    }

    /// From a square patch's pixels to the frame's.
    public func map(side: Int) -> Affine {
        let turn = Affine(scale: scale, angle: radians(roll), origin: .zero)
        let middle = Float(side - 1) / 2
        let corner = turn.linear(Point(middle, middle))
        return Affine(a: turn.a, b: turn.b, c: turn.c, d: turn.d, tx: center.x - corner.x, ty: center.y - corner.y)
    }
}

/// A search of the whole frame in slices, so that no frame is held up: patches of one size that cover the frame at
/// every face size and tilt.
///
/// The first time round the largest faces come first, since they are the cheapest to look for and the likeliest. Then
/// the slice comes next that has waited longest, what moved counting for more and tilted heads for less. All of that
/// depends on the frames alone, so a clip gives the same faces on every run and machine.
struct ScanScheduler: Sendable {
    /// A patch's side, pixels. Large enough that its margin (half a face) is little of it, small enough for a slice.
    static let side = 160
    /// Window sizes looked for in one patch, pixels: three steps of 1.2 from the cascade's own window.
    static let sizes = 20...29
    static let step: Float = 1.2
    /// From one level of face sizes to the next: the steps that one patch covers.
    static let levelFactor: Float = 1.728

    /// How much longer a slice seems to have waited where all of it moved, and where heads are tilted.
    private static let motionWeight: Float = 16
    private static let tiltWeight: Float = 0.4
    /// The same where a known face lies in the slice and is of about the size that is looked for there, the width of its
    /// box being so many pixels of the patch: people stand beside people, equally far away.
    private static let companyWeight: Float = 4
    private static let company: Range<Float> = 14..<36
    /// A slice that known faces cover by this much holds no other.
    private static let covered: Float = 0.7

    let tiles: [PatchTransform]
    /// What a slice's waiting counts for.
    private let weights: [Float]
    /// When each was searched last, in slices; long ago: not yet, the largest first.
    private var searched: [Int]
    private var tilesScanned = 0

    /// - Parameters:
    ///   - smallest: side of the smallest window to look for, pixels of the frame.
    ///   - rolls: head tilts to look for, degrees, in order.
    init(width: Int, height: Int, smallest: Float, rolls: [Float]) {
        let largest = Float(min(width, height))
        var scales: [Float] = []
        var size = smallest
        while size < largest {
            scales.append(size / Float(Self.sizes.lowerBound))
            size *= Self.levelFactor
        }
        var tiles: [PatchTransform] = []
        var weights: [Float] = []
        for roll in rolls {
            for (level, scale) in scales.enumerated().reversed() {
                // The smallest faces are looked for upright alone: most slices are theirs, and few of them are tilted.
                if roll != 0 && level == 0 && scales.count > 2 { continue }
                let first = tiles.count
                Self.cover(width, height, scale: scale, roll: roll, into: &tiles)
                // Between one share for each slice and one for each size.
                let weight = 1 / Float(max(1, tiles.count - first)).squareRoot()
                for _ in first..<tiles.count { weights.append(roll == 0 ? weight : weight * Self.tiltWeight) }
            }
        }
        self.tiles = tiles
        self.weights = weights
        // The largest faces come first, all of them upright before any is tilted.
        searched = tiles.indices.map { tiles[$0].roll == 0 ? -10 * (tiles.count - $0) : 0 }
    }

    private static func cover(
        _ width: Int, _ height: Int, scale: Float, roll: Float, into tiles: inout [PatchTransform]
    ) {
        // The frame's extent in the turned patch's own axes, and a stride that lets every window lie whole in a patch.
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
                // Patches that a turned grid puts beside the frame.
                if center.x < -reach * 0.7 || center.y < -reach * 0.7 { continue }
                if center.x > Float(width) + reach * 0.7 || center.y > Float(height) + reach * 0.7 { continue }
                tiles.append(PatchTransform(center: center, scale: scale, roll: roll))
            }
        }
    }

    /// Whether every place and size was searched, upright at least, since the start and since `prioritize` asked for it.
    var isComplete: Bool { zip(searched, tiles).allSatisfy { $0 > 0 || $1.roll != 0 } }

    /// The most urgent slice.
    /// - Parameter known: boxes of the faces that are known, pixels.
    /// - Returns: nil where known faces cover everything.
    mutating func advance(_ motion: borrowing FrameMotion, known: Span<Rect>) -> PatchTransform? {
        var (best, urgency) = (-1, Float(0))
        tilesScanned += 1
        for i in tiles.indices {
            let rect = tiles[i].bounds(side: Self.side)
            let waited = Float(tilesScanned - searched[i]) * weights[i]
            // The share of what moved is at most 1.
            guard waited * Self.companyWeight * (1 + Self.motionWeight) > urgency else { continue }
            let moved = waited * (1 + Self.motionWeight * motion.share(of: rect))
            var free = rect.area
            var company: Float = 1
            for j in known.indices {
                let overlap = known[j].overlap(rect)
                free -= overlap
                let width = known[j].width / tiles[i].scale
                if overlap > 0 && width > Self.company.lowerBound && width < Self.company.upperBound {
                    company = Self.companyWeight
                }
            }
            let weighted = moved * company
            guard weighted > urgency else { continue }
            guard free > rect.area * (1 - Self.covered) else {
                searched[i] = tilesScanned
                continue
            }
            (best, urgency) = (i, weighted)
        }
        guard best >= 0 else { return nil }
        searched[best] = tilesScanned
        return tiles[best]
    }

    /// Makes urgent what shows a place where a face was lost, pixels: it may come back at any size and tilt.
    mutating func prioritize(around place: Point) {
        for i in tiles.indices {
            let rect = tiles[i].bounds(side: Self.side)
            guard abs(rect.center.x - place.x) < rect.width / 2, abs(rect.center.y - place.y) < rect.height / 2 else {
                continue
            }
            searched[i] = min(searched[i], -10 * searched.count)
        }
    }
}
