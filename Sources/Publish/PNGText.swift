import Frames

/// Texts in a PNG file, as its tEXt chunks (PNG specification, 11.3.3): what was worn when the picture was taken.
public enum PNGText {
    /// Chunks behind the header that hold texts, in order.
    /// - Parameters:
    ///   - png: a whole file.
    ///   - texts: keywords of 1 to 79 letters, and what they say; what Latin-1 does not have becomes "?".
    /// - Returns: nil where that is no PNG.
    public static func adding(_ texts: [(keyword: String, text: String)], to png: [UInt8]) -> [UInt8]? {
        let header = signature.count + 12 + 13
        guard png.count > header, png.starts(with: signature), png[12..<16].elementsEqual("IHDR".utf8) else {
            return nil
        }
        var result = Array(png[..<header])
        for (keyword, text) in texts {
            let data = Array("tEXt".utf8) + latin(keyword).prefix(79) + [0] + latin(text)
            result += big(UInt32(data.count - 4)) + data + big(checksum(data))
        }
        return result + png[header...]
    }

    /// The texts of a PNG file; none where it is none.
    public static func texts(in png: [UInt8]) -> [String: String] {
        var found: [String: String] = [:]
        var at = signature.count
        while at + 12 <= png.count {
            let length = png[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
            guard at + 12 + length <= png.count else { break }
            let data = png[at + 8..<at + 8 + length]
            if png[at + 4..<at + 8].elementsEqual("tEXt".utf8), let end = data.firstIndex(of: 0) {
                found[text(data[..<end])] = text(data[(end + 1)...])
            }
            at += 12 + length
        }
        return found
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private static func latin(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { (1...0xFF).contains($0.value) ? UInt8($0.value) : UInt8(ascii: "?") }
    }

    private static func text(_ latin: ArraySlice<UInt8>) -> String {
        String(String.UnicodeScalarView(latin.map { Unicode.Scalar($0) }))
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// CRC-32 as PNG has it (annex D): the reflected polynomial 0xEDB88320.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
