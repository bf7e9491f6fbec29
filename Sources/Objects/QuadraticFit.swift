/// A smooth brightness or colour over a picture: a quadratic function of the place, fitted to samples.
struct QuadraticFit {
    /// The coefficients of 1, x, y, x², xy and y²; x and y from -1 to 1.
    private(set) var coefficients: SIMD8<Float> = .zero

    /// The six functions at a place, from -1 to 1 across the picture.
    static func basis(_ x: Float, _ y: Float) -> SIMD8<Float> { [1, x, y, x * x, x * y, y * y, 0, 0] }

    func value(_ basis: SIMD8<Float>) -> Float { (coefficients * basis).sum() }

    /// The function along a row: the coefficients of 1, x and x².
    func row(_ y: Float) -> SIMD4<Float> {
        let c = coefficients
        return [c[0] + c[2] * y + c[5] * y * y, c[1] + c[4] * y, c[3], 0]
    }

    /// The normal equations of a least-squares fit: sums of products of samples.
    struct NormalEquations {
        private var products: [6 of SIMD8<Float>] = .init(repeating: .zero)
        private var values: [3 of SIMD8<Float>] = .init(repeating: .zero)
        private(set) var count = 0

        mutating func reset() {
            for i in products.indices { products[i] = .zero }
            for i in values.indices { values[i] = .zero }
            count = 0
        }

        /// Adds a sample of three planes.
        mutating func add(_ basis: SIMD8<Float>, _ sample: SIMD4<Float>) {
            for i in 0..<6 { products[i] += basis * basis[i] }
            for i in 0..<3 { values[i] += basis * sample[i] }
            count += 1
        }

        /// The fits of the three planes; zero without samples.
        func solve() -> (QuadraticFit, QuadraticFit, QuadraticFit) {
            // Gaussian elimination; the equations are positive definite, so the pivots are on the diagonal.
            var (rows, right) = (products, values)
            for i in 0..<6 {
                // A ten-thousandth of a sample: keeps a picture whose samples lie on a line from an endless slope, and
                // every pivot above 0.
                rows[i][i] += 1e-4 * Float(max(1, count))
            }
            for i in 0..<6 {
                for k in i + 1..<6 {
                    let factor = rows[k][i] / rows[i][i]
                    rows[k] -= rows[i] * factor
                    for plane in 0..<3 { right[plane][k] -= right[plane][i] * factor }
                }
            }
            func solved(_ plane: Int) -> QuadraticFit {
                var fit = QuadraticFit()
                for i in stride(from: 5, through: 0, by: -1) {
                    var rest = right[plane][i]
                    for k in i + 1..<6 { rest -= rows[i][k] * fit.coefficients[k] }
                    fit.coefficients[i] = rest / rows[i][i]
                }
                return fit
            }
            return (solved(0), solved(1), solved(2))
        }
    }
}
