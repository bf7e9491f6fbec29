import Frames
import JSON
import Track

extension LayerKind {
    static let makeup = LayerKind("makeup", paint: [.blend, .light], onFaces: { try MakeupLayer(&$0, $1) })
}

/// Make-up: rendered once on the UV chart from a few parameters, then warped to the face like other skin art. As with
/// real pigment, colours take on all of the skin's light and texture, and are darker on darker skin.
struct MakeupLayer: Layer {
    /// The colours; nil if the layer only smooths skin.
    private let colors: FaceUVArt?
    /// The area of skin to smooth; nil if none is smoothed.
    private let skinArea: FaceUVArt?
    /// How much skin is smoothed, 0...1.
    private let smoothness: Float
    /// How much the skin's colour is evened out, 0...1. The effect is scaled by the larger of this and `smoothness`.
    private let evenness: Float

    /// The exponent by which pigment gets darker on darker skin and in dimmer light.
    private static let dimming: Float = 0.75

    /// Reads the layer's description.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let drawing = MakeupDrawing(
            colors: try Self.palette(&fields, selected: context.target.choices["palette"]),
            lips: try Self.part(&fields, "lips", "gloss"),
            shadow: try Self.part(&fields, "shadow", "reach", "shimmer", "under"),
            liner: try Self.part(&fields, "liner", "width", "wing", "lower"),
            lashes: try Self.part(&fields, "lashes"),
            brows: try Self.part(&fields, "brows"),
            blush: try Self.part(&fields, "blush"),
            contour: try Self.part(&fields, "contour"),
            highlight: try Self.part(&fields, "highlight"))
        let skin = try Self.part(&fields, "skin", "even")
        (smoothness, evenness) = (skin["strength"] ?? 0, skin["even"] ?? 0)
        // Lashes start right at the lid's edge, and the lips of a closed mouth touch.
        var edges = FaceUVEdges()
        (edges.lidFeather, edges.lipFeather) = (0.7, 0.8)
        let triangles = CanonicalFaceUV.triangles(eyes: false, mouth: false)
        let density = context.target.eyeDistance / CanonicalFaceUV.unit
        let shapes = drawing.shapes
        if shapes.isEmpty {
            colors = nil
        } else {
            let art = try Art(svg: drawing.svg(shapes), density: density, range: context.target.range) {
                edges.fadeEdges(&$0)
            }
            colors = FaceUVArt(art: art, triangles: triangles)
        }
        if smoothness > 0 || evenness > 0 {
            // A third of the density, since it is only drawn on the smoother's reduced picture.
            let art = try Art(svg: drawing.bareSkin, density: density / 3, range: context.target.range) {
                edges.fadeEdges(&$0)
            }
            skinArea = FaceUVArt(art: art, triangles: triangles)
        } else {
            skinArea = nil
        }
        guard colors != nil || skinArea != nil else {
            throw fields.wrong(
                "lips", "missing, and so are all other parts",
                allowed: "at least one of lips, shadow, liner, lashes, brows, blush, contour, highlight, skin")
        }
    }

    /// The parameters of one part by their names, 0...1 each; empty if the part is absent.
    private static func part(_ fields: inout Fields, _ name: String, _ more: String...) throws -> [String: Float] {
        guard fields.has(name) else { return [:] }
        var part = try fields.object(name)
        var values: [String: Float] = [:]
        values["strength"] = Float(try part.number("strength", in: 0...1))
        for key in more { values[key] = Float(try part.number(key, in: 0...1, default: 0)) }
        try part.finish()
        return values
    }

    /// The colours of the palette that the user selected, or else of the one that the mask names. Default colours if
    /// there are no palettes.
    private static func palette(_ fields: inout Fields, selected: String?) throws -> [Pigment: String] {
        var colors = Dictionary(uniqueKeysWithValues: Pigment.allCases.map { ($0, $0.defaultColor) })
        var palettes: [String: [Pigment: String]] = [:]
        if let json = fields.json("palettes") {
            guard case .object(let members) = json.value else {
                throw fields.wrong("palettes", json.kindName, allowed: "an object of palettes by their names")
            }
            for member in members {
                var entry = try Fields(member.value, file: fields.file, path: "palettes.\(member.key)")
                var palette: [Pigment: String] = [:]
                for pigment in Pigment.allCases where entry.has(pigment.rawValue) {
                    let color = try entry.string(pigment.rawValue)
                    guard Color(color) != nil else {
                        throw entry.wrong(
                            pigment.rawValue, "'\(color)', which is not a colour", allowed: "#rrggbb, as in #b03040")
                    }
                    palette[pigment] = color
                }
                try entry.finish()
                palettes[member.key] = palette
            }
        }
        let names = palettes.keys.sorted()
        guard fields.has("palette") || !names.isEmpty else { return colors }
        let name = try fields.string("palette", default: names.first)
        guard let palette = palettes[name] else {
            let hint = nearest(to: name, among: names).map { "did you mean '\($0)'? " } ?? ""
            throw fields.wrong(
                "palette", "'\(name)', which is not among the palettes",
                allowed: names.isEmpty
                    ? "a name from 'palettes', which is missing" : hint + names.joined(separator: ", "))
        }
        colors.merge(selected.flatMap { palettes[$0] } ?? palette) { $1 }
        return colors
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let positions = CanonicalFaceUV.positions(on: tracked.face)
        let backdrop = FaceBackdrop.samples(positions, in: canvas.frame)
        if let skinArea, let backdrop {
            let settings = SkinSmoothing(
                strength: smoothness * appearance.opacity,
                evenness: max(smoothness, evenness) * evenness * appearance.opacity, chroma: backdrop.chroma)
            canvas.smooth(settings, where: skinArea, tracked.face, positions)
        }
        if let colors, FaceUVArt.beginLayer(positions, on: &canvas) {
            colors.draw(tracked.face, positions, on: &canvas.layer)
            canvas.drawLayer(
                Paint(appearance, under: tracked.light, on: backdrop, shading: 1, dimming: Self.dimming))
        }
    }
}

extension Canvas {
    /// Smooths a face's skin.
    /// - Parameter skin: the area of skin, on the UV chart.
    fileprivate mutating func smooth(
        _ settings: SkinSmoothing, where skin: FaceUVArt, _ face: borrowing Face,
        _ positions: borrowing CanonicalFaceUV.Positions
    ) {
        guard let region = FaceUVArt.region(positions),
            let map = smoother.begin(over: region, of: frame.layout, eyeDistance: face.head.scale)
        else { return }
        skin.draw(face, positions, by: map, on: &smoother.mask)
        smoother.smooth(&frame, settings)
    }
}
