import CScale
import TestSupport
import Testing

/// The functions inlined into the rasterizer, compared with those for processors without SSE2.
struct PixelLaneTests {
    private var generator = RepeatableGenerator(7)

    @Test mutating func `channels are rounded and limited alike on every processor`() {
        for i in 0..<20_000 {
            // Every second one at or beside a tie.
            func channel() -> Float {
                Float(generator.next(below: i % 2 == 0 ? 400 : 40_000)) / (i % 2 == 0 ? 1 : 100) - 60
                    + (i % 2 == 0 ? 0.5 : 0)
            }
            let color = SIMD4(channel(), channel(), channel(), channel())
            let pixel = cscale_pack(color)
            #expect(pixel == cscale_pack_plain(color), "\(color)")
            for lane in 0..<4 {
                let bounded = min(max(color[lane], 0), 255).rounded(.toNearestOrEven)
                #expect(Float(pixel >> (8 * UInt32(lane)) & 255) == bounded, "\(color)")
            }
        }
    }

    @Test mutating func `signs are collected alike on every processor`() {
        for _ in 0..<1000 {
            let numbers = SIMD4<UInt32>(truncatingIfNeeded: SIMD4<UInt64>.random(in: 0...UInt64.max, using: &generator))
            #expect(cscale_signs(numbers) == cscale_signs_plain(numbers))
            #expect((cscale_signs(numbers) & 8 != 0) == (Int32(bitPattern: numbers.w) < 0))
        }
    }

    @Test mutating func `texels are interpolated alike on every processor`() {
        for _ in 0..<20_000 {
            let upper = (0..<8).map { _ in UInt8(generator.next(below: 256)) }
            let lower = (0..<8).map { _ in UInt8(generator.next(below: 256)) }
            let (right, below) = (CInt(generator.next(below: 256)), CInt(generator.next(below: 256)))
            let mixed = unsafe cscale_interpolate(upper, lower, right, below)
            #expect(unsafe mixed == cscale_interpolate_plain(upper, lower, right, below))
            if right == 0 && below == 0 { #expect(mixed.x == Float(upper[0])) }
        }
    }
}
