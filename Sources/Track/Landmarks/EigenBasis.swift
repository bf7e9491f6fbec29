/// Directions in which a set of vectors varies most.
enum EigenBasis {
    /// The eigenvectors of a symmetric matrix, largest eigenvalue first, by Jacobi's rotations (Golub and Van Loan,
    /// "Matrix Computations", 8.5).
    /// - Parameter matrix: `n * n` values, row by row.
    /// - Returns: `n` unit vectors.
    static func of(_ matrix: [Double], size n: Int) -> [[Double]] {
        var a = matrix
        var v = (0..<n).map { i in (0..<n).map { $0 == i ? 1.0 : 0.0 } }
        let total = a.reduce(0) { $0 + $1 * $1 }
        for _ in 0..<30 {
            var rest = 0.0
            for p in 0..<n { for q in p + 1..<max(p + 1, n) { rest += a[p * n + q] * a[p * n + q] } }
            if rest <= 1e-22 * total { break }
            for p in 0..<n {
                for q in p + 1..<max(p + 1, n) {
                    let apq = a[p * n + q]
                    if apq == 0 { continue }
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
                        let (x, y) = (v[p][k], v[q][k])
                        (v[p][k], v[q][k]) = (c * x - s * y, s * x + c * y)
                    }
                }
            }
        }
        return (0..<n).sorted { a[$0 * n + $0] > a[$1 * n + $1] }.map { v[$0] }
    }
}
