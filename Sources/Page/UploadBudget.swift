import Synchronization

/// The memory that the bodies of requests share, so that slow ones together take no more than this.
final class UploadBudget: Sendable {
    /// The bytes that all shares may have together.
    private let limit: Int
    private let taken = Mutex(0)

    /// - Parameter limit: bytes.
    init(_ limit: Int) { self.limit = limit }

    /// What one request has of the budget. It gives that back when it ends.
    final class Share: Sendable {
        private let budget: UploadBudget
        private let bytes = Mutex(0)

        init(of budget: UploadBudget) { self.budget = budget }

        deinit {
            let bytes = bytes.withLock { $0 }
            budget.taken.withLock { $0 -= bytes }
        }

        /// Takes more of the budget, until it has so many bytes.
        /// - Returns: false if so much is not left; then it stays as it was.
        func grow(to total: Int) -> Bool {
            bytes.withLock { bytes in
                let more = max(0, total - bytes)
                let isLeft = budget.taken.withLock { taken in
                    guard taken + more <= budget.limit else { return false }
                    taken += more
                    return true
                }
                if isLeft { bytes += more }
                return isLeft
            }
        }
    }
}
