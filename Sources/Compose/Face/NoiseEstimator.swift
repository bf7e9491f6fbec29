import Frames

/// Estimates the camera's noise on a face. What is drawn on a noisy face must not be cleaner than the face.
///
/// The second difference across, and of that the second difference down, sees noise, but no slopes (Immerkær, "Fast
/// Noise Variance Estimation", 1996). It is measured in blocks of the face, the flattest of which show little else.
struct NoiseEstimator: Sendable {
    /// The standard deviation of luma, full-range levels; 0 for a clean picture.
    var deviation: Float { max(0, variance - Self.clean * Self.clean).squareRoot() }
    /// What was measured, smoothed; 0 before the first measurement.
    private var variance: Float = 0

    /// Pixels along a block, and the number of blocks across a face and down.
    private static let (side, across) = (8, 8)
    /// The smallest face to judge by, pixels: smaller ones are all texture.
    private static let smallest = Float(side * across)
    /// The block that is believed, counted from the flattest, and what it shows of the noise in a picture of nothing
    /// else: the mean of 200 trials each with deviations from 1 to 8.
    private static let (believed, shown): (Int, Float) = (across * across / 5, 0.815)
    /// Luma beyond which a camera cuts noise off.
    private static let unclipped = 20...235
    /// The deviation that clean pictures show: texture, and what codecs leave.
    private static let clean: Float = 1
    /// Time constant of the smoothing, seconds.
    private static let timeConstant: Float = 1

    /// Measures a frame.
    /// - Parameters:
    ///   - box: the face's box, pixels.
    ///   - elapsed: seconds since the last update.
    mutating func update(_ pixels: borrowing PixelReader, _ box: Rect, elapsed: Float) {
        guard let measured = Self.measure(pixels, box) else { return }
        let weight = variance == 0 ? 1 : 1 - exp(-elapsed / Self.timeConstant)
        variance += (measured * measured - variance) * weight
    }

    /// The deviation that one frame shows; nil for a face that is small, or has too few blocks in which noise shows.
    private static func measure(_ pixels: borrowing PixelReader, _ box: Rect) -> Float? {
        guard min(box.width, box.height) >= smallest else { return nil }
        var sorted: [64 of Float] = InlineArray(repeating: .infinity)
        let step = Point(box.width - Float(side), box.height - Float(side)) / Float(across - 1)
        for i in sorted.indices {
            let corner = Point(box.x, box.y) + step * Point(Float(i % across), Float(i / across))
            let (x, y) = (Int(corner.x.rounded(.down)), Int(corner.y.rounded(.down)))
            guard x >= 0, y >= 0, x + side <= pixels.width, y + side <= pixels.height,
                let deviation = deviation(pixels, x, y)
            else { continue }
            var place = i
            while place > 0, sorted[place - 1] > deviation {
                sorted[place] = sorted[place - 1]
                place -= 1
            }
            sorted[place] = deviation
        }
        return sorted[believed].isFinite ? sorted[believed] / shown : nil
    }

    /// The deviation of the block whose top left pixel is at `x`, `y`; nil if noise was cut off there.
    private static func deviation(_ pixels: borrowing PixelReader, _ x: Int, _ y: Int) -> Float? {
        let count = side - 2
        var differences: [48 of Int] = InlineArray(repeating: 0)
        var (sum, brightness) = (0, 0)
        for row in 0..<side {
            for column in 0..<count {
                let middle = pixels.luma(x + column + 1, y + row)
                brightness += middle
                differences[row * count + column] =
                    pixels.luma(x + column, y + row) - 2 * middle + pixels.luma(x + column + 2, y + row)
            }
        }
        guard unclipped.contains(brightness / differences.count) else { return nil }
        for i in count..<differences.count - count {
            sum += abs(differences[i - count] - 2 * differences[i] + differences[i + count])
        }
        // The sum of six by six normally distributed numbers, whose deviation is six times that of a pixel, without
        // their signs.
        return Float(sum) / Float(count * count) * (.pi / 2).squareRoot() / 6
    }
}
