import Frames

/// The size of a photo, read from its first bytes before anything is decoded.
public struct PhotoHeader: Equatable {
    /// The width in pixels, as stored.
    public let width: Int
    /// The height in pixels, as stored.
    public let height: Int

    /// Parses the header of an image file. Nil if it is not a JPEG, PNG or WebP, or is truncated before the size
    /// fields.
    public init?(_ bytes: [UInt8]) {
        guard let size = Self.png(bytes) ?? Self.webP(bytes) ?? Self.jpeg(bytes), size.width > 0, size.height > 0
        else { return nil }
        (width, height) = size
    }

    private static func big(_ bytes: [UInt8], _ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }

    private static func little(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int {
        bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static func png(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        bytes.starts(with: PNG.signature) ? PNG.size(of: bytes) : nil
    }

    /// WebP: a RIFF file of one of three kinds (RFC 9649, 2.5 to 2.7).
    private static func webP(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.count >= 30, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) else {
            return nil
        }
        switch String(decoding: bytes[12..<16], as: UTF8.self) {
        case "VP8X": return (little(bytes, 24, 3) + 1, little(bytes, 27, 3) + 1)
        case "VP8L":
            let bits = little(bytes, 21, 4)
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        case "VP8 ": return (little(bytes, 26, 2) & 0x3FFF, little(bytes, 28, 2) & 0x3FFF)
        default: return nil
        }
    }

    /// JPEG: segments up to the frame header, SOF (ITU-T T.81, B.2.2).
    private static func jpeg(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        var at = 2
        while at + 9 <= bytes.count {
            guard bytes[at] == 0xFF else { return nil }
            let marker = bytes[at + 1]
            // Skip fill bytes.
            if marker == 0xFF {
                at += 1
                continue
            }
            let isFrame = (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
            if isFrame { return (big(bytes, at + 7), big(bytes, at + 5)) }
            at += 2 + big(bytes, at + 2)
        }
        return nil
    }
}
