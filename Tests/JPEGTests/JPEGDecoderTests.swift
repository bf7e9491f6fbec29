import CArt
import Frames
import JPEG
import SystemKit
import Testing

/// A JPEG picture: a grey ramp from left to right, with a touch of red.
private func jpeg(width: Int, height: Int, sampling: TJSAMP) throws -> [UInt8] {
    var pixels: [UInt8] = []
    for _ in 0..<height {
        for x in 0..<width { pixels += [UInt8(x * 200 / width + 40), UInt8(x * 200 / width), UInt8(x * 200 / width)] }
    }
    let handle = unsafe tjInitCompress()
    defer { unsafe tjDestroy(handle) }
    var result: UnsafeMutablePointer<UInt8>?
    var size: UInt = 0
    let code = unsafe tjCompress2(
        handle, pixels, CInt(width), 0, CInt(height), CInt(TJPF_RGB.rawValue), &result, &size,
        CInt(sampling.rawValue), 95, 0)
    try #require(code == 0)
    defer { unsafe tjFree(result) }
    return unsafe Array(UnsafeBufferPointer(start: result, count: Int(size)))
}

extension JPEGDecoder {
    /// An array that lives as long as the call.
    func decode(_ bytes: [UInt8], into frame: inout Frame) throws -> Bool { try decode(bytes.span, into: &frame) }
}

struct JPEGDecoderTests {
    static func blank() -> Frame { Frame(FrameLayout(width: 64, height: 48, format: .i422, range: .full)) }

    @Test(
        arguments: [
            (TJSAMP_444, .i444), (TJSAMP_422, .i422), (TJSAMP_420, .i420), (TJSAMP_GRAY, .gray),
        ] as [(TJSAMP, PixelFormat)])
    func `a JPEG frame keeps its chroma subsampling and brightness`(sampling: TJSAMP, format: PixelFormat) throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        #expect(try decoder.decode(jpeg(width: 64, height: 48, sampling: sampling), into: &frame))
        #expect(frame.layout == FrameLayout(width: 64, height: 48, format: format, range: .full))
        let layout = frame.layout
        let bytes = frame.bytes
        for x in [2, 32, 61] {
            // The luma of the ramp's colour (JFIF).
            let wanted = 0.299 * 40 + Double(x * 200 / 64)
            #expect(abs(Double(bytes[24 * layout.planes[0].stride + x]) - wanted) < 4)
        }
        guard format != .gray else { return }
        // Cr of 40 more red than green and blue: 0.5 * 40 above the middle.
        let cr = layout.planes[2]
        #expect(abs(Int(bytes[cr.offset + cr.rows / 2 * cr.stride + cr.rowBytes / 2]) - 148) < 4)
    }

    @Test func `a truncated frame is dropped`() throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        let whole = try jpeg(width: 64, height: 48, sampling: TJSAMP_422)
        for count in [0, 1, 2, 100, whole.count / 2, whole.count * 3 / 4] {
            #expect(try !decoder.decode(Array(whole.prefix(count)), into: &frame), "\(count) bytes")
        }
        #expect(try decoder.decode(whole, into: &frame), "the decoder goes on after damage")
    }

    @Test func `the decoder goes on after a damaged header`() throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        let whole = try jpeg(width: 64, height: 48, sampling: TJSAMP_422)
        var damaged = whole
        // More Huffman codes than there can be.
        let table = try #require(whole.indices.first { whole[$0...].starts(with: [0xFF, 0xC4]) })
        for at in table + 5..<table + 21 { damaged[at] = 0xFF }
        for _ in 0..<2 {
            #expect(try !decoder.decode(damaged, into: &frame))
            #expect(try decoder.decode(whole, into: &frame))
        }
    }

    @Test func `a camera's padding after or before the end of a picture is harmless`() throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        let whole = try jpeg(width: 64, height: 48, sampling: TJSAMP_422)
        #expect(try decoder.decode((whole + [UInt8](repeating: 0, count: 512)), into: &frame))
        let inside = whole.dropLast(2) + [0x12, 0x34] + whole.suffix(2)
        #expect(try decoder.decode(Array(inside), into: &frame))
    }

    @Test func `a picture of another size is dropped`() throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        #expect(try !decoder.decode(jpeg(width: 80, height: 48, sampling: TJSAMP_422), into: &frame))
        #expect(try !decoder.decode([UInt8](repeating: 0xff, count: 4000), into: &frame))
    }

    @Test func `a rare chroma subsampling is a clear error`() throws {
        var frame = Self.blank()
        let decoder = try JPEGDecoder()
        let rare = try jpeg(width: 64, height: 48, sampling: TJSAMP_411)
        var requestError: Problem?
        do { _ = try decoder.decode(rare, into: &frame) } catch { requestError = error as? Problem }
        #expect(requestError?.kind == .unusable)
    }
}
