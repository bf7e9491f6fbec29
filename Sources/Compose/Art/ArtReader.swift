import Frames
import SystemKit

/// Reads art, in a separate process (`ArtProcess`): SVG with librsvg, PNG with cairo, JPEG with libjpeg-turbo.
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
        return try draw(bytes, path, limit: maxDimension, density: density)
    }

    /// Reads a PNG that is embedded in another file.
    /// - Parameter path: of the enclosing file, for messages.
    /// - Throws: `unusable` if the PNG is broken or too large.
    static func load(png bytes: [UInt8], named path: String, maxDimension: Int) throws(Problem) -> RGBAImage {
        try draw(bytes, path, limit: maxDimension, density: .infinity)
    }

    /// Renders an SVG that the program itself generated, in the same way as `load` does with one from a file.
    /// - Parameter name: what the SVG is, for messages.
    /// - Throws: `unusable` if the SVG can't be rendered.
    static func renderSVG(
        _ svg: String, named name: String, density: Float, limit: Int = ArtLimits.largestArt
    ) throws(Problem) -> RGBAImage {
        try draw(Array(svg.utf8), name, limit: limit, density: density)
    }

    /// Draws a short text in black on white, for a label beside pictures.
    /// - Parameters:
    ///   - width: in pixels.
    ///   - height: in pixels; twice the font's size.
    /// - Throws: `unusable` if it can't be drawn.
    public static func label(_ text: String, width: Int, height: Int) throws(Problem) -> RGBAImage {
        let (left, baseline, size) = (height / 4, height * 2 / 3, height / 2)
        let svg = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)">
            <rect width="\(width)" height="\(height)" fill="#fff"/>
            <text x="\(left)" y="\(baseline)" font-family="sans-serif" font-size="\(size)">\(xml(text))</text>
            </svg>
            """
        return try renderSVG(svg, named: "of the label \(text)", density: 1)
    }

    private static func draw(
        _ bytes: [UInt8], _ path: String, limit: Int, density: Float
    ) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(path)
        let limit = max(1, min(limit, ArtLimits.largestSide))
        let raster = try ArtProcess.draw(bytes, path, limit: limit, density: density)
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Ends the process that reads pictures. The next picture starts it again.
    public static func shutDown() { ArtProcess.shutDown() }

    /// Loads the frames of an APNG, each in the file's own size; nil if the art isn't animated.
    /// - Throws: `missing`, `forbidden` or `unusable`.
    static func loadAnimation(
        path: String
    ) throws(Problem) -> (pictures: [(raster: RGBAImage, milliseconds: Double)], plays: Int)? {
        let bytes = try read(path)
        do {
            guard let animation = try AnimatedPNG(bytes) else { return nil }
            let pictures = try animation.pictures { (png, width, height) throws(Problem) in
                try ArtBudget.current?.checkTime(path)
                try ArtBudget.current?.countPixels(animation.width * animation.height, path)
                return try ArtProcess.draw(png, path, limit: max(width, height), density: 1).bytes
            }
            return (pictures, animation.plays)
        } catch let error as AnimatedPNG.FormatError {
            throw ArtError.broken(path, error.message)
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
