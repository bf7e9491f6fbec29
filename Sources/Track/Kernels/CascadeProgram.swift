import CCascade
import Frames
import SystemKit

typealias HaarNode = ccascade_node

/// One node of a tree of local binary patterns: the sums of eight outer cells, compared with the middle one's.
package struct PatternNode: BitwiseCopyable, Sendable {
    /// Offsets of the 4 x 4 corners of the cells in the integral, from the window's first entry, row by row.
    package var corners: SIMD16<Int32>
    /// One bit for each pattern; if set, the left branch is taken.
    package var subset: SIMD8<UInt32>
    package var left: Int32
    package var right: Int32

    package init(corners: SIMD16<Int32>, subset: SIMD8<UInt32>, left: Int32, right: Int32) {
        (self.corners, self.subset, self.left, self.right) = (corners, subset, left, right)
    }
}

/// One stage: a window passes if the sum of its trees' leaves reaches the threshold.
package struct CascadeStage: BitwiseCopyable, Sendable {
    package var firstTree: Int32
    package var treeCount: Int32
    package var threshold: Float
    /// The difference between the largest possible sum and the threshold; margins are relative to it.
    package var headroom: Float

    package init(firstTree: Int, treeCount: Int, threshold: Float, headroom: Float) {
        (self.firstTree, self.treeCount) = (Int32(firstTree), Int32(treeCount))
        (self.threshold, self.headroom) = (threshold, headroom)
    }
}

/// The result of a cascade for one window.
public struct CascadeResult: BitwiseCopyable, Equatable, Sendable {
    /// The number of stages passed; -1: the window is too flat to be evaluated.
    public var passed: Int32 = -1
    /// The last evaluated stage's sum minus its threshold; negative if the window was rejected there.
    public var margin: Float = 0
    /// The relative margins of the passed stages, 0 (each barely passed) to 1 (the maximum).
    public var strength: Float = 0

    /// Creates a result; without arguments, that of a window too flat to be evaluated.
    public init(passed: Int32 = -1, margin: Float = 0, strength: Float = 0) {
        (self.passed, self.margin, self.strength) = (passed, margin, strength)
    }

    /// The stages passed plus the strength. Detection compares it with a high threshold, tracking with a lower one.
    public var confidence: Float { Float(passed) + strength }
}

/// A cascade's result and the window's first column and row in the level.
package struct CascadeHit: BitwiseCopyable, Equatable, Sendable {
    package var x: Int32
    package var y: Int32
    package var result: CascadeResult

    package init(x: Int32 = 0, y: Int32 = 0, result: CascadeResult = CascadeResult()) {
        (self.x, self.y, self.result) = (x, y, result)
    }
}

/// A cascade compiled for integrals of one stride. Immutable.
///
/// All sums are computed as OpenCV does: integer rectangle sums are weighted in Float, and a stage's leaves are added
/// in Double in the order of the trees. So every window is rejected at the same stage as in OpenCV.
@safe package struct CascadeProgram: ~Copyable {
    let stages: UnsafeMutableBufferPointer<CascadeStage>
    let haar: UnsafeMutableBufferPointer<HaarNode>
    let patterns: UnsafeMutableBufferPointer<PatternNode>
    let leaves: UnsafeMutableBufferPointer<Float>
    /// The first node of each tree, and the end of the last one.
    let roots: UnsafeMutableBufferPointer<Int32>
    package let windowWidth: Int
    package let windowHeight: Int
    let stride: Int
    let planeSize: Int
    /// The area and corners of the inner window, whose contrast scales the features: one sample in from each side.
    let area: Double
    let corners: SIMD4<Int32>
    /// The number of nodes of the largest tree.
    let treeSize: Int
    /// Columns from one window to the next: 2 if the integral is split, else 1.
    let pitch: Int
    let headroom: Float
    let stageCount: Int
    let isHaar: Bool
    /// Evaluates a stage for a group on processors with AVX2; nil on others.
    let wide: ccascade_stage?
    /// Whether windows can be evaluated in groups. Without AVX2 all trees must have one node, or all two.
    let groupable: Bool
    /// The smallest number of windows that is evaluated as a group, of those that passed the stages so far and of those
    /// left in a row: the measured cost of a group in single windows.
    let minLanes: Int
    let minLanesInRow: Int

    /// Compiles a cascade.
    /// - Parameters:
    ///   - haar: all nodes of a Haar cascade, or none.
    ///   - patterns: all nodes of an LBP cascade, or none.
    ///   - mayBeWide: whether to use AVX2 if the processor has it; the results are the same.
    /// - Precondition: `roots`, nodes and leaves refer to each other inside their arrays, and the successors of every
    ///   node are after it; offsets stay inside a window of the given size. `Cascade` checks this when it reads a file.
    init(
        stages: [CascadeStage], haar: [HaarNode], patterns: [PatternNode], leaves: [Float], roots: [Int32],
        windowWidth: Int, windowHeight: Int, treeSize: Int, for integral: borrowing Integral, mayBeWide: Bool = true
    ) {
        unsafe self.stages = Self.copy(stages)
        unsafe self.haar = Self.copy(haar)
        unsafe self.patterns = Self.copy(patterns)
        unsafe self.leaves = Self.copy(leaves)
        let ends = roots.dropFirst() + [Int32(haar.count)]
        unsafe self.roots = Self.copy(roots + ends.suffix(1))
        (self.windowWidth, self.windowHeight, self.treeSize) = (windowWidth, windowHeight, treeSize)
        (stride, planeSize) = (integral.stride, integral.planeSize)
        pitch = integral.odd == 0 ? 1 : 2
        area = Double((windowWidth - 2) * (windowHeight - 2))
        let (left, right) = (1, windowWidth - 1)
        let (first, last) =
            integral.odd == 0 ? (left, right) : (left >> 1 + integral.odd, right >> 1 + (right & 1) * integral.odd)
        let (top, bottom) = (stride, (windowHeight - 1) * stride)
        corners = SIMD4(Int32(top + first), Int32(top + last), Int32(bottom + first), Int32(bottom + last))
        headroom = max(stages.reduce(0) { $0 + $1.headroom }, .leastNormalMagnitude)
        stageCount = stages.count
        isHaar = !haar.isEmpty
        let arePairs =
            isHaar
            && zip(roots, ends).allSatisfy { root, end in
                let (left, right) = (haar[Int(root)].left, haar[Int(root)].right)
                return end - root == 2 && (left == root + 1) != (right == root + 1)
            }
        unsafe wide = isHaar && mayBeWide ? ccascade_kernel(Int32(treeSize), arePairs ? 1 : 0) : nil
        groupable = unsafe isHaar && (wide != nil || treeSize == 1 || arePairs)
        minLanes = unsafe wide != nil ? 1 : treeSize == 1 ? 3 : 2
        minLanesInRow = unsafe wide != nil ? 2 : 4
    }

    deinit {
        unsafe stages.deallocate()
        unsafe haar.deallocate()
        unsafe patterns.deallocate()
        unsafe leaves.deallocate()
        unsafe roots.deallocate()
    }

    private static func copy<T: BitwiseCopyable>(_ values: [T]) -> UnsafeMutableBufferPointer<T> {
        let buffer = UnsafeMutableBufferPointer<T>.allocate(capacity: max(1, values.count))
        _ = unsafe buffer.initialize(from: values)
        return unsafe buffer
    }

    /// The number of windows in a level, across and down; 0 if the level is smaller than a window.
    package func windows(of integral: borrowing Integral) -> (columns: Int, rows: Int) {
        guard integral.width >= windowWidth, integral.height >= windowHeight else { return (0, 0) }
        return (integral.width - windowWidth + 1, integral.height - windowHeight + 1)
    }

    /// Evaluates the window whose first sample is (x, y); nil if it is outside the level.
    package func evaluate(_ integral: borrowing Integral, x: Int, y: Int) -> CascadeResult? {
        let (columns, rows) = windows(of: integral)
        precondition(
            integral.stride == stride && integral.planeSize == planeSize, "the program is for another integral's layout"
        )
        guard x >= 0, y >= 0, x < columns, y < rows, x % pitch == 0 else { return nil }
        let window = unsafe UnsafePointer(integral.entries + y * stride + x / pitch)
        guard let scale = unsafe contrast(window) else { return CascadeResult() }
        return unsafe finish(window, scale, from: 0, accumulatedMargin: 0)
    }

    /// Evaluates the windows of one row and lists those that pass `minStages` stages or more.
    /// - Parameters:
    ///   - columns: the range of the windows' first samples. Every `step`-th column in it is evaluated, or every second
    ///     one if the integral is split; columns outside the level are skipped.
    ///   - hits: the list; results are appended from `count` on, and dropped once it is full.
    package func scan(
        _ integral: borrowing Integral, row y: Int, columns: Range<Int>, step: Int, minStages: Int,
        hits: inout MutableSpan<CascadeHit>, count: inout Int
    ) {
        let size = windows(of: integral)
        precondition(
            integral.stride == stride && integral.planeSize == planeSize, "the program is for another integral's layout"
        )
        let last = min(columns.upperBound, size.columns)
        var x = (max(columns.lowerBound, 0) + pitch - 1) / pitch * pitch
        guard y >= 0, y < size.rows, step > 0 else { return }
        let row = unsafe UnsafePointer(integral.entries + y * stride)
        while x < last {
            let windows = (last - x + pitch - 1) / pitch
            let window = unsafe row + x / pitch
            if step <= pitch && windows >= minLanesInRow && groupable {
                unsafe evaluateLanes(window, x, y, min(8, windows), minStages, &hits, &count)
                x += 8 * pitch
                continue
            }
            if let scale = unsafe contrast(window) {
                let result = unsafe finish(window, scale, from: 0, accumulatedMargin: 0)
                if result.passed >= minStages { Self.appendResult(result, x, y, &hits, &count) }
            }
            x += max(step, pitch)
        }
    }

    static func appendResult(
        _ result: CascadeResult, _ x: Int, _ y: Int, _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int
    ) {
        guard count < hits.count else { return }
        hits[count] = CascadeHit(x: Int32(x), y: Int32(y), result: result)
        count += 1
    }
}
