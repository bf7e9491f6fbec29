import Frames

/// Memory that treatments and effects work in, kept from frame to frame.
struct EffectScratch: ~Copyable {
    var pixelation = Pixelation()
    /// Pieces of the frame as it was, for faces that are swapped.
    var first = LayerBuffer()
    var second = LayerBuffer()
    var edges = EdgeMap()
    var balance = WhiteBalance()
}

/// The picture's mean chroma over the last moments, by which grey-world white balance moves all chroma.
struct WhiteBalance {
    /// U and V less their middle, samples.
    private(set) var mean = SIMD2<Float>.zero
    private var time: Double?

    /// Seconds in which a change of light is followed to two thirds: slower than a hand that waves, faster than a lamp's
    /// owner wonders.
    private static let patience = 1.5

    /// Takes in what a frame shows.
    mutating func update(_ seen: SIMD2<Float>, at now: Double) {
        let passed = time.map { now - $0 } ?? .infinity
        time = now
        // The first frame, and time that goes back or stood still for long, begin anew.
        guard passed >= 0, passed < 5 else {
            mean = seen
            return
        }
        mean += (seen - mean) * Float(min(1, passed / Self.patience))
    }
}
