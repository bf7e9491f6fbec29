import Frames
import SystemKit

/// A builder of a cascade from its XML, which checks that every reference is in range so that evaluation need not.
struct CascadeReader {
    /// Bytes. The largest file of opencv-data has 2.7 MB.
    static let largestFile = 16 << 20
    private static let maxStages = 1000
    private static let maxNodes = 1 << 18
    private static let maxNodesOfTree = 64
    /// Samples. 255 * 128 * 128 times the weights in use is still exact in Float.
    private static let largestWindow = 128
    /// OpenCV lowers the threshold of every stage by this amount.
    private static let thresholdSlack: Float = 1e-5

    var features = Cascade.Features.haar
    var width = 0
    var height = 0
    var stages: [CascadeStage] = []
    var nodes: [Cascade.Node] = []
    var leaves: [Float] = []
    var roots: [Int32] = []
    var shapes: [Cascade.Feature] = []
    var treeSize = 0
    private var numbers: [Double] = []

    mutating func read(_ text: inout CascadeXML) throws(Problem) {
        try text.open("opencv_storage")
        guard let root = try text.child(), text.matches(root, "cascade") else {
            throw text.damaged("it contains no <cascade>, or one in the format before OpenCV 2")
        }
        while let name = try text.child() {
            if text.matches(name, "stageType") {
                guard try text.word() == "BOOST" else { throw text.damaged("its stages are not boosted") }
            } else if text.matches(name, "featureType") {
                guard let kind = Cascade.Features(rawValue: try text.word()) else {
                    throw text.damaged("its features are neither HAAR nor LBP")
                }
                features = kind
            } else if text.matches(name, "width") {
                width = try text.integer(in: 4...Self.largestWindow)
            } else if text.matches(name, "height") {
                height = try text.integer(in: 4...Self.largestWindow)
            } else if text.matches(name, "stages") {
                while try text.child() != nil { try readStage(&text) }
            } else if text.matches(name, "features") {
                while try text.child() != nil { try readFeature(&text) }
            } else {
                try text.skipElement()
            }
        }
        try text.close()
        try check(text)
    }

    private func check(_ text: borrowing CascadeXML) throws(Problem) {
        guard width > 0, height > 0, !stages.isEmpty, !shapes.isEmpty else {
            throw text.damaged("its window, stages or features are missing")
        }
        guard nodes.allSatisfy({ $0.feature >= 0 && $0.feature < shapes.count }) else {
            throw text.damaged("a node refers to a missing feature")
        }
        guard shapes.allSatisfy(fits) else { throw text.damaged("a feature extends beyond the window") }
    }

    private func fits(_ feature: Cascade.Feature) -> Bool {
        for i in 0..<3 {
            let rect = feature.rects[i]
            let (x, y, w, h) = (Int(rect.x), Int(rect.y), Int(rect.z), Int(rect.w))
            if w == 0 && h == 0 && i > 0 { continue }
            guard x >= 0, y >= 0, w > 0, h > 0, !feature.isTilted || features != .patterns else { return false }
            let across = features == .patterns ? 3 : 1
            let inside =
                feature.isTilted
                ? x - h >= 0 && x + w <= width && y + w + h <= height
                : x + across * w <= width && y + across * h <= height
            guard inside else { return false }
        }
        return true
    }

    private mutating func readStage(_ text: inout CascadeXML) throws(Problem) {
        guard stages.count < Self.maxStages else { throw text.damaged("it has too many stages") }
        let first = roots.count
        var threshold: Float?
        var best: Float = 0
        while let name = try text.child() {
            if text.matches(name, "stageThreshold") {
                try text.numbers(into: &numbers, atMost: 1)
                threshold = numbers.first.map { Float($0) - Self.thresholdSlack }
            } else if text.matches(name, "weakClassifiers") {
                while try text.child() != nil { best += try readTree(&text) }
            } else {
                try text.skipElement()
            }
        }
        guard let threshold, roots.count > first else { throw text.damaged("a stage has no threshold or no trees") }
        stages.append(
            CascadeStage(
                firstTree: first, treeCount: roots.count - first, threshold: threshold,
                headroom: max(0, best - threshold)))
    }

    /// - Returns: the tree's largest leaf value.
    private mutating func readTree(_ text: inout CascadeXML) throws(Problem) -> Float {
        let (firstNode, firstLeaf) = (nodes.count, leaves.count)
        var best = -Float.infinity
        while let name = try text.child() {
            if text.matches(name, "internalNodes"), nodes.count == firstNode {
                try readNodes(&text, firstLeaf: firstLeaf)
            } else if text.matches(name, "leafValues"), leaves.count == firstLeaf {
                try text.numbers(into: &numbers, atMost: Self.maxNodesOfTree + 1)
                for number in numbers {
                    leaves.append(Float(number))
                    best = max(best, Float(number))
                }
            } else {
                throw text.damaged("a tree contains an unknown element")
            }
        }
        guard nodes.count > firstNode, leaves.count - firstLeaf == nodes.count - firstNode + 1 else {
            throw text.damaged("a tree's leaves do not match its nodes")
        }
        roots.append(Int32(firstNode))
        treeSize = max(treeSize, nodes.count - firstNode)
        return best
    }

    /// Each node: left, right, feature, then its threshold, or its 256 bits as eight words. A successor above 0 is a
    /// node of the same tree; otherwise its negation is the index of a leaf.
    private mutating func readNodes(_ text: inout CascadeXML, firstLeaf: Int) throws(Problem) {
        let step = features == .haar ? 4 : 11
        try text.numbers(into: &numbers, atMost: Self.maxNodesOfTree * step)
        let count = numbers.count / step
        guard count > 0, numbers.count == count * step, nodes.count + count <= Self.maxNodes else {
            throw text.damaged("a tree's nodes are incomplete")
        }
        let firstNode = nodes.count
        for node in 0..<count {
            func successor(_ number: Double) throws(Problem) -> Int32 {
                // Only later nodes, so that every walk through the tree ends.
                guard let to = Int(exactly: number), to <= 0 ? to >= -count : to > node && to < count else {
                    throw text.damaged("a tree refers to a missing node")
                }
                return Int32(to > 0 ? firstNode + to : ~(firstLeaf - to))
            }
            let at = node * step
            guard let feature = Int(exactly: numbers[at + 2]) else {
                throw text.damaged("a feature's index is invalid")
            }
            var subset = SIMD8<UInt32>()
            if features == .patterns {
                for word in 0..<8 {
                    guard let bits = Int32(exactly: numbers[at + 3 + word]) else {
                        throw text.damaged("a node's patterns are invalid")
                    }
                    subset[word] = UInt32(bitPattern: bits)
                }
            }
            nodes.append(
                Cascade.Node(
                    feature: feature, threshold: features == .haar ? Float(numbers[at + 3]) : 0, subset: subset,
                    left: try successor(numbers[at]), right: try successor(numbers[at + 1])))
        }
    }

    private mutating func readFeature(_ text: inout CascadeXML) throws(Problem) {
        guard shapes.count < Self.maxNodes else { throw text.damaged("it has too many features") }
        var feature = Cascade.Feature(
            rects: [SIMD4(repeating: 0), SIMD4(repeating: 0), SIMD4(repeating: 0)], weights: SIMD4(repeating: 0),
            isTilted: false)
        var count = 0
        while let name = try text.child() {
            if text.matches(name, "rects"), features == .haar {
                while try text.child() != nil {
                    guard count < 3 else { throw text.damaged("a feature has more than three rectangles") }
                    try readRect(&text, &feature, count, weighted: true)
                    count += 1
                }
            } else if text.matches(name, "rect"), features == .patterns {
                try readRect(&text, &feature, 0, weighted: false)
                count = 1
            } else if text.matches(name, "tilted") {
                feature.isTilted = try text.integer(in: 0...1) == 1
            } else {
                throw text.damaged("a feature contains an unknown element")
            }
        }
        guard count >= (features == .haar ? 2 : 1) else { throw text.damaged("a feature has too few rectangles") }
        shapes.append(feature)
    }

    private mutating func readRect(
        _ text: inout CascadeXML, _ feature: inout Cascade.Feature, _ index: Int, weighted: Bool
    ) throws(Problem) {
        try text.numbers(into: &numbers, atMost: 5)
        guard numbers.count == (weighted ? 5 : 4) else { throw text.damaged("a rectangle is incomplete") }
        for i in 0..<4 {
            guard let value = Int32(exactly: numbers[i]), abs(value) <= Self.largestWindow else {
                throw text.damaged("a rectangle extends beyond the window")
            }
            feature.rects[index][i] = value
        }
        if weighted {
            guard abs(numbers[4]) < 256 else { throw text.damaged("a rectangle's weight is out of range") }
            feature.weights[index] = Float(numbers[4])
        }
    }
}
