import Frames

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
