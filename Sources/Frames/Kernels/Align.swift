/// How a small picture lies in another one.
public struct Alignment: Sendable {
    /// From the template's pixels to the picture's.
    public var map: Affine
    /// Of the template's and the picture's brightness where they lie on each other: 1 where they are alike but for gain
    /// and offset, 0 where they have nothing in common.
    public var correlation: Float
}

/// Finds where a small square picture lies in another one of the same size that shows nearly the same.
///
/// Inverse compositional alignment (Baker and Matthews, "Lucas-Kanade 20 Years On", IJCV 2004) by an affine map, gain
/// and offset of the brightness being free. Samples lie in an upright ellipse, where a face fills its patch. Sized
/// once; aligning allocates nothing.
public struct ImageAligner: ~Copyable {
    /// Radii of the ellipse as shares of the side: a face between the eyes' outer ends, from the brows to the lower
    /// lip, in a patch that holds it from above the brows to the chin.
    private static let radii = Point(0.36, 0.42)
    /// A sample whose difference is this many times the mean one is an eyelid, a lip or a hand: it counts no more.
    private static let outlier: Float = 2.5
    /// Fewer samples than this say nothing certain about six numbers.
    private static let fewest = 60
    /// From 2^23 on a Float has no fraction.
    private static let unit: Float = 8_388_608
    /// What the picture must hold of the spread of a flat wall's noise: a standard deviation of one step.
    private static let flattest: Float = 1

    /// One a sample: what its brightness changes by for each of the map's six numbers, itself, and 1. The map's numbers
    /// are those of a shift in pixels at the middle and at the rim: all six are then of one size.
    private var slopes: [SIMD8<Float>]
    private var places: [Point]
    private var count = 0

    /// - Parameter capacity: the most samples; a side of 68 at every second pixel has some 550.
    public init(capacity: Int) {
        slopes = Array(repeating: .zero, count: capacity)
        places = Array(repeating: .zero, count: capacity)
    }

    /// - Parameters:
    ///   - picture: `side * side` samples, row by row.
    ///   - template: as many.
    ///   - step: every so many pixels of the template is a sample, across and down.
    ///   - visible: true where the template shows something, by its pixels: not what lies beside the frame's edge.
    ///   - start: where the template is thought to lie in the picture.
    ///   - rounds: of refinement.
    ///   - enough: a round that moves no sample farther is the last, pixels.
    /// - Returns: nil where too little is visible, or flat, or the map runs wild.
    public mutating func align(
        _ picture: Span<UInt8>, to template: Span<UInt8>, side: Int, step: Int, visible: (Point) -> Bool,
        from start: Affine, rounds: Int, enough: Float = 0
    ) -> Alignment? {
        guard prepare(picture, template, side, step, visible), let factor = Normal(slopes.span, count) else {
            return nil
        }
        let middle = Float(side - 1) / 2
        var (map, correlation) = (start, Float(0))
        var limit = Float.infinity
        for round in 0...rounds {
            guard let sums = sums(picture, side, map, limit), sums.seen >= Self.fewest else { return nil }
            limit = Self.outlier * sums.difference
            correlation = sums.correlation(atLeast: Self.flattest)
            if round == rounds { break }
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

    /// Tries a map at shifted places, where a face may have jumped farther than refinement reaches.
    /// - Parameters:
    ///   - reach: the largest shift, pixels of the picture, to all sides.
    /// - Returns: the best of the shifted maps, and its correlation; nil where too little is visible.
    public mutating func search(
        _ picture: Span<UInt8>, for template: Span<UInt8>, side: Int, step: Int, visible: (Point) -> Bool,
        from start: Affine, reach: Int
    ) -> Alignment? {
        guard prepare(picture, template, side, step, visible) else { return nil }
        var best: Alignment?
        for y in -reach...reach {
            for x in -reach...reach {
                var map = start
                (map.tx, map.ty) = (map.tx + Float(x), map.ty + Float(y))
                // A place where half of the face is outside the patch proves nothing.
                guard let sums = sums(picture, side, map, 0), sums.seen > count / 2 else { continue }
                let correlation = sums.correlation(atLeast: Self.flattest)
                if correlation > best?.correlation ?? -1 { best = Alignment(map: map, correlation: correlation) }
            }
        }
        return best
    }

    /// Takes the template's slopes at its samples.
    /// - Returns: whether enough of it is visible.
    private mutating func prepare(
        _ picture: Span<UInt8>, _ template: Span<UInt8>, _ side: Int, _ step: Int, _ visible: (Point) -> Bool
    ) -> Bool {
        precondition(picture.count >= side * side && template.count >= side * side && side > 4, "both have all samples")
        count = 0
        let middle = Float(side - 1) / 2
        let radii = Self.radii * Float(side)
        for y in stride(from: 1, to: side - 1, by: step) {
            for x in stride(from: 1, to: side - 1, by: step) where count < slopes.count {
                let place = Point(Float(x), Float(y))
                let offset = place - middle
                let r = offset / radii
                guard r.x * r.x + r.y * r.y < 1, visible(place) else { continue }
                let at = y * side + x
                let gx = unsafe (Float(template[unchecked: at + 1]) - Float(template[unchecked: at - 1])) / 2
                let gy = unsafe (Float(template[unchecked: at + side]) - Float(template[unchecked: at - side])) / 2
                let (u, v) = (offset.x / middle, offset.y / middle)
                let value = unsafe Float(template[unchecked: at])
                slopes[count] = SIMD8(gx, gy, u * gx, u * gy, v * gx, v * gy, value, 1)
                places[count] = place
                count += 1
            }
        }
        return count >= Self.fewest
    }

    /// What one look at the picture through a map gives.
    private struct Sums {
        /// Differences times slopes.
        var slopes = SIMD8<Float>.zero
        /// The mean size of a difference.
        var difference: Float = 0
        /// Samples that the picture has.
        var seen = 0
        /// Of the template, the picture, and their products.
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
            let place = unsafe map(places.span[unchecked: i])
            // Written so that what is not a number counts as outside.
            guard place.x >= 0 && place.y >= 0 && place.x < last && place.y < last else { continue }
            // Its low bits are the whole number below, got without a check.
            let whole = pointwiseMax(place + (Self.unit - 0.5), Point(repeating: Self.unit))
            let weight = place - (whole - Self.unit)
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

/// The normal equations of a least-squares fit with eight unknowns, factored (Cholesky) to be solved several times.
private struct Normal {
    private var lower = [8 of SIMD8<Float>](repeating: .zero)

    /// nil where the rows do not determine all eight.
    init?(_ rows: Span<SIMD8<Float>>, _ count: Int) {
        var sums = [8 of SIMD8<Float>](repeating: .zero)
        for i in 0..<count {
            let row = unsafe rows[unchecked: i]
            for k in 0..<8 { sums[k] += row * row[k] }
        }
        for j in 0..<8 {
            // A thousandth more on the diagonal keeps what the picture hardly shows from running away.
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

/// Makes a square picture half as wide and high, each sample the mean of four. Allocates nothing.
/// - Parameters:
///   - source: `side * side` samples; `side` is even.
///   - target: its first quarter as many samples are filled.
public func halve(_ source: Span<UInt8>, side: Int, into target: inout MutableSpan<UInt8>) {
    let half = side / 2
    precondition(source.count >= side * side && target.count >= half * half, "both have all samples")
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
