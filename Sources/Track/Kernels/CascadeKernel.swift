import CCascade
import Frames

// Evaluation of one window at a time.
extension CascadeProgram {
    /// The scale of a window's features: one over the inner window's standard deviation times its area. Nil if the
    /// window is too flat, as in OpenCV. LBP only compares sums with sums, so its scale is 1.
    func contrast(_ window: UnsafePointer<Int32>) -> Float? {
        guard isHaar else { return 1 }
        let sum = unsafe Self.sum(window, corners)
        let squares = unsafe UInt32(bitPattern: Self.sum(window + planeSize, corners))
        let variance = area * Double(squares) - Double(sum) * Double(sum)
        guard variance > 0 else { return nil }
        let scale = Float(1 / variance.squareRoot())
        return area * Double(scale) < 0.1 ? scale : nil
    }

    @inline(__always)
    private static func sum(_ window: UnsafePointer<Int32>, _ at: SIMD4<Int32>) -> Int32 {
        unsafe window[Int(at.x)] &- window[Int(at.y)] &- window[Int(at.z)] &+ window[Int(at.w)]
    }

    /// Evaluates a window from the given stage on.
    func finish(
        _ window: UnsafePointer<Int32>, _ scale: Float, from first: Int, accumulatedMargin soFar: Float
    ) -> CascadeResult {
        var accumulatedMargin = soFar
        var margin: Float = 0
        for index in first..<stageCount {
            let stage = unsafe stages[index]
            let sum =
                unsafe !isHaar
                ? patternSum(window, stage)
                : treeSize == 1 ? stumpSum(window, scale, stage) : treeSum(window, scale, stage)
            margin = Float(sum - Double(stage.threshold))
            if sum < Double(stage.threshold) {
                return CascadeResult(passed: Int32(index), margin: margin, strength: accumulatedMargin / headroom)
            }
            accumulatedMargin += margin
        }
        return CascadeResult(passed: Int32(stageCount), margin: margin, strength: accumulatedMargin / headroom)
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
                let goesLeft = unsafe node.pointee.subset[pattern >> 5] >> UInt32(pattern & 31) & 1 != 0
                next = unsafe goesLeft ? node.pointee.left : node.pointee.right
            } while next >= 0
            unsafe total += Double(leaves[Int(~next)])
        }
        return total
    }

    /// The local binary pattern: one bit per outer cell, clockwise from the top left, the first one the highest. A bit
    /// is set if the cell is not darker than the middle one.
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

// Evaluation of eight neighbouring windows at once, until too few of them are left.
extension CascadeProgram {
    /// Evaluates up to eight neighbouring windows, and appends those that pass the first `minStages`.
    func evaluateLanes(
        _ window: UnsafePointer<Int32>, _ x: Int, _ y: Int, _ width: Int, _ minStages: Int,
        _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int
    ) {
        let (scales, nonFlat) = unsafe contrasts(window)
        var alive = nonFlat & (1 << width - 1)
        var accumulatedMargin = SIMD8<Float>(repeating: 0)
        var index = 0
        while index < stageCount, alive.nonzeroBitCount >= minLanes {
            let now = unsafe stages[index]
            let (below, margin) = unsafe evaluate(window, scales, now)
            let failed = below & alive
            if index >= minStages && failed != 0 {
                appendFailedLanes(failed, Int32(index), margin, accumulatedMargin, x, y, &hits, &count)
            }
            alive &= ~failed
            accumulatedMargin += margin
            index += 1
            if index == stageCount {
                appendFailedLanes(alive, Int32(index), margin, accumulatedMargin, x, y, &hits, &count)
            }
        }
        guard index < stageCount else { return }
        for lane in 0..<width where alive >> lane & 1 != 0 {
            let result = unsafe finish(
                window + lane, scales[lane], from: index, accumulatedMargin: accumulatedMargin[lane])
            if result.passed >= minStages { Self.appendResult(result, x + lane * pitch, y, &hits, &count) }
        }
    }

    /// Evaluates a stage for eight neighbours.
    /// - Returns: a bit mask of those that fail, and each one's sum of leaves minus the threshold.
    @inline(__always)
    private func evaluate(
        _ window: UnsafePointer<Int32>, _ scales: SIMD8<Float>, _ stage: CascadeStage
    ) -> (failed: Int, margin: SIMD8<Float>) {
        guard let wide = unsafe wide, let nodes = unsafe haar.baseAddress, let leaves = unsafe leaves.baseAddress,
            let roots = unsafe roots.baseAddress
        else {
            let sum = unsafe treeSize == 1 ? stumpSums(window, scales, stage) : pairSums(window, scales, stage)
            let needed = Double(stage.threshold)
            return (Self.bits(sum .< needed), SIMD8<Float>(sum - needed))
        }
        var trees = unsafe ccascade_trees(
            nodes: nodes, roots: roots + Int(stage.firstTree), leaves: leaves, count: stage.treeCount)
        var (scales, margin) = (scales, SIMD8<Float>())
        let failed = unsafe withUnsafePointer(to: &scales) { scales in
            unsafe withUnsafeMutablePointer(to: &margin) { margin in
                unsafe wide(
                    window, UnsafeRawPointer(scales).assumingMemoryBound(to: Float.self), &trees, stage.threshold,
                    UnsafeMutableRawPointer(margin).assumingMemoryBound(to: Float.self))
            }
        }
        return (Int(failed), margin)
    }

    /// The `contrast` of eight neighbours, and a bit mask of those that are not flat.
    private func contrasts(_ window: UnsafePointer<Int32>) -> (scales: SIMD8<Float>, nonFlat: Int) {
        let sum = unsafe SIMD8<Double>(Self.sums(window, corners))
        let squares = unsafe SIMD8<UInt32>(truncatingIfNeeded: Self.sums(window + planeSize, corners))
        let variance = area * SIMD8<Double>(squares) - sum * sum
        // A window without any variance gives NaN, and comparisons with NaN are false.
        let scales = SIMD8<Float>(1 / variance.squareRoot())
        return (scales, Self.bits((variance .> 0) .& (area * SIMD8<Double>(scales) .< 0.1)))
    }

    /// Appends the windows that have failed in a stage, or passed them all.
    private func appendFailedLanes(
        _ lanes: Int, _ passed: Int32, _ margin: SIMD8<Float>, _ accumulatedMargin: SIMD8<Float>, _ x: Int, _ y: Int,
        _ hits: inout MutableSpan<CascadeHit>, _ count: inout Int
    ) {
        for lane in 0..<8 where lanes >> lane & 1 != 0 {
            let result = CascadeResult(
                passed: passed, margin: margin[lane], strength: accumulatedMargin[lane] / headroom)
            Self.appendResult(result, x + lane * pitch, y, &hits, &count)
        }
    }

    @inline(__always)
    private static func bits(_ mask: SIMDMask<SIMD8<Int64>>) -> Int {
        let lanes = SIMD8<Int64>(1, 2, 4, 8, 16, 32, 64, 128)
        return Int(SIMD8<Int64>.zero.replacing(with: lanes, where: mask).wrappedSum())
    }

    @inline(__always)
    private static func load(_ window: UnsafePointer<Int32>, _ at: Int32) -> SIMD8<Int32> {
        unsafe UnsafeRawPointer(window + Int(at)).loadUnaligned(as: SIMD8<Int32>.self)
    }

    @inline(__always)
    private static func sums(_ window: UnsafePointer<Int32>, _ at: SIMD4<Int32>) -> SIMD8<Int32> {
        unsafe load(window, at.x) &- load(window, at.y) &- load(window, at.z) &+ load(window, at.w)
    }

    @inline(__always)
    private static func values(_ window: UnsafePointer<Int32>, _ node: UnsafePointer<HaarNode>) -> SIMD8<Float> {
        let weights = unsafe node.pointee.weights
        var value = unsafe SIMD8<Float>(sums(window, node.pointee.first)) * weights.x
        value += unsafe SIMD8<Float>(sums(window, node.pointee.second)) * weights.y
        if weights.z != 0 { value += unsafe SIMD8<Float>(sums(window, node.pointee.third)) * weights.z }
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

    /// Evaluates both nodes of every tree for every window, then selects each window's leaf.
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
