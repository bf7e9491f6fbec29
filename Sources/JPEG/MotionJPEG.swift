import Frames
import SystemKit

/// A moving picture: JPEGs of one size, one after the other in one file. It has no times: its rate is constant.
///
/// Where each picture begins and ends is found once, with every length checked, and only the plainest kind of JPEG is
/// accepted, which is what `MotionJPEGEncoder` makes: libjpeg-turbo then meets neither progressive pictures, which can
/// take minutes, nor pictures of a size or sampling that it wasn't prepared for.
public struct MotionJPEG: Sendable {
    /// The extension of a file's name.
    public static let fileExtension = "mjpeg"
    /// Pictures per second.
    public static let rate = 15
    /// The most bytes of a file.
    public static let maxBytes = 64 << 20
    /// The most pictures of a file.
    public static let maxPictures = 400
    /// The longest side of the pictures.
    public static let maxSide = 960

    /// The layout of the decoded pictures.
    public let layout: FrameLayout
    private let bytes: [UInt8]
    private let ranges: [Range<Int>]

    /// The number of pictures, at least one.
    public var count: Int { ranges.count }

    /// A picture's bytes.
    public subscript(number: Int) -> Span<UInt8> {
        @_lifetime(borrow self) get { bytes.span.extracting(ranges[number]) }
    }

    /// Reads a file.
    /// - Throws: `Problem` that names the file: as `contents(of:)`, and `unusable` if it is no moving picture.
    public init(path: String) throws(Problem) {
        try self.init(contents(of: path, limit: Self.maxBytes), path: path)
    }

    /// Finds the pictures in a file's bytes.
    /// - Parameter path: for messages.
    /// - Throws: `Problem` of kind `unusable`.
    public init(_ bytes: [UInt8], path: String) throws(Problem) {
        func problem(_ reason: String) -> Problem {
            Problem(
                .unusable, "\(path) is not a moving picture as Guise makes it: \(reason)", fix: "add the clip again")
        }
        guard bytes.count <= Self.maxBytes else { throw problem("it is larger than \(Self.maxBytes >> 20) MiB") }
        var ranges: [Range<Int>] = []
        var first: JPEGHeader?
        var end = 0
        while end < bytes.count || ranges.isEmpty {
            let number = ranges.count + 1
            guard number <= Self.maxPictures else { throw problem("it has more than \(Self.maxPictures) pictures") }
            let picture: JPEGHeader
            do { picture = try JPEGHeader(bytes.span, at: end) } catch {
                throw problem("picture \(number) \(error.reason)")
            }
            let size = (first ?? picture).size
            guard picture.size == size else { throw problem("picture \(number) has another size than the first") }
            if first == nil { first = picture }
            ranges.append(end..<picture.end)
            end = picture.end
        }
        let size = first?.size ?? FrameSize(width: 2, height: 2)
        layout = FrameLayout(width: size.width, height: size.height, format: .i420, range: .full)
        (self.bytes, self.ranges) = (bytes, ranges)
    }
}

/// What is wrong with a picture, in words that follow "picture 2".
private struct FormatError: Error {
    let reason: String
}

/// The size and the end of one JPEG in a file: a baseline picture of one scan, 4:2:0 (ITU-T T.81, B).
private struct JPEGHeader {
    let size: FrameSize
    /// The index after the last byte.
    let end: Int

    init(_ bytes: Span<UInt8>, at start: Int) throws(FormatError) {
        /// The byte at an index.
        func byte(_ at: Int) throws(FormatError) -> Int {
            guard at < bytes.count else { throw FormatError(reason: "is cut off") }
            return Int(bytes[at])
        }
        func word(_ at: Int) throws(FormatError) -> Int { try byte(at) << 8 | byte(at + 1) }
        guard try byte(start) == 0xFF, try byte(start + 1) == 0xD8 else { throw FormatError(reason: "is no JPEG") }
        var at = start + 2
        var size: FrameSize?
        while true {
            guard try byte(at) == 0xFF else { throw FormatError(reason: "is damaged") }
            let marker = try byte(at + 1)
            // Fill bytes.
            if marker == 0xFF {
                at += 1
                continue
            }
            let length = try word(at + 2)
            guard length >= 2, at + 2 + length <= bytes.count else { throw FormatError(reason: "is cut off") }
            let data = at + 4
            switch marker {
            case 0xC0:
                guard size == nil, length == 17, try byte(data) == 8, try byte(data + 5) == 3,
                    // The samples of Y, U and V.
                    try byte(data + 7) == 0x22, try byte(data + 10) == 0x11, try byte(data + 13) == 0x11
                else { throw FormatError(reason: "is not 4:2:0 with 8 bits") }
                let found = FrameSize(width: try word(data + 3), height: try word(data + 1))
                guard found.width > 0, found.height > 0, found.width % 2 == 0, found.height % 2 == 0,
                    max(found.width, found.height) <= MotionJPEG.maxSide
                else {
                    throw FormatError(
                        reason: "has \(found.width)x\(found.height) pixels, allowed are even sides of at most "
                            + "\(MotionJPEG.maxSide)")
                }
                size = found
            // Tables, restart intervals, and what programs write for each other.
            case 0xC4, 0xDB, 0xDD, 0xE0...0xEF, 0xFE: break
            case 0xDA:
                guard let size, length == 12, try byte(data) == 3 else {
                    throw FormatError(reason: "is not in one scan")
                }
                self.size = size
                end = try Self.endOfScan(bytes, from: at + 2 + length)
                return
            default: throw FormatError(reason: "is not a baseline JPEG")
            }
            at += 2 + length
        }
    }

    /// The end of the picture whose samples begin at an index: after its mark EOI.
    private static func endOfScan(_ bytes: Span<UInt8>, from start: Int) throws(FormatError) -> Int {
        var at = start
        while at + 1 < bytes.count {
            guard bytes[at] == 0xFF else {
                at += 1
                continue
            }
            switch bytes[at + 1] {
            case 0xD9: return at + 2
            // A sample's byte 0xFF, and restart marks.
            case 0x00, 0xD0...0xD7: at += 2
            // A fill byte.
            case 0xFF: at += 1
            default: throw FormatError(reason: "is not in one scan")
            }
        }
        throw FormatError(reason: "is cut off")
    }
}
