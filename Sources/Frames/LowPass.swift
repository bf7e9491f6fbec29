/// The weight of a new sample in a first-order low-pass filter: alpha in the One-Euro filter (Casiez, Roussel and
/// Vogel, CHI 2012).
/// - Parameters:
///   - cutoff: the cutoff frequency, hertz.
///   - elapsed: the time since the last sample, seconds.
public func lowPassWeight(cutoff: Float, elapsed: Float) -> Float {
    let r = 2 * .pi * cutoff * elapsed
    return r / (r + 1)
}
