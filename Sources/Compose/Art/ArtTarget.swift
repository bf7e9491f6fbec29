import Frames
import Outline

/// What art is prepared for. It is converted and scaled once, when a mask is loaded.
public struct ArtTarget: Sendable {
    /// The frame's sample range.
    public let range: ColorRange
    /// The size of the frame in pixels.
    public private(set) var size: FrameSize
    /// The user's options, by the names that layers give them: colours, texts, palettes.
    public var choices: [String: String] = [:]
    /// The folder of the user's own pictures, for backgrounds; nil for none.
    public var ownPictures: String?
    /// The model of the person's outline, for backgrounds; nil if masks are only drawn on faces, as in thumbnails.
    public var outline: OutlineFile?
    /// The things that the user has taught; nil if masks are only drawn on faces, as in thumbnails.
    public var things: ThingLibrary?

    /// Prepares for frames of this layout.
    public init(_ layout: FrameLayout) { (range, size) = (layout.range, layout.size) }

    /// A target for frames of another size.
    func resized(to size: FrameSize) -> ArtTarget {
        var target = self
        target.size = size
        return target
    }

    /// Width of the frame in pixels.
    public var width: Int { size.width }
    /// Height of the frame in pixels.
    public var height: Int { size.height }

    /// The largest distance between eyes that is drawn at full sharpness, in pixels.
    ///
    /// A face that fills a frame from top to bottom has its eyes about 0.3 of the frame's height apart. At 0.22, art is
    /// drawn in half the time, and on the nearest faces it is no softer than a webcam's picture.
    public var eyeDistance: Float { max(24, 0.22 * Float(min(width, height))) }
}
