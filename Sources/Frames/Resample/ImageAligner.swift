/// The result of aligning a template with a picture.
public struct Alignment: Sendable {
    /// The map from the template's pixels to the picture's.
    public var map: Affine
    /// The correlation of the template's brightness with the picture's where they overlap: 1 if they differ by gain and
    /// offset alone, 0 if they are unrelated.
    public var correlation: Float
}

/// Aligns a small square template with a picture of the same size that shows nearly the same.
///
/// Inverse compositional alignment (Baker and Matthews, "Lucas-Kanade 20 Years On", IJCV 2004) with an affine map; gain
/// and offset of the brightness are free parameters. Samples are taken in an upright ellipse, which a face fills in its
/// patch. Memory is allocated once; aligning allocates nothing.
public struct ImageAligner: ~Copyable {
    /// Radii of the ellipse as fractions of the side. It covers a face between the outer eye corners, from the brows to
    /// the lower lip, in a patch that extends from above the brows to the chin.
    private static let radii = Point(0.36, 0.42)
    /// The residual, in multiples of the mean one, at which samples are clamped: an eyelid, a lip or a hand.
    private static let outlier: Float = 2.5
    /// The fewest samples that determine six parameters reliably.
    private static let fewest = 60
    /// 2^23: a Float this large has no fraction.
    private static let unit: Float = 8_388_608
    /// The smallest standard deviation of brightness that counts as texture: one step, the noise of a flat wall.
    private static let flattest: Float = 1

    /// One row per sample: the derivatives of its brightness by the six parameters of the map, its brightness, and 1.
    /// The parameters are shifts in pixels at the centre and at the rim, so that all six have the same scale.
    private var slopes: [SIMD8<Float>]
    private var points: [Point]
    private var count = 0

    /// Allocates memory for the samples.
    /// - Parameter capacity: the most samples; a side of 68 pixels, sampled at every second pixel, has some 550.
    public init(capacity: Int) {
        slopes = Array(repeating: .zero, count: capacity)
        points = Array(repeating: .zero, count: capacity)
    }

    /// Aligns a template with a picture.
    /// - Parameters:
    ///   - picture: `side * side` samples, row by row.
    ///   - template: `side * side` samples, row by row.
    ///   - side: the width and height of both, pixels.
    ///   - step: the distance between samples in the template, pixels, across and down.
    ///   - visible: whether the template shows something at one of its pixels; false beyond the frame's edge.
    ///   - start: the estimated map from the template to the picture.
    ///   - maxIterations: the most iterations.
    ///   - enough: iteration ends once it moves no sample farther than this, pixels.
    /// - Returns: nil if too little is visible, the brightness is too even, or the map diverges.
    public mutating func align(
        _ picture: Span<UInt8>, to template: Span<UInt8>, side: Int, step: Int, visible: (Point) -> Bool,
        from start: Affine, maxIterations: Int, enough: Float = 0
    ) -> Alignment? {
        guard prepare(picture, template, side, step, visible), let factor = Normal(slopes.span, count) else {
            return nil
        }
        let middle = Float(side - 1) / 2
        var (map, correlation) = (start, Float(0))
        var limit = Float.infinity
        for iteration in 0...maxIterations {
            guard let sums = sums(picture, side, map, limit), sums.seen >= Self.fewest else { return nil }
            limit = Self.outlier * sums.difference
            correlation = sums.correlation(atLeast: Self.flattest)
            if iteration == maxIterations { break }
            let p = factor.solve(sums.slopes)
            let change = Affine(
                a: 1 + p[2] / middle, b: p[4] / middle, c: p[3] / middle, d: 1 + p[5] / middle,
                tx: p[0] - (p[2] + p[4]), ty: p[1] - (p[3] + p[5]))
            guard abs(change.a - 1) < 0.5, abs(change.d - 1) < 0.5, let back = change.inverse else { return nil }
            map = map.after(back)
            if abs(p[0]) + abs(p[2]) + abs(p[4]) < enough && abs(p[1]) + abs(p[3]) + abs(p[5]) < enough { break }
        }
        return Alignment(map: map, correlation: correlation)
    }

    /// Searches integer shifts of a map, for a face that moved farther than iterative alignment converges.
    /// - Parameters:
    ///   - picture: `side * side` samples, row by row.
    ///   - template: `side * side` samples, row by row.
    ///   - side: the width and height of both, pixels.
    ///   - step: the distance between samples in the template, pixels, across and down.
    ///   - visible: whether the template shows something at one of its pixels; false beyond the frame's edge.
    ///   - start: the map that is shifted.
    ///   - radius: the largest shift in every direction, pixels of the picture.
    /// - Returns: the shifted map with the highest correlation; nil if too little is visible.
    public mutating func search(
        _ picture: Span<UInt8>, for template: Span<UInt8>, side: Int, step: Int, visible: (Point) -> Bool,
        from start: Affine, radius: Int
    ) -> Alignment? {
        guard prepare(picture, template, side, step, visible) else { return nil }
        var best: Alignment?
        for y in -radius...radius {
            for x in -radius...radius {
                var map = start
                (map.tx, map.ty) = (map.tx + Float(x), map.ty + Float(y))
                // A shift that puts half of the face outside the patch is not evidence.
                guard let sums = sums(picture, side, map, 0), sums.seen > count / 2 else { continue }
                let correlation = sums.correlation(atLeast: Self.flattest)
                if correlation > best?.correlation ?? -1 { best = Alignment(map: map, correlation: correlation) }
            }
        }
        return best
    }

    /// Computes the template's derivatives at its samples.
    /// - Returns: whether enough samples are visible.
    private mutating func prepare(
        _ picture: Span<UInt8>, _ template: Span<UInt8>, _ side: Int, _ step: Int, _ visible: (Point) -> Bool
    ) -> Bool {
        precondition(
            picture.count >= side * side && template.count >= side * side && side > 4, "both need side * side samples")
        count = 0
        let middle = Float(side - 1) / 2
        let radii = Self.radii * Float(side)
        for y in stride(from: 1, to: side - 1, by: step) {
            for x in stride(from: 1, to: side - 1, by: step) where count < slopes.count {
                let point = Point(Float(x), Float(y))
                let offset = point - middle
                let r = offset / radii
                guard r.x * r.x + r.y * r.y < 1, visible(point) else { continue }
                let at = y * side + x
                let gx = unsafe (Float(template[unchecked: at + 1]) - Float(template[unchecked: at - 1])) / 2
                let gy = unsafe (Float(template[unchecked: at + side]) - Float(template[unchecked: at - side])) / 2
                let (u, v) = (offset.x / middle, offset.y / middle)
                let value = unsafe Float(template[unchecked: at])
                slopes[count] = SIMD8(gx, gy, u * gx, u * gy, v * gx, v * gy, value, 1)
                points[count] = point
                count += 1
            }
        }
        return count >= Self.fewest
    }

    /// Sums over all samples of a picture seen through a map.
    private struct Sums {
        /// The residuals, clamped, times the derivatives.
        var slopes = SIMD8<Float>.zero
        /// The mean absolute residual.
        var difference: Float = 0
        /// The samples that the map puts inside the picture.
        var seen = 0
        /// Sums of the template, of the picture, and of their products.
        var t: Float = 0
        var p: Float = 0
        var tt: Float = 0
        var tp: Float = 0
        var pp: Float = 0

        func correlation(atLeast flattest: Float) -> Float {
            let n = Float(seen)
            let (vt, vp) = (tt - t * t / n, pp - p * p / n)
            let least = flattest * flattest * n
            guard vt > least, vp > least else { return 0 }
            return (tp - t * p / n) / (vt * vp).squareRoot()
        }
    }

    private borrowing func sums(_ picture: Span<UInt8>, _ side: Int, _ map: Affine, _ limit: Float) -> Sums? {
        var sums = Sums()
        let last = Float(side - 1)
        guard map.tx.isFinite, map.ty.isFinite, abs(map.determinant - 1) < 0.9 else { return nil }
        for i in 0..<count {
            let point = unsafe map(points.span[unchecked: i])
            // Written so that NaN counts as outside.
            guard point.x >= 0 && point.y >= 0 && point.x < last && point.y < last else { continue }
            // The low bits of the mantissa are the integer part; this avoids a checked conversion.
            let whole = pointwiseMax(point + (Self.unit - 0.5), Point(repeating: Self.unit))
            let weight = point - (whole - Self.unit)
            let at = Int(whole.y.bitPattern & 0x7f_ffff) &* side &+ Int(whole.x.bitPattern & 0x7f_ffff)
            let left = unsafe Point(Float(picture[unchecked: at]), Float(picture[unchecked: at &+ side]))
            let right = unsafe Point(Float(picture[unchecked: at &+ 1]), Float(picture[unchecked: at &+ side &+ 1]))
            let both = left * (1 - weight.x) + right * weight.x
            let value = both.x * (1 - weight.y) + both.y * weight.y
            let slope = unsafe slopes.span[unchecked: i]
            let template = slope[6]
            let difference = value - template
            sums.slopes += slope * max(-limit, min(limit, difference))
            sums.difference += abs(difference)
            sums.seen &+= 1
            sums.t += template
            sums.p += value
            sums.tt += template * template
            sums.tp += template * value
            sums.pp += value * value
        }
        sums.difference /= Float(max(1, sums.seen))
        return sums
    }
}

/// The normal equations of a least-squares fit with eight unknowns, factored (Cholesky) for repeated solving.
private struct Normal {
    private var lower = [8 of SIMD8<Float>](repeating: .zero)

    /// Factors the normal equations; nil if the rows do not determine all eight unknowns.
    init?(_ rows: Span<SIMD8<Float>>, _ count: Int) {
        var sums = [8 of SIMD8<Float>](repeating: .zero)
        for i in 0..<count {
            let row = unsafe rows[unchecked: i]
            for k in 0..<8 { sums[k] += row * row[k] }
        }
        for j in 0..<8 {
            // A thousandth more on the diagonal (damping) keeps weakly determined parameters from diverging.
            var pivot = sums[j][j] * 1.001
            for k in 0..<j { pivot -= lower[j][k] * lower[j][k] }
            guard pivot > 1e-3 else { return nil }
            let root = pivot.squareRoot()
            lower[j][j] = root
            for i in j + 1..<8 {
                var value = sums[i][j]
                for k in 0..<j { value -= lower[i][k] * lower[j][k] }
                lower[i][j] = value / root
            }
        }
    }

    func solve(_ right: SIMD8<Float>) -> SIMD8<Float> {
        var x = right
        for i in 0..<8 {
            for k in 0..<i { x[i] -= lower[i][k] * x[k] }
            x[i] /= lower[i][i]
        }
        for i in stride(from: 7, through: 0, by: -1) {
            for k in i + 1..<8 { x[i] -= lower[k][i] * x[k] }
            x[i] /= lower[i][i]
        }
        return x
    }
}

/// Halves a square picture; each sample becomes the mean of four. Allocates nothing.
/// - Parameters:
///   - source: `side * side` samples; `side` is even.
///   - target: its first `side * side / 4` samples are filled.
public func halve(_ source: Span<UInt8>, side: Int, into target: inout MutableSpan<UInt8>) {
    let half = side / 2
    precondition(source.count >= side * side && target.count >= half * half, "too few samples")
    for row in 0..<half {
        let top = 2 * row * side
        for x in 0..<half {
            let at = top + 2 * x
            let upper = unsafe UInt16(source[unchecked: at]) + UInt16(source[unchecked: at + 1])
            let lower = unsafe UInt16(source[unchecked: at + side]) + UInt16(source[unchecked: at + side + 1])
            unsafe target[unchecked: row * half + x] = UInt8(truncatingIfNeeded: (upper + lower + 2) >> 2)
        }
    }
}
