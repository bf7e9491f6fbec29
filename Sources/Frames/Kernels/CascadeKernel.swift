/// One node of a Haar tree: up to three weighted rectangle sums against a threshold.
public struct HaarNode: BitwiseCopyable, Sendable {
    /// Entries of the integral, from the window's first, of each rectangle's corners (+, -, -, +).
    public var first: SIMD4<Int32>
    public var second: SIMD4<Int32>
    public var third: SIMD4<Int32>
    /// Weights of the three; 0: there is no third. OpenCV's are small whole numbers, so sums of them are exact.
    public var weights: SIMD4<Float>
    /// Of the weighted sum over the window's contrast. Below it the way goes left.
    public var threshold: Float
    /// The next node where 0 or more, else the leaf `~left`.
    public var left: Int32
    public var right: Int32

    public init(
        first: SIMD4<Int32>, second: SIMD4<Int32>, third: SIMD4<Int32>, weights: SIMD4<Float>, threshold: Float,
        left: Int32, right: Int32
    ) {
        (self.first, self.second, self.third, self.weights) = (first, second, third, weights)
        (self.threshold, self.left, self.right) = (threshold, left, right)
    }
}

/// One node of a tree of local binary patterns: nine cells' sums, the eight outer against the middle one.
public struct PatternNode: BitwiseCopyable, Sendable {
    /// Entries of the integral, from the window's first, of the 4 x 4 corners of the cells, row by row.
    public var corners: SIMD16<Int32>
    /// One bit for each pattern; set: the way goes left.
    public var left8: SIMD8<UInt32>
    public var left: Int32
    public var right: Int32

    public init(corners: SIMD16<Int32>, subset: SIMD8<UInt32>, left: Int32, right: Int32) {
        (self.corners, self.left8, self.left, self.right) = (corners, subset, left, right)
    }
}

/// One stage: the window goes on where its trees' leaves add up to the threshold.
public struct CascadeStage: BitwiseCopyable, Sendable {
    public var firstTree: Int32
    public var treeCount: Int32
    public var threshold: Float
    /// By how much the largest possible sum exceeds the threshold: what a margin is measured against.
    public var headroom: Float

    public init(firstTree: Int, treeCount: Int, threshold: Float, headroom: Float) {
        (self.firstTree, self.treeCount) = (Int32(firstTree), Int32(treeCount))
        (self.threshold, self.headroom) = (threshold, headroom)
    }
}

/// What a cascade says of one window.
public struct Verdict: BitwiseCopyable, Equatable, Sendable {
    /// Stages passed; -1: the window is too flat to be judged.
    public var passed: Int32 = -1
    /// The last evaluated stage's sum less its threshold: negative where the window fell there.
    public var margin: Float = 0
    /// The margins of the passed stages, 0 (each just passed) to 1 (no window could pass better).
    public var strength: Float = 0

    public init(passed: Int32 = -1, margin: Float = 0, strength: Float = 0) {
        (self.passed, self.margin, self.strength) = (passed, margin, strength)
    }

    /// Depth first, strength second: grows with both, so that one number finds (high) and keeps (lower).
    public var confidence: Float { Float(passed) + strength }
}

/// A verdict and the window's first column and row in the level.
public struct CascadeHit: BitwiseCopyable, Equatable, Sendable {
    public var x: Int32
    public var y: Int32
    public var verdict: Verdict

    public init(x: Int32 = 0, y: Int32 = 0, verdict: Verdict = Verdict()) {
        (self.x, self.y, self.verdict) = (x, y, verdict)
    }
}

/// A cascade made ready for integrals of one stride. Immutable once made.
///
/// All sums are those of OpenCV: whole-number rectangle sums weighted in Float, a stage's leaves added in Double in
/// the trees' order, so that each window ends where it ends there.
@safe public struct CascadeProgram: ~Copyable {
    let stages: UnsafeMutableBufferPointer<CascadeStage>
    let haar: UnsafeMutableBufferPointer<HaarNode>
    let patterns: UnsafeMutableBufferPointer<PatternNode>
    let leaves: UnsafeMutableBufferPointer<Float>
    /// Each tree's first node.
    let roots: UnsafeMutableBufferPointer<Int32>
    public let windowWidth: Int
    public let windowHeight: Int
    let stride: Int
    let planeSize: Int
    /// The inner window whose contrast scales the features: one sample in from each side.
    private let area: Double
    private let corners: SIMD4<Int32>
    /// Nodes of the largest tree.
    private let treeSize: Int
    private let headroom: Float
    private let stageCount: Int
    private let isHaar: Bool
    /// Whether all trees have one node, or all have two that follow each other.
    private let groupable: Bool
    /// Fewer live windows than this are finished one at a time: what a group costs in single windows, measured.
    private let fewest: Int
    /// What a tree costs in stumps, measured.
    private let treeWork: Int

    /// - Parameters:
    ///   - haar: all nodes of a Haar cascade, or none.
    ///   - patterns: all nodes of an LBP cascade, or none.
    /// - Precondition: `roots`, nodes and leaves refer to each other inside their arrays and every node's successors
    ///   lie behind it; offsets stay inside a window of the given size. `Cascade` checks this when it reads a file.
    public init(
        stages: [CascadeStage], haar: [HaarNode], patterns: [PatternNode], leaves: [Float], roots: [Int32],
        windowWidth: Int, windowHeight: Int, treeSize: Int, for integral: borrowing Integral
    ) {
        unsafe self.stages = Self.copy(stages)
        unsafe self.haar = Self.copy(haar)
        unsafe self.patterns = Self.copy(patterns)
        unsafe self.leaves = Self.copy(leaves)
        unsafe self.roots = Self.copy(roots)
        (self.windowWidth, self.windowHeight, self.treeSize) = (windowWidth, windowHeight, treeSize)
        (stride, planeSize) = (integral.stride, integral.planeSize)
        area = Double((windowWidth - 2) * (windowHeight - 2))
        let top = stride + 1
        let bottom = (windowHeight - 1) * stride + 1
        corners = SIMD4(Int32(top), Int32(top + windowWidth - 2), Int32(bottom), Int32(bottom + windowWidth - 2))
        headroom = max(stages.reduce(0) { $0 + $1.headroom }, .leastNormalMagnitude)
        stageCount = stages.count
        isHaar = !haar.isEmpty
        fewest = treeSize == 1 ? 3 : 2
        treeWork = isHaar && treeSize == 1 ? 1 : 3
        groupable =
            isHaar
            && (treeSize == 1
                || roots.indices.allSatisfy {
                    let (root, end) = (roots[$0], $0 + 1 < roots.count ? roots[$0 + 1] : Int32(haar.count))
                    let node = haar[Int(root)]
                    return end - root == 2 && (node.left == root + 1) != (node.right == root + 1)
                })
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

    /// How many windows a level has, across and down; 0 where it is smaller than one.
    public func windows(of integral: borrowing Integral) -> (columns: Int, rows: Int) {
        guard integral.width >= windowWidth, integral.height >= windowHeight else { return (0, 0) }
        return (integral.width - windowWidth + 1, integral.height - windowHeight + 1)
    }

    /// Judges the window whose first sample is (x, y); nil outside the level.
    /// - Parameter work: grows by the trees evaluated, in stumps.
    public func evaluate(_ integral: borrowing Integral, x: Int, y: Int, work: inout Int) -> Verdict? {
        let (columns, rows) = windows(of: integral)
        precondition(integral.stride == stride && integral.planeSize == planeSize, "the integral the program is for")
        guard x >= 0, y >= 0, x < columns, y < rows else { return nil }
        let window = unsafe UnsafePointer(integral.entries + y * stride + x)
        guard let scale = unsafe contrast(window) else { return Verdict() }
        return unsafe finish(window, scale, from: 0, gained: 0, work: &work)
    }

    /// Judges the windows of one row and lists those that pass `stage` stages or more.
    /// - Parameters:
    ///   - columns: first samples, every `step`-th of them; those outside the level are left out.
    ///   - hits: room for the list; `count` of them are taken, and more are dropped once it is full.
    ///   - work: grows by the trees evaluated, in stumps; groups at what they cost.
    public func scan(
        _ integral: borrowing Integral, row y: Int, columns: Range<Int>, step: Int, stage: Int,
        hits: inout MutableSpan<CascadeHit>, count: inout Int, work: inout Int
    ) {
        let size = windows(of: integral)
        precondition(integral.stride == stride && integral.planeSize == planeSize, "the integral the program is for")
        let last = min(columns.upperBound, size.columns)
        var x = max(columns.lowerBound, 0)
        guard y >= 0, y < size.rows, step > 0 else { return }
        let row = unsafe UnsafePointer(integral.entries + y * stride)
        while x < last {
            if step == 1 && last - x >= 4 && groupable {
                unsafe group(row + x, x, y, min(8, last - x), stage, &hits, &count, &work)
                x += 8
                continue
            }
            if let scale = unsafe contrast(row + x) {
                let verdict = unsafe finish(row + x, scale, from: 0, gained: 0, work: &work)
                if verdict.passed >= stage { Self.put(verdict, x, y, &hits, &count) }
            }
            x += step
        }
    }

    private static func put(
        _ verdict: Verdict, _ x: Int, _ y: Int, _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int
    ) {
        guard count < hits.count else { return }
        hits[count] = CascadeHit(x: Int32(x), y: Int32(y), verdict: verdict)
        count += 1
    }
}

// One window at a time.
extension CascadeProgram {
    /// One over the inner window's standard deviation times its area; nil where OpenCV judges nothing, since the
    /// window is flat. LBP compares sums with sums and needs none.
    private func contrast(_ window: UnsafePointer<Int32>) -> Float? {
        guard isHaar else { return 1 }
        let sum = unsafe Self.sum(window, corners)
        let squares = unsafe UInt32(bitPattern: Self.sum(window + planeSize, corners))
        let spread = area * Double(squares) - Double(sum) * Double(sum)
        guard spread > 0 else { return nil }
        let scale = Float(1 / spread.squareRoot())
        return area * Double(scale) < 0.1 ? scale : nil
    }

    @inline(__always)
    private static func sum(_ window: UnsafePointer<Int32>, _ at: SIMD4<Int32>) -> Int32 {
        unsafe window[Int(at.x)] &- window[Int(at.y)] &- window[Int(at.z)] &+ window[Int(at.w)]
    }

    /// Judges a window from a stage on.
    private func finish(
        _ window: UnsafePointer<Int32>, _ scale: Float, from first: Int, gained soFar: Float, work: inout Int
    ) -> Verdict {
        var gained = soFar
        var margin: Float = 0
        for index in first..<stageCount {
            let stage = unsafe stages[index]
            work += Int(stage.treeCount) * treeWork
            let sum =
                unsafe !isHaar ? patternSum(window, stage)
                : treeSize == 1 ? stumpSum(window, scale, stage) : treeSum(window, scale, stage)
            margin = Float(sum - Double(stage.threshold))
            if sum < Double(stage.threshold) {
                return Verdict(passed: Int32(index), margin: margin, strength: gained / headroom)
            }
            gained += margin
        }
        return Verdict(passed: Int32(stageCount), margin: margin, strength: gained / headroom)
    }

    @inline(__always)
    private static func value(_ window: UnsafePointer<Int32>, _ node: UnsafePointer<HaarNode>) -> Float {
        let weights = unsafe node.pointee.weights
        var value = unsafe weights.x * Float(sum(window, node.pointee.first))
        value += unsafe weights.y * Float(sum(window, node.pointee.second))
        if weights.z != 0 { value += unsafe weights.z * Float(sum(window, node.pointee.third)) }
        return value
    }

    private func stumpSum(_ window: UnsafePointer<Int32>, _ scale: Float, _ stage: CascadeStage) -> Double {
        var total = 0.0
        guard var node = unsafe UnsafePointer(haar.baseAddress), var leaf = unsafe UnsafePointer(leaves.baseAddress)
        else { return total }
        unsafe node += Int(stage.firstTree)
        unsafe leaf += 2 * Int(stage.firstTree)
        for _ in 0..<stage.treeCount {
            let value = unsafe Self.value(window, node) * scale
            unsafe total += Double(leaf[value < node.pointee.threshold ? 0 : 1])
            unsafe node += 1
            unsafe leaf += 2
        }
        return total
    }

    private func treeSum(_ window: UnsafePointer<Int32>, _ scale: Float, _ stage: CascadeStage) -> Double {
        var total = 0.0
        guard let nodes = unsafe UnsafePointer(haar.baseAddress) else { return total }
        for tree in Int(stage.firstTree)..<Int(stage.firstTree + stage.treeCount) {
            var next = unsafe roots[tree]
            repeat {
                let node = unsafe nodes + Int(next)
                let value = unsafe Self.value(window, node) * scale
                next = unsafe value < node.pointee.threshold ? node.pointee.left : node.pointee.right
            } while next >= 0
            unsafe total += Double(leaves[Int(~next)])
        }
        return total
    }

    private func patternSum(_ window: UnsafePointer<Int32>, _ stage: CascadeStage) -> Double {
        var total = 0.0
        guard let nodes = unsafe UnsafePointer(patterns.baseAddress) else { return total }
        for tree in Int(stage.firstTree)..<Int(stage.firstTree + stage.treeCount) {
            var next = unsafe roots[tree]
            repeat {
                let node = unsafe nodes + Int(next)
                let pattern = unsafe Self.pattern(window, node.pointee.corners)
                let goesLeft = unsafe node.pointee.left8[pattern >> 5] >> UInt32(pattern & 31) & 1 != 0
                next = unsafe goesLeft ? node.pointee.left : node.pointee.right
            } while next >= 0
            unsafe total += Double(leaves[Int(~next)])
        }
        return total
    }

    /// The cells clockwise from the top left, one bit each, the first the highest: set where not darker than the
    /// middle.
    @inline(__always)
    private static func pattern(_ window: UnsafePointer<Int32>, _ at: SIMD16<Int32>) -> Int {
        @inline(__always) func corner(_ i: Int) -> Int32 { unsafe window[Int(at[i])] }
        let (a, b, c, d) = (corner(0), corner(1), corner(2), corner(3))
        let (e, f, g, h) = (corner(4), corner(5), corner(6), corner(7))
        let (i, j, k, l) = (corner(8), corner(9), corner(10), corner(11))
        let (m, n, o, p) = (corner(12), corner(13), corner(14), corner(15))
        let middle = f &- g &- j &+ k
        var code = a &- b &- e &+ f >= middle ? 128 : 0
        code |= b &- c &- f &+ g >= middle ? 64 : 0
        code |= c &- d &- g &+ h >= middle ? 32 : 0
        code |= g &- h &- k &+ l >= middle ? 16 : 0
        code |= k &- l &- o &+ p >= middle ? 8 : 0
        code |= j &- k &- n &+ o >= middle ? 4 : 0
        code |= i &- j &- m &+ n >= middle ? 2 : 0
        code |= e &- f &- i &+ j >= middle ? 1 : 0
        return code
    }
}

// Eight neighbouring windows at once, until too few of them are left.
extension CascadeProgram {
    private func group(
        _ window: UnsafePointer<Int32>, _ x: Int, _ y: Int, _ width: Int, _ stage: Int,
        _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int, _ work: inout Int
    ) {
        var scales = SIMD8<Float>(repeating: 0)
        var alive = 0
        for lane in 0..<width {
            guard let scale = unsafe contrast(window + lane) else { continue }
            scales[lane] = scale
            alive |= 1 << lane
        }
        var gained = SIMD8<Float>(repeating: 0)
        var index = 0
        while index < stageCount, alive.nonzeroBitCount >= fewest {
            let now = unsafe stages[index]
            work += Int(now.treeCount) * treeWork * fewest
            let sum = unsafe treeSize == 1 ? stumpSums(window, scales, now) : pairSums(window, scales, now)
            let margin = SIMD8<Float>(sum - Double(now.threshold))
            let failed = Self.bits(sum .< Double(now.threshold)) & alive
            if index >= stage && failed != 0 {
                report(failed, Int32(index), margin, gained, x, y, &hits, &count)
            }
            alive &= ~failed
            gained += margin
            index += 1
            if index == stageCount { report(alive, Int32(index), margin, gained, x, y, &hits, &count) }
        }
        guard index < stageCount else { return }
        for lane in 0..<width where alive >> lane & 1 != 0 {
            let verdict = unsafe finish(
                window + lane, scales[lane], from: index, gained: gained[lane], work: &work)
            if verdict.passed >= stage { Self.put(verdict, x + lane, y, &hits, &count) }
        }
    }

    private func report(
        _ lanes: Int, _ passed: Int32, _ margin: SIMD8<Float>, _ gained: SIMD8<Float>, _ x: Int, _ y: Int,
        _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int
    ) {
        for lane in 0..<8 where lanes >> lane & 1 != 0 {
            let verdict = Verdict(passed: passed, margin: margin[lane], strength: gained[lane] / headroom)
            Self.put(verdict, x + lane, y, &hits, &count)
        }
    }

    @inline(__always)
    private static func bits(_ mask: SIMDMask<SIMD8<Int64>>) -> Int {
        var bits = 0
        for lane in 0..<8 where mask[lane] { bits |= 1 << lane }
        return bits
    }

    @inline(__always)
    private static func load(_ window: UnsafePointer<Int32>, _ at: Int32) -> SIMD8<Int32> {
        unsafe UnsafeRawPointer(window + Int(at)).loadUnaligned(as: SIMD8<Int32>.self)
    }

    @inline(__always)
    private static func sums(_ window: UnsafePointer<Int32>, _ at: SIMD4<Int32>) -> SIMD8<Float> {
        let sum = unsafe load(window, at.x) &- load(window, at.y) &- load(window, at.z) &+ load(window, at.w)
        return SIMD8<Float>(sum)
    }

    @inline(__always)
    private static func values(_ window: UnsafePointer<Int32>, _ node: UnsafePointer<HaarNode>) -> SIMD8<Float> {
        let weights = unsafe node.pointee.weights
        var value = unsafe sums(window, node.pointee.first) * weights.x
        value += unsafe sums(window, node.pointee.second) * weights.y
        if weights.z != 0 { value += unsafe sums(window, node.pointee.third) * weights.z }
        return value
    }

    private func stumpSums(
        _ window: UnsafePointer<Int32>, _ scales: SIMD8<Float>, _ stage: CascadeStage
    ) -> SIMD8<Double> {
        var total = SIMD8<Double>(repeating: 0)
        guard var node = unsafe UnsafePointer(haar.baseAddress), var leaf = unsafe UnsafePointer(leaves.baseAddress)
        else { return total }
        unsafe node += Int(stage.firstTree)
        unsafe leaf += 2 * Int(stage.firstTree)
        for _ in 0..<stage.treeCount {
            let below = unsafe Self.values(window, node) * scales .< node.pointee.threshold
            let right = unsafe SIMD8<Float>(repeating: leaf[1])
            total += unsafe SIMD8<Double>(right.replacing(with: leaf[0], where: below))
            unsafe node += 1
            unsafe leaf += 2
        }
        return total
    }

    /// Both nodes of every tree for every window, then the way that each window took.
    private func pairSums(
        _ window: UnsafePointer<Int32>, _ scales: SIMD8<Float>, _ stage: CascadeStage
    ) -> SIMD8<Double> {
        var total = SIMD8<Double>(repeating: 0)
        guard let nodes = unsafe UnsafePointer(haar.baseAddress), let leaves = unsafe UnsafePointer(leaves.baseAddress)
        else { return total }
        for tree in Int(stage.firstTree)..<Int(stage.firstTree + stage.treeCount) {
            let root = unsafe nodes + Int(roots[tree])
            let node = unsafe root + 1
            let rootBelow = unsafe Self.values(window, root) * scales .< root.pointee.threshold
            let below = unsafe Self.values(window, node) * scales .< node.pointee.threshold
            let left = unsafe SIMD8<Float>(repeating: leaves[Int(~node.pointee.left)])
            let right = unsafe SIMD8<Float>(repeating: leaves[Int(~node.pointee.right)])
            let second = right.replacing(with: left, where: below)
            if unsafe root.pointee.left < 0 {
                let first = unsafe SIMD8<Float>(repeating: leaves[Int(~root.pointee.left)])
                total += SIMD8<Double>(second.replacing(with: first, where: rootBelow))
            } else {
                let first = unsafe SIMD8<Float>(repeating: leaves[Int(~root.pointee.right)])
                total += SIMD8<Double>(first.replacing(with: second, where: rootBelow))
            }
        }
        return total
    }
}
