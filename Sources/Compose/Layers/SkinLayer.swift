import Frames
import JSON
import Track

/// Art on the face chart, bent to the face and lit by its skin: paint, tattoos, whole-face masks.
struct SkinLayer: Layer {
    /// Whether what lies between lids or lips, or hair over the forehead, is drawn over.
    enum Opening: String, CaseIterable { case open, covered }

    let uv: FaceUVArt
    /// 0...1: how much of the skin's light and shade the art takes up.
    let relief: Float
    /// Whether hair that falls over the forehead is painted over.
    let coversHair: Bool

    /// The skin's luma above black under which art has its own brightness, and the power by which it grows darker on
    /// darker skin: half of that is the skin's own colour, half the light.
    static let (wellLit, dimming): (Float, Float) = (140, 0.5)

    /// - Throws: `Problem` with file and line for what is wrong in the description or the art.
    init(_ fields: inout Fields, _ parts: LayerParts) throws {
        let name = try fields.string("art")
        var edges = FaceUVEdges()
        edges.hasEyes = try fields.choice("eyes", default: Opening.open) == .covered
        edges.hasMouth = try fields.choice("mouth", default: Opening.open) == .covered
        coversHair = try fields.choice("hair", default: Opening.open) == .covered
        edges.feather = Float(try fields.number("feather", in: 0...0.5, default: 0.09)) * CanonicalFaceUV.unit
        relief = Float(try fields.number("relief", in: 0...1, default: 0.8))
        let art = try Art(
            file: name, folder: parts.folder, density: parts.target.eyeDistance / CanonicalFaceUV.unit,
            range: parts.target.range
        ) {
            parts.style.tint?.apply(&$0)
            edges.fadeEdges(&$0)
        }
        uv = FaceUVArt(art: art, triangles: CanonicalFaceUV.triangles(eyes: edges.hasEyes, mouth: edges.hasMouth))
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let places = CanonicalFaceUV.place(on: tracked.face)
        guard FaceUVArt.beginLayer(places, on: &canvas) else { return }
        uv.draw(tracked.face, places, on: &canvas.layer)
        let ground = FaceBackdrop.samples(places, in: canvas.frame)
        if let ground, !coversHair { canvas.keyOutHair(ground, tracked.face) }
        canvas.drawLayer(Paint(appearance, on: ground, relief: relief, dimming: Self.dimming))
    }
}

extension Canvas {
    /// Of the skin's luma: hair is darker than the first, and what is lighter than the second is skin, in the shade too.
    private static let hair: (dark: Float, light: Float) = (0.36, 0.6)
    /// Eye distances above the brows over which hair begins to count, so that brows do not.
    private static let onset: Float = 0.15

    /// Takes the tile's art off hair that falls over the forehead.
    fileprivate mutating func keyOutHair(_ skin: BackdropSamples, _ face: borrowing Face) {
        let up = Point(0 - face.head.x.y, 0 - face.head.y.y)
        let height = max(up.length, 1e-3)
        var brows = -Float.infinity
        for i in 17...26 { brows = max(brows, (face.landmarks[i] * up).sum() / height) }
        let share = 1 / (Self.onset * max(face.head.scale, 1e-3))
        let black = skin.sample - skin.luma
        keyOutDark(
            &layer, dark: black + Self.hair.dark * skin.luma...black + Self.hair.light * skin.luma,
            side: SIMD3(up.x / height, up.y / height, 0 - brows) * share, over: frame)
    }
}

extension Paint {
    /// Art in the light of the skin that it lies on.
    /// - Parameters:
    ///   - relief: 0...1.
    ///   - dimming: the power by which art grows darker on darker skin.
    init(_ appearance: Appearance, on skin: BackdropSamples?, relief: Float, dimming: Float) {
        self = appearance.paint
        guard let skin, appearance.light > 0 else { return }
        // No brighter than drawn: what is white stays paint and does not glow.
        let light = min(1.05, exp(dimming * log(max(skin.luma, 8) / SkinLayer.wellLit)))
        gain = 1 + (light - 1) * appearance.light
        self.relief = ShadingTransfer(reference: skin.sample, strength: relief)
    }
}
