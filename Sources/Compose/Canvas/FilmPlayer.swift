import Frames
import JPEG

/// Decodes the pictures of a moving background one by one, and fits them to the frame. Between two pictures of the same
/// film it allocates nothing.
///
/// It shows one film at a time. If masks show two of them at once, both are decoded in each frame, which takes time,
/// and only the upper one is seen.
struct FilmPlayer: ~Copyable {
    /// The picture in the frame's layout; before the first one, and if none could be decoded, plain and dark.
    private(set) var picture = Frame(.onePixel)
    private var decoder: JPEGDecoder?
    private var decoded = Frame(.onePixel)
    private var scaler: FrameScaler?
    /// The film's number.
    private var film: Int?
    /// The number of the film's picture that was decoded last, or that could not be.
    private var number: Int?

    /// Starts without memory.
    init() {}

    /// Brings a picture of a film to the frame's layout, unless it is there already. If it can't be decoded, the last
    /// one stays.
    mutating func show(_ number: Int, of film: Film, like layout: FrameLayout) {
        if self.film != film.id || picture.layout != layout { load(film, layout) }
        guard number != self.number else { return }
        self.number = number
        guard (try? decoder?.decode(film.pictures[number], into: &decoded)) == true else { return }
        Self.scale(decoded, by: &scaler, into: &picture)
    }

    private static func scale(
        _ decoded: borrowing Frame, by scaler: inout FrameScaler?, into picture: inout Frame
    ) {
        scaler?.scale(decoded.view, into: &picture)
    }

    /// Frees all memory, because no mask has a background.
    mutating func release() {
        guard film != nil else { return }
        self = FilmPlayer()
    }

    private mutating func load(_ film: Film, _ layout: FrameLayout) {
        (self.film, number) = (film.id, nil)
        picture = Frame(layout)
        picture.fillPlaceholderBackground()
        decoded = Frame(film.pictures.layout)
        let (part, region) = film.fit.fittedRects(of: film.pictures.layout.size, on: layout.size)
        scaler = FrameScaler(from: decoded.layout, part, to: layout, region)
        if decoder == nil { decoder = try? JPEGDecoder() }
    }
}
