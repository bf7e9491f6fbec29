import SystemKit

/// The range of grey levels that contains most samples of a picture.
public struct GrayRange: Equatable, Sendable {
    /// The lower level, 0 to 255.
    public var low: Int
    /// The upper level, 0 to 255.
    public var high: Int

    /// Measures the range in a rectangle from every second sample of every second row, which represent all samples at a
    /// quarter of the cost. Allocates nothing.
    /// - Parameters:
    ///   - samples: the picture, row by row.
    ///   - rowStride: samples from one row to the next.
    ///   - rect: a rectangle inside the picture, not empty.
    ///   - fraction: the fraction of samples below the range, and of those above it: 0 to 0.5.
    public init(of samples: Span<UInt8>, rowStride: Int, in rect: PixelRect, leaving fraction: Float) {
        let (columns, rows) = ((rect.width + 1) / 2, (rect.height + 1) / 2)
        precondition(
            rect.x >= 0 && rect.y >= 0 && rect.x + rect.width <= rowStride && columns > 0 && rows > 0
                && (rect.y + rect.height) * rowStride <= samples.count, "the rectangle must be inside the picture")
        precondition(fraction >= 0 && fraction < 0.5, "the fraction must be below one half")
        var counts = [256 of Int32](repeating: 0)
        for row in 0..<rows {
            let first = (rect.y + 2 * row) * rowStride + rect.x
            for column in 0..<columns {
                let level = unsafe Int(samples[unchecked: first + 2 * column])
                unsafe counts[unchecked: level] += 1
            }
        }
        let rest = Int32(Float(columns * rows) * fraction)
        (low, high) = (0, 255)
        var below = counts[0]
        while below <= rest {
            low += 1
            below += counts[low]
        }
        var above = counts[255]
        while above <= rest {
            high -= 1
            above += counts[high]
        }
    }

    /// The width of the range, at least 1.
    public var span: Float { Float(max(1, high - low)) }
    /// The middle of the range.
    public var middle: Int { (low + high) / 2 }
}

/// Adjusts a picture's contrast: multiplies each sample's difference from a grey level by `gain`, and moves that level
/// to `shown`. Results are clamped to 0...255. Allocates nothing.
/// - Parameters:
///   - samples: the picture, changed in place.
///   - count: the number of samples that are changed, from the first one on.
///   - gain: 0 to 256.
///   - level: the grey level that becomes `shown`.
///   - shown: 0 to 255.
public func adjustLevels(_ samples: inout MutableSpan<UInt8>, count: Int, gain: Float, from level: Int, to shown: Int) {
    precondition(count >= 0 && count <= samples.count, "too few samples")
    precondition(
        gain >= 0 && gain <= 256 && 0...255 ~= level && 0...255 ~= shown, "levels must be 0...255, and the gain 0...256"
    )
    let factor = Int32((gain * 256).rounded())
    // Half a step more, to round to the nearest.
    let offset = Int32(shown) << 8 - Int32(level) * factor + 128
    for i in 0..<count {
        let value = unsafe (Int32(samples[unchecked: i]) &* factor &+ offset) >> 8
        unsafe samples[unchecked: i] = UInt8(truncatingIfNeeded: max(0, min(255, value)))
    }
}
