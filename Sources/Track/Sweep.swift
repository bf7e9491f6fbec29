import Frames

/// A small upright picture cut from the frame: where it lies, how far it is shrunk and turned.
public struct Region: Equatable, Sendable {
    /// The middle, pixels of the frame.
    public var center: Point
    /// Frame pixels for one pixel of the patch.
    public var scale: Float
    /// Degrees; the patch's down is the frame's down turned by this.
    public var roll: Float

    /// From a square patch's pixels to the frame's.
    public func map(side: Int) -> Affine {
        let turn = Affine(scale: scale, angle: radians(roll), origin: .zero)
        let middle = Float(side - 1) / 2
        let corner = turn.linear(Point(middle, middle))
        return Affine(a: turn.a, b: turn.b, c: turn.c, d: turn.d, tx: center.x - corner.x, ty: center.y - corner.y)
    }
}

/// A search of the whole frame in slices, so that no frame is held up: patches of one size that cover the frame at
/// every face size and tilt, the largest faces first since they are the cheapest to look for and the likeliest.
///
/// The order depends on the frame's size alone, so a clip gives the same faces on every run and machine.
struct Sweep: Sendable {
    /// A patch's side, pixels. Large enough that its margin (half a face) is little of it, small enough for a slice.
    static let side = 160
    /// Window sizes looked for in one patch, pixels: three steps of 1.2 from the cascade's own window.
    static let sizes = 20...29
    static let step = 1.2
    /// From one level of face sizes to the next: the steps that one patch covers.
    static let levelFactor: Float = 1.728

    let regions: [Region]
    private var next = 0

    /// - Parameters:
    ///   - smallest: side of the smallest window to look for, pixels of the frame.
    ///   - rolls: head tilts to look for, degrees, in order.
    init(width: Int, height: Int, smallest: Float, rolls: [Float]) {
        let largest = Float(max(width, height))
        var scales: [Float] = []
        var size = smallest
        while size < largest {
            scales.append(size / Float(Self.sizes.lowerBound))
            size *= Self.levelFactor
        }
        var regions: [Region] = []
        for roll in rolls {
            for scale in scales.reversed() {
                Self.cover(width, height, scale: scale, roll: roll, into: &regions)
            }
        }
        self.regions = regions
    }

    private static func cover(_ width: Int, _ height: Int, scale: Float, roll: Float, into regions: inout [Region]) {
        // The frame's extent in the turned patch's own axes, and a stride that lets every window lie whole in a patch.
        let angle = radians(roll)
        let (c, s) = (abs(cosine(angle)), abs(sine(angle)))
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
                regions.append(Region(center: center, scale: scale, roll: roll))
            }
        }
    }

    /// The next slice; after the last comes the first again.
    mutating func advance() -> Region {
        defer { next = (next + 1) % regions.count }
        return regions[next]
    }

    /// Begins again with the largest faces.
    mutating func restart() { next = 0 }
}
