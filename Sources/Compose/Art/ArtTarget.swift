import Frames

/// What art is made for: it is converted and sized once, when a mask is loaded.
public struct ArtTarget: Equatable, Sendable {
    /// What the frame's sample values mean.
    public let range: ColorRange
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// The largest distance between eyes that is drawn at full sharpness, pixels.
    public let eyeDistance: Float
    /// What the user chose, by the names that layers give to what may be chosen: colours, texts, palettes.
    public var choices: [String: String] = [:]

    /// A face that fills a frame from top to bottom has its eyes about 0.3 of the frame's height apart. At 0.22 art is
    /// drawn in half the time, and for the nearest faces it is no softer than a webcam's picture.
    public init(_ layout: FrameLayout) {
        (range, width, height) = (layout.range, layout.width, layout.height)
        eyeDistance = max(24, 0.22 * Float(min(layout.width, layout.height)))
    }
}
