/// A linear congruential generator (Knuth's MMIX constants): the same numbers in every run, so that a failure can be
/// repeated.
public struct RepeatableGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    /// - Parameter state: the generator's state, for the numbers that tests have used before.
    public init(state: UInt64) { self.state = state }

    public mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 33
    }

    /// The next number from 0 to `limit` - 1, of the upper 31 bits.
    public mutating func next(below limit: Int) -> Int { Int(next() >> 33) % limit }
}
