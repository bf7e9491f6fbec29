import Testing

@testable import Page

/// The size in a photo's first bytes.
struct PhotoHeaderTests {
    @Test func `a photo's size is read before it is decoded`() throws {
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + bytes("IHDR") + [0, 1, 0, 0, 0, 0, 0x10, 1]
        #expect(PhotoHeader(png)?.width == 65536 && PhotoHeader(png)?.height == 4097)
        // A comment, fill bytes, then a progressive frame of 300x200.
        let jpeg: [UInt8] = [
            0xFF, 0xD8, 0xFF, 0xFE, 0, 4, 1, 2, 0xFF, 0xFF, 0xC2, 0, 11, 8, 0, 200, 1, 44, 1, 1, 17, 0,
        ]
        #expect(PhotoHeader(jpeg)?.width == 300 && PhotoHeader(jpeg)?.height == 200)
        let extended =
            bytes("RIFF") + [0, 0, 0, 0] + bytes("WEBPVP8X") + [10, 0, 0, 0, 0, 0, 0, 0, 0x2B, 1, 0, 199, 0, 0]
        #expect(PhotoHeader(extended)?.width == 300 && PhotoHeader(extended)?.height == 200)
        for broken in [[], bytes("GIF89a"), Array(png.dropLast()), Array(jpeg.prefix(12)), bytes("RIFFxxxxWEBP")] {
            #expect(PhotoHeader(broken) == nil)
        }
    }
}
