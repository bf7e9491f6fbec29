import Frames
import JSON
import Track

/// One thing that a mask draws. A new kind is a new file in this folder and one line in `load`.
public protocol Layer: Sendable {
    /// Draws on one face. Called for every frame: neither allocates nor waits.
    func draw(on canvas: inout Canvas, face: borrowing Face)
}

/// The output frame while it is being dressed.
public struct Canvas: ~Copyable {
    /// What goes to the sinks.
    public var frame: Frame
    /// From the pixels in which faces were found to this frame's.
    public var placement: Affine = .identity

    /// A black frame of that layout.
    public init(_ layout: FrameLayout) {
        frame = Frame(layout)
    }
}

/// What art is made for: it is converted and sized once, when a mask is loaded.
public struct ArtTarget: Equatable, Sendable {
    /// What the frame's sample values mean.
    public let range: ColorRange
    /// The largest distance between eyes that is drawn at full sharpness, pixels.
    public let eyeDistance: Float

    /// A face that fills a frame from top to bottom has its eyes about 0.3 of the frame's height apart. At 0.22 art is
    /// drawn in half the time, and for the nearest faces it is no softer than a webcam's picture.
    public init(_ layout: FrameLayout) {
        range = layout.range
        eyeDistance = max(24, 0.22 * Float(min(layout.width, layout.height)))
    }
}

/// Reads one layer of a mask's description.
/// - Parameter folder: the mask's own folder, which no path of it may leave.
func loadLayer(_ fields: inout Fields, folder: String, target: ArtTarget) throws -> any Layer {
    let kind = try fields.string("kind")
    switch kind {
    case "sprite": return try Sprite(&fields, folder: folder, target: target)
    default: throw fields.wrong("kind", "'\(kind)'", allowed: "sprite")
    }
}
