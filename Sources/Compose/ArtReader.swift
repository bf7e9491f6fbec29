import CArt
import Frames
import Glibc
import Synchronization

/// Art as pixels: RGBA, 8 bits each, alpha premultiplied, rows from the top and close together.
///
/// The unsafe calls to the C shim are in this file alone.
public struct RGBAImage: Equatable, Sendable {
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// `width * height * 4` bytes.
    public var bytes: [UInt8]
    /// Pixels per art unit. An SVG's unit is that of its viewBox, a PNG's its own pixel.
    public let scale: Float
    /// The art units that lie at the outer corner of the first pixel: the viewBox's origin; 0, 0 for a PNG.
    public let origin: Point
    /// The whole drawing in art units.
    public let size: SIMD2<Float>

    /// A raster whose unit is the pixel.
    /// - Precondition: `bytes` holds `width * height * 4` bytes.
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

    /// Writes a short text in black: for labels, not for masks.
    /// - Parameters:
    ///   - x: pixels, where the text begins.
    ///   - y: pixels, of its base line.
    ///   - size: pixels.
    public mutating func write(text: String, x: Int, y: Int, size: Int) {
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe cart_label(
                bytes.baseAddress, CInt(width), CInt(height), text, CInt(clamping: x), CInt(clamping: y),
                CInt(clamping: size))
        }
    }

    /// Writes a PNG file.
    /// - Throws: `system` where the file cannot be written.
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

/// Reads art: SVG by librsvg in a process of its own (`SVGRenderer`), PNG by cairo.
public enum ArtReader {
    /// No mask's drawing is as large; a file that is, is a mistake or an attack.
    static let largestSVG = 4 << 20
    /// 4096 x 4096 pixels at 8 bits do not compress to more.
    static let largestPNG = 70 << 20
    /// Pixels on a side, of a PNG as it lies on disk and of all rasters.
    static let largestSide = 4096
    /// What becomes art gets a border of its own, and a stamp has 4096 pixels a side at most.
    static let largestArt = 4094
    static let textSize = 256

    /// Loads an SVG or PNG; which of the two, its first bytes say.
    ///
    /// An SVG's viewBox is drawn with its larger side `maxDimension` pixels long. A PNG keeps its size unless it is
    /// larger than that. Where `density` asks for less, both are made smaller.
    /// - Parameters:
    ///   - density: pixels per art unit beyond which nothing is gained.
    ///   - maxDimension: pixels, at most 4096.
    /// - Throws: `missing` or `forbidden`; `unusable` for a file that is empty, broken or too large. Each names it.
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

    /// Reads a PNG that lies in another file.
    /// - Parameter path: of that file, for messages.
    /// - Throws: `unusable` where it is broken or too large.
    static func load(png bytes: [UInt8], named path: String, maxDimension: Int) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(path)
        let raster = try png(bytes, path, min(maxDimension, largestSide), .infinity)
        try ArtBudget.current?.countPixels(raster.width * raster.height, path)
        return raster
    }

    /// Draws an SVG of our own making, as `load` does one from a file.
    /// - Throws: `unusable` where it is not sound; `name` says which it is.
    static func renderSVG(
        _ svg: String, named name: String, density: Float, limit: Int = largestArt
    ) throws(Problem) -> RGBAImage {
        try ArtBudget.current?.checkTime(name)
        let raster = try self.svg(Array(svg.utf8), name, limit, density)
        try ArtBudget.current?.countPixels(raster.width * raster.height, name)
        return raster
    }

    static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(.unusable, "cannot read the picture \(path): \(reason)", fix: "put a sound SVG or PNG in its place")
    }

    private static func svg(
        _ bytes: [UInt8], _ path: String, _ limit: Int, _ density: Float
    ) throws(Problem) -> RGBAImage {
        guard bytes.count <= largestSVG else { throw broken(path, "an SVG of more than 4 MB is too large") }
        return try SVGRenderer.draw(bytes, path, limit: limit, density: density)
    }

    /// Lets go of what drawing needs beside memory, until the next time.
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

    /// The pictures of a PNG that moves, each as large as the file says; nil for art that does not.
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

    /// The whole file, unless it is larger than any picture may be.
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

    /// In one line, whatever the library wrote.
    static func string(_ text: [CChar]) -> String {
        let said = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return said.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

/// What the art of one mask costs together: each picture is bounded, and a mask may have many.
final class ArtBudget: Sendable {
    /// Of the mask that this thread is loading; nil: nobody counts.
    @TaskLocal static var current: ArtBudget?

    /// Pixels of all pictures of a mask; with four bytes each, and a third more for their smaller copies, 180 MB.
    private static let mostPixels = 32 << 20
    /// Nanoseconds for all of them, on the clock: the largest mask that comes along takes a hundredth.
    private static let mostTime: UInt64 = 30_000_000_000

    private let pixels = Atomic<Int>(0)
    private let began = monotonicTime()

    /// - Throws: `unusable` where the mask has had its time.
    func checkTime(_ path: String) throws(Problem) {
        guard monotonicTime() - began < Self.mostTime else {
            throw ArtReader.broken(path, "the mask's pictures together take more than 30 s")
        }
    }

    /// - Throws: `unusable` where the mask has too much already.
    func countPixels(_ more: Int, _ path: String) throws(Problem) {
        guard pixels.add(more, ordering: .relaxed).newValue <= Self.mostPixels else {
            throw ArtReader.broken(
                path, "the mask's pictures together have more than \(Self.mostPixels >> 20) million pixels")
        }
    }
}
