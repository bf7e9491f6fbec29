/// The building blocks of PNG files (PNG specification, third edition, section 5), to read or write parts of one.
public enum PNG {
    /// The eight bytes at the start of every PNG file.
    public static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

    /// The picture's size in pixels, from the header; nil if the header is incomplete. The header is the first chunk:
    /// length, "IHDR", width, height.
    public static func size(of png: [UInt8]) -> (width: Int, height: Int)? {
        guard png.count >= 24, png[12..<16].elementsEqual("IHDR".utf8) else { return nil }
        return (number(png, at: 16), number(png, at: 20))
    }

    /// A chunk of a file: its name, and the places of its data and of its end. A file that is cut off may end before.
    public struct Chunk {
        public let name: String
        public let data: Range<Int>
        /// Behind the checksum, where the next chunk starts.
        public let end: Int
    }

    /// The chunk that starts at an offset; nil if less is left than an empty chunk's length, name and checksum.
    public static func chunk(in png: [UInt8], at start: Int) -> Chunk? {
        guard start + 12 <= png.count else { return nil }
        let data = start + 8..<start + 8 + number(png, at: start)
        return Chunk(
            name: String(decoding: png[start + 4..<start + 8], as: UTF8.self), data: data, end: data.upperBound + 4)
    }

    /// A big-endian 32-bit number.
    /// - Precondition: the array has four bytes from `start` on.
    public static func number(_ bytes: [UInt8], at start: Int) -> Int {
        bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    }

    /// A number as four big-endian bytes.
    public static func bytes(of number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    /// A chunk: its length, name, data and checksum.
    public static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        return bytes(of: data.count) + body + bytes(of: Int(checksum(body)))
    }

    /// The CRC-32 of appendix D.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xffff_ffff) { crc, byte in table[Int((crc ^ UInt32(byte)) & 255)] ^ crc >> 8 }
    }

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ crc >> 1 : crc >> 1 }
    }
}
