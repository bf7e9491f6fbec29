import Frames
import JSON

/// The material of a part of a mesh.
struct Material: Sendable {
    /// Names of finishes and their textures, by how they reflect light.
    enum Preset: String, CaseIterable, Sendable {
        case plain, felt, velvet, cloth, satin, knit, fur, leather, straw, paper, wood, plastic, metal
    }

    /// Luma above black level, and U and V relative to 128, in samples of the frame's range.
    let color: SIMD3<Float>
    /// Whether the layer's tint replaces its colour and tints its picture.
    let isTinted: Bool
    /// How its surface reflects light.
    let finish: Finish
    /// The texture; nil: none.
    let grain: Grain?
    /// The picture on the surface; nil: none.
    var picture: Art?
    /// Opacity: 1 is opaque, less is like glass.
    let opacity: Float
    /// Factor for the brightness of a sheet's inner side.
    let inside: Float

    /// How a surface reflects light.
    struct Finish: Sendable {
        /// How far the light wraps around: 0 as on stone, 1 as on down.
        var wrap: Float = 0.25
        /// Strength of the specular highlight, 0...1.
        var gloss: Float = 0
        /// Sharpness of the highlight: how often its cosine is squared.
        var specularExponentLog2 = 3
        /// Brightness of edges, as on velvet.
        var sheen: Float = 0
        /// How much the surroundings are reflected in the surface's own colour, 0...1.
        var metal: Float = 0
        /// How much the surface glows, 0...1.
        var glow: Float = 0
    }

    /// Reads a material's description.
    /// - Parameters:
    ///   - folder: the mask's folder; no path in the description may lead outside it.
    ///   - tint: replaces the colour of tinted materials; nil: nothing is tinted.
    /// - Throws: `Problem` with file and line for an error in the description or the picture.
    init(_ fields: inout Fields, folder: String, range: ColorRange, tint: Tint?) throws {
        // Light multiplies the luma above black; U and V are relative to 128.
        let black = Float(range.black)
        let own = try fields.color("color", default: "#ffffff")
        isTinted = try fields.bool("tinted", default: false)
        let shown = isTinted ? tint?.color ?? own : own
        color = shown.yuv(range) - [black, 128, 128]
        try fields.refuse("look", renamedTo: "finish")
        let preset = try fields.choice("finish", default: Preset.plain)
        var finish = Self.finish(preset)
        finish.gloss = Float(try fields.number("gloss", in: 0...1, default: Double(finish.gloss)))
        let roughness = try fields.number("roughness", in: 0...1, default: -1)
        // From a mirror (the cosine to the power of 128) to no highlight: the cosine itself would lighten half of the
        // surface.
        if roughness >= 0 { finish.specularExponentLog2 = Int((7 * (1 - roughness)).rounded()) }
        if finish.specularExponentLog2 == 0 { finish.gloss = 0 }
        finish.metal = Float(try fields.number("metal", in: 0...1, default: Double(finish.metal)))
        finish.sheen = Float(try fields.number("sheen", in: 0...1, default: Double(finish.sheen)))
        finish.glow = Float(try fields.number("glow", in: 0...1, default: 0))
        self.finish = finish
        grain = Self.grain(preset)
        opacity = Float(try fields.number("opacity", in: 0...1, default: 1))
        inside = Float(try fields.number("inside", in: 0...1, default: 0.55))
        if fields.has("picture") {
            let name = try fields.string("picture")
            let dye = isTinted ? tint : nil
            picture = try Art(
                file: name, folder: folder, density: .infinity, range: range, largest: 512
            ) {
                dye?.apply(&$0)
            }
        } else {
            picture = nil
        }
        try fields.finish()
    }

    /// Makes a material from the values of a model.
    init(color: SIMD3<Float>, finish: Finish, picture: Art?, opacity: Float) {
        (self.color, self.finish, self.picture, self.opacity) = (color, finish, picture, opacity)
        (isTinted, grain, inside) = (false, nil, 0.55)
    }

    private static func finish(_ preset: Preset) -> Finish {
        switch preset {
        case .plain, .paper: Finish(wrap: 0.3)
        case .felt: Finish(wrap: 0.5, sheen: 0.12)
        case .velvet: Finish(wrap: 0.25, sheen: 0.55)
        case .cloth, .knit: Finish(wrap: 0.45, sheen: 0.06)
        case .satin: Finish(wrap: 0.2, gloss: 0.4, specularExponentLog2: 3)
        case .fur: Finish(wrap: 0.8, sheen: 0.15)
        case .leather: Finish(wrap: 0.25, gloss: 0.22, specularExponentLog2: 3)
        case .straw, .wood: Finish(wrap: 0.35, gloss: 0.08, specularExponentLog2: 2)
        case .plastic: Finish(wrap: 0.2, gloss: 0.55, specularExponentLog2: 5)
        case .metal: Finish(wrap: 0.1, gloss: 0.8, specularExponentLog2: 5, metal: 1)
        }
    }

    private static func grain(_ preset: Preset) -> Grain? {
        switch preset {
        case .felt, .velvet: GrainTextures.felt
        case .cloth: GrainTextures.cloth
        case .knit: GrainTextures.knit
        case .fur: GrainTextures.fur
        case .leather: GrainTextures.leather
        case .straw: GrainTextures.straw
        case .paper: GrainTextures.paper
        case .wood: GrainTextures.wood
        case .plain, .satin, .plastic, .metal: nil
        }
    }
}
