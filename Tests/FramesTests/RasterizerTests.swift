import CAllocations
import TestSupport
import Testing

@testable import Frames
@testable import SystemKit

/// The rasterizer compared with an independent slow reference, on random meshes.
struct RasterizerTests {
    /// Not at the frame's corner, and not a multiple of any block size.
    private static let region = PixelRect(x: 38, y: 22, width: 72, height: 54)

    enum Sort: String, CaseIterable, Sendable { case small, large, slivers, outside, onTheGrid }
    enum InkSort: String, CaseIterable, Sendable { case plain, glass, grain, picture }

    // MARK: Meshes

    private static func vertex(_ place: SIMD2<Float>, _ generator: inout RepeatableGenerator) -> RasterVertex {
        RasterVertex(
            position: [place.x, place.y, generator.float(-2...2), 0],
            color: [
                generator.float(0...200), generator.float(-90...90), generator.float(-90...90),
                generator.float(0.3...1.4),
            ],
            texture: [generator.float(-10...60), generator.float(-10...60)])
    }

    /// Triangles with random vertices.
    static func mesh(_ sort: Sort, count: Int, _ generator: inout RepeatableGenerator) -> (
        [RasterVertex], [UInt16]
    ) {
        var corners: [RasterVertex] = []
        let origin = SIMD2(Float(region.x), Float(region.y))
        for _ in 0..<count {
            let middle = origin + [generator.float(0...71), generator.float(0...53)]
            let places: [SIMD2<Float>]
            switch sort {
            case .small: places = (0..<3).map { _ in middle + [generator.float(-5...5), generator.float(-5...5)] }
            case .large: places = (0..<3).map { _ in middle + [generator.float(-60...60), generator.float(-60...60)] }
            case .outside:
                // No side may be so long that the triangle is split.
                let far = SIMD2(generator.float(-70...70), generator.float(-70...70))
                places = (0..<3).map { _ in middle + far + [generator.float(-50...50), generator.float(-50...50)] }
            case .slivers:
                let way = SIMD2(generator.float(-50...50), generator.float(-50...50))
                let side = SIMD2(-way.y, way.x) * generator.float(-0.004...0.004)
                places = [middle, middle + way, middle + way * generator.float(0...1) + side]
            case .onTheGrid:
                // Vertices, edges and samples coincide.
                places = (0..<3).map { _ in
                    let step = SIMD2(generator.float(-20...20), generator.float(-20...20))
                    return (middle + step).rounded(.toNearestOrEven) + 0.125
                }
            }
            corners += places.map { vertex($0, &generator) }
        }
        return (corners, (0..<UInt16(3 * count)).map { $0 })
    }

    /// A picture with smooth colours and transparency, and a transparent part.
    private static let sprite: Sprite = {
        var pixels: [UInt32] = []
        for y in 0..<45 {
            for x in 0..<52 {
                let alpha = UInt32(max(0, min(255, 12 * x - 60)))
                let channels = [40 + 4 * UInt32(y), 60 + 3 * UInt32(x), 200 - 2 * UInt32(x)]
                let words = channels.map { $0 * alpha / 255 }
                pixels.append(words[0] | words[1] << 8 | words[2] << 16 | alpha << 24)
            }
        }
        return Sprite(width: 52, height: 45, pixels: pixels)
    }()

    private static let grain: Grain = {
        var generator = RepeatableGenerator(5)
        return Grain(samples: (0..<32 * 32).map { _ in UInt8.random(in: 90...160, using: &generator) }, sizeLog: 5)
    }()

    static func surface(_ sort: InkSort) -> (RasterSurface, SlowRaster.FragmentShader) {
        switch sort {
        case .plain: (.plain, .plain)
        case .glass: (.glass(opacity: 0.4), .glass(Double(Float(0.4))))
        case .grain: (.grain(grain, level: 1), .grain(grain.levels[1], side: 16, scale: 0.5))
        case .picture:
            (
                .picture(sprite, shrink: 0.8, shift: [3, 1]),
                .picture(sprite, shrink: Double(Float(0.8)), shift: [3, 1])
            )
        }
    }

    // MARK: Comparison

    private struct Difference {
        var (compared, doubted, coverage) = (0, 0, 0)
        var (depth, color) = (0.0, 0.0)
    }

    private static func difference(_ fast: borrowing Rasterizer, _ slow: SlowRaster) -> Difference {
        var all = Difference()
        for y in 0..<slow.region.height {
            for x in 0..<slow.region.width {
                let at = y * slow.region.width + x
                let depths = fast.depths(x: slow.region.x + x, y: slow.region.y + y)
                for k in 0..<4 {
                    let wanted = slow.samples[4 * at + k]
                    guard !wanted.isInDoubt else {
                        all.doubted += 1
                        continue
                    }
                    all.compared += 1
                    let (z, word) = (Double(depths[k]), fast.color[at][k])
                    if wanted.depth.isFinite != z.isFinite || (wanted.color.w > 0) != (word >> 24 > 0) {
                        all.coverage += 1
                        continue
                    }
                    if z.isFinite { all.depth = max(all.depth, abs(z - wanted.depth)) }
                    for channel in 0..<4 {
                        let off = abs(Double(word >> (8 * UInt32(channel)) & 255) - wanted.color[channel])
                        all.color = max(all.color, off - wanted.slack)
                    }
                }
            }
        }
        return all
    }

    /// Draws, compares, and resets.
    private static func compare(
        _ fast: inout Rasterizer, _ region: PixelRect, _ corners: [RasterVertex], _ triangles: [UInt16],
        faces: RasterFaces, _ ink: InkSort, range: ColorRange = .limited, hidden: Bool = false
    ) -> Difference {
        let (surface, slowInk) = surface(ink)
        var slow = SlowRaster(region, range: range)
        fast.begin(region, range: range)
        if hidden {
            let first = triangles.count / 6 * 3
            fast.occlude(corners.span, Array(triangles[..<first]).span)
            slow.occlude(corners, Array(triangles[..<first]))
        }
        fast.select(0..<region.height)
        // A transparent layer, and an occluder.
        let half = triangles.count / 2 / 3 * 3
        fast.draw(corners.span, Array(triangles[..<half]).span, faces: faces, .plain)
        slow.draw(corners, Array(triangles[..<half]), faces: faces, .plain)
        fast.draw(corners.span, Array(triangles[half...]).span, faces: faces, surface)
        slow.draw(corners, Array(triangles[half...]), faces: faces, slowInk)
        let all = difference(fast, slow)
        // The following drawing uses the same buffers.
        var layer = LayerBuffer()
        _ = layer.begin(region, width: 400, height: 300)
        fast.resolve(into: &layer)
        return all
    }

    // MARK: Tests

    @Test(arguments: Sort.allCases, InkSort.allCases)
    func `random triangles match a slow reference`(_ sort: Sort, _ ink: InkSort) {
        var fast = Rasterizer()
        var generator = RepeatableGenerator(UInt64(sort.rawValue.count * 100 + ink.rawValue.count))
        var total = Difference()
        for round in 0..<8 {
            if round == 4 { fast = Rasterizer(mayBeWide: false) }
            let (corners, triangles) = Self.mesh(sort, count: 24, &generator)
            let all = Self.compare(
                &fast, Self.region, corners, triangles, faces: round.isMultiple(of: 2) ? .front : .both, ink,
                range: round & 2 == 0 ? .limited : .full, hidden: round > 0)
            total.compared += all.compared
            total.doubted += all.doubted
            total.coverage += all.coverage
            (total.depth, total.color) = (max(total.depth, all.depth), max(total.color, all.color))
        }
        print(
            "\(sort.rawValue), \(ink.rawValue): \(total.coverage) of \(total.compared) samples covered otherwise; depth off "
                + "by \(total.depth), colour by \(max(0, total.color)) beyond rounding; \(total.doubted) in doubt")
        #expect(total.coverage == 0)
        #expect(total.depth < 2e-3)
        #expect(total.color <= 0)
        #expect(total.doubted * 8 < total.compared, "too much is in doubt to say anything")
    }

    /// A sheet of triangles that share vertices and edges, with displaced vertices.
    private static func sheet(_ region: PixelRect, _ generator: inout RepeatableGenerator, tie: Bool) -> (
        [RasterVertex], [UInt16]
    ) {
        let (columns, rows) = (9, 7)
        var corners: [RasterVertex] = []
        for row in 0...rows {
            for column in 0...columns {
                let isEdge = row == 0 || column == 0 || row == rows || column == columns
                let (w, h) = (Float(region.width), Float(region.height))
                var place = SIMD2(
                    Float(region.x) - 1 + (w + 1) * Float(column) / Float(columns),
                    Float(region.y) - 1 + (h + 1) * Float(row) / Float(rows))
                // By so little that no triangle is flipped.
                if !isEdge { place += [generator.float(-1.6...1.6), generator.float(-1.6...1.6)] }
                if tie {
                    // Between two grid positions, or next to that.
                    let half = ((place * 16).rounded(.down) + 0.5) / 16
                    place = [
                        Bool.random(using: &generator) ? half.x : half.x.nextUp,
                        Bool.random(using: &generator) ? half.y : half.y.nextDown,
                    ]
                }
                corners.append(vertex(place, &generator))
            }
        }
        var triangles: [UInt16] = []
        for row in 0..<rows {
            for column in 0..<columns {
                let at = UInt16(row * (columns + 1) + column)
                let below = at + UInt16(columns + 1)
                triangles += [at, at + 1, below + 1, at, below + 1, below]
            }
        }
        return (corners, triangles)
    }

    @Test(arguments: [false, true], [0, 3])
    func `each sample on a shared edge belongs to one triangle`(_ tie: Bool, _ origin: Int) {
        var fast = Rasterizer()
        var generator = RepeatableGenerator(11)
        let region = PixelRect(x: origin, y: origin, width: 66, height: 50)
        var (most, left) = (0, 0)
        for _ in 0..<3 {
            let (corners, triangles) = Self.sheet(region, &generator, tie: tie)
            var hits = [Int](repeating: 0, count: 4 * region.width * region.height)
            for i in stride(from: 0, to: triangles.count, by: 3) {
                let list = Array(triangles[i..<i + 3])
                fast.begin(region, range: .limited)
                fast.select(0..<region.height)
                fast.draw(corners.span, list.span, faces: .front, .plain)
                for at in 0..<region.width * region.height {
                    let depths = fast.depths(x: region.x + at % region.width, y: region.y + at / region.width)
                    for k in 0..<4 where depths[k].isFinite { hits[4 * at + k] += 1 }
                }
                fast = Rasterizer()
            }
            most = max(most, hits.max() ?? 0)
            left += hits.count { $0 == 0 }
        }
        let sort = tie ? "shared edges, corners between places" : "shared edges"
        print("\(sort): at most \(most) a sample, \(left) samples left out")
        #expect(most == 1)
        #expect(left == 0)
    }

    @Test(arguments: [90, 7]) func `drawing in regions or bands gives the same picture`(_ band: Int) {
        var generator = RepeatableGenerator(3)
        var corners: [RasterVertex] = []
        for sort in [Sort.small, .large, .slivers] { corners += Self.mesh(sort, count: 20, &generator).0 }
        let triangles = (0..<UInt16(corners.count)).map { $0 }
        func words(_ region: PixelRect, band height: Int) -> [SIMD2<Int>: UInt32] {
            var fast = Rasterizer()
            fast.begin(region, range: .limited)
            fast.occlude(corners.span, Array(triangles.prefix(30)).span)
            var layer = LayerBuffer()
            _ = layer.begin(region, width: 400, height: 300)
            for top in stride(from: 0, to: region.height, by: height) {
                fast.select(top..<min(region.height, top + height))
                fast.draw(corners.span, triangles.span, faces: .both, .grain(Self.grain, level: 0))
                fast.resolve(into: &layer)
            }
            let (span, stride) = (layer.readPixels, layer.stride)
            var words: [SIMD2<Int>: UInt32] = [:]
            for y in 0..<region.height {
                for x in 0..<region.width { words[[region.x + x, region.y + y]] = span[y * stride + x] }
            }
            return words
        }
        let whole = words(PixelRect(x: 20, y: 10, width: 120, height: 90), band: 90)
        var (off, most) = (0, 0)
        for y in stride(from: 10, to: 100, by: 30) {
            for x in stride(from: 20, to: 140, by: 24) {
                for (place, word) in words(PixelRect(x: x, y: y, width: 24, height: 30), band: band) {
                    let wanted = whole[place] ?? 0
                    for shift: UInt32 in [0, 8, 16, 24] {
                        most = max(most, abs(Int(word >> shift & 255) - Int(wanted >> shift & 255)))
                    }
                    if word >> 24 != wanted >> 24 { off += 1 }
                }
            }
        }
        print("5 x 3 pieces, bands of \(band): coverage differs in \(off) pixels, colour by \(most) levels at most")
        #expect(off == 0)
        // At a boundary between two texture samples either may be chosen; everything else differs only by rounding.
        #expect(most <= 12)
        #expect(whole.values.count { $0 >> 24 > 0 } > 2000)
    }

    @Test func `pixels are the mean of their samples, and the buffers are reset afterwards`() {
        var generator = RepeatableGenerator(8)
        let region = PixelRect(x: 38, y: 22, width: 72, height: 54)
        var fast = Rasterizer()
        for ink in InkSort.allCases {
            let (corners, triangles) = Self.mesh(.large, count: 12, &generator)
            fast.begin(region, range: .limited)
            fast.select(0..<region.height)
            fast.draw(corners.span, triangles.span, faces: .both, Self.surface(ink).0)
            let samples = fast.color
            var layer = LayerBuffer()
            _ = layer.begin(region, width: 400, height: 300)
            fast.resolve(into: &layer)
            let (span, stride) = (layer.readPixels, layer.stride)
            var worst = 0
            for y in 0..<region.height {
                for x in 0..<region.width {
                    let four = samples[y * region.width + x]
                    for shift: UInt32 in [0, 8, 16, 24] {
                        let sum = (0..<4).reduce(0) { $0 + Int(four[$1] >> shift & 255) }
                        let word = Int(span[y * stride + x] >> shift & 255)
                        worst = max(worst, abs(word - (sum + 2) / 4))
                    }
                }
            }
            #expect(worst == 0, "\(ink)")
            #expect(fast.color.allSatisfy { $0 == .zero } && fast.depths(x: 70, y: 50).min() == .infinity)
        }
    }

    /// Sides of more than 170 pixels are split in the middle; the midpoints are snapped too, so seams and edges may
    /// move.
    @Test func `triangles too large for exact arithmetic differ at their edges only`() {
        var generator = RepeatableGenerator(21)
        var fast = Rasterizer()
        let region = PixelRect(x: 0, y: 0, width: 240, height: 160)
        var (otherwise, edges, all) = (0, 0, 0)
        for _ in 0..<6 {
            let corners = (0..<3).map { _ in
                Self.vertex([generator.float(-150...400), generator.float(-150...300)], &generator)
            }
            var slow = SlowRaster(region, range: .limited)
            fast.begin(region, range: .limited)
            fast.select(0..<region.height)
            fast.draw(corners.span, [0, 1, 2].span, faces: .both, .plain)
            slow.draw(corners, [0, 1, 2], faces: .both, .plain)
            let t = corners.map { SlowRaster.snapped($0.position) }
            for at in 0..<region.width * region.height {
                let depths = fast.depths(x: at % region.width, y: at / region.width)
                for k in 0..<4 {
                    let isDrawn = depths[k].isFinite
                    if isDrawn { all += 1 }
                    guard isDrawn != slow.samples[4 * at + k].depth.isFinite else { continue }
                    otherwise += 1
                    let p = SIMD2(Double(at % region.width), Double(at / region.width)) + SlowRaster.places[k]
                    let away = (0..<3).map { i -> Double in
                        let (a, b) = (t[i], t[(i + 1) % 3])
                        let (d, e) = (b - a, p - a)
                        return abs(d.x * e.y - d.y * e.x) / (d * d).sum().squareRoot()
                    }
                    if (away.min() ?? 1) < 1.0 / 16 { edges += 1 }
                }
            }
            fast = Rasterizer()
        }
        print(
            "large triangles: \(otherwise) of \(all) samples otherwise, \(edges) of them within 1/16 pixel of an edge")
        #expect(all > 100_000)
        #expect(otherwise == edges)
        #expect(otherwise * 1000 < all)
    }

    @Test func `no mesh, however invalid, crashes the program`() {
        var fast = Rasterizer()
        let odd: [Float] = [0, -0.0, 1e-30, 1e30, -1e30, .infinity, .nan, 19_999, -19_999, 3.4e38, 0.03125, 71]
        var generator = RepeatableGenerator(2)
        var corners: [RasterVertex] = []
        for _ in 0..<3000 {
            var numbers: [Float] = []
            for _ in 0..<9 {
                numbers.append(
                    Bool.random(using: &generator)
                        ? generator.float(0...90) : odd[Int(generator.next() >> 8) % odd.count])
            }
            corners.append(
                RasterVertex(
                    position: [numbers[0], numbers[1], numbers[2], 0],
                    color: [numbers[3], numbers[4], numbers[5], numbers[6]], texture: [numbers[7], numbers[8]]))
        }
        let triangles = (0..<3000).map { UInt16($0) }
        for ink in InkSort.allCases {
            fast.begin(Self.region, range: .full)
            fast.occlude(corners.span, Array(triangles.prefix(30)).span)
            fast.select(0..<Self.region.height)
            fast.draw(corners.span, triangles.span, faces: .both, Self.surface(ink).0)
        }
        #expect(fast.region == Self.region)
    }

    @Test func `a shadow falls softly on skin next to its caster, and on nothing else`() {
        var fast = Rasterizer()
        var layer = LayerBuffer()
        // Narrower than whole runs; skin on the left, nothing on the right.
        let region = PixelRect(x: 20, y: 20, width: 90, height: 60)
        let (edge, brim) = (Float(60), Float(40))
        func corner(_ x: Float, _ y: Float, _ z: Float) -> RasterVertex {
            RasterVertex(position: [x, y, z, 0], color: [100, 0, 0, 1], texture: .zero)
        }
        let skin = [corner(0, 0, -0.1), corner(edge, 0, -0.1), corner(edge, 100, -0.1), corner(0, 100, -0.1)]
        let hat = [corner(0, 0, -0.2), corner(200, 0, -0.2), corner(200, brim, -0.2), corner(0, brim, -0.2)]
        let two: [UInt16] = [0, 1, 2, 0, 2, 3]
        _ = layer.begin(region, width: 400, height: 300)
        fast.begin(region, range: .limited)
        fast.occlude(skin.span, two.span)
        fast.select(0..<region.height)
        fast.draw(hat.span, two.span, faces: .front, .plain)
        fast.resolve(into: &layer)
        let drawn = (0..<layer.readPixels.count).map { layer.readPixels[$0] }
        fast.castShadow(in: &layer, offset: [0, 6], blur: 8, strength: 0.5, range: .limited)
        let (words, stride) = (layer.readPixels, layer.stride)
        var (column, row): ([UInt32], [UInt32]) = ([], [])
        for y in 0..<region.height {
            for x in 0..<stride {
                let (word, before) = (words[y * stride + x], drawn[y * stride + x])
                let isSkin = Float(region.x + x) < edge - 1
                if x >= region.width || Float(region.x + x) > edge + 1 || before >> 24 == 255 {
                    #expect(word == before, "(\(x), \(y))")
                } else if isSkin, before == 0 {
                    // Black of that alpha, premultiplied.
                    let alpha = word >> 24
                    let chroma = Int(alpha) * 128 / 255
                    #expect(word & 255 == alpha * 16 / 255)
                    #expect(abs(Int(word >> 8 & 255) - chroma) <= 1 && abs(Int(word >> 16 & 255) - chroma) <= 1)
                    if x == 8 { column.append(alpha) }
                    if y == 30 { row.append(alpha) }
                }
            }
        }
        print("the shadow under a brim, downward: \(column)")
        #expect((60...128).contains(column.first ?? 0) && (column.last ?? 99) < 8)
        #expect(zip(column, column.dropFirst()).allSatisfy { $0 >= $1 && $0 - $1 < 16 }, "it has no edge")
        print("and towards the skin's edge: \(row)")
        #expect(row.count > 20 && (row.first ?? 0) > 20, "it reaches that far")
        #expect(4 * (row.last ?? 99) < row.max() ?? 0, "and fades where the skin ends")
    }

    @Test func `a shadow is softer where it is further from its caster`() {
        var fast = Rasterizer()
        var layer = LayerBuffer()
        let region = PixelRect(x: 0, y: 0, width: 240, height: 240)
        func corner(_ x: Float, _ y: Float, _ z: Float) -> RasterVertex {
            RasterVertex(position: [x, y, z, 0], color: [100, 0, 0, 1], texture: .zero)
        }
        func rectangle(bottom: Float, _ z: Float) -> [RasterVertex] {
            [corner(0, 0, z), corner(240, 0, z), corner(240, bottom, z), corner(0, bottom, z)]
        }
        let two: [UInt16] = [0, 1, 2, 0, 2, 3]
        _ = layer.begin(region, width: 240, height: 240)
        fast.begin(region, range: .full)
        fast.occlude(rectangle(bottom: 240, -0.1).span, two.span)
        fast.select(0..<region.height)
        fast.draw(rectangle(bottom: 60, -0.2).span, two.span, faces: .front, .plain)
        fast.resolve(into: &layer)
        fast.castShadow(in: &layer, offset: [0, 48], blur: 24, strength: 0.5, range: .full)
        let (pixels, stride) = (layer.readPixels, layer.stride)
        let column = (61..<240).map { pixels[$0 * stride + 120] >> 24 }
        /// The first row in which the shadow has less than a part of its strength.
        func row(under part: Float) -> Int { column.firstIndex { Float($0) < part * Float(column[0]) } ?? column.count }
        let (near, far) = (row(under: 0.6) - row(under: 0.9), row(under: 0.1) - row(under: 0.4))
        print("the shadow takes \(near) rows from 90 to 60 %, and \(far) from 40 to 10 %")
        #expect(column[0] > 110 && near > 3 && Float(far) > 1.3 * Float(near))
    }

    @Test func `drawing allocates nothing once warm`() {
        var generator = RepeatableGenerator(4)
        let (corners, triangles) = Self.mesh(.large, count: 30, &generator)
        var fast = Rasterizer()
        var layer = LayerBuffer()
        let surfaces = InkSort.allCases.map { Self.surface($0).0 }
        func draw(_ triangles: [UInt16]) -> UInt64 {
            let before = callocations_count()
            // The face comes slightly nearer each time.
            for grown in 0..<4 {
                let region = PixelRect(x: 30, y: 20, width: 80 + 2 * grown, height: 60 + 2 * grown)
                _ = layer.begin(region, width: 400, height: 300)
                fast.begin(region, range: .limited)
                fast.occlude(corners.span, triangles.span)
                fast.select(0..<region.height)
                for surface in surfaces { fast.draw(corners.span, triangles.span, faces: .both, surface) }
                fast.resolve(into: &layer)
                fast.castShadow(in: &layer, offset: [2, 4], blur: 8, strength: 0.5, range: .limited)
            }
            return callocations_count() - before
        }
        _ = draw(triangles)
        // This test's own code, which is not optimised, allocates too: as much as without drawing.
        let asked = Int64(draw(triangles)) - Int64(draw([]))
        print("the rasteriser asked \(asked) times for memory in four pictures")
        #expect(asked == 0)
    }
}
