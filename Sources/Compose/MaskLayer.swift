import JSON

/// A layer of any kind, with the style that all kinds have in common.
public struct MaskLayer: Sendable {
    enum Content {
        case face(any Layer)
        case picture(any PictureLayer)
    }

    let style: LayerStyle
    let content: Content

    /// All kinds, for suggestions in error messages.
    private static let kinds = [
        "sprite", "solid", "skin", "makeup", "anonymize", "merge", "swap", "effect", "frame", "particles", "text",
    ]

    init(style: LayerStyle, content: Content) { (self.style, self.content) = (style, content) }

    /// Reads one layer of a mask's description.
    /// - Parameter folder: the mask's folder; no path in the description may lead outside it.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, folder: String, target: ArtTarget) throws {
        let kind = try fields.string("kind")
        guard kind != "treatment" else {
            throw fields.wrong("kind", "'treatment', which was renamed", allowed: "anonymize")
        }
        try fields.refuse("way", renamedTo: "mode")
        style = try LayerStyle(&fields, target)
        guard kind == "sprite" || style.motion.pictures.isEmpty else {
            throw fields.wrong(
                "motion", "an object with 'frames' in a \(kind) layer", allowed: "frames only in sprite layers")
        }
        guard ["sprite", "solid"].contains(kind) || style.motion.swing == nil else {
            throw fields.wrong(
                "motion", "an object with 'swing' in a \(kind) layer", allowed: "swing only in sprite and solid layers")
        }
        let parts = LayerParts(folder: folder, target: target, style: style)
        switch kind {
        case "sprite": content = .face(try SpriteLayer(&fields, parts))
        case "solid": content = .face(try MeshLayer(&fields, parts))
        case "skin": content = .face(try SkinLayer(&fields, parts))
        case "makeup": content = .face(try MakeupLayer(&fields, parts))
        case "anonymize": content = .face(try AnonymizeLayer(&fields, parts))
        case "merge": content = .face(try FaceBlendLayer(&fields, parts))
        case "swap": content = .picture(try FaceSwapLayer(&fields, parts))
        case "effect": content = .picture(try EffectLayer(&fields, parts))
        case "frame": content = .picture(try PictureFrameLayer(&fields, parts))
        case "particles": content = .picture(try ParticlesLayer(&fields, parts))
        case "text":
            let text = try TextLayer(&fields, parts)
            content = text.isPinned ? .face(text) : .picture(text)
        default: throw fields.unknown("kind", kind, among: Self.kinds)
        }
        if case .picture = content, style.on != .every {
            throw fields.wrong(
                "on", "set for a layer on the whole picture", allowed: "only layers that are drawn on faces")
        }
        try fields.finish()
    }
}
