import CAllocations
import Glibc
import Testing

@testable import Frames

/// Valid premultiplied art: a colour within the range times an alpha, in soft and hard patches.
private func makeColors(width: Int, height: Int, range: ColorRange) -> [UInt32] {
    let (black, white, middle) = range == .full ? (0, 255, 255) : (16, 235, 224)
    return (0..<width * height).map { i in
        let (x, y) = (i % width, i / width)
        let border = x == 0 || y == 0 || x == width - 1 || y == height - 1
        let alpha = border || (x / 20 + y / 16) % 4 == 3 ? 0 : (x / 7 + y / 5) % 3 == 0 ? 255 : (x * 6 + y * 4) % 256
        let luma = black + (x * 9 + y * 5) % (white - black + 1)
        let (u, v) = (128 + (x * 5) % middle / 2 - middle / 4, 128 + (y * 11) % middle / 2 - middle / 4)
        func premultiplied(_ value: Int) -> UInt32 { UInt32((value * alpha + 127) / 255) }
        return premultiplied(luma) | premultiplied(u) << 8 | premultiplied(v) << 16 | UInt32(alpha) << 24
    }
}

private let paints: [Paint] =
    BlendMode.allCases.map { Paint($0) } + [
        Paint(.multiply, opacity: 0.5), Paint(.softLight, opacity: 0.3),
        Paint(gain: 0.4), Paint(gain: 1.5), Paint(cast: [-20, 14]),
        Paint(saturation: 0), Paint(gain: 0.7, saturation: 0.4), Paint(.multiply, saturation: 0.5),
        Paint(.screen, gain: 0.6, cast: [12, -9]),
        Paint(shading: Paint.ShadingTransfer(reference: 120, strength: 1)),
        Paint(.overlay, opacity: 0.8, gain: 0.8, shading: Paint.ShadingTransfer(reference: 90, strength: 0.6)),
    ]

struct PaintTests {
    @Test(arguments: PixelFormat.allCases, [ColorRange.limited, .full])
    func `every blend mode, light and shading follows its formula`(format: PixelFormat, range: ColorRange) throws {
        let sprite = Sprite(width: 61, height: 47, pixels: makeColors(width: 61, height: 47, range: range))
        var worst = 0.0
        for (width, height) in [(48, 32), (49, 31), (33, 21), (5, 3)] {
            let layout = FrameLayout(width: width, height: height, format: format, range: range, lumaStride: 260)
            for map in [.identity, Affine(scale: 1.4, angle: 0.3, origin: Point(-10, -9))] {
                for paint in paints {
                    var wanted = Reference(layout)
                    var frame = wanted.frame()
                    try wanted.blend(sprite, by: map, paint)
                    blend(sprite, by: map, paint, onto: &frame)
                    let error = wanted.error(of: frame)
                    worst = max(worst, error)
                    // Overlay and soft light double the rounding of the art to 8 bits.
                    #expect(error <= 4, "\(layout) \(paint): off by \(error) levels")
                }
            }
        }
        print("\(format) \(range): at most \(worst) levels from the formulas")
    }

    @Test(arguments: PixelFormat.allCases)
    func `a layer buffer is composited as a sprite is`(format: PixelFormat) throws {
        let layout = FrameLayout(width: 75, height: 51, format: format)
        for paint in paints {
            var wanted = Reference(layout)
            var frame = wanted.frame()
            var layer = LayerBuffer()
            let isSeen = layer.begin(PixelRect(x: 7, y: 5, width: 200, height: 41), in: layout)
            #expect(isSeen)
            var art = [SIMD4<Double>](repeating: .zero, count: layout.width * layout.height)
            let colors = makeColors(width: 80, height: 60, range: .limited)
            let (region, stride) = (layer.region, layer.stride)
            var pixels = layer.pixels
            for y in 0..<region.height {
                for x in 0..<region.width {
                    let p = colors[y * 80 + x]
                    pixels[y * stride + x] = p
                    art[(region.y + y) * layout.width + region.x + x] =
                        SIMD4(Double(p & 255), Double(p >> 8 & 255), Double(p >> 16 & 255), Double(p >> 24))
                        * Double(paint.opacity)
                }
            }
            wanted.compositeLayer(art, paint)
            compositeLayer(layer, paint, onto: &frame)
            let error = wanted.error(of: frame)
            #expect(error <= 3, "\(layout) \(paint): off by \(error) levels")
        }
    }

    @Test(arguments: BlendMode.allCases)
    func `without art nothing changes, not by one level`(mode: BlendMode) {
        let layout = FrameLayout(width: 64, height: 48, format: .yuyv)
        // Transparent except for one pixel, so that runs are not skipped.
        var pixels = [UInt32](repeating: 0, count: 60 * 40)
        for y in 4..<36 { pixels[y * 60 + 30] = 0xff80_80eb }
        let untouched = Reference(layout)
        var frame = untouched.frame()
        blend(
            Sprite(width: 60, height: 40, pixels: pixels), by: .identity, Paint(mode, gain: 0.7, cast: [9, -9]),
            onto: &frame)
        let before = untouched.frame()
        let bytes = frame.bytes
        var changed = 0
        for y in 0..<48 {
            for x in 0..<128 where bytes[y * 128 + x] != before.bytes[y * 128 + x] {
                changed += 1
                #expect((60..<64).contains(x), "column \(x / 2) of row \(y) changed")
            }
        }
        #expect(changed > 20)
    }

    @Test func `softening spreads a pixel by 1 2 1 across and down, and keeps its sum`() {
        var layer = LayerBuffer()
        _ = layer.begin(PixelRect(x: 0, y: 0, width: 48, height: 20), width: 100, height: 100)
        let stride = layer.stride
        do {
            var pixels = layer.pixels
            for place in [10 * stride + 16, 5 * stride + 31] { pixels[place] = 0xf0f0_f0f0 }
        }
        layer.soften(variance: 0.5)
        let softened = layer.readPixels
        for (x, y) in [(16, 10), (31, 5)] {
            for (dx, dy) in (-2...2).flatMap({ dx in (-2...2).map { (dx, $0) } }) {
                let weight = max(0, 2 - abs(dx)) * max(0, 2 - abs(dy))
                for shift: UInt32 in [0, 8, 16, 24] {
                    let value = Int(softened[(y + dy) * stride + x + dx] >> shift & 255)
                    #expect(abs(value - 240 * weight / 16) <= 1, "\(dx), \(dy)")
                }
            }
        }
    }

    @Test(arguments: [0.12, 0.22, 0.38, 0.5, 0.72, 1, 1.4, 2] as [Float])
    func `softening has the variance that was asked for, and changes no plane`(variance: Float) {
        var layer = LayerBuffer()
        _ = layer.begin(PixelRect(x: 0, y: 0, width: 48, height: 40), width: 100, height: 100)
        let stride = layer.stride
        do {
            var pixels = layer.pixels
            for i in 0..<40 * stride where i % stride >= 32 { pixels[i] = 0xff80_7061 }
            pixels[20 * stride + 12] = 0xf0f0_f0f0
        }
        layer.soften(variance: variance)
        let softened = layer.readPixels
        var (sum, across, down) = (Float(0), Float(0), Float(0))
        for (x, y) in (12...28).flatMap({ y in (4...20).map { ($0, y) } }) {
            let value = Float(softened[y * stride + x] & 255)
            sum += value
            across += value * Float((x - 12) * (x - 12))
            down += value * Float((y - 20) * (y - 20))
        }
        print("\(variance): sum \(sum), variance \(across / sum) and \(down / sum)")
        #expect(abs(sum - 240) < 12)
        // The farther the blur reaches, the more of it is less than half a level.
        for measured in [across / sum, down / sum] { #expect(abs(measured - variance) < 0.05 + 0.2 * variance) }
        for y in 8..<32 { #expect(softened[y * stride + 40] == 0xff80_7061) }
    }

    @Test func `what is as sharp as it should be stays as it is`() {
        var layer = LayerBuffer()
        _ = layer.begin(PixelRect(x: 0, y: 0, width: 48, height: 20), width: 100, height: 100)
        let middle = 10 * layer.stride + 16
        do {
            var pixels = layer.pixels
            pixels[middle] = 0xf0f0_f0f0
        }
        for variance in [-1, 0, 0.05, .nan] as [Float] { layer.soften(variance: variance) }
        #expect(layer.readPixels[middle] == 0xf0f0_f0f0)
    }

    @Test func `extreme light is clamped`() {
        var frame = Frame(FrameLayout(width: 64, height: 32, format: .nv12))
        let sprite = Sprite(width: 40, height: 20, pixels: makeColors(width: 40, height: 20, range: .limited))
        for value in [Float.nan, .infinity, -.infinity, -5, 1e9] {
            for mode in BlendMode.allCases {
                let shading = Paint.ShadingTransfer(reference: value, strength: value)
                blend(
                    sprite, by: .identity,
                    Paint(
                        mode, gain: value, cast: [value, value], saturation: value, shading: shading),
                    onto: &frame)
            }
        }
        #expect(frame.bytes.count > 0)
    }

    @Test func `rich paint allocates nothing`() {
        let sprite = Sprite(width: 100, height: 100, pixels: makeColors(width: 100, height: 100, range: .limited))
        var frame = Frame(FrameLayout(width: 320, height: 240, format: .yuyv))
        let map = Affine(scale: 1.1, angle: 0.1, origin: Point(100, 50))
        for paint in [Paint()] + paints {
            blend(sprite, by: map, paint, onto: &frame)
            let before = callocations_count()
            blend(sprite, by: map, paint, onto: &frame)
            let asked = callocations_count() - before
            #expect(asked == 0, "\(paint)")
        }
    }
}
