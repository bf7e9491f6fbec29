/// How often each duration came, in a fixed space: 32 steps in each doubling, so that a percentile is right to 3 %
/// whatever the range (after HdrHistogram's log-linear buckets, Tene 2012).
public struct Histogram: Sendable {
    /// Microseconds; the last step of the last doubling and all above it share the last place: 16 s.
    private var counts = [640 of UInt32](repeating: 0)
    /// How many durations were counted.
    public private(set) var total = 0

    private static let steps = 32

    /// Empty.
    public init() {}

    /// Counts one duration.
    public mutating func add(nanoseconds: UInt64) {
        let microseconds = Int(clamping: nanoseconds / 1000)
        counts[min(Self.place(microseconds), counts.count - 1)] &+= 1
        total += 1
    }

    /// The duration that this share of all does not exceed, milliseconds; 0 where nothing was counted.
    public func percentile(_ share: Double) -> Double {
        let rank = max(1, Int((share * Double(total)).rounded(.up)))
        var passed = 0
        for i in counts.indices {
            passed += Int(counts[i])
            if passed >= rank { return Double(Self.upper(i)) / 1000 }
        }
        return 0
    }

    /// Below 32 each microsecond has its place; above, each doubling has 32.
    private static func place(_ value: Int) -> Int {
        guard value >= steps else { return max(0, value) }
        let doubling = Int.bitWidth - 1 - value.leadingZeroBitCount - 5
        return (doubling + 1) * steps + (value >> doubling) - steps
    }

    /// The largest value of a place.
    private static func upper(_ place: Int) -> Int {
        guard place >= steps else { return place }
        let doubling = place / steps - 1
        return (place % steps + steps + 1) << doubling - 1
    }
}
