import CAllocations
import Testing

@testable import Compose
@testable import Frames
@testable import SystemKit

struct EffectKernelTests {
    /// The positions of grid lines by the definition: on even pixels, within the frame.
    private func line(_ place: Float, _ limit: Int) -> Int {
        max(0, min((limit + 1) & ~1, Int((place / 2).rounded()) * 2))
    }

    @Test(arguments: allLayouts.indices)
    func `cells are the means of their pixels, and fill them, in every layout`(index: Int) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout)
        var frame = before.frame
        var pixelation = Pixelation()
        // Beyond the frame on all sides; no line on a whole pixel.
        let (origin, side, columns, rows) = (Point(-9.3, -4.8), Float(11.7), 10, 8)
        pixelation.average(frame, origin: origin, side: side, columns: columns, rows: rows)
        pixelation.fill(&frame)
        let after = Samples(frame)
        var (worst, covered) = (0.0, 0)
        for j in 0..<rows {
            let ys =
                line(
                    origin.y + side * Float(j), layout.height)..<line(
                    origin.y + side * Float(j + 1), layout.height)
            for i in 0..<columns {
                let xs =
                    line(
                        origin.x + side * Float(i), layout.width)..<line(
                        origin.x + side * Float(i + 1), layout.width)
                let pixels = ys.clamped(to: 0..<layout.height).flatMap { y in
                    xs.clamped(to: 0..<layout.width).map { (x: $0, y: y) }
                }
                guard let first = pixels.first else { continue }
                // Each sample once, because chroma is shared.
                for channel in 0..<(layout.format == .gray ? 1 : 3) {
                    var places: Set<Int> = []
                    for p in pixels {
                        let at = before.places(p.x, p.y)
                        places.insert(channel == 0 ? at.y : channel == 1 ? at.u ?? 0 : at.v ?? 0)
                    }
                    let mean = places.reduce(0.0) { $0 + Double(before.bytes[$1]) } / Double(places.count)
                    worst = max(worst, abs(Double(after[first.x, first.y][channel]) - mean))
                    for place in places { #expect(after.bytes[place] == after.bytes[places.first ?? 0]) }
                }
                covered += pixels.count
            }
        }
        #expect(covered == layout.width * layout.height)
        #expect(worst <= 0.51, "\(layout): a cell is \(worst) levels from its mean")
    }

    @Test func `cells that are left out stay unchanged, to the byte`() {
        let before = Samples(noise: FrameLayout(width: 96, height: 64, format: .yuyv))
        var frame = before.frame
        var pixelation = Pixelation()
        pixelation.average(frame, origin: .zero, side: 16, columns: 6, rows: 4)
        pixelation.fade { column, row in (column + row) % 2 == 0 ? 255 : 0 }
        pixelation.fill(&frame)
        let after = Samples(frame)
        var changed = 0
        for y in 0..<64 {
            for x in 0..<96 {
                if (x / 16 + y / 16) % 2 == 1 {
                    #expect(after[x, y] == before[x, y])
                } else if after[x, y] != before[x, y] {
                    changed += 1
                }
            }
        }
        #expect(changed > 2500)
    }

    @Test(arguments: allLayouts.indices)
    func `a color adjustment is its formula, in every layout and both ranges`(index: Int) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout)
        let tone = ColorAdjustment(gain: [1.25, 0.5, -0.75], offset: [-12, 9, 20])
        var frame = before.frame
        apply(tone, to: &frame)
        let after = Samples(frame)
        let limited = layout.range == .limited
        let highest = limited ? SIMD3<Float>(235, 240, 240) : SIMD3(repeating: 255)
        var worst: Float = 0
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                for c in 0..<(layout.format == .gray ? 1 : 3) {
                    let exact = 128 + tone.gain[c] * Float(before[x, y][c] - 128) + tone.offset[c]
                    let wanted = max(limited ? 16 : 0, min(highest[c], exact))
                    worst = max(worst, abs(Float(after[x, y][c]) - wanted))
                }
            }
        }
        #expect(worst <= 0.51, "\(layout): off by \(worst)")
        var same = before.frame
        apply(.identity, to: &same)
        #expect(Samples(same).bytes == before.bytes)
    }

    @Test(arguments: allLayouts.indices)
    func `a layer buffer copies the frame's pixels, and composites them unchanged`(index: Int) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout)
        let frame = before.frame
        var layer = LayerBuffer()
        let isTaken = layer.copyPixels(PixelRect(x: 7, y: 5, width: 300, height: 31), of: frame)
        #expect(isTaken)
        let words = layer.readPixels
        for y in 0..<min(layer.region.height, layout.height - layer.region.y) {
            for x in 0..<min(layer.region.width, layout.width - layer.region.x) {
                let word = words[y * layer.stride + x]
                let seen = before[layer.region.x + x, layer.region.y + y]
                #expect(
                    SIMD3(Int(word & 255), Int(word >> 8 & 255), Int(word >> 16 & 255)) == seen && word >> 24 == 255)
            }
        }
        var black = Frame(layout)
        compositeLayer(layer, Paint(opacity: 1), onto: &black)
        let after = Samples(black)
        let region = layer.region
        for y in region.y..<min(region.y + region.height, layout.height) {
            for x in region.x..<min(region.x + region.width, layout.width) {
                #expect(after[x, y] == before[x, y])
            }
        }
    }

    @Test func `a layer buffer or overlay at half its opacity is half of it in every channel`() {
        let layout = FrameLayout(width: 32, height: 16, format: .i444)
        let before = Samples(Frame(layout))
        let word: UInt32 = 0xff28_64c8
        var first = before.frame
        var second = before.frame
        var layer = LayerBuffer()
        let hasBegun = layer.begin(PixelRect(x: 0, y: 0, width: 32, height: 16), in: layout)
        #expect(hasBegun)
        var words = layer.pixels
        for i in words.indices { words[i] = word }
        compositeLayer(layer, Paint(opacity: 0.5), onto: &first)
        FrameOverlay(width: 32, height: 16, pixels: Array(repeating: word, count: 512)).draw(
            onto: &second, opacity: 0.5)
        // (200, 100, 40) over (16, 128, 128).
        for seen in [Samples(first)[9, 9], Samples(second)[9, 9]] {
            #expect(abs(seen.x - 108) <= 1 && abs(seen.y - 114) <= 1 && abs(seen.z - 84) <= 1, "\(seen)")
        }
    }

    @Test func `a picture drawn into a layer buffer lies where its map says`() {
        let layout = FrameLayout(width: 96, height: 64, format: .i444)
        // A ramp: the sample at u is 4 u + 20, linear, so that bilinear sampling is exact.
        var picture = LayerBuffer()
        var layer = LayerBuffer()
        let map = Affine(scale: 1.3, angle: 0.4, origin: Point(31.2, 8.1))
        let hasBegun = layer.begin(PixelRect(x: 0, y: 0, width: 96, height: 64), in: layout)
        let hasPicture = picture.begin(PixelRect(x: 12, y: 6, width: 40, height: 30), in: layout)
        #expect(hasBegun && hasPicture)
        let stride = picture.stride
        var words = picture.pixels
        for i in words.indices { words[i] = 0xff80_8000 | UInt32(20 + 4 * (i % stride)) }
        // From the frame's pixels that the picture shows.
        layer.draw(picture, by: map.after(Affine(a: 1, b: 0, c: 0, d: 1, tx: -12, ty: -6)))
        let back = map.inverse ?? .identity
        var (worst, inside): (Float, Int) = (0, 0)
        let pixels = layer.readPixels
        for y in 0..<64 {
            for x in 0..<96 {
                let p = back(Point(Float(x), Float(y)))
                let word = pixels[y * layer.stride + x]
                let isInside = p.x > 0.01 && p.y > 0.01 && p.x < 38.99 && p.y < 28.99
                let isOutside = p.x < -0.01 || p.y < -0.01 || p.x > 39.01 || p.y > 29.01
                if isOutside { #expect(word == 0) }
                guard isInside else { continue }
                inside += 1
                worst = max(worst, abs(Float(word & 255) - (20 + 4 * p.x)))
            }
        }
        #expect(inside > 1500 && worst <= 1.1, "\(inside) pixels, off by \(worst)")
    }

    @Test(arguments: [ColorRange.limited, .full])
    func `a face in its own colours keeps black and white; in brighter ones it stays within the range`(
        range: ColorRange
    ) {
        let layout = FrameLayout(width: 64, height: 64, format: .i444, range: range)
        let white = range.black + range.lumaSpan
        let outline = HeadOutline(features: face(at: Point(32, 20), scale: 14))
        // Squares of two pixels, one in `period` of the level, the others black.
        func squares(_ level: Int, period: Int) -> Samples {
            var samples = Samples(Frame(layout))
            for y in 0..<64 {
                for x in 0..<64 {
                    let isLit = (x / 2 + y / 2) % period == 0
                    samples.bytes[samples.places(x, y).y] = UInt8(isLit ? level : range.black)
                }
            }
            return samples
        }
        let contrasty = squares(white, period: 2)
        let dim = squares(range.black + 140, period: 4)
        var first = LayerBuffer()
        var second = LayerBuffer()
        let box = PixelRect(x: 0, y: 0, width: 64, height: 64)
        let hasFirst = first.copyPixels(box, of: contrasty.frame)
        let hasSecond = second.copyPixels(box, of: dim.frame)
        #expect(hasFirst && hasSecond)
        let (bright, dark) = (FaceColors(first, outline), FaceColors(second, outline))
        bright.recolor(&first, like: bright, in: range)
        dark.recolor(&second, like: bright, in: range)
        let own = first.readPixels
        let other = second.readPixels
        var (worst, highest) = (0, 0)
        for y in 0..<64 {
            for x in 0..<64 {
                worst = max(worst, abs(Int(own[y * first.stride + x] & 255) - contrasty[x, y].x))
                highest = max(highest, Int(other[y * second.stride + x] & 255))
            }
        }
        #expect(worst <= 1, "off by \(worst)")
        #expect(highest == white)
    }

    @Test func `a face's light and shade become art's relief, where the face is`() {
        let layout = FrameLayout(width: 64, height: 48, format: .i444, range: .limited)
        var frame = Frame(layout)
        var bytes = frame.mutableBytes
        for i in 0..<64 * 48 { bytes[i] = UInt8(16 + i % 64 * 3) }
        var face = LayerBuffer()
        var art = LayerBuffer()
        let hasTaken = face.copyPixels(PixelRect(x: 8, y: 6, width: 48, height: 36), of: frame)
        let hasBegun = art.begin(PixelRect(x: 0, y: 0, width: 64, height: 48), in: layout)
        #expect(hasTaken && hasBegun)
        var words = art.pixels
        // Opaque and half transparent, premultiplied.
        for i in words.indices { words[i] = i % 2 == 0 ? 0xff80_80a0 : 0x8040_4050 }
        let shading = FaceShading(mean: 112, black: 16, darkest: 0.4, brightest: 1.4, shade: 0.9, shine: 0.5)
        art.transferShading(
            shading, by: face,
            within: SoftEllipse(center: Point(32, 24), matrix: [1 / 400, 0, 1 / 225], full: 0.5, none: 0.9))
        var (worst, changed): (Float, Int) = (0, 0)
        let seen = art.readPixels
        for y in 0..<48 {
            for x in 0..<64 {
                let word: UInt32 = (y * art.stride + x) % 2 == 0 ? 0xff80_80a0 : 0x8040_4050
                let (dx, dy) = (Float(x) - 32, Float(y) - 24)
                let isSeen = (8..<56).contains(x) && (6..<42).contains(y)
                let t = max(0, min(1, (0.9 - dx * dx / 400 - dy * dy / 225) / 0.4))
                let light = max(0.4, min(1.4, Float(x * 3) / 96))
                let strength: Float = light < 1 ? 0.9 : 0.5
                let gain = 1 + (light - 1) * strength * (isSeen ? t * t * (3 - 2 * t) : 0)
                let black = 16 * Float(word >> 24) / 255
                let wanted = black + (Float(word & 255) - black) * gain
                let lit = seen[y * art.stride + x]
                #expect(lit >> 8 == word >> 8)
                worst = max(worst, abs(Float(lit & 255) - wanted))
                if lit != word { changed += 1 }
            }
        }
        #expect(worst <= 0.51 && changed > 500, "off by \(worst), \(changed) pixels changed")
    }

    @Test(arguments: allLayouts.indices)
    func `an overlay is composited pixel by pixel, with normal, multiply and screen`(index: Int) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout, seed: 5)
        let (width, height) = (layout.width, layout.height)
        let black = layout.range == .limited ? 16.0 : 0
        let span = layout.range == .limited ? 219.0 : 255
        // Slow ramps, so that shared chroma differs little between the pixels that share it.
        let art = (0..<width * height).map { i -> UInt32 in
            let (luma, u) = (UInt32(30 + i % width * 2), UInt32(110 + i / width / 4))
            return 0xff8c_0000 | u << 8 | luma
        }
        let sheet = FrameOverlay(width: width, height: height, pixels: art)
        for way in [FrameOverlay.Mode.over, .multiply, .screen] {
            var frame = before.frame
            sheet.draw(onto: &frame, opacity: 1, way)
            let after = Samples(frame)
            var worst = 0.0
            for y in 0..<height {
                for x in 0..<width {
                    let a = Double(art[y * width + x] & 255)
                    let b = min(max(Double(before[x, y].x), black), black + span)
                    let (la, lb) = ((a - black) / span, (b - black) / span)
                    let wanted =
                        switch way {
                        case .over: a
                        case .multiply: black + span * la * lb
                        case .screen: black + span * (1 - (1 - la) * (1 - lb))
                        }
                    worst = max(worst, abs(Double(after[x, y].x) - wanted))
                }
            }
            #expect(worst <= (way == .over ? 0 : 2), "\(layout) \(way): luma off by \(worst)")
        }
    }

    @Test(arguments: allLayouts.indices)
    func `white that is multiplied, and black that is screened, leave the picture and its colours as they are`(
        index: Int
    ) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout, seed: 5)
        let (black, white): (UInt32, UInt32) = layout.range == .limited ? (16, 235) : (0, 255)
        let count = layout.width * layout.height
        for (mode, luma) in [(FrameOverlay.Mode.multiply, white), (FrameOverlay.Mode.screen, black)] {
            var frame = before.frame
            FrameOverlay(
                width: layout.width, height: layout.height,
                pixels: Array(repeating: 0xff80_8000 | luma, count: count)
            ).draw(onto: &frame, opacity: 1, mode)
            let after = Samples(frame)
            var worst = SIMD3<Int>.zero
            for y in 0..<layout.height {
                for x in 0..<layout.width {
                    let (old, new) = (before[x, y], after[x, y])
                    for c in 0..<3 { worst[c] = max(worst[c], abs(new[c] - old[c])) }
                }
            }
            #expect(worst.x <= 2 && worst.y <= 1 && worst.z <= 1, "\(layout) \(mode): off by \(worst)")
        }
    }

    @Test(arguments: allLayouts.indices)
    func `an overlay's plain, clear and mixed parts each lie where they belong`(index: Int) {
        let layout = allLayouts[index]
        let before = Samples(noise: layout, seed: 9)
        let (width, height) = (layout.width, layout.height)
        // Bands of runs and parts of runs: one opaque colour per row, nothing, half of one, many colours.
        func word(_ x: Int, _ y: Int) -> UInt32 {
            let luma = UInt32(40 + y % 50)
            // Shifted from one pair of rows to the next, so that some begin where others ended.
            switch (x * 6 / width + y / 2) % 6 {
            case 0, 5: return 0xffa0_6400 | luma
            case 1, 4: return 0
            case 2: return 0x8050_3200 | luma / 2
            default: return 0xffa0_6400 | luma + UInt32(x % 7)
            }
        }
        let art = (0..<width * height).map { word($0 % width, $0 / width) }
        let sheet = FrameOverlay(width: width, height: height, pixels: art)
        for opacity in [1, 0.5] as [Float] {
            var frame = before.frame
            sheet.draw(onto: &frame, opacity: opacity)
            let after = Samples(frame)
            var (worst, worstColor, plain) = (0.0, 0.0, 0)
            for y in 0..<height {
                for x in 0..<width {
                    let (here, at) = (word(x, y), before.places(x, y))
                    let alpha = Double(here >> 24) / 255 * Double(opacity)
                    func over(_ channel: Int) -> Double { Double(here >> (8 * channel) & 255) * Double(opacity) }
                    let old = Double(before.bytes[at.y])
                    worst = max(worst, abs(Double(after.bytes[at.y]) - over(0) - old * (1 - alpha)))
                    // Only if all pixels that share chroma have the same colour.
                    let group = [(x & ~1, y & ~1), (x | 1, y & ~1), (x & ~1, y | 1), (x | 1, y | 1)]
                    let isOne = group.allSatisfy { $0 < width && $1 < height && word($0, $1) >> 8 == here >> 8 }
                    guard let u = at.u, let v = at.v, isOne else { continue }
                    for (place, channel) in [(u, 1), (v, 2)] {
                        let wanted = over(channel) + Double(before.bytes[place]) * (1 - alpha)
                        worstColor = max(worstColor, abs(Double(after.bytes[place]) - wanted))
                    }
                    plain += 1
                }
            }
            #expect(worst <= 1.1 && worstColor <= 1.6, "\(layout), \(opacity): off by \(worst), colour \(worstColor)")
            #expect(plain > width * height / 2 || layout.format == .gray)
        }
    }

    @Test func `edges are found where brightness bends, and nowhere else`() {
        for format in PixelFormat.allCases {
            // The last run of the second is half a run.
            for (width, edge) in [(97, 40), (104, 98)] {
                let layout = FrameLayout(width: width, height: 65, format: format)
                var samples = Samples(noise: layout)
                for y in 0..<65 {
                    for x in 0..<width { samples.bytes[samples.places(x, y).y] = x < edge ? 60 : 180 }
                }
                var frame = samples.frame
                var edges = EdgeMap()
                edges.find(frame)
                edges.screen(0xff80_80eb, opacity: 1, onto: &frame)
                let after = Samples(frame)
                for y in 4..<60 {
                    let changed = (0..<width).filter { after[$0, y].x != samples[$0, y].x }
                    let isThere = changed.contains(edge) && changed.allSatisfy { abs($0 - edge) <= 8 }
                    #expect(isThere, "\(format), \(width) wide: \(changed)")
                }
            }
        }
    }

    /// The guided filter by its formulas: means of the blocks' diagonals, windows of 5, coefficients between the
    /// blocks.
    private func smoothed(_ frame: Samples, _ region: PixelRect, step: Int) -> [Double] {
        let (width, height) = (region.width / step + 2, region.height / step + 2)
        func luma(_ x: Int, _ y: Int) -> Double {
            Double(frame.bytes[frame.places(min(x, frame.layout.width - 1), min(y, frame.layout.height - 1)).y])
        }
        func boxed(_ values: [Double]) -> [Double] {
            (0..<width * height).map { i in
                let (x, y) = (i % width, i / width)
                let near = (max(0, y - 2)...min(height - 1, y + 2)).flatMap { y in
                    (max(0, x - 2)...min(width - 1, x + 2)).map { values[y * width + $0] }
                }
                return near.reduce(0, +) / Double(near.count)
            }
        }
        let small = (0..<width * height).map { i in
            let (x, y) = (region.x + i % width * step, region.y + i / width * step)
            return (0..<step).map { luma(x + $0, y + $0) }.reduce(0, +) / Double(step)
        }
        let (means, squares) = (boxed(small), boxed(small.map { $0 * $0 }))
        let a = zip(means, squares).map { mean, square in (square - mean * mean) / (square - mean * mean + 60) }
        let (gains, shifts) = (boxed(a), boxed(zip(a, means).map { (1 - $0) * $1 }))
        func between(_ values: [Double], _ x: Int, _ y: Int) -> Double {
            let half = Double(step / 2)
            let u = max(0, (Double(x) - half) / Double(step))
            let v = max(0, (Double(y) + 0.5) / Double(step) - 0.5)
            let (i, j) = (min(Int(u), width - 2), min(Int(v), height - 2))
            let (fu, fv) = (u - Double(i), v - Double(j))
            let upper = values[j * width + i] * (1 - fu) + values[j * width + i + 1] * fu
            let lower = values[(j + 1) * width + i] * (1 - fu) + values[(j + 1) * width + i + 1] * fu
            return upper * (1 - fv) + lower * fv
        }
        return (0..<region.width * region.height).map { i in
            let (x, y) = (i % region.width, i / region.width)
            return between(gains, x, y) * luma(region.x + x, region.y + y) + between(shifts, x, y)
        }
    }

    @Test(arguments: [20, 64, 106] as [Float])
    func `smoothing takes pores, keeps edges, and is the guided filter`(eyes: Float) throws {
        for format in PixelFormat.allCases { try smoothing(format, eyes) }
    }

    /// On a frame whose last run is cut off, because every region reaches its right edge.
    private func smoothing(_ format: PixelFormat, _ eyes: Float) throws {
        let layout = FrameLayout(width: 234, height: 160, format: format)
        var before = Samples(noise: layout)
        // Skin of 150 with pores, a dark brow on its right.
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let at = before.places(x, y).y
                before.bytes[at] = UInt8((x < 160 ? 148 : 60) + Int(before.bytes[at]) % 9)
            }
        }
        var frame = before.frame
        var smoother = Smoother()
        let region = PixelRect(x: 20, y: 10, width: 214, height: 140)
        guard let map = smoother.begin(over: region, of: layout, eyeDistance: eyes) else {
            throw Problem(.unusable, "nothing to smooth")
        }
        // All but the smaller picture's first columns.
        let (stride, bare) = (smoother.mask.stride, Int(40 * map.a))
        var mask = smoother.mask.pixels
        for i in mask.indices where i % stride >= bare { mask[i] = 0xff00_0000 }
        let (u, v) = (Float(110), Float(150))
        smoother.smooth(&frame, SkinSmoothing(strength: 1, evenness: 0.5, chroma: [u, v]))
        let after = Samples(frame)
        let expected = smoothed(before, region, step: max(1, Int(eyes / 16)))
        var (worst, worstColor, noise, was, skin) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let at = before.places(x, y)
                guard x >= 50, y >= 10, y < 150 else {
                    let isSame = [at.y, at.u ?? at.y, at.v ?? at.y].allSatisfy { before.bytes[$0] == after.bytes[$0] }
                    #expect(isSame, "something is smoothed at \(x), \(y), where no skin is")
                    continue
                }
                guard x > 80 else { continue }
                let (value, old) = (Double(after.bytes[at.y]), Double(before.bytes[at.y]))
                worst = max(worst, abs(value - expected[(y - 10) * region.width + x - 20]))
                for (place, mean) in [(at.u, u), (at.v, v)] {
                    guard let place else { continue }
                    let half = (Double(before.bytes[place]) + Double(mean)) / 2
                    worstColor = max(worstColor, abs(Double(after.bytes[place]) - half))
                }
                if x < 130 { (noise, was, skin) = (noise + abs(value - 152), was + abs(old - 152), skin + 1) }
            }
        }
        let (dark, light) = (after.bytes[after.places(166, 80).y], after.bytes[after.places(152, 80).y])
        print(
            "\(format), eyes \(eyes): \(worst) levels off, colour \(worstColor); pores \(was / skin) -> \(noise / skin); "
                + "edge \(light) to \(dark)")
        #expect(worst < 1.8)
        #expect(worstColor < 1.8)
        #expect(noise < 0.3 * was)
        #expect(light > 140 && dark < 75, "an edge of 88 levels")
    }
}
