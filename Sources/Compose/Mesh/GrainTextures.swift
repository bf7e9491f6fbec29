import Frames
import SystemKit

/// Repeating textures of materials. Each is generated once, on first use.
enum GrainTextures {
    /// Width of a texture's square on the surface, in head units.
    static let size: Float = 0.5
    /// Binary logarithm of the texture's side in samples.
    private static let sizeLog = 7
    /// Side of a texture in samples.
    static let samples = Float(1 << sizeLog)

    static let felt = make { x, y in 128 + 13 * (speckle(x, y, 1) + speckle(x, y, 2)) }
    /// Woven threads.
    static let cloth = make { x, y in
        let over = (x / 2 + y / 2) % 2 == 0
        let round = over ? sin(Float(x % 2) * .pi / 2 + 0.8) : sin(Float(y % 2) * .pi / 2 + 0.8)
        return 118 + 18 * round + 8 * speckle(x, y, 3)
    }
    /// Columns of V-shaped stitches.
    static let knit = make { x, y in
        let (column, row) = (x % 16, y % 16)
        let slant = column < 8 ? column : 15 - column
        let phase = Float((row + slant) % 16) / 16
        let edgeDistance = Float(column < 8 ? column : 15 - column)
        return 74 + 62 * sin(phase * .pi) * min(1, 0.25 + edgeDistance / 5) + 14 * speckle(x, y, 4)
    }
    /// Strands of hair, all in one direction.
    static let fur = make { x, y in
        128 + 34 * smooth(x, y, cells: (42, 6), 5) + 20 * smooth(x, y, cells: (85, 11), 6)
    }
    static let leather = make { x, y in
        let pores = smooth(x, y, cells: (26, 26), 7)
        return 128 - 26 * max(0, pores) + 8 * speckle(x, y, 8)
    }
    /// Braided straw.
    static let straw = make { x, y in
        let row = y / 8
        let slant = row % 2 == 0 ? x + y : x - y + 4096
        let strand = sin(Float(slant % 8) / 8 * .pi)
        let edge = sin(Float(y % 8) / 7 * .pi)
        return 70 + 44 * strand + 30 * edge + 10 * speckle(x, y, 9)
    }
    static let paper = make { x, y in 128 + 5 * speckle(x, y, 10) }
    static let wood = make { x, y in
        128 + 22 * smooth(x, y, cells: (32, 2), 11) + 8 * speckle(x, y, 12)
    }

    private static func make(_ value: (Int, Int) -> Float) -> Grain {
        let side = 1 << sizeLog
        var samples = [UInt8](repeating: 128, count: side * side)
        for y in 0..<side {
            for x in 0..<side { samples[y * side + x] = UInt8(max(0, min(255, value(x, y)))) }
        }
        return Grain(samples: samples, sizeLog: sizeLog)
    }

    /// White noise, -1...1.
    private static func speckle(_ x: Int, _ y: Int, _ seed: UInt64) -> Float {
        var random = SplitMix64(seed: seed &* 7919 &+ UInt64(y << sizeLog | x))
        return random.next() * 2 - 1
    }

    /// Value noise with the given number of cells across and down, which tiles without a seam; -1...1.
    private static func smooth(_ x: Int, _ y: Int, cells: (x: Int, y: Int), _ seed: UInt64) -> Float {
        let (u, v) = (Float(x) / samples * Float(cells.x), Float(y) / samples * Float(cells.y))
        let (i, j) = (Int(u), Int(v))
        let f = SIMD2(u - Float(i), v - Float(j))
        let s = f * f * (SIMD2(3, 3) - f * 2)
        func value(_ i: Int, _ j: Int) -> Float { speckle(i % cells.x, j % cells.y, seed) }
        let upper = value(i, j) + (value(i + 1, j) - value(i, j)) * s.x
        let lower = value(i, j + 1) + (value(i + 1, j + 1) - value(i, j + 1)) * s.x
        return upper + (lower - upper) * s.y
    }
}
