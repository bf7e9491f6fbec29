import Frames
import Objects
import Outline

/// The output frame while masks are drawn on it, with the layers' working memory.
public struct Canvas: ~Copyable {
    /// The frame that goes to the sinks.
    public var frame: Frame
    /// A buffer in which layers are drawn before they are composited onto the frame.
    var layer = LayerBuffer()
    /// Buffers of mesh layers.
    var meshes = MeshScratch()
    /// Buffers of layers that smooth skin.
    var smoother = Smoother()
    /// Buffers of anonymize layers, face blends and swaps, and effects.
    var effects = EffectScratch()
    /// The outline of the people in the frame, for backgrounds. Updated only if a mask needs it.
    var outline = OutlineTracker()
    /// What draws layers behind the people.
    var backgrounds = BackgroundPainter()
    /// For backgrounds that move.
    var clips = BackgroundClipPlayer()
    /// The things in the frame that the user has taught. Updated only if a mask needs it.
    var things = ThingTracker()
    /// Whether all things are to be named in the very frame, as in a photo, however long that takes.
    public var namesThingsAtOnce = false
    /// The hands before the largest heads, while masks are drawn behind them.
    private var hands: [4 of HandPixels] = .init { _ in HandPixels() }
    /// Whether hands may be shown in front of masks, and hair be pressed under hats: not while faces must be hidden,
    /// since what is taken for a hand is shown bare, and what lies beside hair is moved.
    public var mayShowHands = true
    /// A copy of the frame, for what is drawn behind the people; nil until that is needed.
    var people: Frame?
    /// Whether people other than the largest were blurred or covered on this frame.
    public internal(set) var areBystandersHidden = false
    /// Whether a background was drawn on this frame that leaves nothing of the room visible, wherever people are not.
    public var isRoomHidden: Bool { roomBlur > 0 }
    /// The radius by which it is blurred, relative to the picture's height; 1 if nothing of it is left, and 0 if it
    /// isn't hidden.
    var roomBlur: Float = 0

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

    /// Whether frames are published too late, so that the outline should take less time.
    public var missesDeadline: Bool {
        get { outline.missesDeadline }
        set { outline.missesDeadline = newValue }
    }

    /// The CPU time of the outline of this frame, in nanoseconds; 0 if no mask needs it.
    public var segmentationCost: UInt64 { outline.cost }

    /// Forgets what was seen of the scene, for another one.
    public mutating func forgetScene() { outline.reset() }

    /// Blurs the people who are not the main one.
    mutating func blurBystanders() {
        backgrounds.draw(.blur(radius: Self.bystanderBlur), behind: &outline, onto: &frame)
        areBystandersHidden = true
    }

    /// The radius of the discs that a bystander's points become, relative to the picture's height: a face that fills a
    /// third of it is as wide as two discs.
    private static let bystanderBlur: Float = 0.1

    /// Copies the frame, before something is drawn behind the people.
    mutating func savePeople() {
        var saved = people.take() ?? Frame(frame.layout)
        if saved.layout != frame.layout { saved = Frame(frame.layout) }
        convert(frame, into: &saved)
        people = consume saved
    }

    /// Draws the saved people in front of what was drawn since.
    mutating func restorePeople() {
        guard let saved = people.take() else { return }
        backgrounds.restore(saved, in: &outline, onto: &frame)
        people = consume saved
    }

    /// Copies the hands before heads, before masks are drawn.
    mutating func saveHands(_ found: borrowing Hands) {
        for i in hands.indices { hands[i].keep(found.segmenters[i], of: frame) }
    }

    /// Draws the saved hands in front of what was drawn since.
    mutating func restoreHands() {
        for i in hands.indices { hands[i].restore(onto: &frame) }
    }

    /// Presses hair to the head.
    mutating func draw(_ press: HairPress) {
        guard effects.displacement.fill(press.box, in: frame.layout, { press.source(of: $0) }) else { return }
        frame.displace(by: &effects.displacement)
    }

    /// Frees the memory of the outline, because no mask needs it.
    mutating func releaseOutline() {
        outline.release()
        backgrounds.release()
        clips.release()
        if people != nil { people = nil }
    }

    /// Redraws the outdated mesh images of this frame for the next one. Doesn't change this frame.
    public mutating func drawDeferred() { meshes.drawDeferred(frame.layout) }

    /// Composites the layer buffer onto the frame.
    mutating func drawLayer(_ paint: Paint) { compositeLayer(layer, paint, onto: &frame) }

    /// Composites the layer buffer onto the frame with its own colours.
    mutating func drawLayer(opacity: Float) { drawLayer(Paint(opacity: opacity)) }
}
