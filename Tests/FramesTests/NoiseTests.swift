import Testing

@testable import Frames

struct NoiseTests {
    /// What noise of a deviation changes in the luma of grey art of an alpha, over a grey frame.
    private static func changes(
        _ layout: FrameLayout, _ deviation: Float, seed: UInt32 = 1, alpha: UInt32 = 255, mode: BlendMode = .normal,
        gain: Float = 1
    ) -> [Double] {
        let art = 100 * alpha / 255 | (128 * alpha / 255) << 8 | (128 * alpha / 255) << 16 | alpha << 24
        let sprite = Sprite(width: 90, height: 70, pixels: Array(repeating: art, count: 90 * 70))
        func luma(_ noise: Noise?) -> [Double] {
            var frame = Frame(layout)
            frame.fill(y: 110, u: 128, v: 128)
            blend(sprite, by: .identity, Paint(mode, gain: gain, noise: noise), onto: &frame)
            let (site, bytes) = (layout.luma, frame.bytes)
            return (0..<layout.height).flatMap { y in
                (0..<layout.width).map { Double(bytes[site.offset + y * site.stride + $0 * site.step]) }
            }
        }
        return zip(luma(Noise(deviation: deviation, seed: seed)), luma(nil)).map { $0 - $1 }
    }

    private static func deviation(_ values: [Double]) -> Double {
        let mean = values.reduce(0, +) / Double(values.count)
        return (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)).squareRoot()
    }

    @Test(arguments: PixelFormat.allCases, [Float(2), 6])
    func `art gets as much noise as is wanted, also in light, and no brighter`(format: PixelFormat, wanted: Float) {
        let layout = FrameLayout(width: 80, height: 60, format: format)
        for gain in [Float(1), 0.5] {
            let changes = Self.changes(layout, wanted, gain: gain)
            let deviation = Self.deviation(changes)
            #expect(abs(deviation - Double(wanted)) < 0.12 * Double(wanted), "\(layout), gain \(gain): \(deviation)")
            #expect(abs(changes.reduce(0, +) / Double(changes.count)) < 0.5)
        }
    }

    @Test func `half transparent art gets half the noise, and other modes get none`() {
        let layout = FrameLayout(width: 80, height: 60, format: .yuyv)
        #expect(abs(Self.deviation(Self.changes(layout, 8, alpha: 128)) - 4) < 0.5)
        #expect(Self.changes(layout, 8, alpha: 0).allSatisfy { $0 == 0 })
        #expect(Self.changes(layout, 8, mode: .multiply).allSatisfy { $0 == 0 })
    }

    @Test func `each frame and row has other noise, neighbours are unlike, and a frame drawn again is the same`() {
        let layout = FrameLayout(width: 80, height: 60, format: .gray)
        let changes = Self.changes(layout, 6)
        #expect(changes == Self.changes(layout, 6))
        /// The correlation with the values `offset` further on.
        func likeness(_ other: [Double], offset: Int) -> Double {
            let products = zip(changes, other.dropFirst(offset)).map { $0 * $1 }
            return products.reduce(0, +) / Double(products.count) / 36
        }
        #expect(abs(likeness(Self.changes(layout, 6, seed: 2), offset: 0)) < 0.06, "another frame")
        for offset in [1, 79, 80, 81, 160] { #expect(abs(likeness(changes, offset: offset)) < 0.06, "\(offset)") }
    }
}
