import Frames
import SystemKit

/// A boosted cascade in the XML format of opencv_traincascade: Haar or LBP features, stumps or trees.
///
/// Immutable. It is read once; `program(for:)` prepares it for integrals of one stride. Stages run as a plain chain. A
/// file whose stages once formed a tree (haarcascade_frontalface_alt_tree.xml) contains only a chain of them, and runs
/// as OpenCV runs it.
public struct Cascade: Sendable {
    /// The kind of features a cascade evaluates.
    public enum Features: String, Sendable { case haar = "HAAR", patterns = "LBP" }

    /// One feature, in samples of the trained window.
    struct Feature: Sendable {
        /// x, y, width, height. Unused rectangles are empty. LBP: the first of the nine cells.
        var rects: [3 of SIMD4<Int32>]
        var weights: SIMD4<Float>
        var isTilted: Bool
    }

    /// One node of a tree.
    struct Node: Sendable {
        var feature: Int
        var threshold: Float
        var subset: SIMD8<UInt32>
        /// The next node if 0 or more, otherwise the leaf `~left`. Both are indices over the whole cascade.
        var left: Int32
        var right: Int32
    }

    /// The file's name, for messages.
    public let file: String
    /// The kind of features.
    public let features: Features
    /// Width of the trained window, samples.
    public let windowWidth: Int
    /// Height of the trained window, samples.
    public let windowHeight: Int
    /// How many stages a window must pass to be detected.
    public var stageCount: Int { stages.count }
    /// Whether some features are rotated by 45 degrees.
    public let hasTiltedFeatures: Bool

    let stages: [CascadeStage]
    let nodes: [Node]
    let leaves: [Float]
    let roots: [Int32]
    let shapes: [Feature]
    /// The number of nodes in the largest tree.
    let treeSize: Int

    /// Reads a cascade.
    /// - Parameters:
    ///   - xml: the whole file.
    ///   - file: the file's name, for messages.
    /// - Throws: `Problem` of kind `unusable`, naming the file and Debian's package, if the text is not a cascade in
    ///   the current format, is damaged, or refers to nodes or features that it does not contain.
    public init(xml: Span<UInt8>, file: String) throws(Problem) {
        guard xml.count <= CascadeReader.largestFile else { throw Self.unusable(file, "it is too large for a cascade") }
        var reader = CascadeReader()
        var text = CascadeXML(xml, file: file)
        try reader.read(&text)
        self.file = file
        features = reader.features
        (windowWidth, windowHeight) = (reader.width, reader.height)
        (stages, nodes, leaves, roots) = (reader.stages, reader.nodes, reader.leaves, reader.roots)
        (shapes, treeSize) = (reader.shapes, reader.treeSize)
        hasTiltedFeatures = reader.shapes.contains { $0.isTilted }
    }

    /// The sums that an integral must provide for this cascade.
    package var planes: Integral.Planes {
        switch features {
        case .patterns: .sum
        case .haar: hasTiltedFeatures ? .tilted : .squares
        }
    }

    /// The cascade with its features' corners as offsets into integrals of one stride.
    package func program(for integral: borrowing Integral, mayBeWide: Bool = true) -> CascadeProgram {
        precondition(integral.planes.rawValue >= planes.rawValue, "the integral lacks planes that the cascade needs")
        let places = Places(stride: Int32(integral.stride), plane: Int32(integral.planeSize), odd: Int32(integral.odd))
        var haar: [HaarNode] = []
        var patterns: [PatternNode] = []
        for node in nodes {
            let feature = shapes[node.feature]
            if features == .patterns {
                patterns.append(
                    PatternNode(
                        corners: feature.cellCorners(places), subset: node.subset, left: node.left, right: node.right))
            } else {
                haar.append(
                    HaarNode(
                        first: feature.corners(0, places), second: feature.corners(1, places),
                        third: feature.corners(2, places), weights: feature.weights, threshold: node.threshold,
                        left: node.left, right: node.right))
            }
        }
        return CascadeProgram(
            stages: stages, haar: haar, patterns: patterns, leaves: leaves, roots: roots, windowWidth: windowWidth,
            windowHeight: windowHeight, treeSize: treeSize, for: integral,
            mayBeWide: mayBeWide)
    }

    static func unusable(_ file: String, _ why: String) -> Problem {
        Problem(
            .unusable, "cannot read the cascade \(file): \(why)",
            fix: "reinstall Debian's package opencv-data, or use another file")
    }
}

/// A map from (x, y) to the index of an integral's entry.
private struct Places {
    let stride: Int32
    let plane: Int32
    /// The same as `Integral.odd`.
    let odd: Int32

    func callAsFunction(_ x: Int32, _ y: Int32) -> Int32 {
        y * stride + (odd == 0 ? x : x >> 1 + (x & 1) * odd)
    }
}

extension Cascade.Feature {
    /// A rectangle's corners as entries of the integral: the corner (x, y), its two neighbours, then the opposite one.
    fileprivate func corners(_ index: Int, _ at: Places) -> SIMD4<Int32> {
        let rect = rects[index]
        let (x, y, w, h) = (rect.x, rect.y, rect.z, rect.w)
        guard w > 0 else { return SIMD4(repeating: 0) }
        if !isTilted { return SIMD4(at(x, y), at(x + w, y), at(x, y + h), at(x + w, y + h)) }
        // The tilted sum is the third plane.
        let tilted = SIMD4(at(x, y), at(x - h, y + h), at(x + w, y + w), at(x + w - h, y + w + h))
        return tilted &+ 2 * at.plane
    }

    /// The 4 x 4 corners of the nine cells; the feature's rectangle is the first cell.
    fileprivate func cellCorners(_ at: Places) -> SIMD16<Int32> {
        let rect = rects[0]
        var corners = SIMD16<Int32>()
        for i in 0..<16 { corners[i] = at(rect.x + Int32(i % 4) * rect.z, rect.y + Int32(i / 4) * rect.w) }
        return corners
    }
}
