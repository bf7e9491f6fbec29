import Frames

/// Memory that anonymize layers and effects work in, kept from frame to frame.
struct EffectScratch: ~Copyable {
    var pixelation = Pixelation()
    /// Copies of parts of the frame before it is drawn on, for face swaps and blends.
    var first = LayerBuffer()
    var second = LayerBuffer()
    /// Where hair comes from that a hat presses to the head.
    var displacement = DisplacementGrid()
    var edges = EdgeMap()
    var balance = WhiteBalance()
}

/// The picture's mean chroma, smoothed over time. Grey-world white balance shifts all chroma by it.
struct WhiteBalance {
    /// Mean U and V, minus their neutral value; in samples.
    private(set) var mean = SIMD2<Float>.zero
    private var time: Double?

    /// Time constant in seconds: after it, two thirds of a change of light are corrected. Slower than a waving hand,
    /// and fast enough that nobody wonders about a lamp that was switched on.
    private static let timeConstant = 1.5

    /// Adds the mean chroma of a frame.
    /// - Parameter now: seconds, by the source's clock.
    mutating func update(_ seen: SIMD2<Float>, at now: Double) {
        let passed = time.map { now - $0 } ?? .infinity
        time = now
        // Start over at the first frame, and when time goes back or jumps by 5 s or more.
        guard passed >= 0, passed < 5 else {
            mean = seen
            return
        }
        mean += (seen - mean) * Float(min(1, passed / Self.timeConstant))
    }
}
