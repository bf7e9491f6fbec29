import Frames
import JSON
import Track

extension LayerKind {
    static let faceBlend = LayerKind("faceblend", onFaces: { try FaceBlendLayer(&$0, $1) })
}

/// A layer that blends a portrait with the person's features. Its art is pinned like a sprite's: with three pins, eyes
/// and nose, if the picture's own eyes must match the person's; with one, for a head without features.
struct FaceBlendLayer: Layer {
    enum Mode: String, CaseIterable, Sendable {
        /// The face's shading is transferred to the art: a bust of the person.
        case multiply
        /// The face itself shows through the art, with a soft edge.
        case feather
    }

    private let sprite: SpriteLayer
    private let mode: Mode
    /// For multiply, the strength of the shading, 0...1.5; for feather, the visibility of the face, of which 1 is the
    /// most.
    private let strength: Float

    /// The effect fades out between these parts of the features' outline.
    private static let (full, none): (Float, Float) = (0.7, 0.96)
    /// Limits of the face's luma relative to its mean, against glare on glasses and dark nostrils; and the strength of
    /// shading that is brighter than the mean, which is lower because the art is bright already.
    private static let (darkest, brightest, shine): (Float, Float, Float) = (0.3, 1.5, 0.35)

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        mode = try fields.oneOf("mode", Mode.self)
        strength = Float(try fields.number("strength", in: 0...1.5, default: 1))
        sprite = try SpriteLayer(&fields, context)
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        guard let map = sprite.placement(on: tracked.face) else { return }
        let level = sprite.pictures[sprite.timeline.frame(at: appearance.time)].level(
            forScale: abs(map.determinant).squareRoot())
        guard let toArt = level.map.inverse else { return }
        let whole = map.after(toArt)
        guard canvas.layer.begin(Self.box(level.sprite, whole), in: canvas.frame.layout) else { return }
        canvas.layer.draw(level.sprite, by: whole)
        let features = HeadOutline(features: tracked.face)
        guard features.isSound, canvas.effects.first.copyPixels(features.box(grown: Self.none), of: canvas.frame) else {
            return canvas.drawLayer(opacity: appearance.opacity)
        }
        let skin = FaceColors(canvas.effects.first, features)
        switch mode {
        case .multiply:
            let shading = FaceShading(
                mean: skin.mean.x, black: Float(canvas.frame.layout.range.black), darkest: Self.darkest,
                brightest: Self.brightest, shade: strength, shine: Self.shine * strength)
            canvas.layer.transferShading(
                shading, by: canvas.effects.first, within: features.soft(full: Self.full, none: Self.none))
        case .feather: makeTransparent(&canvas.layer, features)
        }
        canvas.drawLayer(opacity: appearance.opacity)
    }

    /// The upright bounding box of a sprite under a map, in pixels.
    private static func box(_ sprite: borrowing Sprite, _ map: Affine) -> PixelRect {
        let size = Point(Float(sprite.width - 1), Float(sprite.height - 1))
        var (low, high) = (map(.zero), map(.zero))
        for corner in 1..<4 {
            let p = map(size * Point(Float(corner & 1), Float(corner >> 1)))
            (low, high) = (pointwiseMin(low, p), pointwiseMax(high, p))
        }
        let edge: Float = 100_000  // keeps Int conversions defined
        func whole(_ value: Float) -> Int { value.isFinite ? Int(max(-edge, min(edge, value))) : 0 }
        return PixelRect(
            x: whole(low.x), y: whole(low.y), width: whole(high.x - low.x) + 2, height: whole(high.y - low.y) + 2)
    }

    /// Makes the art transparent over the features.
    private func makeTransparent(_ layer: inout LayerBuffer, _ features: HeadOutline) {
        let (piece, stride) = (layer.region, layer.stride)
        var pixels = layer.pixels
        for y in piece.y..<piece.y + piece.height {
            for x in features.columns(y, grown: Self.none).clamped(to: piece.x..<piece.x + piece.width) {
                let at = (y - piece.y) * stride + x - piece.x
                let shown =
                    features.cover(Point(Float(x), Float(y)), full: Self.full, none: Self.none) * min(1, strength)
                pixels[at] = faded(pixels[at], UInt32((1 - shown) * 256))
            }
        }
    }
}
