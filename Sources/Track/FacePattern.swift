import Frames

/// The pattern of edges in a face's patch, and how much it is a face's: a linear score of histograms of gradient
/// directions (Dalal and Triggs, 2005), the same for a face and its mirror image. Owns its scratch buffers, so a score
/// allocates nothing.
///
/// Benchmarks/verifier.py has the same computation and prints `FacePattern.table`.
struct FacePattern: ~Copyable {
    /// Side of the patch and the distance between the eyes in it, pixels: from above the brows to the chin.
    static let (side, eyes): (Int, Float) = (64, 24)
    /// Cells across and down, and directions of edges in each. Fewer cells tell less; more directions don't help.
    static let (cells, directions) = (8, 8)
    /// Gradients are taken between means of 2x2 pixels, so each cell has four by four.
    private static let (half, cell) = (side / 2, side / 2 / cells)
    /// A cell's edges count relative to those of its neighbourhood, plus this share of the whole patch's mean, so that
    /// noise in flat parts does not count. And at most so many times.
    private static let (floor, limit): (Float, Float) = (0.3, 1.2)

    private var patch = [UInt8](repeating: 0, count: side * side)
    private var small = [Float](repeating: 0, count: half * half)
    private var histograms = [SIMD8<Float>](repeating: .zero, count: cells * cells)
    private var energies = [Float](repeating: 0, count: cells * cells)
    /// Held here so that the first score does not make it.
    private let table = FacePattern.table

    /// The region of a face's patch.
    /// - Parameters:
    ///   - box: the box around the face's landmarks.
    ///   - eyes: the distance between the eyes in the unit box.
    static func region(_ box: Affine, eyes: Float) -> PatchTransform {
        PatchTransform(
            center: box(Point(0.5, 0.5)), scale: abs(box.determinant).squareRoot() * eyes / Self.eyes,
            roll: degrees(atan2(box.c, box.a)))
    }

    /// The score of a face's patch, as its share of the log-odds.
    mutating func score(_ luma: borrowing LumaView, _ region: PatchTransform) -> Float {
        var samples = patch.mutableSpan
        resample(luma, by: region.map(side: Self.side), into: &samples, width: Self.side, height: Self.side)
        return score()
    }

    /// The score of the patch that was cut last.
    private mutating func score() -> Float {
        let (side, half, cells) = (Self.side, Self.half, Self.cells)
        for y in 0..<half {
            for x in 0..<half {
                let i = 2 * y * side + 2 * x
                small[y * half + x] =
                    Float(Int(patch[i]) + Int(patch[i + 1]) + Int(patch[i + side]) + Int(patch[i + side + 1]))
            }
        }
        for i in histograms.indices { histograms[i] = .zero }
        for y in 0..<half {
            for x in 0..<half {
                let i = y * half + x
                let across = x > 0 && x < half - 1 ? small[i + 1] - small[i - 1] : 0
                let down = y > 0 && y < half - 1 ? small[i + half] - small[i - half] : 0
                let length = (across * across + down * down).squareRoot()
                guard length > 0 else { continue }
                histograms[y / Self.cell * cells + x / Self.cell][Self.direction(across, down)] += length
            }
        }
        var mean: Float = 0
        for i in energies.indices {
            energies[i] = histograms[i].sum()
            mean += energies[i] / Float(cells * cells)
        }
        guard mean > 0 else { return 0 }
        var score: Float = 0
        for row in 0..<cells {
            for column in 0..<cells {
                let around = neighbourhood(row, column) + Self.floor * mean
                let shares = pointwiseMin(histograms[row * cells + column] / around, SIMD8(repeating: Self.limit))
                score += (shares * weights(row, column)).sum()
            }
        }
        return score
    }

    /// The direction of a gradient, in eighths of half a circle: that of the unit vector nearest to it or its opposite.
    private static func direction(_ across: Float, _ down: Float) -> Int {
        let lengths = across * cosines + down * sines
        var (best, most) = (0, abs(lengths[0]))
        for k in 1..<directions where abs(lengths[k]) > most { (best, most) = (k, abs(lengths[k])) }
        return best
    }

    private static let cosines: SIMD8<Float> = [1, 0.92388, 0.70711, 0.38268, 0, -0.38268, -0.70711, -0.92388]
    private static let sines: SIMD8<Float> = [0, 0.38268, 0.70711, 0.92388, 1, 0.92388, 0.70711, 0.38268]

    /// The mean energy of a cell and its eight neighbours; at the edge, the outermost cells are repeated.
    private func neighbourhood(_ row: Int, _ column: Int) -> Float {
        let last = Self.cells - 1
        var sum: Float = 0
        for y in row - 1...row + 1 {
            for x in column - 1...column + 1 {
                sum += energies[max(0, min(last, y)) * Self.cells + max(0, min(last, x))]
            }
        }
        return sum / 9
    }

    /// A cell's weights. A cell on the right has those of its mirror image, with the directions mirrored.
    private func weights(_ row: Int, _ column: Int) -> SIMD8<Float> {
        let (cells, half) = (Self.cells, Self.cells / 2)
        if column < half { return table[row * half + column] }
        let w = table[row * half + cells - 1 - column]
        // From components: the compiler sometimes builds an array for an array literal.
        return SIMD8(w[0], w[7], w[6], w[5], w[4], w[3], w[2], w[1])
    }
}
