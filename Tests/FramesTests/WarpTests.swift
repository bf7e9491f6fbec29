import TestSupport
import Testing

@testable import Frames

/// A grid of triangles over a region, with its inner vertices moved at random; no triangle is flipped.
private struct Grid {
    var vertices: [WarpVertex] = []
    var triangles: [SIMD4<UInt8>] = []

    init(seed: UInt64, cells: Int = 6, side: Float = 17.3, from corner: Point = Point(9.7, 6.2), sprite: Float = 120) {
        var random = RepeatableGenerator(state: seed &* 7_919 &+ 3)
        func draw() -> Float { Float(random.next() >> 40) / Float(1 << 24) - 0.5 }
        for y in 0...cells {
            for x in 0...cells {
                let place = Point(Float(x), Float(y))
                // Every third vertex is at a pixel's centre, where rounding matters.
                var target = corner + (place + Point(draw(), draw()) * 0.5) * side
                if (x + y) % 3 == 0 { target.round(.toNearestOrEven) }
                vertices.append(
                    WarpVertex(source: Point(2, 2) + place / Float(cells) * (sprite - 5), target: target, fade: 1))
            }
        }
        let across = cells + 1
        for y in 0..<cells {
            for x in 0..<cells {
                let i = y * across + x
                triangles.append(SIMD4(UInt8(i), UInt8(i + 1), UInt8(i + across), 0))
                triangles.append(SIMD4(UInt8(i + 1), UInt8(i + across + 1), UInt8(i + across), 0))
            }
        }
    }

    /// The sprite position of a place in the frame, by barycentric coordinates in double precision; nil outside.
    func source(_ x: Double, _ y: Double) -> (u: Double, v: Double)? {
        for t in triangles {
            let (a, b, c) = (vertices[Int(t.x)], vertices[Int(t.y)], vertices[Int(t.z)])
            let (p, q) = (b.target - a.target, c.target - a.target)
            let area = Double(p.x) * Double(q.y) - Double(p.y) * Double(q.x)
            let (dx, dy) = (x - Double(a.target.x), y - Double(a.target.y))
            let s = (dx * Double(q.y) - dy * Double(q.x)) / area
            let r = (Double(p.x) * dy - Double(p.y) * dx) / area
            guard s >= 0, r >= 0, s + r <= 1 else { continue }
            let (e, f) = (b.source - a.source, c.source - a.source)
            return (
                Double(a.source.x) + s * Double(e.x) + r * Double(f.x),
                Double(a.source.y) + s * Double(e.y) + r * Double(f.y)
            )
        }
        return nil
    }
}

private let layout = FrameLayout(width: 140, height: 130, format: .i444, range: .full)
private let all = PixelRect(x: 0, y: 0, width: 140, height: 130)

private func words(_ grid: Grid, _ sprite: Sprite, only: Range<Int>? = nil, _ region: PixelRect = all) -> [UInt32] {
    var layer = LayerBuffer()
    guard layer.begin(region, in: layout) else { return [] }
    let chosen = Array(only.map { grid.triangles[$0] } ?? grid.triangles[...])
    warp(sprite, grid.vertices.span, chosen.span, onto: &layer)
    var out: [UInt32] = []
    let (piece, row) = (layer.region, layer.stride)
    let pixels = layer.readPixels
    for y in 0..<piece.height { for x in 0..<piece.width { out.append(pixels[y * row + x]) } }
    return out
}

@Test func `bent triangles touch every pixel between them once, and none outside`() {
    let sprite = Sprite(width: 120, height: 120, pixels: Array(repeating: 0xffff_ffff, count: 120 * 120))
    let around: [(Double, Double)] = [(-0.01, -0.01), (0.01, -0.01), (-0.01, 0.01), (0.01, 0.01)]
    var (inside, doubtful) = (0, 0)
    for seed in 0..<12 as Range<UInt64> {
        let grid = Grid(seed: seed)
        var counts = Array(repeating: 0, count: 140 * 130)
        for i in grid.triangles.indices {
            for (at, word) in words(grid, sprite, only: i..<i + 1).enumerated() where word != 0 { counts[at] += 1 }
        }
        let together = words(grid, sprite)
        for y in 0..<130 {
            for x in 0..<140 {
                let at = y * 140 + x
                #expect(counts[at] <= 1)
                #expect((together[at] != 0) == (counts[at] == 1))
                // On the outermost edge both results are valid.
                var near: [Bool] = []
                for (dx, dy) in around { near.append(grid.source(Double(x) + dx, Double(y) + dy) != nil) }
                if near.contains(true) && near.contains(false) {
                    doubtful += 1
                    continue
                }
                #expect((counts[at] == 1) == near[0], "pixel \(x),\(y) of grid \(seed)")
                inside += near[0] ? 1 : 0
            }
        }
    }
    print("warp: \(inside) pixels covered once, \(doubtful) on the outer edge")
    #expect(inside > 100_000)
}

@Test func `warped art matches bilinear sampling, on whole layer buffers and on parts`() {
    // Smooth, so that a misplaced sample gives a wrong value and not noise.
    var pixels: [UInt32] = []
    for y in 0..<120 as Range<UInt32> {
        for x in 0..<120 as Range<UInt32> { pixels.append(0xff80_0000 | x * 2 | y * 2 << 8) }
    }
    let sprite = Sprite(width: 120, height: 120, pixels: pixels)
    var worst = 0.0
    for seed in 20..<26 as Range<UInt64> {
        let grid = Grid(seed: seed)
        let seen = words(grid, sprite)
        for y in 0..<130 {
            for x in 0..<140 where seen[y * 140 + x] != 0 {
                guard let (u, v) = grid.source(Double(x), Double(y)) else { continue }
                let word = seen[y * 140 + x]
                let (left, up) = (Double(word & 255), Double(word >> 8 & 255))
                worst = max(worst, abs(left - u * 2))
                worst = max(worst, abs(up - v * 2))
            }
        }
        // A layer buffer of a part shows the same part; at its start, sums may round differently.
        let piece = PixelRect(x: 40, y: 30, width: 50, height: 44)
        let part = words(grid, sprite, piece)
        for y in 0..<44 {
            for x in 0..<50 {
                let (one, other) = (part[y * 50 + x], seen[(y + 30) * 140 + x + 40])
                for shift in [0, 8, 16, 24] as [UInt32] {
                    #expect(abs(Int(one >> shift & 255) - Int(other >> shift & 255)) <= 1)
                }
            }
        }
    }
    print("warp: at most \(worst) levels from the reference")
    #expect(worst < 1.6)
}

@Test func `triangles that face away are left out, and faded corners fade`() {
    let sprite = Sprite(width: 120, height: 120, pixels: Array(repeating: 0xffff_ffff, count: 120 * 120))
    var grid = Grid(seed: 1)
    for i in grid.vertices.indices { grid.vertices[i].target.x = 140 - grid.vertices[i].target.x }
    #expect(words(grid, sprite).allSatisfy { $0 == 0 })
    grid = Grid(seed: 1)
    for i in grid.vertices.indices { grid.vertices[i].fade = Float(i % 7) / 6 }
    let alphas: [Int] = words(grid, sprite).map { Int($0 >> 24) }.filter { $0 > 0 }
    #expect((alphas.max() ?? 0) > 200)
    #expect((alphas.min() ?? 255) < 60)
}
