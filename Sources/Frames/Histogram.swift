/// A histogram of durations in constant memory. Each doubling has 32 buckets, so that a percentile is accurate to 3 %
/// over the whole range (after HdrHistogram's log-linear buckets, Tene 2012).
public struct Histogram: Sendable {
    /// One counter per bucket of microseconds. The last bucket also counts all longer durations: 16 s or more.
    private var counts = [640 of UInt32](repeating: 0)
    /// The number of durations counted.
    public private(set) var total = 0

    private static let steps = 32

    /// An empty histogram.
    public init() {}

    /// Counts one duration.
    public mutating func add(nanoseconds: UInt64) {
        let microseconds = Int(clamping: nanoseconds / 1000)
        counts[min(Self.index(microseconds), counts.count - 1)] &+= 1
        total += 1
    }

    /// The duration in milliseconds that the given fraction (0...1) of all durations does not exceed; 0 if none was
    /// counted.
    public func percentile(_ fraction: Double) -> Double {
        let rank = max(1, Int((fraction * Double(total)).rounded(.up)))
        var passed = 0
        for i in counts.indices {
            passed += Int(counts[i])
            if passed >= rank { return Double(Self.upper(i)) / 1000 }
        }
        return 0
    }

    /// The bucket of a duration. Below 32 each microsecond has its own; above, each doubling has 32.
    private static func index(_ value: Int) -> Int {
        guard value >= steps else { return max(0, value) }
        let doubling = Int.bitWidth - 1 - value.leadingZeroBitCount - 5
        return (doubling + 1) * steps + (value >> doubling) - steps
    }

    /// The largest value in a bucket, microseconds.
    private static func upper(_ bucket: Int) -> Int {
        guard bucket >= steps else { return bucket }
        let doubling = bucket / steps - 1
        return (bucket % steps + steps + 1) << doubling - 1
    }
}
