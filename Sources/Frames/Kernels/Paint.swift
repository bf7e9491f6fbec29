/// What becomes of the picture under art. The formulas are those of the W3C's "Compositing and Blending" and of
/// Photoshop's PDF; soft light is Pegtop's, which has no bend.
public enum BlendMode: String, CaseIterable, Sendable {
    /// Art covers.
    case normal
    /// Darkens, as ink does.
    case multiply
    /// Lightens, as a projector does.
    case screen
    /// Darkens what is dark and lightens what is light.
    case overlay
    /// The same, gently: as coloured light.
    case softLight = "soft light"
    /// Adds light.
    case add
}

/// How art is laid over a frame.
public struct Paint: Equatable, Sendable {
    /// What becomes of the picture under it.
    public var mode: BlendMode
    /// 0...1, multiplies the art's own alpha.
    public var opacity: Float
    /// Multiplies the art's brightness and colour, 0 to just below 2; 1: as it was drawn.
    public var gain: Float
    /// What the light adds to the chroma (U, V) of white art, in samples of 8 bits; darker art gets as much less.
    public var cast: SIMD2<Float>
    /// Lets the light and shade of what is under the art show in it.
    public var relief: ShadingTransfer?

    /// Art takes on the local light of the skin under it.
    public struct ShadingTransfer: Equatable, Sendable {
        /// The luma of the frame, in its own range, at which art keeps its brightness: the skin's median.
        public var reference: Float
        /// 0...1: of how much brighter or darker than the reference the skin is, what part the art takes on. It is at
        /// most 1.9 times as bright as it was drawn.
        public var strength: Float

        /// From its parts.
        public init(reference: Float, strength: Float) { (self.reference, self.strength) = (reference, strength) }
    }

    /// Art as it was drawn, unless told otherwise.
    public init(
        _ mode: BlendMode = .normal, opacity: Float = 1, gain: Float = 1, cast: SIMD2<Float> = .zero,
        relief: ShadingTransfer? = nil
    ) {
        (self.mode, self.opacity, self.gain, self.cast, self.relief) = (mode, opacity, gain, cast, relief)
    }
}
