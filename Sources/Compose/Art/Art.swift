import Frames
import JSON
import SystemKit

/// One picture of a mask as an image pyramid, ready to be drawn at any size: each level is half as large as the one
/// before. Converted once, to the YUV range of the frames that it will be drawn on.
public struct Art: Sendable {
    struct Level: Sendable {
        let sprite: Sprite
        /// The map from art units to the sprite's pixels.
        let map: Affine
        /// Sprite pixels per art unit.
        let density: Float
    }

    /// The levels of detail, the finest first.
    private(set) var levels: [Level]
    /// Width and height of the art as it was read, in pixels, without the transparent border.
    let size: (x: Int, y: Int)
    /// Map from art units to pixels of the finest level that was built, and its pixels per art unit. `upTo` leaves both
    /// as they are.
    let whole: (map: Affine, density: Float)

    /// Loads and converts a picture of a mask.
    /// - Parameters:
    ///   - name: path relative to `folder`; may not lead outside it.
    ///   - density: pixels per art unit that the largest face needs.
    ///   - largest: the most pixels on the longer side.
    ///   - touch: edits the raster once, before it is converted.
    /// - Throws: `Problem` that names the file.
    init(
        file name: String, folder: String, density: Float, range: ColorRange, largest: Int = 2048,
        touch: (inout RGBAImage) -> Void = { _ in }
    ) throws {
        let path = try Self.resolvePath(folder, name)
        self.init(try ArtReader.load(path: path, density: density, maxDimension: largest), range: range, touch: touch)
    }

    /// Loads the frames of an APNG; nil if the art isn't animated.
    /// - Throws: `Problem` that names the file.
    static func loadAnimation(
        file name: String, folder: String, range: ColorRange, touch: (inout RGBAImage) -> Void
    ) throws -> (pictures: [Art], milliseconds: [Double], plays: Int)? {
        guard let animation = try ArtReader.loadAnimation(path: try resolvePath(folder, name)) else { return nil }
        let pictures = animation.pictures.map { Art($0.raster, range: range, touch: touch) }
        return (pictures, animation.pictures.map(\.milliseconds), animation.plays)
    }

    /// Renders an SVG that the program itself generated.
    /// - Throws: `Problem` if it can't be rendered.
    init(svg: String, density: Float, range: ColorRange, touch: (inout RGBAImage) -> Void = { _ in }) throws {
        self.init(
            try ArtReader.renderSVG(svg, named: "of a layer", density: density, limit: 2048), range: range, touch: touch
        )
    }

    /// Converts a raster that is already in memory.
    init(_ raster: RGBAImage, range: ColorRange, touch: (inout RGBAImage) -> Void) {
        var raster = raster
        touch(&raster)
        self.init(
            rgba: raster.bytes, width: raster.width, height: raster.height, density: raster.scale,
            origin: raster.origin, range: range)
    }

    /// Resolves a file name from a mask to a path in the mask's folder. Masks come from strangers: neither the name nor
    /// a symbolic link may lead outside the folder.
    /// - Throws: `invalid` if it leads outside.
    static func resolvePath(_ folder: String, _ name: String) throws -> String {
        let outside = Problem(
            .invalid, "the file '\(brief(name))' is outside the mask's folder \(folder)",
            fix: "use a file inside it")
        guard !name.isEmpty, !name.utf8.contains(0), !name.hasPrefix("/"), !name.split(separator: "/").contains("..")
        else {
            throw outside
        }
        let path = "\(folder)/\(name)"
        guard let real = realPath(of: path) else { return path }  // a missing file is reported when it is loaded
        guard let root = realPath(of: folder), real.hasPrefix(root + "/") else { throw outside }
        return real
    }

    /// Builds the pyramid.
    /// - Parameters:
    ///   - rgba: premultiplied RGBA, 8 bits per channel, `width * height * 4` bytes.
    ///   - density: pixels per art unit.
    ///   - origin: the picture's top left corner, in art units.
    public init(rgba: [UInt8], width: Int, height: Int, density: Float, origin: Point, range: ColorRange) {
        precondition(rgba.count == width * height * 4)
        var picture = Picture(width: width + 2, height: height + 2)
        for y in 0..<height {
            for x in 0..<width {
                let i = (y * width + x) * 4
                picture[x + 1, y + 1] = Self.yuva(rgba[i], rgba[i + 1], rgba[i + 2], rgba[i + 3], range)
            }
        }
        var levels: [Level] = []
        var density = density
        // Width of the transparent border, in pixels. Whole coordinates are pixel centres, so the art's edge is half a
        // pixel before its first pixel.
        var border: Float = 1
        while true {
            let shift = Point(border - 0.5, border - 0.5) - origin * density
            levels.append(
                Level(
                    sprite: Sprite(width: picture.width, height: picture.height, pixels: picture.pixels),
                    map: Affine(a: density, b: 0, c: 0, d: density, tx: shift.x, ty: shift.y), density: density))
            guard min(picture.width, picture.height) > 12 else { break }
            // Halving leaves half a pixel of border. `halved()` adds another transparent pixel, so that the edge still
            // fades.
            picture = picture.halved()
            border = border / 2 + 1
            density /= 2
        }
        self.levels = levels
        size = (width, height)
        whole = (levels[0].map, levels[0].density)
    }

    /// A copy without the levels that are finer than any face needs.
    /// - Parameter scale: the most frame pixels that one art unit covers.
    func upTo(scale: Float) -> Art {
        let finest = level(forScale: scale).density
        var art = self
        art.levels.removeAll { $0.density > finest }
        return art
    }

    /// The level to draw when one art unit covers `scale` pixels of the frame. Bilinear sampling then shrinks it at
    /// most 1.4 times, so that thin lines don't flicker; more only if the coarsest level is too fine.
    func level(forScale scale: Float) -> Level { levels[levelIndex(forScale: scale)] }

    /// The index in `levels` of the level to draw when one art unit covers `scale` pixels of the frame.
    func levelIndex(forScale scale: Float) -> Int {
        var best = 0
        for i in levels.indices where levels[i].density >= scale / 1.4 { best = i }
        return best
    }

    /// Converts premultiplied RGBA to premultiplied YUVA by ITU-R BT.601. The constant part of each formula is scaled
    /// by alpha too.
    static func yuva(_ r: UInt8, _ g: UInt8, _ b: UInt8, _ a: UInt8, _ range: ColorRange) -> SIMD4<Float> {
        let (r, g, b, a) = (Float(r), Float(g), Float(b), Float(a))
        let luma = 0.299 * r + 0.587 * g + 0.114 * b
        let chroma = SIMD2((b - luma) / 1.772, (r - luma) / 1.402)
        let middle = a * 128 / 255
        switch range {
        case .full: return SIMD4(luma, middle + chroma.x, middle + chroma.y, a)
        case .limited:
            let c = chroma * (224.0 / 255)
            return SIMD4(luma * (219.0 / 255) + a * 16 / 255, middle + c.x, middle + c.y, a)
        }
    }

    /// The pixel of a `Sprite` with these samples, rounded.
    static func pixel(_ yuva: SIMD4<Float>) -> UInt32 {
        // Lane by lane: the SIMD type's own conversion to integers is a slow generic function.
        let p = pointwiseMin(pointwiseMax(yuva + 0.5, .zero), SIMD4(repeating: 255))
        return UInt32(p.x) | UInt32(p.y) << 8 | UInt32(p.z) << 16 | UInt32(p.w) << 24
    }
}

/// A picture while its pyramid is built. Its samples are floats, so that repeated halving doesn't darken it.
private struct Picture {
    let width: Int
    let height: Int
    private var samples: [SIMD4<Float>]

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        samples = Array(repeating: .zero, count: width * height)
    }

    subscript(x: Int, y: Int) -> SIMD4<Float> {
        get { x < width && y < height ? samples[y * width + x] : .zero }
        set { samples[y * width + x] = newValue }
    }

    var pixels: [UInt32] {
        samples.map(Art.pixel)
    }

    /// A picture of half the size, each pixel the mean of four, with a transparent border one pixel wide.
    func halved() -> Picture {
        var half = Picture(width: (width + 1) / 2 + 2, height: (height + 1) / 2 + 2)
        for y in 0..<(height + 1) / 2 {
            for x in 0..<(width + 1) / 2 {
                let sum =
                    self[2 * x, 2 * y] + self[2 * x + 1, 2 * y] + self[2 * x, 2 * y + 1] + self[2 * x + 1, 2 * y + 1]
                half[x + 1, y + 1] = sum / 4
            }
        }
        return half
    }
}
