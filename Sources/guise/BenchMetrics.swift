import Engine
import SystemKit

/// The timings of benchmarked frames. All memory is allocated at the start: measuring allocates nothing.
struct BenchMetrics {
    private static let stages = ["luma, search", "landmarks", "transform", "segmentation", "compose", "copy to output"]
    /// Stages that are summed for each frame, because the percentile of a sum is not the sum of percentiles.
    private static let sums = ["tracking", "whole frame"]

    /// The number of frames measured so far.
    private(set) var count = 0
    /// The CPU times in milliseconds: one row for each stage, followed by those of `sums`.
    private var samples: [[Double]]
    /// The covered share of each frame, from `PrivacyGate.coveredShare`.
    private var covered: [Float] = []
    /// The number of allocations of each frame after the warm-up.
    private var allocations: [UInt64] = []

    init(frames: Int) {
        samples = Array(repeating: Array(repeating: 0, count: frames), count: Self.stages.count + Self.sums.count)
        covered.reserveCapacity(frames)
        allocations.reserveCapacity(frames)
    }

    /// Adds a frame.
    /// - Parameters:
    ///   - cost: the CPU times of the pipeline's stages.
    ///   - copy: the CPU time of the copy to the output, in nanoseconds.
    ///   - covered: the frame's `PrivacyGate.coveredShare`.
    ///   - allocations: the frame's number of allocations; nil during the warm-up.
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
        put(2, cost.transform)
        put(3, cost.segmentation)
        put(4, cost.compose)
        put(5, copy)
        samples[Self.stages.count][count] = samples[0][count] + samples[1][count]
        samples[Self.stages.count + 1][count] = whole
        count += 1
        if let allocations { self.allocations.append(allocations) }
    }

    /// The results for programs.
    struct Result: Encodable {
        /// The CPU milliseconds of a stage.
        struct Row: Encodable {
            let median: Double
            let p95: Double
            let p99: Double
            let worst: Double
            /// The value of each frame in order.
            let each: [Double]
        }

        /// The number of frames.
        let frames: Int
        /// The stages by name.
        let milliseconds: [String: Row]
        /// For each frame the share covered in addition to the masks, which is 1 for a frame that must not be shown.
        let covered: [Double]
    }

    var result: Result {
        let rows = zip(Self.stages + Self.sums, samples).map { name, row in
            let ranks = Self.percentiles(row).map { rounded($0, 10_000) }
            let each = row.map { rounded($0, 10_000) }
            return (name, Result.Row(median: ranks[0], p95: ranks[1], p99: ranks[2], worst: ranks[3], each: each))
        }
        return Result(
            frames: count, milliseconds: Dictionary(uniqueKeysWithValues: rows),
            covered: covered.map { rounded(Double($0), 10_000) })
    }

    func report() {
        print("CPU ms per frame      median     95th     99th    worst")
        for (name, row) in zip(Self.stages + Self.sums, samples) { print(Self.line(name, row)) }
        if let compose = Self.median(samples[4]), let copy = Self.median(samples[5]), copy > 0 {
            print("compose / copy to output: \(decimal(compose / copy, places: 2)) (medians)")
        }
        guard !allocations.isEmpty else {
            print("allocations per frame: unknown, too few frames for the warm-up")
            return
        }
        let busy = allocations.count { $0 > 0 }
        let total = allocations.reduce(0, +)
        print(
            "allocations per frame: \(decimal(Double(total) / Double(allocations.count), places: 2))"
                + " (\(busy) of \(allocations.count) warm frames had any, at most \(allocations.max() ?? 0); calls of "
                + "malloc and related functions by the frame loop's thread are counted, see Sources/CAllocations)")
    }

    private static func line(_ name: String, _ row: [Double]) -> String {
        let columns = percentiles(row).map { decimal($0, places: 3, width: 8) }
        return column(name, width: 20) + columns.joined(separator: " ")
    }

    /// The median, 95th and 99th percentile, and the maximum.
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
