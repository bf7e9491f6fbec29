import Frames

/// Art that is drawn about its centre, at any size and angle, such as stamps and flakes.
struct CenteredArt: Sendable {
    private let art: Art
    /// The centre, in art units.
    private let middle: Point
    /// Width and height, in art units.
    let size: Point

    /// Loads a picture of a mask.
    /// - Parameters:
    ///   - file: path relative to `folder`; may not lead outside it.
    ///   - density: returns the pixels per art unit that are needed, from the size in art units.
    /// - Throws: `Problem` that names the file.
    init(file: String, folder: String, range: ColorRange, density: (_ size: Point) -> Float) throws {
        // Small, to learn the size before the art is drawn in it.
        let draft = try ArtReader.load(path: try Art.resolvePath(folder, file), maxDimension: 64)
        (middle, size) = (draft.origin + draft.size / 2, draft.size)
        art = try Art(file: file, folder: folder, density: density(draft.size), range: range)
    }

    /// Converts a raster that is already in memory.
    init(_ raster: RGBAImage, range: ColorRange) {
        size = Point(Float(raster.width), Float(raster.height)) / raster.scale
        middle = raster.origin + size / 2
        art = Art(raster, range: range) { _ in }
    }

    /// Draws the art.
    /// - Parameters:
    ///   - center: the centre's place, in pixels of the frame.
    ///   - scale: frame pixels per art unit.
    ///   - angle: the rotation, clockwise in radians.
    func draw(at center: Point, scale: Float, angle: Float, opacity: Float, onto frame: inout Frame) {
        var map = Affine(scale: scale, angle: angle, origin: .zero)
        let shift = map.linear(middle)
        (map.tx, map.ty) = (center.x - shift.x, center.y - shift.y)
        let level = art.level(forScale: scale)
        guard let toArt = level.map.inverse else { return }
        blend(level.sprite, by: map.after(toArt), opacity: opacity, onto: &frame)
    }
}
