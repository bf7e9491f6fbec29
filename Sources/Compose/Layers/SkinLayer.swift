import Frames
import JSON
import Track

extension LayerKind {
    static let skin = LayerKind("skin", paint: .all, onFaces: { try SkinLayer(&$0, $1) })
}

/// A layer of art on the UV chart, warped to the face and lit like its skin: paint, tattoos, whole-face masks.
struct SkinLayer: Layer {
    /// Whether the eyes, the mouth, or hair over the forehead are covered by the art.
    enum Opening: String, CaseIterable { case open, covered }

    let uv: FaceUVArt
    /// How much of the skin's shading the art takes on, 0...1.
    let shading: Float
    /// Whether the art covers hair that falls over the forehead.
    let coversHair: Bool

    /// The skin's luma above black level at which art has its own brightness, and the exponent by which art gets darker
    /// on darker skin. The exponent is 0.5 because half of the skin's darkness is its own colour, half the light.
    static let (wellLit, dimming): (Float, Float) = (140, 0.5)

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let name = try fields.string("art")
        var edges = FaceUVEdges()
        edges.hasEyes = try fields.choice("eyes", default: Opening.open) == .covered
        edges.hasMouth = try fields.choice("mouth", default: Opening.open) == .covered
        coversHair = try fields.choice("hair", default: Opening.open) == .covered
        edges.feather = Float(try fields.number("feather", in: 0...0.5, default: 0.09)) * CanonicalFaceUV.unit
        try fields.refuse("relief", renamedTo: "shading")
        shading = Float(try fields.number("shading", in: 0...1, default: 0.8))
        let art = try Art(
            file: name, folder: context.folder, density: context.target.eyeDistance / CanonicalFaceUV.unit,
            range: context.target.range
        ) {
            context.style.tint?.apply(&$0)
            edges.fadeEdges(&$0)
        }
        uv = FaceUVArt(art: art, triangles: CanonicalFaceUV.triangles(eyes: edges.hasEyes, mouth: edges.hasMouth))
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let positions = CanonicalFaceUV.positions(on: tracked.face)
        guard FaceUVArt.beginLayer(positions, on: &canvas) else { return }
        uv.draw(tracked.face, positions, on: &canvas.layer)
        let backdrop = FaceBackdrop.samples(positions, in: canvas.frame)
        if let backdrop, !coversHair { canvas.keyOutHair(backdrop, tracked.face) }
        canvas.drawLayer(
            Paint(appearance, under: tracked.light, on: backdrop, shading: shading, dimming: Self.dimming))
    }
}

extension Canvas {
    /// Luma relative to the skin's: up to the first it is hair; from the second on it is skin, even in the shade.
    private static let hair: (dark: Float, light: Float) = (0.36, 0.6)
    /// Height above the brows, in eye distances, over which the removal sets in, so that brows don't count as hair.
    private static let onset: Float = 0.15

    /// Removes the layer buffer's art over hair that falls over the forehead.
    fileprivate mutating func keyOutHair(_ skin: BackdropSamples, _ face: borrowing Face) {
        let up = Point(0 - face.head.x.y, 0 - face.head.y.y)
        let height = max(up.length, 1e-3)
        var brows = -Float.infinity
        for i in 17...26 { brows = max(brows, (face.landmarks[i] * up).sum() / height) }
        let scale = 1 / (Self.onset * max(face.head.scale, 1e-3))
        let black = skin.sample - skin.luma
        keyOutDark(
            &layer, dark: black + Self.hair.dark * skin.luma...black + Self.hair.light * skin.luma,
            side: SIMD3(up.x / height, up.y / height, 0 - brows) * scale, over: frame)
    }
}

extension Paint {
    /// The paint for art in the light of the skin under it.
    /// - Parameters:
    ///   - faceLight: the light on the face, of which only the saturation counts.
    ///   - skin: the skin's mean samples; nil: art keeps its own brightness.
    ///   - shading: how much of the skin's shading the art takes on, 0...1.
    ///   - dimming: the exponent by which art gets darker on darker skin.
    init(
        _ appearance: Appearance, under faceLight: FaceLight, on skin: BackdropSamples?, shading: Float, dimming: Float
    ) {
        self = appearance.paint(litBy: faceLight)
        guard let skin, appearance.light > 0 else { return }
        // Hardly brighter than drawn, so that white looks like paint and doesn't glow.
        let light = min(1.05, exp(dimming * log(max(skin.luma, 8) / SkinLayer.wellLit)))
        gain = 1 + (light - 1) * appearance.light
        self.shading = ShadingTransfer(reference: skin.sample, strength: shading)
    }
}
