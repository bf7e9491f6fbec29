import Frames

/// The position, scale and rotation of a small upright patch cut from the frame.
public struct PatchTransform: Equatable, Sendable {
    /// The centre, pixels of the frame.
    public var center: Point
    /// Frame pixels per pixel of the patch.
    public var scale: Float
    /// Degrees; the patch's down is the frame's down rotated by this.
    public var roll: Float

    /// An upright square of the patch's size around its centre, pixels of the frame. It is not enlarged for a rotated
    /// patch, whose corners matter little.
    func bounds(side: Int) -> Rect {
        let size = Float(side) * scale
        return Rect(x: center.x - size / 2, y: center.y - size / 2, width: size, height: size)
    }

    /// The map from a square patch's pixels to the frame's.
    public func map(side: Int) -> Affine {
        let turn = Affine(scale: scale, angle: radians(roll), origin: .zero)
        let middle = Float(side - 1) / 2
        let corner = turn.linear(Point(middle, middle))
        return Affine(a: turn.a, b: turn.b, c: turn.c, d: turn.d, tx: center.x - corner.x, ty: center.y - corner.y)
    }
}
