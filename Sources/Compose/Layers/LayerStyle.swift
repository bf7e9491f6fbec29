import Frames
import JSON

/// What a layer is made from, beside its own keys.
struct LayerParts {
    /// The mask's own folder, which no path of it may leave.
    let folder: String
    let target: ArtTarget
    let style: LayerStyle
}

/// What every layer may have.
struct LayerStyle: Sendable {
    /// 0...1, multiplies the art's own.
    let opacity: Float
    /// What becomes of what is under the layer: `"blend": "multiply"`.
    let blend: BlendMode
    /// Dyes the layer's art when it is loaded; nil: it keeps its colours.
    let tint: Tint?
    /// How much of the face's light the layer takes: `"light": 0` for what glows.
    let light: Float
    /// Nil: always.
    let when: Trigger?
    /// Whose face.
    let on: FaceSelector
    let motion: Motion

    init(_ fields: inout Fields, _ target: ArtTarget) throws {
        opacity = Float(try fields.number("opacity", in: 0...1, default: 1))
        blend = fields.has("blend") ? try fields.oneOf("blend", BlendMode.self) : .normal
        tint = try Tint(&fields, choices: target.choices)
        light = Float(try fields.number("light", in: 0...1, default: 1))
        when = try Trigger(&fields)
        on = try FaceSelector(&fields)
        motion = try Motion(&fields)
    }
}
