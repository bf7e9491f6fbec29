import Frames

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
