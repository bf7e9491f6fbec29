import Frames
import Outline

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
    /// The outline of the people in the frame, for backgrounds. Updated only if a mask needs it.
    var outline = OutlineTracker()
    /// For layers behind the people.
    var backgrounds = BackgroundPainter()
    /// Whether a background was drawn on this frame that leaves nothing of the room visible, wherever people are not.
    public internal(set) var isRoomHidden = false

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

    /// The CPU time of the outline of this frame, in nanoseconds; 0 if no mask needs it.
    public var outlineCost: UInt64 { outline.cost }

    /// Forgets what was seen of the scene, for another one.
    public mutating func forgetScene() { outline.reset() }

    /// Redraws the outdated mesh images of this frame for the next one. Doesn't change this frame.
    public mutating func drawDeferred() { meshes.drawDeferred(frame.layout) }

    /// Composites the layer buffer onto the frame.
    mutating func drawLayer(_ paint: Paint) { compositeLayer(layer, paint, onto: &frame) }

    /// Composites the layer buffer onto the frame with its own colours.
    mutating func drawLayer(opacity: Float) { drawLayer(Paint(opacity: opacity)) }
}
