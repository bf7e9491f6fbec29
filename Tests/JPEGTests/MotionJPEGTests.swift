import Frames
import JPEG
import SystemKit
import TestSupport
import Testing

struct MotionJPEGEncoderTests {
    /// Encodes plain frames.
    /// - Parameter luma: of a frame, by its number.
    private func film(
        _ width: Int, _ height: Int, frames: Int, rate: Double, luma: (Int) -> Int = { 40 + $0 }
    ) throws -> MotionJPEG? {
        var frame = Frame(FrameLayout(width: width, height: height, format: .i420, range: .full))
        var encoder = try MotionJPEGEncoder(frame.layout)
        for number in 0..<frames where !encoder.isFull {
            frame.fill(y: UInt8(luma(number)), u: 128, v: 128)
            encoder.add(frame.view, at: Double(number) / rate)
        }
        return try encoder.finish().map { try MotionJPEG($0, path: "film") }
    }

    /// The luma of each picture's middle.
    private func levels(_ film: MotionJPEG) throws -> [Int] {
        let decoder = try JPEGDecoder()
        var frame = Frame(film.layout)
        let middle = film.layout.width * film.layout.height / 2 + film.layout.width / 2
        return try (0..<film.count).map { number in
            try #require(try decoder.decode(film[number], into: &frame))
            return Int(frame.bytes[middle])
        }
    }

    @Test func `a clip has 15 pictures a second, whatever its own rate, and at most 20 seconds`() throws {
        // Seconds before the last frame, at 15 a second, without those that are faded in at the end.
        #expect(try film(64, 48, frames: 60, rate: 30)?.count == 30 - 8)
        #expect(try film(64, 48, frames: 41, rate: 20)?.count == 31 - 8)
        #expect(try film(64, 48, frames: 5, rate: 2)?.count == 31 - 8)
        #expect(try film(64, 48, frames: 50, rate: 1, luma: { _ in 90 })?.count == 300)
        let halved = try #require(try film(64, 48, frames: 60, rate: 30))
        // Every second frame, from the ninth on.
        #expect(try levels(halved).prefix(14).elementsEqual((8..<22).map { 40 + 2 * $0 }) { abs($0 - $1) <= 1 })
    }

    @Test func `what is not longer than a second is no clip`() throws {
        #expect(try film(64, 48, frames: 30, rate: 30) == nil)
        #expect(try film(64, 48, frames: 31, rate: 30) != nil)
        #expect(try film(64, 48, frames: 1, rate: 30) == nil)
    }

    @Test(arguments: [
        (1920, 1080, 960, 540), (720, 1280, 540, 960), (4000, 4, 960, 2), (640, 360, 640, 360), (101, 51, 100, 50),
    ])
    func `a clip's pictures have at most 960 pixels on a side, and even sides`(
        width: Int, height: Int, newWidth: Int, newHeight: Int
    ) throws {
        let layout = try film(width, height, frames: 4, rate: 2)?.layout
        #expect(layout?.size == FrameSize(width: newWidth, height: newHeight))
    }

    @Test func `a clip's end fades into its beginning`() throws {
        let film = try #require(try film(64, 48, frames: 61, rate: 30) { 40 + 3 * $0 })
        let levels = try levels(film)
        // Without the fade, the last picture would be brighter than the first by 130.
        let jumps = levels.indices.map { abs(levels[($0 + 1) % levels.count] - levels[$0]) }
        #expect(jumps.max() ?? 0 < 30, "\(levels)")
    }
}

struct MotionJPEGTests {
    private func problem(_ bytes: [UInt8]) -> Problem? {
        do {
            _ = try MotionJPEG(bytes, path: "x.mjpeg")
            return nil
        } catch { return error }
    }

    @Test func `what is no moving picture is an error that says why`() throws {
        let film = try Films.plain([50, 60, 70])
        let one = try Films.plain([50])
        var progressive = film
        var subsampled = film
        for at in film.indices.dropLast() where film[at] == 0xFF && film[at + 1] == 0xC0 {
            progressive[at + 1] = 0xC2
            // Columns and rows of samples of luma.
            subsampled[at + 11] = 0x21
        }
        let cases: [([UInt8], String)] = [
            ([], "picture 1 is cut off"), (Array("no picture".utf8), "picture 1 is no JPEG"),
            (Array(film.dropLast(3)), "picture 3 is cut off"), (Array(film.prefix(one.count + 4)), "picture 2 is cut"),
            (film + [0, 0], "picture 4 is no JPEG"), (film + [0xFF, 0xD8, 0, 0], "picture 4 is damaged"),
            (film + (try Films.plain([50], width: 66)), "picture 4 has another size"),
            (Array(repeatElement(one, count: 401).joined()), "more than 400 pictures"),
            (try Films.plain([50], width: 962), "has 962x48 pixels"), (progressive, "picture 1 is not a baseline"),
            (subsampled, "picture 1 is not 4:2:0"), ([UInt8](repeating: 0, count: 64 << 20 + 1), "larger than 64 MiB"),
        ]
        for (bytes, reason) in cases {
            let problem = problem(bytes)
            #expect(problem?.kind == .unusable && problem?.message.contains("x.mjpeg") == true)
            #expect(problem?.message.contains(reason) == true, "\(reason): \(String(describing: problem))")
        }
        #expect(problem(Array(repeatElement(one, count: 400).joined())) == nil)
    }

    @Test func `pictures of any bytes are refused or decoded, and nothing is read beyond them`() throws {
        let film = try Films.plain([50, 90, 70, 120], width: 48, height: 32)
        let decoder = try JPEGDecoder()
        var random = RepeatableGenerator(state: 7)
        var (refused, decoded, undecoded) = (0, 0, 0)
        for round in 0..<4000 {
            var bytes = film
            for _ in 0...random.next(below: 4) {
                let at = random.next(below: bytes.count)
                switch round % 4 {
                case 0: bytes[at] = UInt8(random.next(below: 256))
                case 1: bytes.removeSubrange(at..<min(bytes.count, at + random.next(below: 40)))
                case 2: bytes.insert(contentsOf: [0xFF, UInt8(random.next(below: 256))], at: at)
                default: bytes.removeLast(random.next(below: 60))
                }
            }
            guard let changed = try? MotionJPEG(bytes, path: "film") else {
                refused += 1
                continue
            }
            var frame = Frame(changed.layout)
            for number in 0..<changed.count {
                let isDecoded = (try? decoder.decode(changed[number], into: &frame)) == true
                if isDecoded { decoded += 1 } else { undecoded += 1 }
                let isSame = frame.layout == changed.layout
                #expect(isSame, "the frame was replaced")
            }
        }
        #expect(refused > 100 && decoded > 100 && undecoded > 100, "\(refused) \(decoded) \(undecoded)")
    }
}
