import Frames
import JSON

/// What a part of a solid is made of.
struct Material: Sendable {
    /// Stuffs by how they take light.
    enum Look: String, CaseIterable, Sendable {
        case plain, felt, velvet, cloth, satin, knit, fur, leather, straw, paper, wood, plastic, metal
    }

    /// Luma above black, U and V about 128, of the frame's range.
    let color: SIMD3<Float>
    /// Whether it takes the colour of the layer's tint, and its picture is dyed in that.
    let isTinted: Bool
    let finish: Finish
    let grain: Grain?
    var picture: Art?
    /// 1 is opaque; less is glass.
    let opacity: Float
    /// What the inner side of a sheet is multiplied by.
    let inside: Float

    /// How light comes back from a surface.
    struct Finish: Sendable {
        /// How far round the edge the light reaches: 0 as on stone, 1 as on down.
        var wrap: Float = 0.25
        /// The highlight's strength, 0...1.
        var gloss: Float = 0
        /// The highlight's sharpness: how often its cosine is squared.
        var squarings = 3
        /// Brightness of edges, as velvet's.
        var sheen: Float = 0
        /// 0...1, how much the surroundings are mirrored in the surface's own colour.
        var metal: Float = 0
        /// 0...1, how far it shines by itself.
        var glow: Float = 0
    }

    /// - Parameters:
    ///   - folder: the mask's own folder, which no path of it may leave.
    ///   - tint: replaces the colour of what is tinted; nil: nothing is dyed.
    /// - Throws: `Problem` with file and line.
    init(_ fields: inout Fields, folder: String, range: ColorRange, tint: Tint?) throws {
        // Light multiplies what lies above black; U and V are about 128.
        let black: Float = range == .full ? 0 : 16
        let own = try fields.color("color", default: "#ffffff")
        isTinted = try fields.bool("tinted", default: false)
        let shown = isTinted ? tint?.color ?? own : own
        color = shown.yuv(range) - [black, 128, 128]
        let look = try fields.choice("look", default: Look.plain)
        var finish = Self.finish(look)
        finish.gloss = Float(try fields.number("gloss", in: 0...1, default: Double(finish.gloss)))
        let roughness = try fields.number("roughness", in: 0...1, default: -1)
        // From a mirror (7 squarings: a cosine to the 128th) to none.
        if roughness >= 0 { finish.squarings = Int((7 * (1 - roughness)).rounded()) }
        finish.metal = Float(try fields.number("metal", in: 0...1, default: Double(finish.metal)))
        finish.sheen = Float(try fields.number("sheen", in: 0...1, default: Double(finish.sheen)))
        finish.glow = Float(try fields.number("glow", in: 0...1, default: 0))
        self.finish = finish
        grain = Self.grain(look)
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

    /// By its parts: what a model says of one.
    init(color: SIMD3<Float>, finish: Finish, picture: Art?, opacity: Float) {
        (self.color, self.finish, self.picture, self.opacity) = (color, finish, picture, opacity)
        (isTinted, grain, inside) = (false, nil, 0.55)
    }

    private static func finish(_ look: Look) -> Finish {
        switch look {
        case .plain, .paper: Finish(wrap: 0.3)
        case .felt: Finish(wrap: 0.5, sheen: 0.12)
        case .velvet: Finish(wrap: 0.25, sheen: 0.55)
        case .cloth, .knit: Finish(wrap: 0.45, sheen: 0.06)
        case .satin: Finish(wrap: 0.2, gloss: 0.4, squarings: 3)
        case .fur: Finish(wrap: 0.8, sheen: 0.15)
        case .leather: Finish(wrap: 0.25, gloss: 0.22, squarings: 3)
        case .straw, .wood: Finish(wrap: 0.35, gloss: 0.08, squarings: 2)
        case .plastic: Finish(wrap: 0.2, gloss: 0.55, squarings: 5)
        case .metal: Finish(wrap: 0.1, gloss: 0.8, squarings: 5, metal: 1)
        }
    }

    private static func grain(_ look: Look) -> Grain? {
        switch look {
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

/// The light of one face's surroundings, in the picture's axes.
struct Lighting {
    /// From the face to the light.
    let direction: SIMD3<Float>
    /// Half way between the light and who looks.
    private let halfway: SIMD3<Float>
    private let gain: Float
    private let cast: SIMD3<Float>
    /// White's luma above black.
    private let white: Float

    init(_ light: FaceLight, range: ColorRange) {
        direction = light.direction
        halfway = normalized(light.direction + [0, 0, -1])
        gain = light.gain
        cast = [0, light.cast.x, light.cast.y]
        white = range == .full ? 255 : 219
    }

    /// The light's parts: what comes from all round (more from above than from below), and from the lamp.
    private static let (sky, ground, lamp): (Float, Float, Float) = (0.62, 0.34, 0.62)

    /// What a corner looks like: the lit colour and the light alone.
    /// - Parameters:
    ///   - normal: in the picture's axes, of length 1.
    ///   - shade: what its own light is multiplied by.
    @inline(__always)
    func color(_ base: SIMD3<Float>, _ finish: Material.Finish, normal: SIMD3<Float>, shade: Float) -> SIMD4<Float> {
        let up = 0.5 - normal.y * 0.5
        let facing = max(0, 0 - normal.z)
        let lit = max(0, (dot(normal, direction) + finish.wrap) / (1 + finish.wrap))
        let edge = (1 - facing) * (1 - facing)
        var light = Self.ground + (Self.sky - Self.ground) * up + Self.lamp * lit
        light += finish.sheen * edge * edge * (0.4 + up)
        var shine: Float = 0
        if finish.gloss > 0 {
            shine = max(0, dot(normal, halfway))
            for _ in 0..<finish.squarings { shine *= shine }
            shine *= finish.gloss
        }
        if finish.metal > 0 {
            // A mirrored room: dark below, a bright band at its middle, windows above.
            let mirrored = normal * (2 * facing) + SIMD3(0, 0, 1)
            let height = 0 - mirrored.y
            let side = mirrored.x
            let band = max(0, 1 - abs(height - 0.25) * 2.2) + max(0, 1 - abs(side + 0.45) * 3.5) * 0.55
            let room = 0.38 + 0.3 * max(-0.6, height) + 0.85 * band * band
            light += (room - light) * finish.metal * 0.85
        }
        light = (light * gain * (1 - finish.glow) + finish.glow) * shade
        let glint = shine * shade * gain * white
        let shown = base * light + SIMD3(glint, 0, 0)
        let whole = shown + cast * (shown.x / white)
        return SIMD4(whole, light)
    }
}
