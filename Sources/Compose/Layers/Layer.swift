import Frames
import JSON
import Track

/// A layer that is drawn on each face. To add a kind, add a file to this folder and a case to `MaskLayer`.
public protocol Layer: Sendable {
    /// Draws on one face. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

/// A layer that is drawn once per frame.
public protocol PictureLayer: Sendable {
    /// Draws on the whole picture. Called for every frame, so it neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}

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
            throw fields.wrong("kind", "'treatment', which has a new name", allowed: "anonymize")
        }
        try fields.refuse("way", renamedTo: "mode")
        style = try LayerStyle(&fields, target)
        guard kind == "sprite" || style.motion.pictures.isEmpty else {
            throw fields.wrong("motion", "has 'frames' in a \(kind) layer", allowed: "frames in sprite layers alone")
        }
        guard ["sprite", "solid"].contains(kind) || style.motion.swing == nil else {
            throw fields.wrong("motion", "has 'swing' in a \(kind) layer", allowed: "swing in sprite and solid layers")
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
            throw fields.wrong("on", "given for the whole picture", allowed: "layers that are drawn on faces")
        }
        try fields.finish()
    }
}

/// What a layer is made from, besides its own keys.
struct LayerParts {
    /// The mask's folder; no path in the description may lead outside it.
    let folder: String
    let target: ArtTarget
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

/// The output frame while masks are drawn on it, with the layers' working memory.
public struct Canvas: ~Copyable {
    /// The frame that goes to the sinks.
    public var frame: Frame
    /// For layers that are drawn here first and then composited onto the frame.
    var layer = LayerBuffer()
    /// For mesh layers.
    var meshes = MeshScratch()
    /// For layers that smooth skin.
    var smoother = Smoother()
    /// For anonymize layers, face blends and swaps, and effects.
    var effects = EffectScratch()

    /// Makes a black frame.
    public init(_ layout: FrameLayout) {
        frame = Frame(layout)
    }

    /// Whether a slightly outdated mesh image may be shown once more and redrawn later by `drawDeferred`, so that the
    /// frame doesn't have to wait.
    public var mayLag: Bool {
        get { meshes.mayLag }
        set { meshes.mayLag = newValue }
    }

    /// Redraws the outdated mesh images of this frame for the next one. Doesn't change this frame.
    public mutating func drawDeferred() { meshes.drawDeferred(frame.layout) }

    /// Composites the layer buffer onto the frame.
    mutating func drawLayer(_ paint: Paint) { compositeLayer(layer, paint, onto: &frame) }

    /// Composites the layer buffer onto the frame with its own colours.
    mutating func drawLayer(opacity: Float) { drawLayer(Paint(opacity: opacity)) }
}

/// What art is prepared for. It is converted and scaled once, when a mask is loaded.
public struct ArtTarget: Equatable, Sendable {
    /// The frame's sample range.
    public let range: ColorRange
    /// Width of the frame in pixels.
    public let width: Int
    /// Height of the frame in pixels.
    public let height: Int
    /// The largest distance between eyes that is drawn at full sharpness, in pixels.
    public let eyeDistance: Float
    /// The user's options, by the names that layers give them: colours, texts, palettes.
    public var choices: [String: String] = [:]

    /// Prepares for frames of this layout.
    ///
    /// A face that fills a frame from top to bottom has its eyes about 0.3 of the frame's height apart. At 0.22, art is
    /// drawn in half the time, and on the nearest faces it is no softer than a webcam's picture.
    public init(_ layout: FrameLayout) {
        (range, width, height) = (layout.range, layout.width, layout.height)
        eyeDistance = max(24, 0.22 * Float(min(layout.width, layout.height)))
    }
}
