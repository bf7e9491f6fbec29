import Frames
import SystemKit

/// A detector of scene changes: a cut in a clip, another camera, a lid that is opened.
///
/// Two consecutive frames look alike however people move and the light changes; frames of two scenes do not. Each frame
/// is reduced to a coarse grid of means and compared with the previous one by correlation, which ignores brightness
/// and contrast.
struct SceneCut: ~Copyable {
    private static let columns = 24
    private static let rows = 14
    /// Samples per cell, across and down.
    private static let samples = 3
    /// The correlation above which consecutive frames show the same scene; across cuts it is lower.
    private static let alike: Float = 0.6
    /// The standard deviation of the grid, in grey levels, below which a picture is too dark or plain to compare.
    private static let plain: Float = 2

    private var last = [Float](repeating: 0, count: columns * rows)
    private var fresh = [Float](repeating: 0, count: columns * rows)
    private var size = (width: 0, height: 0)

    init() {}

    /// Compares the next frame with the previous one.
    /// - Returns: whether it shows another scene; false for the first frame of a size.
    mutating func update(_ luma: borrowing LumaView) -> Bool {
        guard luma.width >= Self.columns * Self.samples, luma.height >= Self.rows * Self.samples else { return false }
        swap(&last, &fresh)
        measure(luma)
        let isFirst = size != (luma.width, luma.height)
        size = (luma.width, luma.height)
        guard !isFirst else { return false }
        let count = Float(fresh.count)
        var (a, b) = (Float(0), Float(0))
        for i in fresh.indices { (a, b) = (a + last[i], b + fresh[i]) }
        let (meanBefore, mean) = (a / count, b / count)
        var (before, now, both) = (Float(0), Float(0), Float(0))
        for i in fresh.indices {
            let (x, y) = (last[i] - meanBefore, fresh[i] - mean)
            (before, now, both) = (before + x * x, now + y * y, both + x * y)
        }
        // If either frame is plain, it is a cut if the other is not.
        let plain = Self.plain * Self.plain * count
        guard before > plain, now > plain else { return (before > plain) != (now > plain) }
        return both < Self.alike * (before * now).squareRoot()
    }

    private mutating func measure(_ luma: borrowing LumaView) {
        let (cell, down) = (luma.width / Self.columns, luma.height / Self.rows)
        for row in 0..<Self.rows {
            for column in 0..<Self.columns {
                var sum = 0
                for y in 0..<Self.samples {
                    let line = (row * down + (2 * y + 1) * down / (2 * Self.samples)) * luma.rowStride
                    for x in 0..<Self.samples {
                        let at = column * cell + (2 * x + 1) * cell / (2 * Self.samples)
                        sum += Int(luma.samples[line + at * luma.pixelStride])
                    }
                }
                fresh[row * Self.columns + column] = Float(sum) / Float(Self.samples * Self.samples)
            }
        }
    }
}
