/// A position in a picture, in pixels: origin at the top left, x to the right, y down. Integers are pixel centres.
public typealias Point = SIMD2<Float>

extension SIMD2<Float> {
    /// The Euclidean length, in the vector's own unit.
    public var length: Float { (x * x + y * y).squareRoot() }
}

/// The cross product: perpendicular to both vectors; its length is the area of the parallelogram between them.
@inlinable
public func cross(_ a: SIMD3<Float>, _ b: SIMD3<Float>) -> SIMD3<Float> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// An axis-aligned rectangle in a picture: pixels, origin at the top left.
public struct Rect: Equatable, Sendable {
    /// The left edge, pixels.
    public var x: Float
    /// The top edge, pixels.
    public var y: Float
    /// The width in pixels.
    public var width: Float
    /// The height in pixels.
    public var height: Float

    /// A rectangle by its top left corner and size.
    public init(x: Float, y: Float, width: Float, height: Float) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// A whole-pixel rectangle in floating-point coordinates, by its edges.
    public init(_ pixels: PixelRect) {
        self.init(x: Float(pixels.x), y: Float(pixels.y), width: Float(pixels.width), height: Float(pixels.height))
    }

    /// The centre, in pixels.
    public var center: Point { Point(x + width / 2, y + height / 2) }
    /// The area in square pixels.
    public var area: Float { width * height }

    /// The area of the intersection, in square pixels; 0 if the rectangles don't intersect.
    public func overlap(_ other: Rect) -> Float {
        let w = min(x + width, other.x + other.width) - max(x, other.x)
        let h = min(y + height, other.y + other.height) - max(y, other.y)
        return w > 0 && h > 0 ? w * h : 0
    }
}

/// A whole-pixel rectangle, half open: `x ..< x + width`.
public struct PixelRect: Equatable, Sendable {
    /// The first column.
    public var x: Int
    /// The first row.
    public var y: Int
    /// The number of columns.
    public var width: Int
    /// The number of rows.
    public var height: Int

    /// A rectangle by its first pixel and size.
    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// Whether the rectangle contains no pixel.
    public var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The part of this rectangle that is inside a picture of the given size; empty if there is none.
    public func clamped(width limitX: Int, height limitY: Int) -> PixelRect {
        let left = max(0, min(x, limitX))
        let top = max(0, min(y, limitY))
        let right = max(left, min(x + width, limitX))
        let bottom = max(top, min(y + height, limitY))
        return PixelRect(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// The part of this rectangle inside a picture, with odd left and top edges moved outwards to even ones, since
    /// neighbouring pixels share chroma.
    func evenPiece(width limitX: Int, height limitY: Int) -> PixelRect {
        let piece = clamped(width: limitX, height: limitY)
        guard !piece.isEmpty else { return piece }
        let (left, top) = (piece.x & 1, piece.y & 1)
        return PixelRect(
            x: piece.x - left, y: piece.y - top, width: piece.width + left, height: piece.height + top)
    }
}

/// An affine map of the plane: `x' = a x + b y + tx`, `y' = c x + d y + ty`.
public struct Affine: Equatable, Sendable {
    /// The coefficient of x in x'.
    public var a: Float
    /// The coefficient of y in x'.
    public var b: Float
    /// The coefficient of x in y'.
    public var c: Float
    /// The coefficient of y in y'.
    public var d: Float
    /// The translation of x'.
    public var tx: Float
    /// The translation of y'.
    public var ty: Float

    /// The map that changes nothing.
    public static let identity = Affine(a: 1, b: 0, c: 0, d: 1, tx: 0, ty: 0)

    /// A map by its six coefficients.
    public init(a: Float, b: Float, c: Float, d: Float, tx: Float, ty: Float) {
        (self.a, self.b, self.c, self.d, self.tx, self.ty) = (a, b, c, d, tx, ty)
    }

    /// A map that scales, rotates by `angle` radians (clockwise on screen, since y points down), and moves the origin
    /// to `origin`.
    public init(scale: Float, angle: Float, origin: Point) {
        let c = cos(angle) * scale
        let s = sin(angle) * scale
        self.init(a: c, b: -s, c: s, d: c, tx: origin.x, ty: origin.y)
    }

    /// Maps a point.
    public func callAsFunction(_ p: Point) -> Point {
        Point(a * p.x + b * p.y + tx, c * p.x + d * p.y + ty)
    }

    /// Maps a vector without the translation: for directions and distances.
    public func linear(_ v: Point) -> Point { Point(a * v.x + b * v.y, c * v.x + d * v.y) }

    /// The factor by which the map scales areas, negative if it mirrors.
    public var determinant: Float { a * d - b * c }

    /// The inverse map; nil if this one is singular or not finite.
    public var inverse: Affine? {
        let det = determinant
        guard abs(det) > 1e-12, det.isFinite else { return nil }
        let (ia, ib, ic, id) = (d / det, -b / det, -c / det, a / det)
        return Affine(a: ia, b: ib, c: ic, d: id, tx: -(ia * tx + ib * ty), ty: -(ic * tx + id * ty))
    }

    /// The composition of two maps: first `o`, then this one.
    public func after(_ o: Affine) -> Affine {
        Affine(
            a: a * o.a + b * o.c, b: a * o.b + b * o.d, c: c * o.a + d * o.c, d: c * o.b + d * o.d,
            tx: a * o.tx + b * o.ty + tx, ty: c * o.tx + d * o.ty + ty)
    }
}
