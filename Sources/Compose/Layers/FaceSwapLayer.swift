import Frames
import JSON
import Track

extension LayerKind {
    static let swap = LayerKind("swap", allowsBehind: false, onPicture: { try FaceSwapLayer(&$0, $1) })
}

/// A layer that swaps the two largest faces in the picture, each in the other's light and colours. With one face it
/// draws nothing.
struct FaceSwapLayer: PictureLayer {
    /// Soft edges fade from the first to the second of these outlines, relative to the features' outline.
    private static let (full, none): (Float, Float) = (0.78, 1)

    /// The layer has no keys of its own.
    init(_ fields: inout Fields, _ context: LayerContext) throws {}

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let count = scene.trackedFaces.count
        guard count >= 2, appearance.opacity > 0 else { return }
        let (one, other) = (scene.trackedFaces[count - 1].face, scene.trackedFaces[count - 2].face)
        let (here, there) = (HeadOutline(features: one), HeadOutline(features: other))
        guard here.isSound, there.isSound, let map = Self.map(from: one, to: other), let back = map.inverse,
            canvas.effects.first.copyPixels(here.box(grown: 1.1), of: canvas.frame),
            canvas.effects.second.copyPixels(there.box(grown: 1.1), of: canvas.frame)
        else { return }
        let (mine, yours) = (FaceColors(canvas.effects.first, here), FaceColors(canvas.effects.second, there))
        let range = canvas.frame.layout.range
        mine.recolor(&canvas.effects.first, like: yours, in: range)
        yours.recolor(&canvas.effects.second, like: mine, in: range)
        guard canvas.layer.begin(there.box(), in: canvas.frame.layout) else { return }
        canvas.layer.draw(canvas.effects.first, by: map)
        canvas.fadeLayer(there, full: Self.full, none: Self.none)
        canvas.drawLayer(opacity: appearance.opacity)
        guard canvas.layer.begin(here.box(), in: canvas.frame.layout) else { return }
        canvas.layer.draw(canvas.effects.second, by: back)
        canvas.fadeLayer(here, full: Self.full, none: Self.none)
        canvas.drawLayer(opacity: appearance.opacity)
    }

    /// The similarity transform that maps one face's eyes and mouth as closely as possible to the other's (least
    /// squares).
    private static func map(from: borrowing Face, to: borrowing Face) -> Affine? {
        let a: [3 of Point] = [from[.rightEye], from[.leftEye], from[.mouth]]
        let b: [3 of Point] = [to[.rightEye], to[.leftEye], to[.mouth]]
        let (p, q) = ((a[0] + a[1] + a[2]) / 3, (b[0] + b[1] + b[2]) / 3)
        // Rotation and scale as a complex number: the sum of conj(a) b over the sum of |a|^2.
        var (real, imaginary, length) = (Float(0), Float(0), Float(0))
        for i in 0..<3 {
            let (u, v) = (a[i] - p, b[i] - q)
            real += u.x * v.x + u.y * v.y
            imaginary += u.x * v.y - u.y * v.x
            length += u.x * u.x + u.y * u.y
        }
        guard length > 1 else { return nil }
        let (c, s) = (real / length, imaginary / length)
        return Affine(a: c, b: -s, c: s, d: c, tx: q.x - c * p.x + s * p.y, ty: q.y - s * p.x - c * p.y)
    }
}

extension Canvas {
    /// Fades the layer buffer from the outline grown by `full` to nothing at the outline grown by `none`.
    fileprivate mutating func fadeLayer(_ outline: HeadOutline, full: Float, none: Float) {
        let (piece, stride) = (layer.region, layer.stride)
        var pixels = layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let cover = outline.cover(Point(Float(piece.x + x), Float(piece.y + y)), full: full, none: none)
                guard cover < 1 else { continue }
                pixels[y * stride + x] = faded(pixels[y * stride + x], UInt32(cover * 256))
            }
        }
    }
}
