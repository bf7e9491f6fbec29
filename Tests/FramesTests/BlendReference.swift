import Testing

@testable import Frames

/// A frame of any format, painted with a pattern, and the same samples as numbers.
struct Reference {
    let layout: FrameLayout
    var luma: [Double]
    /// U and V of each chroma sample.
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
        layout.luma.offset + y * layout.luma.stride + x * layout.luma.step
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
        // Bytes between the planes' rows too, so that whole frames can be compared.
        for i in 0..<bytes.count { bytes[i] = 0 }
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

    /// The definition, in floating point: art is sampled bilinearly per pixel, and chroma is the mean of the pixels
    /// that share it.
    mutating func blend(_ sprite: Sprite, by map: Affine, _ paint: Paint) throws {
        let back = try #require(map.inverse)
        var art = [SIMD4<Double>](repeating: .zero, count: layout.width * layout.height)
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let p = back(Point(Float(x), Float(y)))
                let (u, v) = (Double(p.x), Double(p.y))
                guard u >= 0, v >= 0, u < Double(sprite.width - 1), v < Double(sprite.height - 1) else { continue }
                let (i, j) = (Int(u), Int(v))
                let (fu, fv) = (u - Double(i), v - Double(j))
                func pixel(_ i: Int, _ j: Int) -> SIMD4<Double> {
                    let p = sprite.pixels[j * sprite.width + i]
                    return [Double(p & 255), Double(p >> 8 & 255), Double(p >> 16 & 255), Double(p >> 24)]
                }
                let upper = pixel(i, j) * (1 - fu) + pixel(i + 1, j) * fu
                let lower = pixel(i, j + 1) * (1 - fu) + pixel(i + 1, j + 1) * fu
                art[y * layout.width + x] = (upper * (1 - fv) + lower * fv) * Double(min(paint.opacity, 1))
            }
        }
        compositeLayer(art, paint)
    }

    /// Composites premultiplied art for each pixel with a paint.
    mutating func compositeLayer(_ art: [SIMD4<Double>], _ paint: Paint) {
        let colors = Colors(layout.range)
        let shift = layout.format.chromaShift
        let changes = art.indices.map { i -> SIMD3<Double> in
            let (x, y) = (i % layout.width, i / layout.width)
            let shared = chroma[(y >> shift.y) * chromaWidth + x >> shift.x]
            let under =
                layout.format == .gray ? SIMD3(luma[i], 128, 128) : SIMD3(luma[i], shared.x, shared.y)
            return colors.change(of: under, by: art[i], paint)
        }
        for i in luma.indices { luma[i] = max(0, min(255, luma[i] + changes[i].x)) }
        for cy in 0..<chromaHeight {
            for cx in 0..<chromaWidth {
                var (sum, count) = (SIMD3<Double>.zero, 0.0)
                for y in cy << shift.y..<min(layout.height, (cy + 1) << shift.y) {
                    for x in cx << shift.x..<min(layout.width, (cx + 1) << shift.x) {
                        sum += changes[y * layout.width + x]
                        count += 1
                    }
                }
                let new = chroma[cy * chromaWidth + cx] + SIMD2(sum.y, sum.z) / count
                chroma[cy * chromaWidth + cx] = pointwiseMax(.zero, pointwiseMin(new, SIMD2(repeating: 255)))
            }
        }
    }

    /// The largest difference between a frame's samples and these.
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

/// Soft blobs and hard edges of all opacities inside a transparent border, with large gaps.
func makeStamp(width: Int, height: Int) -> Sprite {
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
    return Sprite(width: width, height: height, pixels: pixels)
}

/// The definition of painting, in floating point and one pixel at a time.
struct Colors {
    let (black, span, chromaSpan): (Double, Double, Double)

    init(_ range: ColorRange) { (black, span, chromaSpan) = range == .full ? (0, 255, 255) : (16, 219, 224) }

    /// 0...1 for each colour, from levels of luma above black and chroma relative to neutral.
    private func rgb(_ yuv: SIMD3<Double>) -> SIMD3<Double> {
        let (y, u, v) = (yuv.x / span, yuv.y / chromaSpan, yuv.z / chromaSpan)
        return SIMD3(y + 1.402 * v, y - 0.344136 * u - 0.714136 * v, y + 1.772 * u)
    }

    /// - Parameter art: premultiplied YUVA, 0...255.
    func change(of under: SIMD3<Double>, by art: SIMD4<Double>, _ paint: Paint) -> SIMD3<Double> {
        let alpha = art.w / 255
        var above = SIMD3(art.x - alpha * black, art.y - alpha * 128, art.z - alpha * 128)
        var gain = Double(paint.gain)
        if let shading = paint.shading {
            let ratio = max(0, under.x - black) / (Double(shading.reference) - black)
            gain *= 1 + Double(shading.strength) * (min(ratio, 1.9) - 1)
        }
        above *= SIMD3(gain, gain * Double(paint.saturation), gain * Double(paint.saturation))
        let isChanged = paint.gain != 1 || paint.saturation != 1 || paint.cast != .zero || paint.shading != nil
        if isChanged { above.x = max(0, min(above.x, alpha * span)) }
        above.y += above.x / span * Double(paint.cast.x) * chromaSpan / 255
        above.z += above.x / span * Double(paint.cast.y) * chromaSpan / 255
        if paint.mode == .normal {
            return above + alpha * SIMD3(black, 128, 128) - alpha * under
        }
        let s = pointwiseMax(.zero, pointwiseMin(rgb(above), SIMD3(repeating: alpha)))
        let inRange = SIMD3(max(0, min(under.x - black, span)), under.y - 128, under.z - 128)
        let u = pointwiseMax(.zero, pointwiseMin(rgb(inRange), .one))
        var d = SIMD3<Double>.zero
        for i in 0..<3 {
            let (u, s) = (u[i], s[i])
            // As usually written: for colours, not for differences.
            switch paint.mode {
            case .normal: break
            case .multiply: d[i] = u * (1 - alpha) + u * s - u
            case .screen: d[i] = u + s - u * s - u
            case .overlay:
                d[i] = (u < 0.5 ? u * (1 - alpha) + 2 * u * s : u * (1 - alpha) + alpha - 2 * (1 - u) * (alpha - s)) - u
            case .softLight: d[i] = u * (1 - alpha) + (alpha - 2 * s) * u * u + 2 * s * u - u
            case .add: d[i] = min(1, u + s) - u
            }
        }
        return SIMD3(
            (0.299 * d.x + 0.587 * d.y + 0.114 * d.z) * span,
            (-0.168736 * d.x - 0.331264 * d.y + 0.5 * d.z) * chromaSpan,
            (0.5 * d.x - 0.418688 * d.y - 0.081312 * d.z) * chromaSpan)
    }
}
