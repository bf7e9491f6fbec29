/// The weight of a new sample in a first-order low pass: alpha in the One-Euro filter (Casiez, Roussel and Vogel,
/// CHI 2012).
/// - Parameters:
///   - cutoff: hertz.
///   - elapsed: since the last sample, seconds.
public func lowPassWeight(cutoff: Float, elapsed: Float) -> Float {
    let r = 2 * .pi * cutoff * elapsed
    return r / (r + 1)
}
