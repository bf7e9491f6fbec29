import JSON
import Outline

/// A layer of any kind, with the style that all kinds have in common.
public struct MaskLayer: Sendable {
    enum Content {
        case face(any Layer)
        case picture(any PictureLayer)
    }

    /// When a layer is drawn: the passes follow each other, whatever the layers' order.
    enum Pass {
        case background
        /// On the whole picture, but behind the people.
        case behind
        case front
    }

    let style: LayerStyle
    let content: Content
    let pass: Pass
    /// The outline of the people; nil if the layer doesn't need it.
    let outline: LoadedOutline?
    /// The outline's model, from which a layer that is worn on the head learns the head's size with its hair; nil if
    /// the layer isn't, or there is no model. Such layers are drawn without it too.
    let headSizeModel: OutlineModel?
    /// The taught things; nil if the layer doesn't need them.
    let things: LoadedThings?
    /// The index of the taught thing during which the layer is shown; nil if it is none of them.
    let trigger: Int?

    /// Whether the layer is drawn on each face, and not once per frame.
    var isOnFaces: Bool {
        if case .face = content { true } else { false }
    }

    /// What the layer does as a background; nil if it is none.
    var background: BackgroundRole? {
        if case .picture(let layer) = content { layer.background } else { nil }
    }

    /// The radius by which the layer blurs the room in every frame, relative to the picture's height; 1 if nothing of
    /// it is left, and 0 if it isn't hidden.
    var roomBlur: Float { style.when == nil ? background?.roomBlur ?? 0 : 0 }

    /// Whether the layer hides the room, in every frame.
    var hidesRoom: Bool { roomBlur > 0 }

    /// Whether the layer leaves nobody visible but the person with the largest face, in every frame.
    var hidesBystanders: Bool { hidesRoom && background?.keepsMainPersonOnly ?? false }

    /// Whether the layer makes all faces unrecognisable, in every frame.
    var hidesFaces: Bool {
        guard case .face(let layer) = content else { return false }
        return layer.hidesFace && style.when == nil && style.on == .every && style.opacity > 0
    }

    /// What is wrong with the layer, for the user; nil if nothing is.
    var warning: String? { outline?.warning ?? background?.warning ?? things?.warning }

    /// Makes a layer that is drawn in front.
    init(style: LayerStyle, content: Content) {
        (self.style, self.content, pass, outline) = (style, content, .front, nil)
        (things, trigger, headSizeModel) = (nil, nil, nil)
    }

    /// The new names of kinds by those of earlier versions.
    private static let renamedKinds = ["treatment": "anonymize", "solid": "mesh", "merge": "faceblend"]

    /// Reads one layer of a mask's description.
    /// - Parameter folder: the mask's folder; no path in the description may lead outside it.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, folder: String, target: ArtTarget) throws {
        let name = try fields.string("kind")
        if let newName = Self.renamedKinds[name] {
            throw fields.wrong("kind", "'\(name)', which was renamed", allowed: newName)
        }
        guard let kind = LayerKind.named(name) else {
            throw fields.unknown("kind", name, among: LayerKind.all.map(\.name))
        }
        try fields.refuse("way", renamedTo: "mode")
        let isOnFaces = kind.isOnFaces { fields.has($0) }
        style = try LayerStyle(&fields, target, paint: kind.paint, isOnFaces: isOnFaces, motion: kind.motion)
        content = try kind.read(&fields, LayerContext(folder: folder, target: target, style: style))
        switch content {
        case .picture(let layer) where layer.background != nil:
            pass = .background
            outline = LoadedOutline(target, without: "backgrounds cover the whole picture, people included")
        case .picture where try kind.allowsBehind && fields.bool("behind", default: false):
            pass = .behind
            outline = LoadedOutline(target, without: "what belongs behind the people is drawn in front of them")
        case .picture, .face: (pass, outline) = (.front, nil)
        }
        if case .face(let layer) = content, layer.fitsHair {
            headSizeModel = try? target.outline?.model()
        } else {
            headSizeModel = nil
        }
        let object = style.when?.object
        let things = kind.needsThings || object != nil ? LoadedThings(target, trigger: object) : nil
        trigger = things?.taught.things.firstIndex { $0.name == object }
        self.things = things
        try fields.finish()
    }
}
