import Frames

/// What frames cost. All room is taken at the start: measuring allocates nothing.
struct BenchMetrics {
    private static let stages = ["luma, search", "landmarks", "fit to output", "compose", "copy to output"]
    /// Summed frame by frame: a percentile of sums is no sum of percentiles.
    private static let sums = ["tracking", "whole frame"]

    /// Frames measured so far.
    private(set) var count = 0
    /// One row a stage, then those of `sums`; milliseconds.
    private var samples: [[Double]]
    /// As `PrivacyGate.coveredShare`.
    private var covered: [Float] = []
    /// Of the warm frames.
    private var allocations: [UInt64] = []

    init(frames: Int) {
        samples = Array(repeating: Array(repeating: 0, count: frames), count: Self.stages.count + Self.sums.count)
        covered.reserveCapacity(frames)
        allocations.reserveCapacity(frames)
    }

    /// - Parameters:
    ///   - copy: nanoseconds.
    ///   - covered: as `PrivacyGate.coveredShare`.
    ///   - allocations: of the frame; nil while it is not warm.
    mutating func add(_ cost: Pipeline.Cost, copy: UInt64, covered: Float, allocations: UInt64?) {
        self.covered.append(covered)
        var whole = 0.0
        func put(_ stage: Int, _ nanoseconds: UInt64) {
            let milliseconds = Double(nanoseconds) / 1e6
            samples[stage][count] = milliseconds
            whole += milliseconds
        }
        put(0, cost.search)
        put(1, cost.landmarks)
        put(2, cost.fit)
        put(3, cost.compose)
        put(4, copy)
        samples[Self.stages.count][count] = samples[0][count] + samples[1][count]
        samples[Self.stages.count + 1][count] = whole
        count += 1
        if let allocations { self.allocations.append(allocations) }
    }

    /// One JSON object on one line: `frames`, by the names of the table `milliseconds`, and of each frame the part that is
    /// `covered` beside what masks cover: 1 where it must not be shown.
    func json() -> String {
        let rows = zip(Self.stages + Self.sums, samples).map { "\"\($0)\": \(Self.json($1))" }
        return "{\"frames\": \(count), \"milliseconds\": {\(rows.joined(separator: ", "))}, "
            + "\"covered\": [\(covered.map { decimal(Double($0), places: 4) }.joined(separator: ", "))]}"
    }

    func report() {
        print("CPU ms per frame      median     95th     99th    worst")
        for (name, row) in zip(Self.stages + Self.sums, samples) { print(Self.line(name, row)) }
        if let compose = Self.median(samples[3]), let copy = Self.median(samples[4]), copy > 0 {
            print("compose / copy to output: \(decimal(compose / copy, places: 2)) (medians)")
        }
        guard !allocations.isEmpty else {
            print("allocations per frame: not known, the frames were too few to be warm")
            return
        }
        let busy = allocations.count { $0 > 0 }
        let total = allocations.reduce(0, +)
        print(
            "allocations per frame: \(decimal(Double(total) / Double(allocations.count), places: 2))"
                + " (\(busy) of \(allocations.count) warm frames had any, at most \(allocations.max() ?? 0); every call of "
                + "malloc and its kin by the frame loop's thread is counted, see Sources/CAllocations)")
    }

    private static func line(_ name: String, _ row: [Double]) -> String {
        let columns = percentiles(row).map { decimal($0, places: 3, width: 8) }
        return column(name, width: 20) + columns.joined(separator: " ")
    }

    /// A row's percentiles, and `each` frame's figure in the order of frames.
    private static func json(_ row: [Double]) -> String {
        let named = zip(["median", "p95", "p99", "worst"], percentiles(row)).map { "\"\($0)\": \(number($1))" }
        let each = row.map(number).joined(separator: ", ")
        return "{\(named.joined(separator: ", ")), \"each\": [\(each)]}"
    }

    private static func number(_ milliseconds: Double) -> String { decimal(milliseconds, places: 4) }

    /// Median, 95th, 99th, worst.
    private static func percentiles(_ row: [Double]) -> [Double] {
        let sorted = row.sorted()
        return [0.5, 0.95, 0.99, 1].map { rank(sorted, $0) ?? .nan }
    }

    private static func median(_ row: [Double]) -> Double? { rank(row.sorted(), 0.5) }

    /// The nearest-rank percentile.
    private static func rank(_ sorted: [Double], _ part: Double) -> Double? {
        sorted.isEmpty ? nil : sorted[max(0, Int((part * Double(sorted.count)).rounded(.up)) - 1)]
    }
}
