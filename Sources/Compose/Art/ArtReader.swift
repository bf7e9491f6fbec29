import CArt
import Frames
import Glibc
import Synchronization
import SystemKit

/// Reads art: SVG with librsvg in a separate process (`SVGRenderer`), PNG with cairo, JPEG with libjpeg-turbo.
public enum ArtReader {
    /// Loads an SVG, PNG or JPEG. The file's first bytes tell which.
    ///
    /// An SVG's viewBox is drawn with its longer side `maxDimension` pixels long. A PNG or JPEG keeps its size unless
    /// it is larger than that. All are made smaller if `density` asks for less.
    /// - Parameters:
    ///   - density: the most pixels per art unit that are useful.
    ///   - maxDimension: the most pixels on the longer side; at most 4096 take effect.
    /// - Throws: `missing` or `forbidden`; `unusable` if the file is empty, broken or too large. Each names the file.
    public static func load(
        path: String, density: Float = .infinity, maxDimension: Int
    ) throws(Problem) -> RGBAImage {
        let bytes = try read(path)
        let limit = max(1, min(maxDimension, ArtLimits.largestSide))
        try ArtBudget.current?.checkTime(path)
        let raster =
            switch Bitmap(bytes) {
            case .some(let kind): try bitmap(kind, bytes, path, limit, density)
            case .none: try svg(bytes, path, limit, density)
            }
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Reads a PNG that is embedded in another file.
    /// - Parameter path: of the enclosing file, for messages.
    /// - Throws: `unusable` if the PNG is broken or too large.
    static func load(png bytes: [UInt8], named path: String, maxDimension: Int) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(path)
        let raster = try bitmap(.png, bytes, path, min(maxDimension, ArtLimits.largestSide), .infinity)
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Renders an SVG that the program itself generated, in the same way as `load` does with one from a file.
    /// - Parameter name: what the SVG is, for messages.
    /// - Throws: `unusable` if the SVG can't be rendered.
    static func renderSVG(
        _ svg: String, named name: String, density: Float, limit: Int = ArtLimits.largestArt
    ) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(name)
        let raster = try self.svg(Array(svg.utf8), name, limit, density)
        try ArtBudget.current?.countPixels(raster.width * raster.height, name)
        return raster
    }

    private static func svg(
        _ bytes: [UInt8], _ path: String, _ limit: Int, _ density: Float
    ) throws(Problem) -> RGBAImage {
        guard bytes.count <= ArtLimits.largestSVG else {
            throw ArtError.broken(path, "an SVG of more than 4 MB is too large")
        }
        return try SVGRenderer.draw(bytes, path, limit: limit, density: density)
    }

    /// Ends the SVG renderer's process and frees what else it needs. The next SVG starts it again.
    public static func shutDownRenderer() { SVGRenderer.shutDownRenderer() }

    /// The kinds of pictures that are made of pixels.
    private enum Bitmap: String {
        case png = "PNG"
        case jpeg = "JPEG"

        /// - Returns: nil if the bytes begin like neither.
        init?(_ bytes: [UInt8]) {
            if bytes.starts(with: PNG.signature) {
                self = .png
            } else if bytes.starts(with: [0xff, 0xd8, 0xff]) {
                self = .jpeg
            } else {
                return nil
            }
        }

        /// The picture's size in pixels, from its header; nil if that is incomplete.
        func size(of bytes: [UInt8]) -> (width: Int, height: Int)? {
            switch self {
            case .png: return PNG.size(of: bytes)
            case .jpeg:
                var (width, height): (CInt, CInt) = (0, 0)
                guard unsafe cart_jpeg_size(bytes, bytes.count, &width, &height) == 0 else { return nil }
                return (Int(width), Int(height))
            }
        }
    }

    private static func bitmap(
        _ kind: Bitmap, _ bytes: [UInt8], _ path: String, _ limit: Int, _ density: Float
    ) throws(Problem) -> RGBAImage {
        guard let (width, height) = kind.size(of: bytes) else {
            throw ArtError.broken(path, "the \(kind.rawValue) is cut off")
        }
        guard (1...ArtLimits.largestSide).contains(width), (1...ArtLimits.largestSide).contains(height) else {
            let most = ArtLimits.largestSide
            throw ArtError.broken(
                path, "a \(kind.rawValue) of \(width)x\(height) is too large, the limit is \(most)x\(most)")
        }
        let scale = min(1, Float(limit) / Float(max(width, height)), density)
        let pixels = (
            x: max(1, Int((Float(width) * scale).rounded())), y: max(1, Int((Float(height) * scale).rounded()))
        )
        var rgba = [UInt8](repeating: 0, count: pixels.x * pixels.y * 4)
        var text = [CChar](repeating: 0, count: ArtError.textSize)
        let result =
            switch kind {
            case .png:
                unsafe cart_png_draw(bytes, bytes.count, &rgba, CInt(pixels.x), CInt(pixels.y), &text, text.count)
            case .jpeg:
                unsafe cart_jpeg_draw(bytes, bytes.count, &rgba, CInt(pixels.x), CInt(pixels.y), &text, text.count)
            }
        guard result == 0 else {
            throw ArtError.broken(path, "the \(kind.rawValue) is damaged (\(ArtError.string(text)))")
        }
        return RGBAImage(
            width: pixels.x, height: pixels.y, bytes: rgba, scale: scale, origin: Point(0, 0),
            size: SIMD2(Float(width), Float(height)))
    }

    /// Loads the frames of an APNG, each in the file's own size; nil if the art isn't animated.
    /// - Throws: `missing`, `forbidden` or `unusable`.
    static func loadAnimation(
        path: String
    ) throws(Problem) -> (pictures: [(raster: RGBAImage, milliseconds: Double)], plays: Int)? {
        let bytes = try read(path)
        do {
            guard let film = try AnimatedPNG(bytes) else { return nil }
            let pictures = try film.pictures { (png, width, height) throws(Problem) in
                try ArtBudget.current?.checkTime(path)
                try ArtBudget.current?.countPixels(film.width * film.height, path)
                return try Self.bitmap(.png, png, path, max(width, height), 1).bytes
            }
            return (pictures, film.plays)
        } catch let flaw as AnimatedPNG.Flaw {
            throw ArtError.broken(path, flaw.words)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw ArtError.broken(path, "it cannot be read")
        }
    }

    /// The content of a file.
    /// - Throws: as `contents(of:)`; `unusable` if the file is empty or larger than any picture may be.
    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        let bytes = try contents(of: path, limit: ArtLimits.largestPNG)
        guard !bytes.isEmpty else { throw ArtError.broken(path, "the file is empty") }
        return bytes
    }
}
