import Frames
import SystemKit

/// A picture: RGBA, 8 bits per channel, premultiplied alpha, rows from the top without padding.
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
}
