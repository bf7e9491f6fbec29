import CArt
import Frames
import SystemKit

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
        var text = [CChar](repeating: 0, count: ArtError.textSize)
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe cart_png_write(path, bytes.baseAddress, CInt(width), CInt(height), &text, text.count)
        }
        guard result == 0 else {
            throw Problem(
                .system, "cannot write \(path): \(ArtError.string(text))", fix: "name a place that you may write to")
        }
    }
}
