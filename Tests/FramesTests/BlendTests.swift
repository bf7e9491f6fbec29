import CAllocations
import Testing

@testable import Frames

struct BlendTests {
    static let sizes = [(96, 64), (97, 63), (33, 21), (7, 5), (1, 1)].map { Size(width: $0.0, height: $0.1) }

    struct Size: Sendable { let width, height: Int }

    @Test(arguments: PixelFormat.allCases, sizes)
    func `blended art matches the definition, in every format and odd sizes too`(format: PixelFormat, size: Size) throws
    {
        let sprite = makeStamp(width: 61, height: 47)
        let layouts = [
            FrameLayout(width: size.width, height: size.height, format: format),
            FrameLayout(width: size.width, height: size.height, format: format, lumaStride: 400),
        ]
        // Inside, beyond each edge, enlarged, reduced, rotated, mirrored, sheared.
        let maps = [
            Affine(scale: 1, angle: 0, origin: Point(3.3, 4.7)), Affine(scale: 1.4, angle: 0.3, origin: Point(-20, -9)),
            Affine(scale: 0.7, angle: -0.5, origin: Point(70, 40)),
            Affine(scale: 3, angle: 2.6, origin: Point(110, 30)),
            Affine(scale: 0.3, angle: 1.57, origin: Point(30, 10)),
            Affine(a: -1.2, b: 0.4, c: 0.1, d: 0.9, tx: 80, ty: 3),
        ]
        for layout in layouts {
            for map in maps {
                for opacity in [1, 0.4] {
                    var wanted = Reference(layout)
                    var frame = wanted.frame()
                    try wanted.blend(sprite, by: map, Paint(opacity: Float(opacity)))
                    blend(sprite, by: map, opacity: Float(opacity), onto: &frame)
                    let error = wanted.error(of: frame)
                    #expect(error <= 2, "\(layout) \(map) at \(opacity): off by \(error) levels")
                }
            }
        }
    }

    @Test func `opaque art hides what is under it`() {
        let sprite = Sprite(width: 60, height: 60, pixels: Array(repeating: 0xff50_60a0, count: 3600))
        var frame = Frame(FrameLayout(width: 64, height: 32, format: .yuyv))
        blend(sprite, by: Affine(scale: 2, angle: 0, origin: Point(-20, -20)), opacity: 1, onto: &frame)
        let bytes = frame.bytes
        for i in stride(from: 0, to: bytes.count, by: 4) {
            #expect(bytes[i] == 0xa0 && bytes[i + 1] == 0x60 && bytes[i + 2] == 0xa0 && bytes[i + 3] == 0x50)
        }
    }

    @Test(
        "A sprite far away, degenerate, without size, or not finite leaves the frame unchanged",
        arguments: [
            Affine(scale: 1, angle: 0, origin: Point(500, 0)), Affine(scale: 1, angle: 0, origin: Point(0, -900)),
            Affine(scale: 1, angle: 0, origin: Point(1e30, 0)), Affine(scale: 1e-9, angle: 0, origin: Point(9, 9)),
            Affine(scale: 0, angle: 0, origin: .zero), Affine(a: 1, b: 2, c: 2, d: 4, tx: 0, ty: 0),
            Affine(scale: .nan, angle: 0, origin: .zero), Affine(scale: 1, angle: 0, origin: Point(.nan, 0)),
            Affine(scale: .infinity, angle: 0, origin: .zero),
        ])
    func wild(map: Affine) {
        let wanted = Reference(FrameLayout(width: 64, height: 48, format: .i420))
        var frame = wanted.frame()
        blend(makeStamp(width: 61, height: 47), by: map, opacity: 1, onto: &frame)
        #expect(wanted.error(of: frame) == 0)
    }

    @Test func `opacity of zero or less leaves the frame unchanged, and more than one is one`() throws {
        let sprite = makeStamp(width: 61, height: 47)
        var wanted = Reference(FrameLayout(width: 64, height: 48, format: .nv12))
        var frame = wanted.frame()
        blend(sprite, by: .identity, opacity: 0, onto: &frame)
        blend(sprite, by: .identity, opacity: -1, onto: &frame)
        blend(sprite, by: .identity, opacity: .nan, onto: &frame)
        #expect(wanted.error(of: frame) == 0)
        try wanted.blend(sprite, by: .identity, Paint())
        blend(sprite, by: .identity, opacity: 7, onto: &frame)
        #expect(wanted.error(of: frame) <= 2)
    }

    @Test func `blending art over a frame allocates nothing`() {
        let sprite = makeStamp(width: 61, height: 47)
        var frame = Frame(FrameLayout(width: 96, height: 64, format: .yuyv))
        let map = Affine(scale: 1.4, angle: 0.3, origin: Point(-20, -9))
        blend(sprite, by: map, opacity: 1, onto: &frame)
        let before = callocations_count()
        blend(sprite, by: map, opacity: 1, onto: &frame)
        #expect(callocations_count() == before)
    }
}
