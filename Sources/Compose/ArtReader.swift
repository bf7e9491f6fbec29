import CArt
import Frames
import Glibc
import Synchronization

/// A picture: RGBA, 8 bits per channel, premultiplied alpha, rows from the top without padding.
///
/// The unsafe calls to the C shim are in this file only.
public struct RGBAImage: Equatable, Sendable {
    /// Width in pixels.
    public let width: Int
    /// Height in pixels.
    public let height: Int
    /// The samples: `width * height * 4` bytes.
    public var bytes: [UInt8]
    /// Pixels per art unit. The unit of an SVG is that of its viewBox, the unit of a PNG is its pixel.
    public let scale: Float
    /// The position of the first pixel's outer corner in art units: the viewBox's origin for an SVG, 0, 0 for a PNG.
    public let origin: Point
    /// Width and height of the whole drawing in art units.
    public let size: SIMD2<Float>

    /// Makes a raster whose art unit is the pixel.
    /// - Precondition: `bytes` has `width * height * 4` bytes.
    public init(width: Int, height: Int, bytes: [UInt8]) {
        self.init(
            width: width, height: height, bytes: bytes, scale: 1, origin: Point(0, 0),
            size: SIMD2(Float(width), Float(height)))
    }

    init(
        width: Int, height: Int, bytes: [UInt8], scale: Float, origin: Point, size: SIMD2<Float>
    ) {
        precondition(width > 0 && height > 0 && bytes.count == width * height * 4, "a raster's bytes are all there")
        (self.width, self.height, self.bytes) = (width, height, bytes)
        (self.scale, self.origin, self.size) = (scale, origin, size)
    }

    /// Draws a short text in black. For labels, not for masks.
    /// - Parameters:
    ///   - x: where the text begins, in pixels.
    ///   - y: the text's baseline, in pixels.
    ///   - size: the font size in pixels.
    public mutating func write(text: String, x: Int, y: Int, size: Int) {
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe cart_label(
                bytes.baseAddress, CInt(width), CInt(height), text, CInt(clamping: x), CInt(clamping: y),
                CInt(clamping: size))
        }
    }

    /// Writes the picture to a PNG file.
    /// - Throws: `system` if the file can't be written.
    public func write(png path: String) throws(Problem) {
        var text = [CChar](repeating: 0, count: ArtReader.textSize)
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe cart_png_write(path, bytes.baseAddress, CInt(width), CInt(height), &text, text.count)
        }
        guard result == 0 else {
            throw Problem(
                .system, "cannot write \(path): \(ArtReader.string(text))", fix: "name a place that you may write to")
        }
    }
}

/// Reads art: SVG with librsvg in a separate process (`SVGRenderer`), PNG with cairo.
public enum ArtReader {
    /// The most bytes of an SVG. A larger one is a mistake or an attack.
    static let largestSVG = 4 << 20
    /// The most bytes of a file. A PNG of 4096x4096 pixels at 8 bits doesn't compress to more.
    static let largestPNG = 70 << 20
    /// The most pixels on a side of a PNG file, and of any raster.
    static let largestSide = 4096
    /// The most pixels on a side of a picture that becomes `Art`: it gets a border, and a sprite has at most 4096
    /// pixels on a side.
    static let largestArt = 4094
    /// Bytes of an error text from the C shim.
    static let textSize = 256

    /// Loads an SVG or PNG. The file's first bytes tell which.
    ///
    /// An SVG's viewBox is drawn with its longer side `maxDimension` pixels long. A PNG keeps its size unless it is
    /// larger than that. Both are made smaller if `density` asks for less.
    /// - Parameters:
    ///   - density: the most pixels per art unit that are useful.
    ///   - maxDimension: the most pixels on the longer side; at most 4096 take effect.
    /// - Throws: `missing` or `forbidden`; `unusable` if the file is empty, broken or too large. Each names the file.
    public static func load(
        path: String, density: Float = .infinity, maxDimension: Int
    ) throws(Problem) -> RGBAImage {
        let bytes = try read(path)
        let limit = max(1, min(maxDimension, largestSide))
        let isPNG = bytes.starts(with: PNG.signature)
        try ArtBudget.current?.checkTime(path)
        let raster = isPNG ? try png(bytes, path, limit, density) : try svg(bytes, path, limit, density)
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Reads a PNG that is embedded in another file.
    /// - Parameter path: of the enclosing file, for messages.
    /// - Throws: `unusable` if the PNG is broken or too large.
    static func load(png bytes: [UInt8], named path: String, maxDimension: Int) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(path)
        let raster = try png(bytes, path, min(maxDimension, largestSide), .infinity)
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Renders an SVG that the program itself generated, in the same way as `load` does with one from a file.
    /// - Parameter name: what the SVG is, for messages.
    /// - Throws: `unusable` if the SVG can't be rendered.
    static func renderSVG(
        _ svg: String, named name: String, density: Float, limit: Int = largestArt
    ) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(name)
        let raster = try self.svg(Array(svg.utf8), name, limit, density)
        try ArtBudget.current?.countPixels(raster.width * raster.height, name)
        return raster
    }

    /// The error for a picture that can't be read.
    static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(.unusable, "cannot read the picture \(path): \(reason)", fix: "put a sound SVG or PNG in its place")
    }

    private static func svg(
        _ bytes: [UInt8], _ path: String, _ limit: Int, _ density: Float
    ) throws(Problem) -> RGBAImage {
        guard bytes.count <= largestSVG else { throw broken(path, "an SVG of more than 4 MB is too large") }
        return try SVGRenderer.draw(bytes, path, limit: limit, density: density)
    }

    /// Ends the SVG renderer's process and frees what else it needs. The next SVG starts it again.
    public static func shutDownRenderer() { SVGRenderer.shutDownRenderer() }

    private static func png(
        _ bytes: [UInt8], _ path: String, _ limit: Int, _ density: Float
    ) throws(Problem) -> RGBAImage {
        guard let (width, height) = PNG.size(of: bytes) else { throw broken(path, "the PNG is cut off") }
        guard (1...largestSide).contains(width), (1...largestSide).contains(height) else {
            throw broken(path, "a PNG of \(width)x\(height) is too large, \(largestSide)x\(largestSide) is the limit")
        }
        let scale = min(1, Float(limit) / Float(max(width, height)), density)
        let pixels = (
            x: max(1, Int((Float(width) * scale).rounded())), y: max(1, Int((Float(height) * scale).rounded()))
        )
        var rgba = [UInt8](repeating: 0, count: pixels.x * pixels.y * 4)
        var text = [CChar](repeating: 0, count: textSize)
        let result = unsafe cart_png_draw(
            bytes, bytes.count, &rgba, CInt(pixels.x), CInt(pixels.y), &text, text.count)
        guard result == 0 else { throw broken(path, "the PNG is damaged (\(string(text)))") }
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
                return try Self.png(png, path, max(width, height), 1).bytes
            }
            return (pictures, film.plays)
        } catch let flaw as AnimatedPNG.Flaw {
            throw broken(path, flaw.words)
        } catch let problem as Problem {
            throw problem
        } catch {
            throw broken(path, "it cannot be read")
        }
    }

    /// The content of a regular file.
    /// - Throws: `missing`, `forbidden`, or `unusable` if the file is empty or larger than any picture may be.
    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR:
                throw Problem(.missing, "the picture \(path) is not there", fix: "put it there, or correct its name")
            case EACCES:
                throw Problem(.forbidden, "you may not read the picture \(path)", fix: "allow it: chmod u+r FILE")
            default: throw broken(path, "error \(errno) when it was opened")
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw broken(path, "it is not a plain file")
        }
        guard status.st_size > 0 else { throw broken(path, "the file is empty") }
        guard status.st_size <= largestPNG else { throw broken(path, "a file of \(status.st_size) bytes is too large") }
        var bytes = [UInt8](repeating: 0, count: status.st_size)
        var count = 0
        while count < bytes.count {
            let more = unsafe bytes.withUnsafeMutableBytes { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                return unsafe Glibc.read(descriptor, base + count, buffer.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more > 0 else { throw broken(path, "it could not be read to its end") }
            count += more
        }
        return bytes
    }

    /// A C text as one line.
    static func string(_ text: [CChar]) -> String {
        let said = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return said.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

/// A limit on the time and pixels that all pictures of one mask take together. Each picture is bounded by itself, but a
/// mask may have many.
final class ArtBudget: Sendable {
    /// The budget of the mask that the current task is loading; nil: no limit.
    @TaskLocal static var current: ArtBudget?

    /// The most pixels of all pictures of a mask. With four bytes each, and a third more for smaller levels, 180 MB.
    private static let mostPixels = 32 << 20
    /// The most time for all pictures of a mask, in nanoseconds of wall-clock time. The largest mask that comes with
    /// Guise takes a hundredth.
    private static let mostTime: UInt64 = 30_000_000_000

    private let pixels = Atomic<Int>(0)
    private let began = monotonicTime()

    /// Checks the time used so far.
    /// - Throws: `unusable` if the mask has used up its time.
    func checkTime(_ path: String) throws(Problem) {
        guard monotonicTime() - began < Self.mostTime else {
            throw ArtReader.broken(path, "the mask's pictures together take more than 30 s")
        }
    }

    /// Adds pixels to the sum.
    /// - Throws: `unusable` if the mask has too many pixels.
    func countPixels(_ more: Int, _ path: String) throws(Problem) {
        guard pixels.add(more, ordering: .relaxed).newValue <= Self.mostPixels else {
            throw ArtReader.broken(
                path, "the mask's pictures together have more than \(Self.mostPixels >> 20) million pixels")
        }
    }
}
