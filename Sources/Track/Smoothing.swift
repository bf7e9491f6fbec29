import Frames

/// The One-Euro filter (Casiez, Roussel and Vogel, CHI 2012): a low pass whose cut-off rises with speed, so that what
/// rests is still and what moves does not lag. Works on elapsed time, so that frame rates may vary.
public struct OneEuro: Sendable {
    /// Cut-off at rest, hertz. Lower: stiller.
    public var restCutoff: Float
    /// Hertz gained per unit of speed. Higher: less lag.
    public var speedGain: Float
    /// Cut-off of the speed's own low pass, hertz (the paper's default).
    static let speedCutoff: Float = 1

    public init(restCutoff: Float, speedGain: Float) { (self.restCutoff, self.speedGain) = (restCutoff, speedGain) }

    /// The weight of a new sample for a first-order low pass: the paper's alpha.
    static func weight(cutoff: Float, elapsed: Float) -> Float {
        let r = 2 * .pi * cutoff * elapsed
        return r / (r + 1)
    }
}
