import CArt
import Frames
import SystemKit

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
        precondition(
            width > 0 && height > 0 && bytes.count == width * height * 4, "an image needs width * height * 4 bytes")
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
        var text = [CChar](repeating: 0, count: ArtError.textSize)
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe cart_png_write(path, bytes.baseAddress, CInt(width), CInt(height), &text, text.count)
        }
        guard result == 0 else {
            throw Problem(
                .system, "cannot write \(path): \(ArtError.string(text))", fix: "choose a folder that you can write to")
        }
    }
}
