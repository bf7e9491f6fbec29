import Frames

/// The lighting of meshes on one face, in the picture's axes.
struct Lighting {
    /// Unit vector from the face to the light.
    let direction: SIMD3<Float>
    /// The half vector between the directions to the light and to the viewer.
    private let halfway: SIMD3<Float>
    /// Brightness of the ambient light from above and from below, and of the directional light.
    private let brightness: SIMD3<Float>
    /// Factor for all of it; 1 in a well-lit room.
    private let gain: Float
    /// What the light adds to white: 0, U and V; in samples of the range.
    private let cast: SIMD3<Float>
    /// The colour of shadows on the head: luma above black, U and V, in samples of the range.
    let shade: SIMD3<Float>
    /// The part of white that the picture's black has.
    private let lift: Float
    /// Luma of white above black level.
    private let white: Float
    /// The part of the materials' saturation that is seen.
    private let vividness: Float
    /// The slope of what is seen over what is brighter than the knee.
    private let shoulder: Float

    init(_ light: FaceLight, range: ColorRange) {
        direction = light.direction
        halfway = normalized(light.direction + [0, 0, -1])
        brightness = Self.even + (Self.directed - Self.even) * light.contrast
        gain = light.gain
        // The light's cast is in samples of the full range.
        cast = SIMD3(0, light.cast.x, light.cast.y) * (Float(range.chromaSpan) / 255)
        white = Float(range.lumaSpan)
        let (luma, chroma) = (white / 255, Float(range.chromaSpan) / 255)
        shade = light.shade * SIMD3(luma, chroma, chroma)
        lift = light.blackLevel / 255
        vividness = 1 - light.matteness * Self.dullness
        shoulder = 1 - light.matteness * Self.compression
    }

    /// `brightness` in even light, and in light from one direction.
    private static let (even, directed): (SIMD3<Float>, SIMD3<Float>) = ([0.68, 0.44, 0.5], [0.5, 0.22, 0.85])

    /// In a matte picture: the part of saturation that is lost; the part of white up to which brightness is seen as it
    /// is, and by how much less what is brighter rises.
    private static let (dullness, knee, compression): (Float, Float, Float) = (0.15, 0.62, 0.28)

    /// The lit colour of a vertex, and in the last lane the light alone.
    /// - Parameters:
    ///   - base: the material's colour.
    ///   - normal: unit vector in the picture's axes.
    ///   - shade: factor for the light at this vertex.
    @inline(__always)
    func color(_ base: SIMD3<Float>, _ finish: Material.Finish, normal: SIMD3<Float>, shade: Float) -> SIMD4<Float> {
        let up = 0.5 - normal.y * 0.5
        let facing = max(0, 0 - normal.z)
        let lit = max(0, (dot(normal, direction) + finish.wrap) / (1 + finish.wrap))
        let edge = (1 - facing) * (1 - facing)
        var light = brightness.y + (brightness.x - brightness.y) * up + brightness.z * lit
        light += finish.sheen * edge * edge * (0.4 + up)
        var shine: Float = 0
        if finish.gloss > 0 {
            shine = max(0, dot(normal, halfway))
            for _ in 0..<finish.specularExponentLog2 { shine *= shine }
            shine *= finish.gloss
        }
        if finish.metal > 0 {
            // The reflection of a room: dark below, a bright band in the middle, windows above.
            let mirrored = normal * (2 * facing) + SIMD3(0, 0, 1)
            let height = 0 - mirrored.y
            let side = mirrored.x
            let band = max(0, 1 - abs(height - 0.25) * 2.2) + max(0, 1 - abs(side + 0.45) * 3.5) * 0.55
            let environment = 0.38 + 0.3 * max(-0.6, height) + 0.85 * band * band
            light += (environment - light) * finish.metal * 0.85
        }
        light = (light * gain * (1 - finish.glow) + finish.glow) * shade
        let glint = shine * shade * gain * white
        var shown = base * SIMD3(1, vividness, vividness) * light + SIMD3(glint, 0, 0)
        shown.x -= max(0, shown.x - Self.knee * white) * (1 - shoulder)
        let whole = shown + cast * (shown.x / white)
        return SIMD4(whole * (1 - lift) + SIMD3(lift * white, 0, 0), light)
    }
}
