/// The blend mode of art over a picture. The formulas are those of the W3C's "Compositing and Blending" and of the PDF
/// specification; soft light is Pegtop's, which is smooth.
public enum BlendMode: String, CaseIterable, Sendable {
    /// Covers the picture.
    case normal
    /// Darkens, like ink.
    case multiply
    /// Lightens, like a projector.
    case screen
    /// Darkens dark parts and lightens bright ones.
    case overlay
    /// Darkens dark parts and lightens bright ones gently, like coloured light.
    case softLight = "soft light"
    /// Adds the art's light.
    case add
}

/// Blend mode, opacity and light of art that is drawn over a frame.
public struct Paint: Equatable, Sendable {
    /// The blend mode.
    public var mode: BlendMode
    /// 0...1, multiplies the art's own alpha.
    public var opacity: Float
    /// Multiplies the art's brightness and colour, 0 to just below 2; 1: as it was drawn.
    public var gain: Float
    /// The chroma (U, V) that the light adds to white art, in 8-bit samples; darker art gets proportionally less.
    public var cast: SIMD2<Float>
    /// The part of the art's colour that is kept, from 0 (grey) to 1 (as it was drawn).
    public var saturation: Float
    /// The transfer of the picture's local light and shade to the art; nil for none.
    public var shading: ShadingTransfer?
    /// The noise that is added to art in mode `normal`; nil for none.
    public var noise: Noise?

    /// The transfer of the skin's local light to the art over it.
    public struct ShadingTransfer: Equatable, Sendable {
        /// The frame's luma, in its own range, at which art keeps its brightness: the skin's median.
        public var reference: Float
        /// 0...1: the part of the skin's brightness relative to the reference that the art takes on. It gets at most
        /// 1.9 times as bright as it was drawn.
        public var strength: Float

        /// A transfer by its parts.
        public init(reference: Float, strength: Float) { (self.reference, self.strength) = (reference, strength) }
    }

    /// A paint by its parts; by default art is drawn unchanged.
    public init(
        _ mode: BlendMode = .normal, opacity: Float = 1, gain: Float = 1, cast: SIMD2<Float> = .zero,
        saturation: Float = 1, shading: ShadingTransfer? = nil, noise: Noise? = nil
    ) {
        (self.mode, self.opacity, self.gain, self.cast) = (mode, opacity, gain, cast)
        (self.saturation, self.shading, self.noise) = (saturation, shading, noise)
    }
}

/// A camera's noise, to be added to art: like the picture around it, art then changes from frame to frame.
public struct Noise: Equatable, Sendable {
    /// The standard deviation of luma, in levels of the frame, 0 to `maxDeviation`.
    public var deviation: Float
    /// Selects the noise: another one for each frame.
    public var seed: UInt32

    /// The largest deviation: stronger noise would exceed 16-bit arithmetic.
    public static let maxDeviation: Float = 15

    /// Noise by its parts.
    public init(deviation: Float, seed: UInt32) { (self.deviation, self.seed) = (deviation, seed) }
}
