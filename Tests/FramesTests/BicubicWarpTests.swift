import CAllocations
import Testing

@testable import Frames

/// Layer buffers composited slightly away from their place.
struct MovedTests {
    /// A sprite's art within a border, as a layer buffer of a region of the frame.
    private static func layer(_ art: Sprite, at corner: (x: Int, y: Int), in layout: FrameLayout) -> LayerBuffer {
        var layer = LayerBuffer()
        let region = PixelRect(
            x: corner.x - warpBorder, y: corner.y - warpBorder, width: art.width + 2 * warpBorder,
            height: art.height + 2 * warpBorder)
        let isThere = layer.begin(region, in: layout, margin: 2 * warpBorder)
        #expect(isThere)
        layer.draw(art, by: Affine(a: 1, b: 0, c: 0, d: 1, tx: Float(corner.x), ty: Float(corner.y)))
        layer.markArt()
        return layer
    }

    /// The definition, in floating point: the Catmull-Rom cubic, clamped to 0 and the alpha.
    private static func art(of layer: borrowing LayerBuffer, _ map: Affine, _ layout: FrameLayout) throws -> [SIMD4<
        Double
    >] {
        let back = try #require(map.inverse)
        let (region, stride) = (layer.region, layer.stride)
        func weights(_ t: Double) -> [Double] {
            [
                ((2 - t) * t - 1) * t / 2, ((3 * t - 5) * t * t + 2) / 2, ((4 - 3 * t) * t + 1) * t / 2,
                (t - 1) * t * t / 2,
            ]
        }
        var art = [SIMD4<Double>](repeating: .zero, count: layout.width * layout.height)
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let p = back(Point(Float(x), Float(y)))
                let (u, v) = (Double(p.x) - Double(region.x), Double(p.y) - Double(region.y))
                let (i, j) = (Int(u.rounded(.down)), Int(v.rounded(.down)))
                guard i >= 1, j >= 1, i + 2 < region.width, j + 2 < region.height else { continue }
                let (across, down) = (weights(u - Double(i)), weights(v - Double(j)))
                var sum = SIMD4<Double>.zero
                for k in 0..<4 {
                    for l in 0..<4 {
                        let word = layer.readPixels[(j + k - 1) * stride + i + l - 1]
                        let pixel: SIMD4<Double> = [
                            Double(word & 255), Double(word >> 8 & 255), Double(word >> 16 & 255), Double(word >> 24),
                        ]
                        sum += pixel * (across[l] * down[k])
                    }
                }
                let alpha = min(255, max(0, sum.w))
                art[y * layout.width + x] = pointwiseMax(pointwiseMin(sum, SIMD4(repeating: alpha)), .zero)
            }
        }
        return art
    }

    @Test(arguments: PixelFormat.allCases)
    func `a warped layer buffer matches the definition`(format: PixelFormat) throws {
        let layout = FrameLayout(width: 141, height: 95, format: format)
        // Soft art, in which a sixteenth of a pixel is some levels.
        var pixels: [UInt32] = []
        for y in 0..<59 {
            for x in 0..<83 {
                let far = SIMD2(Float(x) / 41 - 1, Float(y) / 29 - 1)
                let alpha = UInt32(max(0, 255 * (1 - (far * far).sum())))
                pixels.append(alpha << 24 | alpha / 3 << 16 | alpha / 2 << 8 | alpha * UInt32(100 + x) / 200)
            }
        }
        let sprite = Sprite(width: 83, height: 59, pixels: pixels)
        // Inside, and beyond each side of the frame.
        for corner in [(30, 20), (-9, -7), (75, 51)] {
            let layer = Self.layer(sprite, at: corner, in: layout)
            let center = Point(Float(corner.0) + 41, Float(corner.1) + 29)
            for (shift, size, turn) in [
                (Point(0, 0), 1, 0), (Point(3, -2), 1, 0), (Point(0.37, 1.61), 1, 0), (Point(-2.5, 0.5), 1.012, 0),
                (Point(1.2, -0.7), 0.99, 0.012),
            ] as [(Point, Float, Float)] {
                var map = Affine(scale: size, angle: turn, origin: .zero)
                let at = map(center)
                (map.tx, map.ty) = (center.x + shift.x - at.x, center.y + shift.y - at.y)
                #expect(canComposite(map))
                for opacity in [1, 0.4] {
                    var wanted = Reference(layout)
                    var frame = wanted.frame()
                    var other = wanted.frame()
                    let art = try Self.art(of: layer, map, layout)
                    wanted.compositeLayer(art.map { $0 * opacity }, Paint())
                    let paint = Paint(opacity: Float(opacity))
                    compositeLayer(layer, moved: map, paint, onto: &frame)
                    compositeLayer(layer, moved: map, paint, mayBeWide: false, onto: &other)
                    let isSame = (0..<frame.bytes.count).allSatisfy { frame.bytes[$0] == other.bytes[$0] }
                    #expect(isSame, "\(format) at \(corner) by \(map): without AVX2 it looks different")
                    let error = wanted.error(of: frame)
                    #expect(error <= 3, "\(format) at \(corner) by \(map), opacity \(opacity): off by \(error) levels")
                }
            }
        }
    }

    @Test func `an unmoved layer buffer is composited unchanged, including hard edges`() {
        let layout = FrameLayout(width: 160, height: 120, format: .yuyv)
        var moved = Reference(layout).frame()
        var wanted = Reference(layout).frame()
        let layer = Self.layer(makeStamp(width: 90, height: 60), at: (22, 18), in: layout)
        compositeLayer(layer, Paint(), onto: &wanted)
        compositeLayer(layer, moved: .identity, Paint(), onto: &moved)
        var worst = 0
        for i in 0..<wanted.bytes.count { worst = max(worst, abs(Int(moved.bytes[i]) - Int(wanted.bytes[i]))) }
        #expect(worst == 0, "off by \(worst) levels")
    }

    @Test func `a map that rotates or scales by more composites nothing`() {
        let layout = FrameLayout(width: 160, height: 120, format: .yuyv)
        let layer = Self.layer(makeStamp(width: 90, height: 60), at: (22, 18), in: layout)
        let wanted = Reference(layout)
        var frame = wanted.frame()
        for map in [
            Affine(scale: 1.02, angle: 0, origin: .zero), Affine(scale: 1, angle: 0.02, origin: .zero),
            Affine(a: .nan, b: 0, c: 0, d: 1, tx: 0, ty: 0), Affine(a: 1, b: 0, c: 0, d: 1, tx: .infinity, ty: 0),
            Affine(a: 1, b: 0, c: 0, d: 1, tx: 1e9, ty: 0),
        ] { compositeLayer(layer, moved: map, Paint(), onto: &frame) }
        #expect(wanted.error(of: frame) == 0)
    }

    @Test func `with a larger error allowed, larger rotations and scales are composited nearly in place`() throws {
        let layout = FrameLayout(width: 160, height: 120, format: .i444)
        // A slow ramp of 4 levels per pixel.
        let sprite = Sprite(
            width: 60, height: 40, pixels: (0..<2400).map { 0xff80_8000 | UInt32(10 + 4 * ($0 % 60)) })
        let layer = Self.layer(sprite, at: (50, 40), in: layout)
        for (size, turn) in [(1.045, 0), (0.955, 0), (1, 0.048), (1.03, -0.03)] as [(Float, Float)] {
            var map = Affine(scale: size, angle: turn, origin: .zero)
            let center = Point(80, 60)
            let at = map(center)
            (map.tx, map.ty) = (center.x + 0.3 - at.x, center.y - 0.4 - at.y)
            var frame = Frame(layout)
            compositeLayer(layer, moved: map, Paint(), onto: &frame)
            #expect(!canComposite(map) && frame.bytes[60 * 160 + 80] == 16, "\(map)")
            compositeLayer(layer, moved: map, Paint(), within: 0.2, onto: &frame)
            let back = try #require(map.inverse)
            var worst: Float = 0
            for y in 48..<72 {
                for x in 58..<102 {
                    let wanted = 10 + 4 * (back(Point(Float(x), Float(y))).x - 50)
                    worst = max(worst, abs(Float(frame.bytes[y * 160 + x]) - wanted) / 4)
                }
            }
            // 64 weights and whole levels give an error of a sixth of a pixel on this ramp.
            #expect(worst <= 0.2 + 0.17, "\(map): off by \(worst) pixels")
        }
    }

    @Test func `a sprite drawn into a layer buffer matches the definition`() throws {
        let layout = FrameLayout(width: 96, height: 64, format: .i444, range: .full)
        let sprite = makeStamp(width: 70, height: 50)
        for (scale, angle, origin) in [
            (1, 0, Point(3, 5)), (1.3, 0.4, Point(31, -8)), (0.6, -2, Point(60, 50)), (1, 0, Point(-30, -20)),
        ] as [(Float, Float, Point)] {
            let map = Affine(scale: scale, angle: angle, origin: origin)
            var wanted = Reference(layout)
            let before = wanted.frame()
            try wanted.blend(sprite, by: map, Paint())
            // Also starting outside the frame's corner.
            for corner in [0, 22, -20] {
                var layer = LayerBuffer()
                let region = PixelRect(x: corner, y: corner, width: 96, height: 64)
                let hasBegun = layer.begin(region, in: layout, margin: 24)
                #expect(hasBegun)
                layer.draw(sprite, by: map)
                let (piece, words) = (layer.region, layer.readPixels)
                var (worst, painted) = (0.0, 0)
                for y in max(0, piece.y)..<min(64, piece.y + piece.height) {
                    for x in max(0, piece.x)..<min(96, piece.x + piece.width) {
                        let word = words[(y - piece.y) * layer.stride + x - piece.x]
                        let rest = 1 - Double(word >> 24) / 255
                        let i = y * 96 + x
                        for (plane, wanted) in [wanted.luma[i], wanted.chroma[i].x, wanted.chroma[i].y].enumerated() {
                            let under = Double(before.bytes[plane * 96 * 64 + i]) * rest
                            worst = max(worst, abs(Double(word >> (8 * UInt32(plane)) & 255) + under - wanted))
                        }
                        if word != 0 { painted += 1 }
                    }
                }
                #expect(painted > 100 && worst <= 2, "\(map) from \(corner): \(painted) pixels, off by \(worst)")
            }
        }
    }

    @Test func `compositing a warped layer buffer allocates nothing`() {
        let layout = FrameLayout(width: 160, height: 120, format: .i420)
        let layer = Self.layer(makeStamp(width: 90, height: 60), at: (22, 18), in: layout)
        var frame = Frame(layout)
        let map = Affine(a: 1, b: 0, c: 0, d: 1, tx: 0.3, ty: 0.6)
        compositeLayer(layer, moved: map, Paint(), onto: &frame)
        let before = callocations_count()
        compositeLayer(layer, moved: map, Paint(), onto: &frame)
        #expect(callocations_count() == before)
    }
}
