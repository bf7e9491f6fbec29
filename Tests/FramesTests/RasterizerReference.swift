import TestSupport

@testable import Frames
@testable import SystemKit

/// A reference rasterizer, slow and by definition: each triangle is tested at each sample of the picture, in doubles.
///
/// Vertices are on a grid of 1/16 pixel. A sample is inside if it is on the right of all three edges, or on a top or
/// left edge. If rounding may decide otherwise, the sample is in doubt and not compared.
struct SlowRaster {
    enum FragmentShader {
        case plain
        case glass(Double)
        /// Samples of a square, its side, and samples per unit of the texture coordinates.
        case grain([UInt8], side: Int, scale: Double)
        case picture(Sprite, shrink: Double, shift: SIMD2<Double>)

        var writesDepth: Bool {
            if case .glass = self { return false }
            return true
        }
    }

    struct Sample {
        var depth = Double.infinity
        /// Premultiplied YUVA.
        var color = SIMD4<Double>.zero
        /// The allowed error of the colour in levels.
        var slack = 0.0
        var isInDoubt = false
        /// The number of triangles that cover it.
        var hits = 0
    }

    let region: PixelRect
    let black: SIMD4<Double>
    /// The luma of white above black.
    let white: Double
    /// Four samples per pixel.
    var samples: [Sample]
    /// One per pixel, with one more row and column at each side.
    var occluders: [(depth: Double, isInDoubt: Bool)]

    /// Offsets of a pixel's four samples from its centre.
    static let places: [SIMD2<Double>] = [[-0.125, -0.375], [0.375, -0.125], [-0.375, 0.125], [0.125, 0.375]]
    /// The neighbour whose occluder each of them tests.
    private static let neighbours = [(0, -1), (1, 0), (-1, 0), (0, 1)]

    init(_ region: PixelRect, range: ColorRange) {
        self.region = region
        black = [range == .full ? 0 : 16, 128, 128, 0]
        white = range == .full ? 255 : 219
        samples = Array(repeating: Sample(), count: 4 * region.width * region.height)
        occluders = Array(repeating: (.infinity, false), count: (region.width + 2) * (region.height + 2))
    }

    /// A vertex's snapped position, pixels.
    static func snapped(_ position: SIMD4<Float>) -> SIMD2<Double> {
        let place = SIMD2(Double(position.x), Double(position.y)) * 16
        return place.rounded(.toNearestOrEven) / 16
    }

    /// The edge function: positive on the right of the edge from a to b; twice the triangle's area.
    private static func side(_ a: SIMD2<Double>, _ b: SIMD2<Double>, _ p: SIMD2<Double>) -> Double {
        (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)
    }

    /// Whether a sample exactly on this edge belongs to the triangle (y is downward, corners go clockwise).
    private static func owns(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Bool { b.y < a.y || (b.y == a.y && b.x > a.x) }

    /// The barycentric coordinates of a place.
    private static func parts(_ t: [SIMD2<Double>], _ p: SIMD2<Double>) -> SIMD3<Double> {
        SIMD3(side(t[1], t[2], p), side(t[2], t[0], p), side(t[0], t[1], p)) / side(t[0], t[1], t[2])
    }

    /// Front faces come first, then back faces, reversed.
    mutating func draw(_ corners: [RasterVertex], _ triangles: [UInt16], faces: RasterFaces, _ ink: FragmentShader) {
        for isTurned in faces == .both ? [false, true] : [false] {
            for i in stride(from: 0, to: triangles.count, by: 3) {
                var list = triangles[i..<i + 3].map { corners[Int($0)] }
                if isTurned { list.swapAt(1, 2) }
                let places = list.map { Self.snapped($0.position) }
                if Self.side(places[0], places[1], places[2]) > 0 { draw(list, ink) }
            }
        }
    }

    private mutating func draw(_ list: [RasterVertex], _ ink: FragmentShader) {
        let t = list.map { Self.snapped($0.position) }
        let depths = SIMD3(list.map { Double($0.position.z) })
        let spread = depths.max() - depths.min()
        for y in 0..<region.height {
            for x in 0..<region.width {
                let center = SIMD2(Double(region.x + x), Double(region.y + y))
                var shown: (word: SIMD4<Double>, slack: Double, isInDoubt: Bool)?
                for k in 0..<4 {
                    let p = center + Self.places[k]
                    let isInside = (0..<3).allSatisfy { i in
                        let e = Self.side(t[i], t[(i + 1) % 3], p)
                        return e > 0 || (e == 0 && Self.owns(t[i], t[(i + 1) % 3]))
                    }
                    guard isInside else { continue }
                    let z = (Self.parts(t, p) * depths).sum()
                    let at = 4 * (y * region.width + x) + k
                    let (dx, dy) = Self.neighbours[k]
                    let hiding = occluders[(y + 1 + dy) * (region.width + 2) + x + 1 + dx]
                    let hair = 1e-4 * (1 + abs(z)) + 1e-3 * spread
                    let limit = min(samples[at].depth, hiding.depth)
                    samples[at].hits += 1
                    if hiding.isInDoubt || abs(z - limit) < hair { samples[at].isInDoubt = true }
                    guard z < limit else { continue }
                    let look = shown ?? word(at: center, t, list, ink)
                    shown = look
                    compositeLayer(look, ink, on: at, k, z)
                }
            }
        }
    }

    private mutating func compositeLayer(
        _ look: (word: SIMD4<Double>, slack: Double, isInDoubt: Bool), _ ink: FragmentShader, on at: Int, _ k: Int,
        _ z: Double
    ) {
        if look.isInDoubt { samples[at].isInDoubt = true }
        var color = look.word
        var slack = look.slack
        switch ink {
        case .glass:
            slack += samples[at].slack
            color += samples[at].color * (1 - color.w / 255)
        case .picture where color.w < 254.5:
            // The alpha selects the number of samples; those with none are skipped.
            let needed = [32.0, 224, 96, 160][k]
            if abs(color.w - needed) < 2 || abs(color.w - 32) < 2 { samples[at].isInDoubt = true }
            guard color.w >= needed else { return }
            slack *= 255 / color.w
            color = pointwiseMin(color * (255 / color.w), SIMD4(repeating: 255))
        default: break
        }
        (samples[at].color, samples[at].slack) = (color, slack)
        if ink.writesDepth { samples[at].depth = z }
    }

    /// The colour at a pixel's centre; outside of the triangle clamped to the vertices' values.
    private func word(
        at center: SIMD2<Double>, _ t: [SIMD2<Double>], _ list: [RasterVertex], _ ink: FragmentShader
    ) -> (word: SIMD4<Double>, slack: Double, isInDoubt: Bool) {
        let parts = Self.parts(t, center)
        let colors = list.map { SIMD4<Double>($0.color) }
        var color = colors[0] * parts.x + colors[1] * parts.y + colors[2] * parts.z
        color = pointwiseMax(color, pointwiseMin(pointwiseMin(colors[0], colors[1]), colors[2]))
        color = pointwiseMin(color, pointwiseMax(pointwiseMax(colors[0], colors[1]), colors[2]))
        let places = list.map { SIMD2<Double>($0.texture) }
        var place = places[0] * parts.x + places[1] * parts.y + places[2] * parts.z
        place = pointwiseMax(place, pointwiseMin(pointwiseMin(places[0], places[1]), places[2]))
        place = pointwiseMin(place, pointwiseMax(pointwiseMax(places[0], places[1]), places[2]))
        func bounded(_ word: SIMD4<Double>) -> SIMD4<Double> {
            pointwiseMax(.zero, pointwiseMin(word, SIMD4(repeating: 255)))
        }
        switch ink {
        case .plain:
            var word = bounded(color + black)
            word.w = 255
            return (word, 1.5, false)
        case .glass(let opacity):
            var word = bounded((color + black) * opacity)
            word.w = 255 * opacity
            return (word, 2, false)
        case .grain(let samples, let side, let scale):
            func gain(_ u: Double, _ v: Double) -> Double {
                let column = Int((u * scale).rounded(.down)) & (side - 1)
                let row = Int((v * scale).rounded(.down)) & (side - 1)
                return Double(samples[row * side + column]) / 128
            }
            // Positions are rounded to 1/128 sample.
            let hair = 0.01 / scale
            let gains = [(-1.0, -1.0), (-1, 1), (1, -1), (1, 1)].map {
                gain(place.x + $0.0 * hair, place.y + $0.1 * hair)
            }
            var word = bounded(color * gain(place.x, place.y) + black)
            word.w = 255
            return (word, 2, Set(gains).count > 1)
        case .picture(let sprite, let shrink, let shift): return look(up: place * shrink + shift, sprite, color)
        }
    }

    private func look(
        up place: SIMD2<Double>, _ sprite: Sprite, _ vertex: SIMD4<Double>
    ) -> (word: SIMD4<Double>, slack: Double, isInDoubt: Bool) {
        let inside = min(
            place.x, place.y, Double(sprite.width - 1) - place.x, Double(sprite.height - 1) - place.y)
        guard inside > 0 else { return (.zero, 0, inside > -1e-3) }
        let (u, v) = (Int(place.x), Int(place.y))
        func texel(_ x: Int, _ y: Int) -> SIMD4<Double> {
            let word = sprite.pixels[min(y, sprite.height - 1) * sprite.width + min(x, sprite.width - 1)]
            return SIMD4((0..<4).map { Double(word >> (8 * $0) & 255) })
        }
        let (fu, fv) = (place.x - Double(u), place.y - Double(v))
        let upper = texel(u, v) * (1 - fu) + texel(u + 1, v) * fu
        let lower = texel(u, v + 1) * (1 - fu) + texel(u + 1, v + 1) * fu
        let mixed = upper * (1 - fv) + lower * fv
        let constant = black * (mixed.w / 255)
        // The vertices' U and V are the light's on white.
        let cast = SIMD4(0, vertex.y, vertex.z, 0) * ((mixed.x - constant.x) / white)
        let lit = (mixed - constant) * vertex.w + constant + cast
        var word = pointwiseMax(.zero, pointwiseMin(lit, SIMD4(repeating: 255)))
        word.w = mixed.w
        return (word, 3, inside < 1e-3)
    }

    /// Adds occluders: at pixel centres, with unsnapped vertices.
    mutating func occlude(_ corners: [RasterVertex], _ triangles: [UInt16]) {
        for i in stride(from: 0, to: triangles.count, by: 3) {
            let list = (0..<3).map { corners[Int(triangles[i + $0])].position }
            let t = list.map { SIMD2(Double($0.x), Double($0.y)) }
            let depths = SIMD3(list.map { Double($0.z) })
            guard Self.side(t[0], t[1], t[2]) > 0 else { continue }
            for y in 0..<region.height {
                for x in 0..<region.width {
                    let p = SIMD2(Double(region.x + x), Double(region.y + y))
                    let away = (0..<3).map { i in
                        Self.side(t[i], t[(i + 1) % 3], p) / (t[(i + 1) % 3] - t[i]).length
                    }
                    let at = (y + 1) * (region.width + 2) + x + 1
                    guard let least = away.min(), least > -2e-3 else { continue }
                    if least < 2e-3 { occluders[at].isInDoubt = true }
                    guard least >= 0 else { continue }
                    occluders[at].depth = min(occluders[at].depth, (Self.parts(t, p) * depths).sum())
                }
            }
        }
    }
}

extension SIMD2<Double> {
    fileprivate var length: Double { (x * x + y * y).squareRoot() }
}

extension RepeatableGenerator {
    mutating func float(_ range: ClosedRange<Float>) -> Float { .random(in: range, using: &self) }
}
