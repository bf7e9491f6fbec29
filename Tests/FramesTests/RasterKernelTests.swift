import CRaster
import TestSupport
import Testing

@testable import Frames
@testable import SystemKit

/// The kernels for AVX2 compared with those for every processor, to the bit.
struct RasterKernelTests {
    private var generator = RepeatableGenerator(7)

    /// Whether the kernels for AVX2 are used: never, or both if this processor has it.
    static let widths = craster_is_wide() != 0 ? [false, true] : [false]

    /// Fewer pixels than a vector has, as many, and one more; and enough for everything.
    private static let counts = [0, 1, 2, 3, 7, 8, 9, 16, 17, 72]

    // MARK: Triangles

    /// The samples of a picture, drawn in two bands.
    private static func draw(
        _ corners: [RasterVertex], _ triangles: [UInt16], _ ink: RasterizerTests.InkSort, in region: PixelRect,
        isWide: Bool
    ) -> (color: [SIMD4<UInt32>], depth: [SIMD4<UInt32>]) {
        var rasterizer = Rasterizer(mayBeWide: isWide)
        rasterizer.begin(region, range: .limited)
        rasterizer.occlude(corners.span, Array(triangles.prefix(12)).span)
        var (color, depth): ([SIMD4<UInt32>], [SIMD4<UInt32>]) = ([], [])
        for rows in [0..<region.height / 2, region.height / 2..<region.height] {
            rasterizer.select(rows)
            rasterizer.draw(corners.span, triangles.span, faces: .both, .plain)
            rasterizer.draw(corners.span, triangles.span, faces: .front, RasterizerTests.surface(ink).0)
            color += rasterizer.color.prefix(rows.count * region.width)
            for y in rows {
                for x in 0..<region.width {
                    let depths = rasterizer.depths(x: region.x + x, y: region.y + y)
                    depth.append(unsafe unsafeBitCast(depths, to: SIMD4<UInt32>.self))
                }
            }
            var layer = LayerBuffer()
            guard layer.begin(region, width: 400, height: 300) else { continue }
            rasterizer.resolve(into: &layer)
        }
        return (color, depth)
    }

    @Test(arguments: RasterizerTests.Sort.allCases, RasterizerTests.InkSort.allCases)
    func `triangles are drawn alike on every processor`(
        _ sort: RasterizerTests.Sort, _ ink: RasterizerTests.InkSort
    ) {
        var generator = RepeatableGenerator(UInt64(sort.rawValue.count * 100 + ink.rawValue.count))
        var drawn = 0
        for count in Self.counts {
            for _ in 0..<3 {
                let (corners, triangles) = RasterizerTests.mesh(sort, count: 40, &generator)
                // Its left part, or what of it is in one row.
                for region in [
                    PixelRect(x: 60, y: 22, width: count, height: 54),
                    PixelRect(x: 38, y: 40, width: 72, height: count),
                ] {
                    let narrow = Self.draw(corners, triangles, ink, in: region, isWide: false)
                    let wide = Self.draw(corners, triangles, ink, in: region, isWide: true)
                    let isSame = narrow == wide
                    #expect(isSame, "\(region)")
                    drawn += narrow.color.count { $0 != .zero }
                }
            }
        }
        #expect(drawn > 1000)
    }

    /// The only pixel, of a triangle that covers it with one colour and one texture coordinate.
    private static func pixel(
        _ color: SIMD4<Float>, at texture: SIMD2<Float> = .zero, _ surface: RasterSurface = .plain, isWide: Bool
    ) -> SIMD4<UInt32> {
        let corners = [SIMD2<Float>(-20, -20), [40, -20], [-20, 40]].map {
            RasterVertex(position: [$0.x, $0.y, -1, 0], color: color, texture: texture)
        }
        var rasterizer = Rasterizer(mayBeWide: isWide)
        rasterizer.begin(PixelRect(x: 0, y: 0, width: 1, height: 1), range: .full)
        rasterizer.select(0..<1)
        rasterizer.draw(corners.span, [0, 1, 2].span, faces: .front, surface)
        return rasterizer.color[0]
    }

    @Test(arguments: widths) mutating func `channels are rounded to the nearest level, and limited`(isWide: Bool) {
        for i in 0..<2000 {
            // Every second one at a tie.
            func channel() -> Float {
                Float(generator.next(below: i % 2 == 0 ? 400 : 40_000)) / (i % 2 == 0 ? 1 : 100) - 60
                    + (i % 2 == 0 ? 0.5 : 0)
            }
            let shown = SIMD4(channel(), channel(), channel(), 1)
            let pixel = Self.pixel(shown - SIMD4(0, 128, 128, 0), isWide: isWide)
            #expect(pixel == SIMD4(repeating: pixel.x) && pixel.x >> 24 == 255)
            for lane in 0..<3 {
                let bounded = min(max(shown[lane], 0), 255).rounded(.toNearestOrEven)
                #expect(Float(pixel.x >> (8 * UInt32(lane)) & 255) == bounded, "\(shown)")
            }
        }
    }

    @Test(arguments: widths) mutating func `texels are interpolated first vertically, then horizontally`(isWide: Bool) {
        for _ in 0..<500 {
            let pixels = (0..<12).map { _ in UInt32(truncatingIfNeeded: generator.next()) | 0xff00_0000 }
            let sprite = Sprite(width: 4, height: 3, pixels: pixels)
            let (u, v) = (generator.next(below: 3 * 256 - 2) + 1, generator.next(below: 2 * 256 - 2) + 1)
            // In the middle of a 256th.
            let place = SIMD2(Float(u) + 0.5, Float(v) + 0.5) / 256
            let shown = Self.pixel(
                [0, 0, 0, 1], at: place, .picture(sprite, shrink: 1, shift: .zero), isWide: isWide)
            let (first, right, below) = (v / 256 * 4 + u / 256, UInt32(u % 256), UInt32(v % 256))
            for shift: UInt32 in [0, 8, 16, 24] {
                func column(_ at: Int) -> UInt32 {
                    let (upper, lower) = (pixels[at] >> shift & 255, pixels[at + 4] >> shift & 255)
                    return (upper * (256 - below) + lower * below + 128) >> 8
                }
                let mixed = (column(first) * (256 - right) + column(first + 1) * right + 128) >> 8
                #expect(shown.x >> shift & 255 == mixed, "at \(u), \(v)")
            }
        }
    }

    // MARK: Rows

    @Test(arguments: widths) mutating func `samples are averaged, and reset`(isWide: Bool) {
        let kernels = unsafe craster_kernels(isWide ? 1 : 0)
        for count in Self.counts {
            let samples = (0...count).map { _ in
                SIMD4<UInt32>(truncatingIfNeeded: SIMD4<UInt64>.random(in: 0...UInt64.max, using: &generator))
            }
            var (color, out) = (samples, [UInt32](repeating: 7, count: count + 1))
            unsafe kernels.pointee.resolve_row(&color, CInt(count), &out)
            for x in 0..<count {
                for shift: UInt32 in [0, 8, 16, 24] {
                    let sum = (0..<4).reduce(UInt32(0)) { $0 + samples[x][$1] >> shift & 255 }
                    #expect(out[x] >> shift & 255 == (sum + 2) / 4)
                }
            }
            #expect(color.dropLast().allSatisfy { $0 == .zero })
            #expect(color[count] == samples[count] && out[count] == 7, "\(count) pixels, and no more")
        }
    }

    @Test(arguments: widths) mutating func `occluders are darkened by the shadow's colour and alpha`(isWide: Bool) {
        let kernels = unsafe craster_kernels(isWide ? 1 : 0)
        for _ in 0..<300 {
            let skin = (0..<64).map { _ -> Float in
                [.infinity, 0, -0.2, -.infinity, .leastNonzeroMagnitude, -3e38][generator.next(below: 6)]
            }
            // Premultiplied.
            let before = (0..<64).map { _ -> UInt32 in
                let alpha = UInt32([0, 255, generator.next(below: 256)][generator.next(below: 3)])
                return alpha << 24 | alpha / 2 << 16 | alpha / 3 << 8 | alpha
            }
            let corners = (0..<4).map { _ in UInt32(generator.next(below: 256) * generator.next(below: 257)) }
            let (begin, end) = (generator.next(below: 12) - 4, generator.next(below: 12))
            let rows = generator.next(below: 4)..<4 + generator.next(below: 5)
            var cell = craster_cell(
                top_left: corners[0], top_right: corners[1], bottom_left: corners[2], bottom_right: corners[3],
                first_row: CInt(rows.lowerBound), end_row: CInt(rows.upperBound))
            var pixels = before
            let shade = craster_shade(luma: 20, u: 110, v: 150)
            unsafe kernels.pointee.darken(&cell, CInt(begin), CInt(end), shade, skin, 8, &pixels, 8)
            for (y, x) in (0..<8).flatMap({ y in (0..<8).map { (y, $0) } }) {
                let at = 8 * y + x
                guard rows.contains(y), x >= begin, x < end, skin[at] < .infinity else {
                    #expect(pixels[at] == before[at], "\(x), \(y)")
                    continue
                }
                let (u, v) = (UInt32(x), UInt32(y))
                let left = (corners[0] * (8 - v) + corners[2] * v) / 64
                let right = (corners[1] * (8 - v) + corners[3] * v) / 64
                let dark = ((8 - u) * left + u * right) / 256
                let alpha = dark * (255 - before[at] >> 24) / 255
                let (addedU, addedV) = ((alpha * 110 + 127) / 255, (alpha * 150 + 127) / 255)
                let added = alpha << 24 | addedV << 16 | addedU << 8 | alpha * 20 / 255
                #expect(pixels[at] == before[at] + added, "\(x), \(y)")
            }
        }
    }

    /// A layer drawn over other pixels, which stay where nothing is drawn: their indices.
    private static func enlarged(
        _ layer: borrowing LayerBuffer, by map: Affine, in region: PixelRect, isWide: Bool
    ) -> [UInt32] {
        var target = LayerBuffer()
        _ = target.begin(region, width: 400, height: 300)
        var before = target.pixels
        for i in before.indices { before[i] = UInt32(i) }
        target.draw(layer, by: map, mayBeWide: isWide)
        return target.readPixels.indices.map { target.readPixels[$0] }
    }

    @Test(arguments: [Float(1), 1.18, 1.7, 2, 3.3]) mutating func `enlarged rows are the same on every processor`(
        scale: Float
    ) {
        var drawn = 0
        for width in [1, 2, 7, 8, 9, 16, 17, 60] {
            for height in [1, 2, 9] {
                var small = LayerBuffer()
                _ = small.begin(PixelRect(x: 10, y: 6, width: width, height: height), width: 400, height: 300)
                var pixels = small.pixels
                for i in pixels.indices {
                    // Opaque, faint and transparent parts.
                    let part = (i / 13) % 3
                    if part < 2 { pixels[i] = UInt32(truncatingIfNeeded: generator.next()) >> (part == 1 ? 6 : 0) }
                }
                let shift = Point(Float(generator.next(below: 100)), Float(generator.next(below: 100))) / 16
                let map = Affine(a: scale, b: 0, c: 0, d: scale, tx: shift.x, ty: shift.y)
                let region = PixelRect(
                    x: Int(10 * scale), y: Int(6 * scale), width: Int(Float(width) * scale) + 9,
                    height: Int(Float(height) * scale) + 9)
                let (wide, narrow) = (
                    Self.enlarged(small, by: map, in: region, isWide: true),
                    Self.enlarged(small, by: map, in: region, isWide: false)
                )
                let isSame = wide == narrow
                #expect(isSame, "\(width) x \(height), moved by \(shift)")
                drawn += narrow.indices.count { narrow[$0] != UInt32($0) }
            }
        }
        #expect(drawn > 1000)
    }

    @Test func `the kernels see vertices as they are`() {
        #expect(MemoryLayout<RasterVertex>.stride == MemoryLayout<craster_vertex>.stride)
        #expect(
            MemoryLayout<RasterVertex>.offset(of: \.position) == MemoryLayout<craster_vertex>.offset(of: \.position))
        #expect(MemoryLayout<RasterVertex>.offset(of: \.color) == MemoryLayout<craster_vertex>.offset(of: \.color))
        #expect(MemoryLayout<RasterVertex>.offset(of: \.texture) == MemoryLayout<craster_vertex>.offset(of: \.u))
    }
}
