import Frames
import Synchronization
import SystemKit

/// A limit on the time and pixels that all pictures of one mask take together. Each picture is bounded by itself, but a
/// mask may have many.
final class ArtBudget: Sendable {
    /// The budget of the mask that the current task is loading; nil: no limit.
    @TaskLocal static var current: ArtBudget?

    /// The most pixels of all pictures of a mask. With four bytes each, and a third more for smaller levels, 180 MB.
    private static let maxPixels = 32 << 20
    /// The most time for all pictures of a mask, in nanoseconds of wall-clock time. The largest mask that comes with
    /// Guise takes a hundredth.
    private static let maxTime: UInt64 = 30_000_000_000

    private let pixels = Atomic<Int>(0)
    private let began = monotonicTime()

    /// Checks the time used so far.
    /// - Throws: `unusable` if the mask has used up its time.
    func checkTime(_ path: String) throws(Problem) {
        guard monotonicTime() - began < Self.maxTime else {
            throw ArtError.tooMuch(path, "the mask's pictures together take more than 30 s")
        }
    }

    /// Adds pixels to the sum.
    /// - Throws: `unusable` if the mask has too many pixels.
    func countPixels(_ more: Int, _ path: String) throws(Problem) {
        guard pixels.add(more, ordering: .relaxed).newValue <= Self.maxPixels else {
            throw ArtError.tooMuch(
                path, "the mask's pictures together have more than \(Self.maxPixels >> 20) million pixels")
        }
    }
}
