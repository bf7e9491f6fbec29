/// A position in a picture: pixels, origin at the top left, x to the right, y downward. Whole numbers are pixel centres.
public typealias Point = SIMD2<Float>

extension SIMD2<Float> {
    /// The Euclidean length, in the vector's own unit.
    public var length: Float { (x * x + y * y).squareRoot() }
}

/// The vector square to both, as long as the area between them.
@inlinable
public func cross(_ a: SIMD3<Float>, _ b: SIMD3<Float>) -> SIMD3<Float> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// An upright rectangle in a picture: pixels, origin at the top left.
public struct Rect: Equatable, Sendable {
    /// Of the left edge.
    public var x: Float
    /// Of the top edge.
    public var y: Float
    /// Pixels.
    public var width: Float
    /// Pixels.
    public var height: Float

    /// A rectangle by its top left corner and size.
    public init(x: Float, y: Float, width: Float, height: Float) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// The same rectangle in whole pixels, by its edges.
    public init(_ pixels: PixelRect) {
        self.init(x: Float(pixels.x), y: Float(pixels.y), width: Float(pixels.width), height: Float(pixels.height))
    }

    /// Where the diagonals cross.
    public var center: Point { Point(x + width / 2, y + height / 2) }
    /// Square pixels.
    public var area: Float { width * height }

    /// The area that both share, in square pixels; 0 where they do not touch.
    public func overlap(_ other: Rect) -> Float {
        let w = min(x + width, other.x + other.width) - max(x, other.x)
        let h = min(y + height, other.y + other.height) - max(y, other.y)
        return w > 0 && h > 0 ? w * h : 0
    }
}

/// A whole-pixel rectangle, half open: `x ..< x + width`.
public struct PixelRect: Equatable, Sendable {
    /// Of the first column.
    public var x: Int
    /// Of the first row.
    public var y: Int
    /// Columns.
    public var width: Int
    /// Rows.
    public var height: Int

    /// A rectangle by its first pixel and size.
    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// True where no pixel lies in it.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The part of this rectangle that lies inside a picture of that size; empty where there is none.
    public func clamped(width limitX: Int, height limitY: Int) -> PixelRect {
        let left = max(0, min(x, limitX))
        let top = max(0, min(y, limitY))
        let right = max(left, min(x + width, limitX))
        let bottom = max(top, min(y + height, limitY))
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// The same with its odd left and top edges moved outwards, since chroma is shared between neighbours.
    func evenPiece(width limitX: Int, height limitY: Int) -> PixelRect {
        let piece = clamped(width: limitX, height: limitY)
        let (left, top) = (piece.x & 1, piece.y & 1)
        return PixelRect(
            x: piece.x - left, y: piece.y - top, width: piece.width + left, height: piece.height + top)
    }
}

/// A plane affine map: `x' = a x + b y + tx`, `y' = c x + d y + ty`.
public struct Affine: Equatable, Sendable {
    /// x' for each x.
    public var a: Float
    /// x' for each y.
    public var b: Float
    /// y' for each x.
    public var c: Float
    /// y' for each y.
    public var d: Float
    /// x' of the origin.
    public var tx: Float
    /// y' of the origin.
    public var ty: Float

    /// Leaves all as it is.
    public static let identity = Affine(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

    /// A map by its six numbers.
    public init(a: Float, b: Float, c: Float, d: Float, tx: Float, ty: Float) {
        (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
    }

    /// Scales, turns by `angle` radians (clockwise as seen, since y points down), and puts the origin at `origin`.
    public init(scale: Float, angle: Float, origin: Point) {
        let c = cos(angle) * scale
        let s = sin(angle) * scale
        self.init(a: c, b: -s, c: s, d: c, tx: origin.x, ty: origin.y)
    }

    /// The image of a point.
    public func callAsFunction(_ p: Point) -> Point {
        Point(a * p.x + b * p.y + tx, c * p.x + d * p.y + ty)
    }

    /// The map without its shift: for directions and distances.
    public func linear(_ v: Point) -> Point { Point(a * v.x + b * v.y, c * v.x + d * v.y) }

    /// The factor by which areas grow.
    public var determinant: Float { a * d - b * c }

    /// The map back; nil where this one folds the plane onto a line.
    public var inverse: Affine? {
        let det = determinant
        guard abs(det) > 1e-12, det.isFinite else { return nil }
        let (ia, ib, ic, id) = (d / det, -b / det, -c / det, a / det)
        return Affine(a: ia, b: ib, c: ic, d: id, tx: -(ia * tx + ib * ty), ty: -(ic * tx + id * ty))
    }

    /// First `other`, then this.
    public func after(_ o: Affine) -> Affine {
        Affine(
            a: a * o.a + b * o.c, b: a * o.b + b * o.d, c: c * o.a + d * o.c, d: c * o.b + d * o.d,
            tx: a * o.tx + b * o.ty + tx, ty: c * o.tx + d * o.ty + ty)
    }
}
