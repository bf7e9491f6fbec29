import Frames
import JPEG

/// Decodes the pictures of a moving background one by one, and fits them to the frame. Between two pictures of the same
/// clip it allocates nothing.
///
/// It shows one clip at a time. If masks show two of them at once, both are decoded in each frame, which takes time,
/// and only the upper one is visible.
struct BackgroundClipPlayer: ~Copyable {
    /// The picture in the frame's layout; before the first one, and if none could be decoded, plain and dark.
    private(set) var picture = Frame(.onePixel)
    private var decoder: JPEGDecoder?
    private var decoded = Frame(.onePixel)
    private var scaler: FrameScaler?
    /// The identifier of the clip that is shown; nil before the first one.
    private var clip: Int?
    /// The index of the clip's picture that was last decoded, or could not be.
    private var number: Int?

    /// Starts without memory.
    init() {}

    /// Decodes a picture of a clip and scales it to the frame's layout, unless it is the current one. If it can't be
    /// decoded, the current one stays.
    /// - Parameter number: the picture's index in the clip.
    mutating func show(_ number: Int, of clip: BackgroundClip, like layout: FrameLayout) {
        if self.clip != clip.id || picture.layout != layout { load(clip, layout) }
        guard number != self.number else { return }
        self.number = number
        guard (try? decoder?.decode(clip.pictures[number], into: &decoded)) == true else { return }
        Self.scale(decoded, by: &scaler, into: &picture)
    }

    private static func scale(
        _ decoded: borrowing Frame, by scaler: inout FrameScaler?, into picture: inout Frame
    ) {
        scaler?.scale(decoded.view, into: &picture)
    }

    /// Frees all memory, because no mask has a background.
    mutating func release() {
        guard clip != nil else { return }
        self = BackgroundClipPlayer()
    }

    private mutating func load(_ clip: BackgroundClip, _ layout: FrameLayout) {
        (self.clip, number) = (clip.id, nil)
        picture = Frame(layout)
        picture.fillPlaceholderBackground()
        decoded = Frame(clip.pictures.layout)
        let (part, region) = clip.fit.fittedRects(of: clip.pictures.layout.size, on: layout.size)
        scaler = FrameScaler(from: decoded.layout, part, to: layout, region)
        if decoder == nil { decoder = try? JPEGDecoder() }
    }
}
