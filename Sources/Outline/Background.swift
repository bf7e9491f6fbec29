import COutline
import Frames

/// What replaces the background.
public enum Background: Sendable {
    /// The picture itself, blurred as by a lens.
    /// - Parameter radius: of the disc that a point becomes, relative to the picture's height.
    case blur(radius: Float)
    /// A colour that may change from the top left to the bottom right corner, as Y, U and V in the frame's range.
    case gradient(SIMD3<Float>, SIMD3<Float>)
    /// Another picture.
    case picture(BackgroundPicture)
    /// The picture itself, with each sample's distance from `zero` multiplied and `offset` added, for Y, U and V.
    case adjusted(gain: SIMD3<Float>, offset: SIMD3<Float>)

    /// Whether it hides the room. A blur counts at any radius; that of masks is at least 1.2 % of the picture's height.
    public var hidesRoom: Bool { roomBlur > 0 }
    /// The radius by which it blurs the room, relative to the picture's height; 1 if nothing of the room is left, and 0
    /// if all of it is visible.
    public var roomBlur: Float {
        switch self {
        case .blur(let radius): min(radius, 1)
        case .gradient, .picture: 1
        case .adjusted: 0
        }
    }
}

/// A picture of the frame's size, with chroma for every pixel.
public final class BackgroundPicture: Sendable {
    let width: Int
    let height: Int
    let planes: [[UInt8]]

    /// - Parameter pixels: Y, U and V from the lowest byte up, row by row.
    public init(width: Int, height: Int, pixels: Span<UInt32>) {
        precondition(pixels.count == width * height, "a picture needs width * height pixels")
        (self.width, self.height) = (width, height)
        var planes = [[UInt8]](repeating: [], count: 3)
        for shift in 0..<3 {
            planes[shift].reserveCapacity(width * height)
            for i in pixels.indices { planes[shift].append(UInt8(truncatingIfNeeded: pixels[i] >> UInt32(8 * shift))) }
        }
        self.planes = planes
    }
}
