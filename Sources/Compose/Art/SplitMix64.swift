/// A pseudo-random number generator with the same numbers in every run: SplitMix64 (Steele, Lea and Flood, 2014).
struct SplitMix64 {
    private var state: UInt64

    /// Seeds the generator.
    /// - Parameter skipped: how many numbers to skip at the start.
    init(seed: UInt64, skipped: Int = 0) {
        state = seed &+ UInt64(bitPattern: Int64(skipped)) &* Self.step
    }

    private static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// The next 64 random bits.
    private mutating func bits() -> UInt64 {
        state &+= Self.step
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// The next number in 0..<1.
    mutating func next() -> Float { Float(bits() >> 40) / Float(1 << 24) }

    /// The next number in 0..<1, with a double's precision.
    mutating func nextDouble() -> Double { Double(bits() >> 11) / Double(1 << 53) }
}
