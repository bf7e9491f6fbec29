import Frames

/// A contrast stretch for dim and flat patches, which restores the contrast that cascades and landmark trees were
/// trained with: the trees compare differences of grey levels with fixed thresholds, and the cascades reject every
/// window whose standard deviation is below 10. A patch with enough contrast is left unchanged; the gain grows steadily
/// from 1 as contrast falls.
struct ContrastStretch {
    /// The margin left out of the measurement at each edge, across and down, as a fraction of the patch's side.
    let margin: Point
    /// The fraction of the measured samples ignored at each end of the histogram.
    let share: Float
    /// The grey level span to which a patch with a smaller span is stretched.
    let least: Float

    /// The stretch of a face's patch. The area left and right of the face may be as bright as a window, so it is not
    /// measured. Of faces in good light, 5 % span less than 39 grey levels and half span 73 or more; a higher target
    /// lets false faces in (docs/tracker.md).
    static let face = ContrastStretch(margin: Point(0.25, 0.25), share: 0.05, least: 50)
    /// The stretch of a patch that a cascade evaluates: a face with little around it.
    static let classifier = ContrastStretch(margin: .zero, share: 0.05, least: 50)
    /// The stretch of a tile. The smallest face in a tile covers 1.6 % of it, and must not be clipped as a bright
    /// room's tail.
    static let tile = ContrastStretch(margin: .zero, share: 0.005, least: 100)

    /// The maximum gain. A higher one amplifies noise.
    private static let maxGain: Float = 8
    /// The minimum grey level span. A smaller one is only a wall's noise.
    private static let flattest: Float = 6
    /// The range into which the middle of the levels is moved, so that levels near it are not clipped.
    private static let shown = 100...155

    /// The stretch of a square patch; nil if it has enough contrast, or too little to stretch.
    func mapping(of samples: Span<UInt8>, side: Int) -> (gain: Float, from: Int, to: Int)? {
        let (x, y) = (Int(margin.x * Float(side)), Int(margin.y * Float(side)))
        let rect = PixelRect(x: x, y: y, width: side - 2 * x, height: side - 2 * y)
        let range = GrayRange(of: samples, rowStride: side, in: rect, leaving: share)
        let gain = min(least / range.span, Self.maxGain)
        guard gain > 1, range.span >= Self.flattest else { return nil }
        return (gain, range.middle, max(Self.shown.lowerBound, min(Self.shown.upperBound, range.middle)))
    }

    /// Stretches a square patch if it needs it.
    func apply(to samples: inout MutableSpan<UInt8>, side: Int) {
        guard let stretch = mapping(of: samples.span, side: side) else { return }
        Frames.adjustLevels(&samples, count: side * side, gain: stretch.gain, from: stretch.from, to: stretch.to)
    }
}
