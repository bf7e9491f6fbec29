import Frames

/// Gives dim and flat patches the contrast that cascades and landmark trees were trained with: the trees compare
/// differences of grey levels with fixed thresholds, and the cascades judge no window whose standard deviation is below
/// 10. A patch with enough of it is left as it is; the gain grows steadily from 1 as contrast falls.
struct ContrastStretch {
    /// Where the patch is looked at, in shares of its side from each edge: across and down.
    let margin: Point
    /// Of its samples, the share left out at each end.
    let share: Float
    /// A patch whose grey levels span less is stretched to this.
    let least: Float

    /// A face's: what is left and right of it may be bright as a window, and is left out. Five in a hundred of the faces
    /// in good light span less than 39, half of them 73 and more; a higher aim lets false faces in (docs/tracker.md).
    static let face = ContrastStretch(margin: Point(0.25, 0.25), share: 0.05, least: 50)
    /// Of a patch that a cascade looks at, a face with little round it.
    static let classifier = ContrastStretch(margin: .zero, share: 0.05, least: 50)
    /// Of a slice that is searched: the smallest face in it covers 1.6 % of it, and must not be cut off as the tail of a
    /// bright room.
    static let tile = ContrastStretch(margin: .zero, share: 0.005, least: 100)

    /// Higher gain shows noise.
    private static let most: Float = 8
    /// Below this, grey levels span nothing but a wall's noise.
    private static let flattest: Float = 6
    /// Where the middle of the levels goes, if it lies outside: nothing near it is cut off there.
    private static let shown = 100...155

    /// How a square patch should be stretched; nil: not at all.
    func mapping(of samples: Span<UInt8>, side: Int) -> (gain: Float, from: Int, to: Int)? {
        let (x, y) = (Int(margin.x * Float(side)), Int(margin.y * Float(side)))
        let rect = PixelRect(x: x, y: y, width: side - 2 * x, height: side - 2 * y)
        let range = GrayRange(of: samples, rowStride: side, in: rect, leaving: share)
        let gain = min(least / range.span, Self.most)
        guard gain > 1, range.span >= Self.flattest else { return nil }
        return (gain, range.middle, max(Self.shown.lowerBound, min(Self.shown.upperBound, range.middle)))
    }

    /// Stretches a square patch where it needs it.
    func apply(to samples: inout MutableSpan<UInt8>, side: Int) {
        guard let stretch = mapping(of: samples.span, side: side) else { return }
        Frames.adjustLevels(&samples, count: side * side, gain: stretch.gain, from: stretch.from, to: stretch.to)
    }
}
