/// The weights that scale one axis: each target sample is a weighted mean of neighbouring source samples.
///
/// If the axis is reduced to half or less, it is the mean of what the target sample covers. Otherwise it is the mean
/// over the width of one source sample, which is linear interpolation.
struct ScaleFilter {
    /// The number of target samples.
    let count: Int
    /// The source samples that are read.
    private(set) var samples = 0..<1
    /// Pairs of source samples per target sample.
    private(set) var pairs = 1
    /// The first source sample of each target sample, relative to `samples`. As long as a multiple of `group`.
    private(set) var first: [Int32]
    /// The pairs of weights of each target sample, each weight in four lanes.
    private(set) var weights: [SIMD8<UInt16>]

    /// The samples that may be read.
    private let bounds: Range<Int>
    /// Source samples per pixel (1 or 1/2), and pixels per target sample (1 or 2).
    private let scale: (from: Double, to: Double)
    private let length: Int
    /// The sum of a target sample's weights.
    private let total: Double
    /// Whether each target sample is made of at most two source samples, whatever part is scaled.
    let isInterpolation: Bool

    /// Target samples that are computed together.
    static let group = 16
    /// Positions this close to a sample's edge are on it, in samples: the rest is a rounding error.
    private static let epsilon = 1e-4

    /// Makes a filter that scales all of `first ..< first + size` pixels to `length` pixels.
    /// - Parameters:
    ///   - sourceShift: log2 of the pixels per source sample.
    ///   - targetShift: log2 of the pixels per target sample.
    ///   - total: the sum of a target sample's weights.
    init(
        from first: Int, _ size: Int, _ sourceShift: Int, to length: Int, _ targetShift: Int, total: Double
    ) {
        (self.length, self.total) = (length, total)
        count = (length + targetShift) >> targetShift
        bounds = first >> sourceShift..<(first + size + sourceShift) >> sourceShift
        scale = (1 / Double(1 << sourceShift), Double(1 << targetShift))
        let capacity = (count + Self.group - 1) / Self.group * Self.group
        self.first = Array(repeating: 0, count: capacity)
        // The mean of some samples covers parts of two more.
        let step = Double(size) * scale.from * scale.to / Double(length)
        isInterpolation = step < 2
        weights = Array(repeating: .zero, count: capacity * (Int(max(1, step)) / 2 + 2))
        set(from: Double(first), Double(size))
    }

    /// Columns that the weights may apply to: after the last sample they are 0.
    var capacity: Int { bounds.count + 2 * weights.count / first.count }

    /// Sets the part of the source that is scaled. Allocates nothing.
    /// - Parameters:
    ///   - start: the part's edge, in pixels.
    ///   - size: its size in pixels; at most that of the whole.
    mutating func set(from start: Double, _ size: Double) {
        let step = size * scale.from * scale.to / Double(length)
        let (start, width) = (start * scale.from, step < 2 ? 1 : step)
        let (lowest, highest) = (Double(bounds.lowerBound), Double(bounds.upperBound))
        /// The part of the source that a target sample covers.
        func support(_ i: Int) -> (low: Double, high: Double, samples: Range<Int>) {
            let middle = start + (Double(i) + 0.5) * step
            let low = min(max(middle - width / 2, lowest), highest - 1)
            let high = max(min(middle + width / 2, highest), lowest + 1)
            let from = Int(low + Self.epsilon)
            return (low, high, from..<max(from + 1, Int((high - Self.epsilon).rounded(.up))))
        }
        samples = support(0).samples.lowerBound..<support(count - 1).samples.upperBound
        pairs = 1
        for i in 0..<count { pairs = max(pairs, (support(i).samples.count + 1) / 2) }
        for i in 0..<count {
            let (low, high, covered) = support(i)
            first[i] = Int32(covered.lowerBound - samples.lowerBound)
            var sum = 0.0
            /// The weight of the next sample: rounded such that the sum is exact.
            func weight(_ sample: Int) -> UInt16 {
                let isLast = sample + 1 >= covered.upperBound
                let next = isLast ? total : (total * (Double(sample + 1) - low) / (high - low)).rounded()
                let weight = max(0, next - sum)
                sum = next
                return UInt16(weight)
            }
            for pair in 0..<pairs {
                let sample = covered.lowerBound + 2 * pair
                let (one, other) = (weight(sample), weight(sample + 1))
                weights[i * pairs + pair] = SIMD8(
                    lowHalf: SIMD4(repeating: one), highHalf: SIMD4(repeating: other))
            }
        }
    }
}
