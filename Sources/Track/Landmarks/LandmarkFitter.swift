import Frames

/// Fits landmarks. Holds all that a fit needs, so that fitting allocates nothing; one fitter per thread.
public struct LandmarkFitter: ~Copyable {
    public let model: LandmarkModel
    private var pixels = [512 of UInt8](repeating: 0)
    private var rows = [512 of UInt32](repeating: 0)
    private var touched: UInt8 = 0
    private var sums = [64 of UInt32](repeating: 0)

    public init(_ model: LandmarkModel) { self.model = model }

    /// Fits the 68 points of a face.
    /// - Parameters:
    ///   - picture: any picture; brightness outside is taken as 0.
    ///   - box: from the unit box to the picture's pixels. The box of dlib's frontal detector: a square from the brows
    ///     to the chin; `LandmarkModel.box(around:)` gives it for a known shape.
    ///   - shape: where the points are thought to be, picture pixels; nil: the mean shape in the box.
    ///   - firstLevel: the cascade level to begin with, from 0; later ones correct less.
    /// - Returns: the points in picture pixels; nil where `box` or `shape` is not finite or folds the plane.
    public mutating func fit(
        _ picture: borrowing LumaView, in box: Affine, from shape: Face.Landmarks? = nil, firstLevel: Int = 0
    ) -> LandmarkFit? {
        guard let back = box.inverse, box.tx.isFinite, box.ty.isFinite else { return nil }
        var current = model.meanShape
        if let shape {
            for i in 0..<68 {
                current[i] = back(shape[i])
                guard current[i].x.isFinite, current[i].y.isFinite else { return nil }
            }
        }
        let (model, file) = (model, model.file)
        for level in max(0, firstLevel)..<max(0, firstLevel, file.levels) {
            read(model.tables, picture, box, current, level: level)
            correct(model.tables, &current, level: level)
        }
        for i in 0..<68 { current[i] = box(current[i]) }
        return LandmarkFit(landmarks: current)
    }

    /// Reads the level's pixels, each placed relative to a landmark of the current shape.
    private mutating func read(
        _ tables: borrowing MappedFile, _ picture: borrowing LumaView, _ box: Affine,
        _ shape: borrowing Face.Landmarks, level: Int
    ) {
        let file = model.file
        guard let turn = model.frame.similarity(to: shape) else { return }
        let first = level * file.pixels
        let deltas = tables.table(of: Point.self, at: file.deltas.offset + first * 8, count: file.pixels)
        let anchors = tables.table(of: UInt8.self, at: file.anchors.offset + first, count: file.pixels)
        var places = [68 of SIMD2<Double>](repeating: SIMD2())
        let (right, below) = (SIMD2(Double(box.a), Double(box.c)), SIMD2(Double(box.b), Double(box.d)))
        let origin = SIMD2(Double(box.tx), Double(box.ty))
        for i in 0..<68 { places[i] = origin + right * Double(shape[i].x) + below * Double(shape[i].y) }
        let (a, b) = (Double(turn.a), Double(turn.b))
        var values = pixels.mutableSpan
        Trees.sample(
            picture, places: places.span, anchors: anchors, deltas: deltas, across: right * a + below * b,
            down: below * a - right * b, into: &values)
    }

    /// Adds what the level's trees say.
    private mutating func correct(_ tables: borrowing MappedFile, _ shape: inout Face.Landmarks, level: Int) {
        let file = model.file
        let splits = tables.table(
            of: UInt32.self, at: file.splits.offset + level * file.trees * Trees.words * 4,
            count: file.trees * Trees.words)
        let size = file.trees * Trees.leaves * file.bytesPerLeaf
        let leaves = tables.table(of: UInt8.self, at: file.leaves.offset + level * size, count: size)
        var chosen = rows.mutableSpan
        Trees.descend(splits, pixels: pixels.span, rows: &chosen)
        touched &+= Trees.touch(leaves, rows: rows.span.extracting(first: file.trees), width: file.bytesPerLeaf)
        var totals = sums.mutableSpan
        Trees.sum(leaves, rows: rows.span.extracting(first: file.trees), into: &totals)

        let n = file.coordinates
        let steps = tables.table(of: Float.self, at: file.steps.offset + level * n * 4, count: n)
        let basis = tables.table(of: SIMD8<Float>.self, at: file.basis.offset, count: n * 17)
        var change = [17 of SIMD8<Float>](repeating: SIMD8())
        for k in 0..<n {
            let units =
                k < file.wide
                ? Int(sums[2 * k]) + 256 * Int(sums[2 * k + 1]) - 32768 * file.trees
                : Int(sums[file.wide + k]) - 128 * file.trees
            let coordinate = Float(units) * steps[k]
            for i in 0..<17 { change[i] += coordinate * basis[k * 17 + i] }
        }
        for i in 0..<17 {
            for j in 0..<4 { shape[i * 4 + j] += Point(change[i][2 * j], change[i][2 * j + 1]) }
        }
    }
}

/// A fitted face.
public struct LandmarkFit: Sendable {
    /// Picture pixels.
    public var landmarks: Face.Landmarks
}
