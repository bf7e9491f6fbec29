import Frames
import SystemKit

/// Bounds on the files and pictures of masks.
enum ArtLimits {
    /// No mask's drawing is as large; a file that is, is a mistake or an attack.
    static let largestSVG = 4 << 20
    /// 4096 x 4096 pixels at 8 bits do not compress to more.
    static let largestPNG = 70 << 20
    /// Pixels on a side, of a PNG as it lies on disk and of all rasters.
    static let largestSide = 4096
    /// What becomes art gets a border of its own, and a stamp has 4096 pixels a side at most.
    static let largestArt = 4094
}

/// What is said of pictures that cannot be read.
enum ArtError {
    /// Bytes of a message that the C shims write, its end included.
    static let textSize = 256

    static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(.unusable, "cannot read the picture \(path): \(reason)", fix: "put a sound SVG or PNG in its place")
    }

    /// In one line, whatever the library wrote.
    static func string(_ text: [CChar]) -> String {
        let said = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return said.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
