import Frames
import SystemKit

/// A fitter for the 68 landmarks of a face, by a cascade of regression trees. Owns its scratch buffers, so fitting
/// allocates nothing. Use one fitter per thread.
public struct LandmarkFitter: ~Copyable {
    /// The trees, shared with other fitters.
    public let model: LandmarkModel
    private var pixels = [512 of UInt8](repeating: 0)
    private var rows = [512 of UInt32](repeating: 0)
    private var sums = [64 of UInt32](repeating: 0)

    /// Creates a fitter with its scratch memory, about 3 KB.
    public init(_ model: LandmarkModel) { self.model = model }

    /// Fits from the mean shape in a box.
    /// - Parameters:
    ///   - picture: any picture. Brightness outside it is taken as 0, as in dlib.
    ///   - box: the map from the unit box to the picture's pixels; may be rotated, and may be outside the picture. Its
    ///     shape is that of dlib's frontal detector, a square from above the brows to the chin.
    ///     `LandmarkModel.box(around:)` gives the one that fits a known shape, such as the last frame's.
    /// - Returns: landmarks in picture pixels; nil if `box` is not finite or not invertible.
    public mutating func fit(_ picture: borrowing LumaView, in box: Affine) -> Face.Landmarks? {
        guard box.inverse != nil, box.tx.isFinite, box.ty.isFinite else { return nil }
        let (model, levels) = (model, model.file.levels)
        var landmarks = model.meanShape
        for level in 0..<levels {
            guard let turn = model.frame.similarity(to: landmarks.span) else { return nil }
            sample(model.tables, picture, box, landmarks.span, turn: (Double(turn.a), Double(turn.b)), level: level)
            correct(model.tables, &landmarks, level: level)
        }
        return box(landmarks)
    }

    /// The starting position of a fit, relative to the box of a settled fit.
    public enum Start: Sendable {
        case above, below, smaller, larger

        /// The offset, as a fraction of the box's side. Large enough that fits diverge on a slope that is no face.
        private static let shift: Float = 0.08
        private static let growth: Float = 0.10

        fileprivate func offset(_ box: Affine) -> Affine {
            switch self {
            case .above: Self.move(box, by: -Self.shift, size: 1)
            case .below: Self.move(box, by: Self.shift, size: 1)
            case .smaller: Self.move(box, by: 0, size: 1 - Self.growth)
            case .larger: Self.move(box, by: 0, size: 1 + Self.growth)
            }
        }

        private static func move(_ box: Affine, by shift: Float, size: Float) -> Affine {
            let margin = (1 - size) / 2
            return box.after(Affine(a: size, b: 0, c: 0, d: size, tx: margin, ty: margin + shift))
        }
    }

    /// Fits from one side of a box.
    /// - Parameter box: a box that has settled, from `LandmarkModel.box(around:)`.
    /// - Returns: landmarks in picture pixels; nil if `box` is not finite or not invertible.
    public mutating func fit(_ picture: borrowing LumaView, around box: Affine, from start: Start) -> Face.Landmarks? {
        fit(picture, in: start.offset(box))
    }

    /// Samples the level's pixels, each placed relative to a landmark of the current shape.
    private mutating func sample(
        _ tables: borrowing MappedFile, _ picture: borrowing LumaView, _ box: Affine, _ landmarks: Span<Point>,
        turn: (a: Double, b: Double), level: Int
    ) {
        let file = model.file
        let first = level * file.pixels
        let deltas = tables.table(of: Point.self, at: file.deltas.offset + first * 8, count: file.pixels)
        let anchors = tables.table(of: UInt8.self, at: file.anchors.offset + first, count: file.pixels)
        // In double precision, as in dlib: a sample that rounds to another pixel can change a tree's result.
        let (right, below) = (SIMD2(Double(box.a), Double(box.c)), SIMD2(Double(box.b), Double(box.d)))
        let origin = SIMD2(Double(box.tx), Double(box.ty))
        var places = [68 of SIMD2<Double>](repeating: SIMD2())
        for i in 0..<68 { places[i] = origin + right * Double(landmarks[i].x) + below * Double(landmarks[i].y) }
        var values = pixels.mutableSpan
        RegressionTrees.sample(
            picture, places: places.span, anchors: anchors, deltas: deltas, across: right * turn.a + below * turn.b,
            down: below * turn.a - right * turn.b, into: &values)
    }

    /// Adds the sum of the level's trees to the shape.
    private mutating func correct(_ tables: borrowing MappedFile, _ landmarks: inout Face.Landmarks, level: Int) {
        let file = model.file
        let words = file.trees * RegressionTrees.words
        let splits = tables.table(of: UInt32.self, at: file.splits.offset + level * words * 4, count: words)
        let size = file.trees * RegressionTrees.leaves * file.bytesPerLeaf
        let leaves = tables.table(of: UInt8.self, at: file.leaves.offset + level * size, count: size)
        var reachedLeaves = rows.mutableSpan
        RegressionTrees.descend(splits, pixels: pixels.span, rows: &reachedLeaves)
        let leafRows = rows.span.extracting(first: file.trees)
        RegressionTrees.prefetch(leaves, rows: leafRows, width: file.bytesPerLeaf)
        var totals = sums.mutableSpan
        RegressionTrees.sum(leaves, rows: leafRows, into: &totals)

        let n = file.coordinates
        let steps = tables.table(of: Float.self, at: file.steps.offset + level * n * 4, count: n)
        let basis = tables.table(of: SIMD8<Float>.self, at: file.basis.offset, count: n * 17)
        var change = [17 of SIMD8<Float>](repeating: SIMD8())
        for k in 0..<n {
            let units =
                k < LandmarkFile.wordCoordinates
                ? Int(sums[2 * k]) + 256 * Int(sums[2 * k + 1]) - 32768 * file.trees
                : Int(sums[LandmarkFile.wordCoordinates + k]) - 128 * file.trees
            let coordinate = Float(units) * steps[k]
            for i in 0..<17 { change[i] += coordinate * basis[k * 17 + i] }
        }
        for i in 0..<17 {
            for j in 0..<4 { landmarks[i * 4 + j] += Point(change[i][2 * j], change[i][2 * j + 1]) }
        }
    }
}
