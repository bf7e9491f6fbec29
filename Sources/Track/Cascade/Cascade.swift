import Frames

/// A boosted cascade as OpenCV writes it (opencv_traincascade's XML): Haar or LBP features, stumps or trees.
///
/// Immutable; read once, made ready for a stride by `program(for:)`. Stages run in a plain chain; a file whose stages
/// once formed a tree (haarcascade_frontalface_alt_tree.xml) holds its chain alone, and is run as OpenCV runs it.
public struct Cascade: Sendable {
    /// What a cascade looks at.
    public enum Features: String, Sendable { case haar = "HAAR", patterns = "LBP" }

    /// One feature, in samples of the trained window.
    struct Feature: Sendable {
        /// x, y, width, height; unused ones are empty. LBP: one cell of nine.
        var rects: [3 of SIMD4<Int32>]
        var weights: SIMD4<Float>
        var isTilted: Bool
    }

    struct Node: Sendable {
        var feature: Int
        var threshold: Float
        var subset: SIMD8<UInt32>
        /// The next node where 0 or more, else the leaf `~left`; both counted over the whole cascade.
        var left: Int32
        var right: Int32
    }

    /// Its name, for messages.
    public let file: String
    /// What it looks at.
    public let features: Features
    /// The trained window, samples across.
    public let windowWidth: Int
    /// The trained window, samples down.
    public let windowHeight: Int
    /// How many stages a window must pass to be a find.
    public var stageCount: Int { stages.count }
    /// Whether some features are turned by 45 degrees.
    public let hasTiltedFeatures: Bool

    let stages: [CascadeStage]
    let nodes: [Node]
    let leaves: [Float]
    let roots: [Int32]
    let shapes: [Feature]
    /// Nodes of the largest tree.
    let treeSize: Int

    /// Reads a cascade.
    /// - Parameters:
    ///   - xml: the whole file.
    ///   - file: its name, for messages.
    /// - Throws: `Problem` of kind `unusable`, naming the file and Debian's package, where the text is no cascade of
    ///   the present format, is damaged, or refers to what it does not hold.
    public init(xml: Span<UInt8>, file: String) throws(Problem) {
        guard xml.count <= CascadeReader.largestFile else { throw Self.unusable(file, "it is larger than any cascade") }
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

    /// What an integral must hold for this cascade.
    package var planes: Integral.Planes {
        switch features {
        case .patterns: .sum
        case .haar: hasTiltedFeatures ? .tilted : .squares
        }
    }

    /// The cascade with its features' corners as offsets into integrals of one stride.
    package func program(for integral: borrowing Integral) -> CascadeProgram {
        precondition(integral.planes.rawValue >= planes.rawValue, "the integral holds what the cascade reads")
        let places = Places(stride: Int32(integral.stride), plane: Int32(integral.planeSize), odd: Int32(integral.odd))
        var haar: [HaarNode] = []
        var patterns: [PatternNode] = []
        for node in nodes {
            let shape = shapes[node.feature]
            if features == .patterns {
                patterns.append(
                    PatternNode(
                        corners: shape.cellCorners(places), subset: node.subset, left: node.left, right: node.right))
            } else {
                haar.append(
                    HaarNode(
                        first: shape.corners(0, places), second: shape.corners(1, places),
                        third: shape.corners(2, places), weights: shape.weights, threshold: node.threshold,
                        left: node.left, right: node.right))
            }
        }
        return CascadeProgram(
            stages: stages, haar: haar, patterns: patterns, leaves: leaves, roots: roots, windowWidth: windowWidth,
            windowHeight: windowHeight, treeSize: treeSize, for: integral)
    }

    static func unusable(_ file: String, _ why: String) -> Problem {
        Problem(
            .unusable, "cannot read the cascade \(file): \(why)",
            fix: "install Debian's package opencv-data again, or take another file")
    }
}

/// Where an integral's entries lie.
private struct Places {
    let stride: Int32
    let plane: Int32
    /// As `Integral.odd`.
    let odd: Int32

    func callAsFunction(_ x: Int32, _ y: Int32) -> Int32 {
        y * stride + (odd == 0 ? x : x >> 1 + (x & 1) * odd)
    }
}

extension Cascade.Feature {
    /// A rectangle's corners as entries of the integral: (x, y), then along each side, then across.
    fileprivate func corners(_ index: Int, _ at: Places) -> SIMD4<Int32> {
        let rect = rects[index]
        let (x, y, w, h) = (rect.x, rect.y, rect.z, rect.w)
        guard w > 0 else { return SIMD4(repeating: 0) }
        if !isTilted { return SIMD4(at(x, y), at(x + w, y), at(x, y + h), at(x + w, y + h)) }
        // The tilted sum is the third plane.
        let tilted = SIMD4(at(x, y), at(x - h, y + h), at(x + w, y + w), at(x + w - h, y + w + h))
        return tilted &+ 2 * at.plane
    }

    /// The 4 x 4 corners of nine cells, the first of which is the feature's rectangle.
    fileprivate func cellCorners(_ at: Places) -> SIMD16<Int32> {
        let rect = rects[0]
        var corners = SIMD16<Int32>()
        for i in 0..<16 { corners[i] = at(rect.x + Int32(i % 4) * rect.z, rect.y + Int32(i / 4) * rect.w) }
        return corners
    }
}
