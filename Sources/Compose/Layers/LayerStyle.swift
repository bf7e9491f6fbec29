import Frames
import JSON

/// What a layer's reader needs besides the layer's own keys.
struct LayerContext {
    /// The mask's folder; no path in the description may lead outside it.
    let folder: String
    /// What the layer's art is prepared for.
    let target: ArtTarget
    /// The keys that the layer has in common with others, already read.
    let style: LayerStyle
}

/// The keys that layers of all kinds have in common.
struct LayerStyle: Sendable {
    /// Opacity, 0...1; multiplies the art's own alpha.
    let opacity: Float
    /// How the layer is blended with what is under it: `"blend": "multiply"`.
    let blend: BlendMode
    /// The colour that the layer's art is tinted with when it is loaded; nil: it keeps its colours.
    let tint: Tint?
    /// How much the face's light affects the layer: `"light": 0` for art that glows.
    let light: Float
    /// The condition for showing or animating the layer; nil: always.
    let when: Trigger?
    /// The faces that the layer is drawn on.
    let on: FaceSelector
    /// The layer's animation.
    let motion: Motion

    /// Whether the layer is shown on those who wear it.
    /// - Parameter isTriggered: whether its condition is met; true if it has none.
    func isShown(isTriggered: Bool) -> Bool {
        switch when?.then ?? .show {
        case .show: isTriggered
        case .hide: !isTriggered
        case .start, .stop: true
        }
    }

    /// The keys of the art's paint, which not every kind of layer has.
    enum PaintKey: CaseIterable { case blend, tint, light }

    /// Reads the common keys of a layer.
    /// - Parameters:
    ///   - paint: the keys of the art's paint that are read; others are unknown.
    ///   - isOnFaces: whether the layer is drawn on faces, so that some may be selected.
    ///   - motion: the keys of `motion` that are read; others are errors.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(
        _ fields: inout Fields, _ target: ArtTarget, paint: Set<PaintKey> = .all, isOnFaces: Bool = true,
        motion: Set<Motion.Key> = .all
    ) throws {
        opacity = Float(try fields.number("opacity", in: 0...1, default: 1))
        blend = paint.contains(.blend) && fields.has("blend") ? try fields.oneOf("blend", BlendMode.self) : .normal
        tint = paint.contains(.tint) ? try Tint(&fields, choices: target.choices) : nil
        light = paint.contains(.light) ? Float(try fields.number("light", in: 0...1, default: 1)) : 1
        when = try Trigger(&fields)
        if !isOnFaces { try fields.refuse("on", allowed: "in layers that are drawn on faces") }
        on = isOnFaces ? try FaceSelector(&fields) : .every
        self.motion = try Motion(&fields, motion)
    }
}

extension Set<LayerStyle.PaintKey> {
    static var all: Self { Set(LayerStyle.PaintKey.allCases) }
}
