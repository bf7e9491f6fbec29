import Frames
import Glibc

/// A PNG of a single picture, as its chunks describe it (PNG specification, third edition, section 11).
struct StillPNG {
    /// The width and height in pixels, as stored.
    let (width, height): (Int, Int)
    /// Whether it has transparent parts.
    private(set) var hasAlpha: Bool
    /// The value of EXIF's tag 0x0112, 1 to 8.
    private(set) var orientation = 1

    /// The most chunks that are looked at. Programs write the pixels in pieces of 8 KB or more.
    private static let maxChunks = 1 << 16
    /// The most bytes of EXIF data that are read.
    private static let maxEXIF = 64 << 10

    /// Reads the chunks, not the pixels.
    /// - Parameter descriptor: the open file.
    /// - Returns: nil if it is no PNG, an animated one, or one without pixels.
    init?(_ descriptor: CInt) {
        guard let head = readBytes(of: descriptor, at: 0, count: 26), head.starts(with: PNG.signature),
            let size = PNG.size(of: head)
        else { return nil }
        (width, height) = size
        // The colour type.
        hasAlpha = head[25] & 4 != 0
        var (at, hasPixels) = (PNG.signature.count, false)
        chunks: for _ in 0..<Self.maxChunks {
            guard let start = readBytes(of: descriptor, at: at, count: 8) else { break }
            let count = PNG.number(start, at: 0)
            switch String(decoding: start[4...], as: UTF8.self) {
            case "acTL" where !hasPixels: return nil
            case "tRNS": hasAlpha = true
            case "eXIf" where count <= Self.maxEXIF:
                if let exif = readBytes(of: descriptor, at: at + 8, count: count) {
                    orientation = Self.orientation(in: exif)
                }
            case "IDAT": hasPixels = true
            case "IEND": break chunks
            default: break
            }
            at += 12 + count
        }
        guard hasPixels else { return nil }
    }

    /// The orientation in EXIF data: a TIFF header, and a directory of entries of 12 bytes (EXIF 2.3, 4.6.2).
    /// - Returns: 1 to 8; 1 if there is none.
    static func orientation(in exif: [UInt8]) -> Int {
        let isLittle = exif.starts(with: "II*\0".utf8)
        guard isLittle || exif.starts(with: "MM\0*".utf8) else { return 1 }
        func number(_ at: Int, _ count: Int) -> Int? {
            guard at + count <= exif.count else { return nil }
            let bytes = exif[at..<at + count]
            return (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | Int($1) }
        }
        guard let directory = number(4, 4), let count = number(directory, 2) else { return 1 }
        for entry in 0..<count {
            let at = directory + 2 + 12 * entry
            guard let tag = number(at, 2), tag <= 0x0112 else { break }
            if tag == 0x0112, number(at + 2, 2) == 3, let value = number(at + 8, 2), (1...8).contains(value) {
                return value
            }
        }
        return 1
    }
}

/// Whether a file is a JPEG with a list of further pictures behind the first (CIPA DC-007: a segment APP2 "MPF"), as
/// phones write them: previews, or the brightness of an HDR photo.
/// - Parameter descriptor: the open file.
func hasFurtherPictures(_ descriptor: CInt) -> Bool {
    guard readBytes(of: descriptor, at: 0, count: 2) == [0xFF, 0xD8] else { return false }
    var at = 2
    // More segments than the profiles and texts of any photo have.
    for _ in 0..<1024 {
        guard let segment = readBytes(of: descriptor, at: at, count: 8), segment[0] == 0xFF else { return false }
        switch segment[1] {
        // A fill byte.
        case 0xFF: at += 1
        case 0xE2 where segment[4...].elementsEqual("MPF\0".utf8): return true
        // Other applications' data, tables and comments (ITU-T T.81, table B.1).
        case 0xE0...0xEF, 0xC4, 0xCC, 0xDB, 0xDD, 0xFE: at += 2 + Int(segment[2]) << 8 + Int(segment[3])
        default: return false
        }
    }
    return false
}

/// Bytes of a file.
/// - Returns: nil if there are fewer, or they can't be read.
private func readBytes(of descriptor: CInt, at offset: Int, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return unsafe pread(descriptor, &bytes, count, offset) == count ? bytes : nil
}
