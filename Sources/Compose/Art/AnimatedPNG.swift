import Frames

/// A PNG that moves (APNG, part of the PNG specification's third edition), taken apart into single PNGs, which the usual
/// decoder reads, and put together again picture by picture.
struct AnimatedPNG {
    /// A part of the picture that changes.
    private struct Piece {
        let (x, y, width, height): (Int, Int, Int, Int)
        let milliseconds: Double
        /// What becomes of it before the next: 0 it stays, 1 it is cleared, 2 what was before comes back.
        let disposal: UInt8
        /// Over what is there (1), not in its place (0).
        let isOver: Bool
        /// Compressed.
        var data: [UInt8] = []
    }

    let width: Int
    let height: Int
    private var pieces: [Piece] = []
    /// Pictures that the file says it has.
    private var announced = 0
    /// Of the header, without its size; and the chunks that colours need.
    private let depth: ArraySlice<UInt8>
    private var colors: [UInt8] = []
    /// How often it is shown; 0: for ever.
    private(set) var plays = 0

    static let mostPictures = Motion.mostPictures
    /// Of all pictures together: what they take in memory is four times that, and a third more for smaller faces.
    static let mostPixels = 8 << 20

    /// - Returns: nil for a file that is no PNG, or does not move.
    /// - Throws: what is wrong with it, in words.
    init?(_ bytes: [UInt8]) throws(Flaw) {
        guard bytes.starts(with: PNG.signature), bytes.count > 33 else { return nil }
        (width, height) = (PNG.number(bytes, at: 16), PNG.number(bytes, at: 20))
        depth = bytes[24..<29]
        var isMoving = false
        var place = 8
        while place + 12 <= bytes.count {
            let length = PNG.number(bytes, at: place)
            guard length <= bytes.count - place - 12 else { throw Flaw("it is cut off") }
            let name = String(decoding: bytes[place + 4..<place + 8], as: UTF8.self)
            let start = place + 8
            let data = bytes[start..<start + length]
            switch name {
            case "acTL":
                guard length == 8 else { throw Flaw("its acTL chunk is damaged") }
                isMoving = true
                plays = PNG.number(bytes, at: start + 4)
                let count = PNG.number(bytes, at: start)
                guard (1...Self.mostPictures).contains(count) else {
                    throw Flaw("it has \(count) pictures, \(Self.mostPictures) are the limit")
                }
                announced = count
                guard (1...ArtLimits.largestArt).contains(width), (1...ArtLimits.largestArt).contains(height),
                    width <= Self.mostPixels / height / count
                else {
                    throw Flaw("\(count) pictures of \(width)x\(height) are too many pixels")
                }
            case "PLTE", "tRNS", "gAMA", "cHRM", "sRGB": colors += bytes[place..<start + length + 4]
            case "fcTL" where isMoving: try begin(Array(data))
            case "IDAT" where isMoving:
                // Without a fcTL before, it is for those that know no animation.
                if !pieces.isEmpty { pieces[pieces.count - 1].data += data }
            case "fdAT" where isMoving:
                guard length > 4, !pieces.isEmpty else { throw Flaw("its fdAT chunk is damaged") }
                pieces[pieces.count - 1].data += data.dropFirst(4)
            case "IDAT": return nil
            default: break
            }
            place = start + length + 4
        }
        guard isMoving else { return nil }
        guard !pieces.isEmpty, pieces.allSatisfy({ !$0.data.isEmpty }) else { throw Flaw("pictures are missing") }
    }

    private mutating func begin(_ control: [UInt8]) throws(Flaw) {
        guard control.count == 26, pieces.count < announced else { throw Flaw("its fcTL chunk is damaged") }
        let size = (PNG.number(control, at: 4), PNG.number(control, at: 8))
        let corner = (PNG.number(control, at: 12), PNG.number(control, at: 16))
        guard size.0 > 0, size.1 > 0, corner.0 + size.0 <= width, corner.1 + size.1 <= height else {
            throw Flaw("a picture lies outside of it")
        }
        let parts = (Double(control[20]) * 256 + Double(control[21]), Double(control[22]) * 256 + Double(control[23]))
        pieces.append(
            Piece(
                x: corner.0, y: corner.1, width: size.0, height: size.1,
                // A divisor of 0 means hundredths. What is faster than 10 ms is not meant to be seen.
                milliseconds: max(10, parts.0 / (parts.1 == 0 ? 100 : parts.1) * 1000), disposal: control[24],
                isOver: control[25] == 1))
    }

    /// What is wrong with a file.
    struct Flaw: Error {
        let words: String

        init(_ words: String) { self.words = words }
    }

    /// The whole picture at each time.
    /// - Parameter decode: turns a PNG of that width and height into premultiplied RGBA.
    func pictures(
        _ decode: ([UInt8], Int, Int) throws(Problem) -> [UInt8]
    ) throws(Problem) -> [(raster: RGBAImage, milliseconds: Double)] {
        var canvas = [UInt8](repeating: 0, count: width * height * 4)
        var shown: [(raster: RGBAImage, milliseconds: Double)] = []
        for piece in pieces {
            let pixels = try decode(png(piece), piece.width, piece.height)
            let before = canvas
            for y in 0..<piece.height {
                for x in 0..<piece.width {
                    let (from, to) = ((y * piece.width + x) * 4, ((piece.y + y) * width + piece.x + x) * 4)
                    let rest = piece.isOver ? 255 - Int(pixels[from + 3]) : 0
                    for c in 0..<4 {
                        canvas[to + c] = UInt8(
                            min(255, Int(pixels[from + c]) + (Int(canvas[to + c]) * rest + 127) / 255))
                    }
                }
            }
            shown.append((RGBAImage(width: width, height: height, bytes: canvas), piece.milliseconds))
            switch piece.disposal {
            case 1:
                for y in piece.y..<piece.y + piece.height {
                    let row = (y * width + piece.x) * 4
                    for i in row..<row + piece.width * 4 { canvas[i] = 0 }
                }
            case 2: canvas = before
            default: break
            }
        }
        return shown
    }

    /// A PNG of one piece alone.
    private func png(_ piece: Piece) -> [UInt8] {
        var png = PNG.signature
        png += PNG.chunk("IHDR", PNG.bytes(of: piece.width) + PNG.bytes(of: piece.height) + depth)
        png += colors
        png += PNG.chunk("IDAT", piece.data)
        png += PNG.chunk("IEND", [])
        return png
    }
}
