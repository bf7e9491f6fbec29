/// Numbers that look random and are the same on every run: SplitMix64 (Steele, Lea and Flood, 2014).
struct SplitMix64 {
    private var state: UInt64

    /// - Parameter skipped: how many numbers are left out at the start.
    init(seed: UInt64, skipped: Int = 0) {
        state = seed &+ UInt64(bitPattern: Int64(skipped)) &* Self.step
    }

    private static let step: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// All 64 bits.
    private mutating func bits() -> UInt64 {
        state &+= Self.step
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// 0..<1.
    mutating func next() -> Float { Float(bits() >> 40) / Float(1 << 24) }

    /// 0..<1, as finely as a double can tell.
    mutating func nextDouble() -> Double { Double(bits() >> 11) / Double(1 << 53) }
}
