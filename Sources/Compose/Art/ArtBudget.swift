import Frames
import Synchronization
import SystemKit

/// What the art of one mask costs together: each picture is bounded, and a mask may have many.
final class ArtBudget: Sendable {
    /// Of the mask that this thread is loading; nil: nobody counts.
    @TaskLocal static var current: ArtBudget?

    /// Pixels of all pictures of a mask; with four bytes each, and a third more for their smaller copies, 180 MB.
    private static let mostPixels = 32 << 20
    /// Nanoseconds for all of them, on the clock: the largest mask that comes along takes a hundredth.
    private static let mostTime: UInt64 = 30_000_000_000

    private let pixels = Atomic<Int>(0)
    private let began = monotonicTime()

    /// - Throws: `unusable` where the mask has had its time.
    func checkTime(_ path: String) throws(Problem) {
        guard monotonicTime() - began < Self.mostTime else {
            throw ArtError.broken(path, "the mask's pictures together take more than 30 s")
        }
    }

    /// - Throws: `unusable` where the mask has too much already.
    func countPixels(_ more: Int, _ path: String) throws(Problem) {
        guard pixels.add(more, ordering: .relaxed).newValue <= Self.mostPixels else {
            throw ArtError.broken(
                path, "the mask's pictures together have more than \(Self.mostPixels >> 20) million pixels")
        }
    }
}
