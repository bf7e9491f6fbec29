/// The directions in which a set of vectors varies most.
enum EigenBasis {
    /// The eigenvectors of a symmetric matrix, largest eigenvalue first, by the Jacobi method (Golub and Van Loan,
    /// "Matrix Computations", 8.5).
    /// - Parameter matrix: `n * n` values, row by row.
    /// - Returns: `n` unit vectors.
    static func of(_ matrix: [Double], size n: Int) -> [[Double]] {
        var a = matrix
        var v = (0..<n * n).map { $0 % (n + 1) == 0 ? 1.0 : 0.0 }
        // Off-diagonal elements whose square is below this would rotate a direction by a negligible angle.
        let little = a.reduce(0) { $0 + $1 * $1 } * 1e-14 / Double(n * n)
        var turned = true
        for _ in 0..<30 where turned {
            turned = false
            for p in 0..<n {
                for q in p + 1..<max(p + 1, n) {
                    let apq = a[p * n + q]
                    if apq * apq <= little { continue }
                    turned = true
                    let theta = (a[q * n + q] - a[p * n + p]) / (2 * apq)
                    let t = (theta < 0 ? -1 : 1) / (abs(theta) + (theta * theta + 1).squareRoot())
                    let c = 1 / (t * t + 1).squareRoot()
                    let s = t * c
                    for k in 0..<n {
                        let (x, y) = (a[k * n + p], a[k * n + q])
                        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y)
                    }
                    for k in 0..<n {
                        let (x, y) = (a[p * n + k], a[q * n + k])
                        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y)
                    }
                    for k in 0..<n {
                        let (x, y) = (v[p * n + k], v[q * n + k])
                        (v[p * n + k], v[q * n + k]) = (c * x - s * y, s * x + c * y)
                    }
                }
            }
        }
        return (0..<n).sorted { a[$0 * n + $0] > a[$1 * n + $1] }.map { Array(v[$0 * n..<$0 * n + n]) }
    }
}
