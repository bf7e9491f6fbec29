import Frames
import SystemKit

/// An animated PNG (APNG, in the PNG specification's third edition), split into single PNGs for the usual decoder and
/// composed into full pictures again.
struct AnimatedPNG {
    /// One animation frame: the part of the picture that it changes.
    private struct CodedFrame {
        let (x, y, width, height): (Int, Int, Int, Int)
        let milliseconds: Double
        /// What happens to the area before the next frame (`dispose_op`): 0 keeps it, 1 clears it, 2 restores what was
        /// there before.
        let disposal: UInt8
        /// Whether the frame is blended over the canvas (`blend_op` 1) or replaces it (0).
        let isOver: Bool
        /// Compressed image data.
        var data: [UInt8] = []
    }

    let width: Int
    let height: Int
    private var frames: [CodedFrame] = []
    /// Number of frames according to the file's acTL chunk.
    private var declaredFrames = 0
    /// The IHDR fields after width and height. `colors` has the PLTE, tRNS and colour space chunks as they are in the
    /// file.
    private let headerTail: ArraySlice<UInt8>
    private var colors: [UInt8] = []
    /// Number of times the animation plays; 0: forever.
    private(set) var plays = 0

    static let maxFrames = Motion.maxFrames
    /// The maximum number of pixels of all frames together. In memory they take four bytes each, and a third more for
    /// their mipmaps.
    static let maxPixels = 8 << 20

    /// Splits a file into animation frames.
    /// - Returns: nil if the file isn't a PNG, or isn't animated.
    /// - Throws: `FormatError`, which says what is wrong with the file.
    init?(_ bytes: [UInt8]) throws(FormatError) {
        guard bytes.starts(with: PNG.signature), bytes.count > 33 else { return nil }
        (width, height) = (PNG.number(bytes, at: 16), PNG.number(bytes, at: 20))
        headerTail = bytes[24..<29]
        var isAnimated = false
        var offset = PNG.signature.count
        while let chunk = PNG.chunk(in: bytes, at: offset) {
            guard chunk.end <= bytes.count else { throw FormatError("the file is truncated") }
            let data = bytes[chunk.data]
            switch chunk.name {
            case "acTL":
                guard data.count == 8 else { throw FormatError("its acTL chunk is damaged") }
                isAnimated = true
                plays = PNG.number(bytes, at: data.startIndex + 4)
                let count = PNG.number(bytes, at: data.startIndex)
                guard (1...Self.maxFrames).contains(count) else {
                    throw FormatError("it has \(count) frames, the limit is \(Self.maxFrames)")
                }
                declaredFrames = count
                guard (1...ArtLimits.largestArt).contains(width), (1...ArtLimits.largestArt).contains(height),
                    width <= Self.maxPixels / height / count
                else {
                    throw FormatError("\(count) frames of \(width)x\(height) have too many pixels")
                }
            case "PLTE", "tRNS", "gAMA", "cHRM", "sRGB": colors += bytes[offset..<chunk.end]
            case "fcTL" where isAnimated: try begin(Array(data))
            case "IDAT" where isAnimated:
                // An IDAT before the first fcTL is the still image for decoders without APNG support.
                if !frames.isEmpty { frames[frames.count - 1].data += data }
            case "fdAT" where isAnimated:
                guard data.count > 4, !frames.isEmpty else { throw FormatError("its fdAT chunk is damaged") }
                frames[frames.count - 1].data += data.dropFirst(4)
            case "IDAT": return nil
            default: break
            }
            offset = chunk.end
        }
        guard isAnimated else { return nil }
        guard !frames.isEmpty, frames.allSatisfy({ !$0.data.isEmpty }) else { throw FormatError("frames are missing") }
    }

    /// Adds an animation frame from the data of its fcTL chunk.
    private mutating func begin(_ control: [UInt8]) throws(FormatError) {
        guard control.count == 26, frames.count < declaredFrames else { throw FormatError("its fcTL chunk is damaged") }
        let size = (PNG.number(control, at: 4), PNG.number(control, at: 8))
        let corner = (PNG.number(control, at: 12), PNG.number(control, at: 16))
        guard size.0 > 0, size.1 > 0, corner.0 + size.0 <= width, corner.1 + size.1 <= height else {
            throw FormatError("a frame extends beyond the picture")
        }
        let parts = (Double(control[20]) * 256 + Double(control[21]), Double(control[22]) * 256 + Double(control[23]))
        frames.append(
            CodedFrame(
                x: corner.0, y: corner.1, width: size.0, height: size.1,
                // A denominator of 0 means 100. Delays below 10 ms aren't meant to be visible and become 10 ms.
                milliseconds: max(10, parts.0 / (parts.1 == 0 ? 100 : parts.1) * 1000), disposal: control[24],
                isOver: control[25] == 1))
    }

    /// A defect of an APNG file.
    struct FormatError: Error {
        let message: String

        init(_ message: String) { self.message = message }
    }

    /// Composes the full picture of each animation frame, with its duration.
    /// - Parameter decode: decodes a PNG of the given width and height to premultiplied RGBA.
    func pictures(
        _ decode: ([UInt8], Int, Int) throws(Problem) -> [UInt8]
    ) throws(Problem) -> [(raster: RGBAImage, milliseconds: Double)] {
        var canvas = [UInt8](repeating: 0, count: width * height * 4)
        var shown: [(raster: RGBAImage, milliseconds: Double)] = []
        for frame in frames {
            let pixels = try decode(png(frame), frame.width, frame.height)
            let before = canvas
            for y in 0..<frame.height {
                for x in 0..<frame.width {
                    let (from, to) = ((y * frame.width + x) * 4, ((frame.y + y) * width + frame.x + x) * 4)
                    let rest = frame.isOver ? 255 - Int(pixels[from + 3]) : 0
                    for c in 0..<4 {
                        canvas[to + c] = UInt8(
                            min(255, Int(pixels[from + c]) + (Int(canvas[to + c]) * rest + 127) / 255))
                    }
                }
            }
            shown.append((RGBAImage(width: width, height: height, bytes: canvas), frame.milliseconds))
            switch frame.disposal {
            case 1:
                for y in frame.y..<frame.y + frame.height {
                    let row = (y * width + frame.x) * 4
                    for i in row..<row + frame.width * 4 { canvas[i] = 0 }
                }
            case 2: canvas = before
            default: break
            }
        }
        return shown
    }

    /// A standalone PNG of one animation frame.
    private func png(_ frame: CodedFrame) -> [UInt8] {
        var png = PNG.signature
        png += PNG.chunk("IHDR", PNG.bytes(of: frame.width) + PNG.bytes(of: frame.height) + headerTail)
        png += colors
        png += PNG.chunk("IDAT", frame.data)
        png += PNG.chunk("IEND", [])
        return png
    }
}
