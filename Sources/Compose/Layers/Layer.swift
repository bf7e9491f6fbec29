import Frames
import JSON
import Track

/// One thing that a mask draws on each face. A new kind is a new file in this folder and one line in `MaskLayer`.
public protocol Layer: Sendable {
    /// Draws on one face. Called for every frame: neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance)
}

/// One thing that a mask draws once a frame.
public protocol PictureLayer: Sendable {
    /// Draws on the whole picture. Called for every frame: neither allocates nor waits.
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance)
}

/// A layer with what every layer may have, whatever it draws.
public struct MaskLayer: Sendable {
    enum Content {
        case face(any Layer)
        case picture(any PictureLayer)
    }

    let style: LayerStyle
    let content: Content

    /// For messages, which name the nearest.
    private static let kinds = [
        "sprite", "solid", "skin", "makeup", "anonymize", "merge", "swap", "effect", "frame", "particles", "text",
    ]

    init(style: LayerStyle, content: Content) { (self.style, self.content) = (style, content) }

    /// Reads one layer of a mask's description.
    /// - Parameter folder: the mask's own folder, which no path of it may leave.
    /// - Throws: `Problem` with file and line for what is wrong in the description or the art.
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

/// The output frame while it is being dressed.
public struct Canvas: ~Copyable {
    /// What goes to the sinks.
    public var frame: Frame
    /// For layers that are drawn before they are laid over the frame.
    var layer = LayerBuffer()
    /// For solids.
    var meshes = MeshScratch()
    /// For layers that smooth skin.
    var smoother = Smoother()
    /// For treatments and effects.
    var effects = EffectScratch()

    /// A black frame of that layout.
    public init(_ layout: FrameLayout) {
        frame = Frame(layout)
    }

    /// Whether what became a little old may be shown once more, and is drawn anew by `drawDeferred`: the frame need not wait.
    public var mayLag: Bool {
        get { meshes.mayLag }
        set { meshes.mayLag = newValue }
    }

    /// Draws anew what is a little old in this frame, for the next one. Nothing of it is seen in this one.
    public mutating func drawDeferred() { meshes.drawDeferred(frame.layout) }

    /// Lays the tile over the frame.
    mutating func drawLayer(_ paint: Paint) { compositeLayer(layer, paint, onto: &frame) }

    /// The same, as it was drawn.
    mutating func drawLayer(opacity: Float) { drawLayer(Paint(opacity: opacity)) }
}

/// What art is made for: it is converted and sized once, when a mask is loaded.
public struct ArtTarget: Equatable, Sendable {
    /// What the frame's sample values mean.
    public let range: ColorRange
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// The largest distance between eyes that is drawn at full sharpness, pixels.
    public let eyeDistance: Float
    /// What the user chose, by the names that layers give to what may be chosen: colours, texts, palettes.
    public var choices: [String: String] = [:]

    /// A face that fills a frame from top to bottom has its eyes about 0.3 of the frame's height apart. At 0.22 art is
    /// drawn in half the time, and for the nearest faces it is no softer than a webcam's picture.
    public init(_ layout: FrameLayout) {
        (range, width, height) = (layout.range, layout.width, layout.height)
        eyeDistance = max(24, 0.22 * Float(min(layout.width, layout.height)))
    }
}
