import CAllocations
import Testing

@testable import Frames

/// A frame of every format, painted with a pattern, beside the same samples as numbers.
private struct Reference {
    let layout: FrameLayout
    var luma: [Double]
    /// U and V, by chroma sample.
    var chroma: [SIMD2<Double>]

    var chromaWidth: Int { (layout.width + layout.format.chromaShift.x) >> layout.format.chromaShift.x }
    var chromaHeight: Int { (layout.height + layout.format.chromaShift.y) >> layout.format.chromaShift.y }

    init(_ layout: FrameLayout) {
        self.layout = layout
        (luma, chroma) = ([], [])
        for i in 0..<layout.width * layout.height { luma.append(Double(16 + i * 37 % 220)) }
        for i in 0..<chromaWidth * chromaHeight {
            chroma.append([Double(20 + i * 29 % 210), Double(30 + i * 53 % 200)])
        }
    }

    /// Byte offsets of a luma sample and of the U and V samples at one place.
    func lumaOffset(_ x: Int, _ y: Int) -> Int {
        layout.luma.offset + y * layout.planes[0].stride + x * layout.luma.pixelStride
    }

    func chromaOffsets(_ x: Int, _ y: Int) -> (u: Int, v: Int)? {
        let planes = layout.planes
        switch layout.format {
        case .gray: return nil
        case .yuyv: return (y * planes[0].stride + 4 * x + 1, y * planes[0].stride + 4 * x + 3)
        case .uyvy: return (y * planes[0].stride + 4 * x, y * planes[0].stride + 4 * x + 2)
        case .nv12:
            let start = planes[1].offset + y * planes[1].stride + 2 * x
            return (start, start + 1)
        case .i420, .i422, .i444:
            return (planes[1].offset + y * planes[1].stride + x, planes[2].offset + y * planes[2].stride + x)
        }
    }

    func frame() -> Frame {
        var frame = Frame(layout)
        var bytes = frame.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width { bytes[lumaOffset(x, y)] = UInt8(luma[y * layout.width + x]) }
        }
        for y in 0..<chromaHeight {
            for x in 0..<chromaWidth {
                guard let (u, v) = chromaOffsets(x, y) else { continue }
                bytes[u] = UInt8(chroma[y * chromaWidth + x].x)
                bytes[v] = UInt8(chroma[y * chromaWidth + x].y)
            }
        }
        return frame
    }

    /// The definition, in floating point: each pixel's art is taken bilinearly, chroma from the mean of the pixels
    /// that share it.
    mutating func blend(_ stamp: Stamp, by map: Affine, opacity: Double) throws {
        let back = try #require(map.inverse)
        var art = [SIMD4<Double>](repeating: .zero, count: layout.width * layout.height)
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let p = back(Point(Float(x), Float(y)))
                let (u, v) = (Double(p.x), Double(p.y))
                guard u >= 0, v >= 0, u < Double(stamp.width - 1), v < Double(stamp.height - 1) else { continue }
                let (i, j) = (Int(u), Int(v))
                let (fu, fv) = (u - Double(i), v - Double(j))
                func pixel(_ i: Int, _ j: Int) -> SIMD4<Double> {
                    let p = stamp.pixels[j * stamp.width + i]
                    return [Double(p & 255), Double(p >> 8 & 255), Double(p >> 16 & 255), Double(p >> 24)]
                }
                let upper = pixel(i, j) * (1 - fu) + pixel(i + 1, j) * fu
                let lower = pixel(i, j + 1) * (1 - fu) + pixel(i + 1, j + 1) * fu
                art[y * layout.width + x] = (upper * (1 - fv) + lower * fv) * opacity
            }
        }
        for i in luma.indices { luma[i] = art[i].x + luma[i] * (255 - art[i].w) / 255 }
        let shift = layout.format.chromaShift
        for cy in 0..<chromaHeight {
            for cx in 0..<chromaWidth {
                var (sum, count) = (SIMD4<Double>.zero, 0.0)
                for y in cy << shift.y..<min(layout.height, (cy + 1) << shift.y) {
                    for x in cx << shift.x..<min(layout.width, (cx + 1) << shift.x) {
                        sum += art[y * layout.width + x]
                        count += 1
                    }
                }
                let mean = sum / count
                let under = chroma[cy * chromaWidth + cx]
                chroma[cy * chromaWidth + cx] = SIMD2(mean.y, mean.z) + under * (255 - mean.w) / 255
            }
        }
    }

    /// The largest distance of a frame's samples to these.
    func error(of frame: borrowing Frame) -> Double {
        let bytes = frame.bytes
        var worst = 0.0
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                worst = max(worst, abs(Double(bytes[lumaOffset(x, y)]) - luma[y * layout.width + x]))
            }
        }
        for y in 0..<chromaHeight {
            for x in 0..<chromaWidth {
                guard let (u, v) = chromaOffsets(x, y) else { continue }
                let wanted = chroma[y * chromaWidth + x]
                worst = max(worst, abs(Double(bytes[u]) - wanted.x), abs(Double(bytes[v]) - wanted.y))
            }
        }
        return worst
    }
}

/// Soft blobs and hard edges of all opacities inside a transparent border, with much nothing between.
private func makeStamp(width: Int, height: Int) -> Stamp {
    var pixels: [UInt32] = []
    for y in 0..<height {
        for x in 0..<width {
            let border = x == 0 || y == 0 || x == width - 1 || y == height - 1
            let alpha =
                border || (x / 24 + y / 24) % 3 == 2 ? 0 : (x / 7 + y / 5) % 3 == 0 ? 255 : (x * 6 + y * 4) % 256
            func premultiplied(_ value: Int) -> UInt32 { UInt32(value % 256 * alpha / 255) }
            let (luma, u, v) = (premultiplied(x * 5 + y), premultiplied(200 - y), premultiplied(40 + x * 2))
            pixels.append(luma | u << 8 | v << 16 | UInt32(alpha) << 24)
        }
    }
    return Stamp(width: width, height: height, pixels: pixels)
}

struct BlendTests {
    static let sizes = [(96, 64), (97, 63), (33, 21), (7, 5), (1, 1)].map { Size(width: $0.0, height: $0.1) }

    struct Size: Sendable { let width, height: Int }

    @Test(arguments: PixelFormat.allCases, sizes)
    func `art lands as the definition says, in every format and odd sizes too`(format: PixelFormat, size: Size) throws {
        let stamp = makeStamp(width: 61, height: 47)
        let layouts = [
            FrameLayout(width: size.width, height: size.height, format: format),
            FrameLayout(width: size.width, height: size.height, format: format, lumaStride: 400),
        ]
        // Inside, beyond each edge, enlarged, made smaller, turned about, mirrored, sheared.
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
                    try wanted.blend(stamp, by: map, opacity: opacity)
                    blend(stamp, by: map, opacity: Float(opacity), onto: &frame)
                    let error = wanted.error(of: frame)
                    #expect(error <= 2, "\(layout) \(map) at \(opacity): off by \(error) levels")
                }
            }
        }
    }

    @Test func `opaque art hides what is under it`() {
        let stamp = Stamp(width: 60, height: 60, pixels: Array(repeating: 0xff50_60a0, count: 3600))
        var frame = Frame(FrameLayout(width: 64, height: 32, format: .yuyv))
        blend(stamp, by: Affine(scale: 2, angle: 0, origin: Point(-20, -20)), opacity: 1, onto: &frame)
        let bytes = frame.bytes
        for i in stride(from: 0, to: bytes.count, by: 4) {
            #expect(bytes[i] == 0xa0 && bytes[i + 1] == 0x60 && bytes[i + 2] == 0xa0 && bytes[i + 3] == 0x50)
        }
    }

    @Test(
        "A stamp far away, folded, without size, or not finite leaves the frame as it is",
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

    @Test func `opacity zero or less leaves the frame as it is, and more than one is one`() throws {
        let stamp = makeStamp(width: 61, height: 47)
        var wanted = Reference(FrameLayout(width: 64, height: 48, format: .nv12))
        var frame = wanted.frame()
        blend(stamp, by: .identity, opacity: 0, onto: &frame)
        blend(stamp, by: .identity, opacity: -1, onto: &frame)
        blend(stamp, by: .identity, opacity: .nan, onto: &frame)
        #expect(wanted.error(of: frame) == 0)
        try wanted.blend(stamp, by: .identity, opacity: 1)
        blend(stamp, by: .identity, opacity: 7, onto: &frame)
        #expect(wanted.error(of: frame) <= 2)
    }

    @Test func `laying art over a frame allocates nothing`() {
        let stamp = makeStamp(width: 61, height: 47)
        var frame = Frame(FrameLayout(width: 96, height: 64, format: .yuyv))
        let map = Affine(scale: 1.4, angle: 0.3, origin: Point(-20, -9))
        blend(stamp, by: map, opacity: 1, onto: &frame)
        let before = callocations_count()
        blend(stamp, by: map, opacity: 1, onto: &frame)
        #expect(callocations_count() == before)
    }
}
