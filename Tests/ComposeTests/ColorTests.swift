import Frames
import Testing

@testable import Compose

@Suite struct ColorTests {
    @Test(arguments: [ColorRange.full, .limited])
    func `the purest colours are drawn as they are, opaque, in both ranges`(range: ColorRange) throws {
        for corner in 0..<8 {
            let rgb = (0..<3).map { corner >> $0 & 1 == 1 ? UInt8(255) : 0 }
            let text = "#" + rgb.map { $0 == 0 ? "00" : "ff" }.joined()
            let color = try #require(Color(text))
            let pixel = color.pixel(range)
            #expect(pixel == Art.pixel(Art.yuva(rgb[0], rgb[1], rgb[2], 255, range)), "\(text)")
            #expect(pixel >> 24 == 255)
            for channel in 0..<3 {
                let drawn = Float(pixel >> UInt32(8 * channel) & 255)
                #expect(abs(drawn - color.yuv(range)[channel]) <= 0.51, "\(text) \(channel)")
            }
        }
    }
}
