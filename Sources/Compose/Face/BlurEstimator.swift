import Frames
import SystemKit

/// Estimates how blurred a face is in the picture: by the lens, by enlarging, or by a codec. What is drawn on a face
/// must not be sharper than the face.
///
/// On an edge, luma changes over four pixels by more than over two; how much more tells how wide the edge is, whatever
/// its height. The ratio of both changes' squares, over the whole face, is 2 for steps and 4 for wide slopes. The
/// strongest edges count most: folds and shades are wide in the sharpest picture.
///
/// Video that was compressed, or sharpened again, has steep edges and no fine detail. So the detail counts too: how
/// much luma differs from its neighbours' mean at a distance of one pixel, relative to that at two.
struct BlurEstimator: Sendable {
    /// The standard deviation of the blur, pixels: as if a sharp picture had been blurred by a Gaussian.
    private(set) var deviation = Self.sharp
    /// Decayed sums of the squared changes of luma over two pixels, and over four, each times the latter.
    private var (narrow, wide): (Float, Float) = (0, 0)
    /// Decayed sums of the differences of luma from the mean of its neighbours at one pixel, and at two.
    private var (fine, coarse): (Float, Float) = (0, 0)
    private var updates = 0

    /// The blur of art as it is drawn, which is taken for none.
    static let sharp: Float = 0.5
    /// Time constant of the sums' decay, seconds, and the change that is followed: art must not flicker.
    private static let (timeConstant, deadBand): (Float, Float) = (1, 0.12)
    /// The number of samples across a face's box, and down, at first: with 64 the ratio of 64 photos differs by 0.08 in
    /// the mean from that of all pixels, with 16 by 0.43. Later a quarter of them is looked at in turns.
    private static let samples = 64
    /// The smallest change over four pixels that is an edge, not noise, and the smallest sum to judge by.
    private static let (edge, enough): (Float, Float) = (16, 100 * 16 * 16 * 16 * 16)
    /// The median ratio of 16 faces from photos, reduced to half and less, until their eyes were 50 and 100 pixels
    /// apart, and blurred by Gaussians of 0, 0.5, 0.8, 1.1, 1.5, 2 and 2.6 pixels. The extremes are about as far from
    /// it as the next deviations. Edges that are steps before they are blurred have a lower ratio.
    private static let ratios: [(ratio: Float, deviation: Float)] = [
        (2.50, 0.5), (2.62, 0.71), (2.87, 0.94), (3.11, 1.21), (3.38, 1.58), (3.58, 2.06), (3.72, 2.65),
    ]

    /// The part of the coarser differences that the finer ones lack: the medians of 11 sharp faces from photos, reduced
    /// to a width of 130 pixels and blurred by Gaussians of 0, 0.4, 0.6, 0.8 and 1 pixel. Rounding hides more.
    private static let lacks: [(ratio: Float, deviation: Float)] = [
        (0.50, 0.5), (0.54, 0.64), (0.62, 0.78), (0.665, 0.94), (0.685, 1.12),
    ]
    /// The smallest sum of coarser differences to judge by.
    private static let enoughDetail: Float = 2000

    /// Adds what a frame shows of a face.
    /// - Parameters:
    ///   - box: the face's box, pixels.
    ///   - elapsed: seconds since the last update.
    mutating func update(_ pixels: borrowing PixelReader, _ box: Rect, elapsed: Float) {
        let decay = exp(-elapsed / Self.timeConstant)
        (narrow, wide, fine, coarse) = (narrow * decay, wide * decay, fine * decay, coarse * decay)
        let step = Point(box.width, box.height) / Float(Self.samples)
        let (stride, turn) = updates == 0 ? (1, 0) : (2, updates)
        updates &+= 1
        for j in Swift.stride(from: turn & 1, to: Self.samples, by: stride) {
            for i in Swift.stride(from: turn >> 1 & 1, to: Self.samples, by: stride) {
                let p = Point(box.x, box.y) + step * Point(Float(i) + 0.5, Float(j) + 0.5)
                guard p.x >= 2, p.y >= 2, p.x < Float(pixels.width - 2), p.y < Float(pixels.height - 2) else {
                    continue
                }
                let (x, y) = (Int(p.x), Int(p.y))
                let luma = pixels.luma(x, y)
                add(
                    luma, (pixels.luma(x - 1, y), pixels.luma(x + 1, y)), (pixels.luma(x - 2, y), pixels.luma(x + 2, y))
                )
                add(
                    luma, (pixels.luma(x, y - 1), pixels.luma(x, y + 1)), (pixels.luma(x, y - 2), pixels.luma(x, y + 2))
                )
            }
        }
        let edges = wide < Self.enough ? Self.sharp : Self.deviation(for: wide / max(narrow, 1), Self.ratios)
        let detail = coarse < Self.enoughDetail ? Self.sharp : Self.deviation(for: 1 - fine / coarse, Self.lacks)
        let measured = max(edges, detail)
        if abs(measured - deviation) > Self.deadBand { deviation = measured }
    }

    /// Adds a pixel and its neighbours at one and at two pixels.
    @inline(__always)
    private mutating func add(_ luma: Int, _ near: (Int, Int), _ far: (Int, Int)) {
        fine += Float(abs(2 * luma - near.0 - near.1))
        coarse += Float(abs(2 * luma - far.0 - far.1))
        let (narrow, wide) = (Float(near.1 - near.0), Float(far.1 - far.0))
        guard abs(wide) > Self.edge else { return }
        let weight = wide * wide
        self.narrow += weight * narrow * narrow
        self.wide += weight * wide * wide
    }

    /// The deviation for a ratio, between those of a table.
    private static func deviation(for ratio: Float, _ table: [(ratio: Float, deviation: Float)]) -> Float {
        for i in 1..<table.count where ratio < table[i].ratio {
            let (low, high) = (table[i - 1], table[i])
            let part = max(0, (ratio - low.ratio) / (high.ratio - low.ratio))
            return low.deviation + (high.deviation - low.deviation) * part
        }
        return table[table.count - 1].deviation
    }
}
