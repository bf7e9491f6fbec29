import CArt
import Frames
import SystemKit

/// Limits on the files and pictures of masks.
enum ArtLimits {
    /// The most bytes of a file. A PNG of 4096x4096 pixels at 8 bits doesn't compress to more.
    static let largestPNG = 70 << 20
    /// The most pixels on a side of a PNG or JPEG file, and of any raster.
    static let largestSide = Int(CART_MAX_SIDE)
    /// The most pixels on a side of a picture that becomes `Art`: it gets a border, and a sprite has at most 4096
    /// pixels on a side.
    static let largestArt = 4094
}

/// Errors for pictures that can't be read.
enum ArtError {
    /// The error for a picture that can't be read.
    static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(
            .unusable, "cannot read the picture \(path): \(reason)", fix: "replace it with a valid SVG, PNG or JPEG")
    }

    /// The error for a mask whose pictures together are too much.
    static func tooMuch(_ path: String, _ reason: String) -> Problem {
        Problem(.unusable, "cannot use \(path): \(reason)", fix: "use fewer or smaller pictures in this mask")
    }

    /// A C text as one line.
    static func string(utf8 text: some Collection<UInt8>) -> String {
        let message = String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        return message.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
