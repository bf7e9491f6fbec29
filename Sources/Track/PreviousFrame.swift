import Frames

/// The luma of the frame before, to examine a candidate in two frames at once. Keeps its memory; allocates only if the
/// size changes.
struct PreviousFrame {
    /// The samples, row by row. Copies share them until the next frame is stored.
    private(set) var samples: [UInt8] = []
    private(set) var (width, height) = (0, 0)

    /// Whether there is a frame of the same scene.
    private(set) var hasFrame = false

    mutating func store(_ luma: borrowing LumaView) {
        if (width, height) != (luma.width, luma.height) {
            (width, height) = (luma.width, luma.height)
            samples = Array(repeating: 0, count: width * height)
        }
        var target = samples.mutableSpan
        luma.copy(into: &target)
        hasFrame = true
    }

    /// Forgets the frame, and keeps the memory.
    mutating func forget() { hasFrame = false }
}
