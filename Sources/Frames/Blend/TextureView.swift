import CLinux
import SystemKit

/// A borrowed picture of premultiplied pixels that is sampled.
@safe struct TextureView {
    let pixels: UnsafePointer<UInt32>
    let width: Int
    let height: Int
    /// Pixels from one row to the next.
    let stride: Int
    /// For each of the `OccupancyGrid`, whether it or a neighbour contains art; nil: all do.
    private let isNearArt: UnsafePointer<Bool>?
    private let blocksAcross: Int

    init(
        _ pixels: UnsafePointer<UInt32>, width: Int, height: Int, stride: Int, isNearArt: UnsafePointer<Bool>?,
        _ blocks: OccupancyGrid = .sprite
    ) {
        unsafe (self.pixels, self.isNearArt) = (pixels, isNearArt)
        (self.width, self.height, self.stride, blocksAcross) = (width, height, stride, blocks.count(width))
    }

    /// Whether the picture contains the pixel at a fixed-point position (16 fraction bits) and those to its right and
    /// below.
    @inline(__always)
    func contains(_ u: Int, _ v: Int) -> Bool {
        u >= 0 && v >= 0 && u < (width &- 1) << LineSampler.fraction && v < (height &- 1) << LineSampler.fraction
    }

    /// Whether a block or one of its neighbours contains art.
    @inline(__always)
    func isNearArt(column: Int, row: Int) -> Bool {
        guard let isNearArt = unsafe isNearArt else { return true }
        return unsafe isNearArt[row &* blocksAcross &+ column]
    }

    /// Prefetches all cache lines of the sprite's art.
    ///
    /// Between two frames, copies of the frames evict them, and sampling along a slanted line would wait for each cache
    /// line in turn. Make-up takes 0.86 to 0.95 of the time without this.
    func prefetch() {
        let shift = OccupancyGrid.sprite.shift
        for y in 0..<height {
            let row = unsafe pixels + y * stride
            for block in 0..<blocksAcross where isNearArt(column: block, row: y >> shift) {
                unsafe clinux_touch(row + (block << shift))
            }
        }
    }
}

/// A division of pictures into square blocks.
struct OccupancyGrid {
    /// The side of a block in pixels, as a power of two.
    let shift: Int

    /// Blocks for sprites: half a run reaches no further than the next block.
    static let sprite = OccupancyGrid(shift: 4)

    /// The number of blocks along a side of the given pixels.
    func count(_ pixels: Int) -> Int { (pixels + 1 << shift - 1) >> shift }

    /// Marks each block that contains art or is adjacent to one that does, row by row.
    /// - Parameters:
    ///   - pixels: premultiplied, row by row.
    ///   - stride: pixels from one row to the next.
    ///   - isNear: the result; its memory is reused.
    func mark(_ pixels: Span<UInt32>, width: Int, height: Int, stride: Int, into isNear: inout [Bool]) {
        let (across, down) = (count(width), count(height))
        let blocks = across * down
        // A quarter more, so that an approaching face doesn't cause an allocation in every frame.
        if isNear.count < blocks { isNear = Array(repeating: false, count: blocks + blocks / 4) }
        for i in isNear.indices { isNear[i] = false }
        for by in 0..<down {
            let rows = by << shift..<min(height, (by + 1) << shift)
            for bx in 0..<across {
                let columns = bx << shift..<min(width, (bx + 1) << shift)
                guard containsArt(pixels, columns, rows, stride: stride) else { continue }
                for y in max(0, by - 1)...min(down - 1, by + 1) {
                    for x in max(0, bx - 1)...min(across - 1, bx + 1) { isNear[y * across + x] = true }
                }
            }
        }
    }

    private func containsArt(_ pixels: Span<UInt32>, _ columns: Range<Int>, _ rows: Range<Int>, stride: Int) -> Bool {
        unsafe pixels.withUnsafeBufferPointer { pixels in
            guard let base = pixels.baseAddress else { return false }
            var all: UInt32 = 0
            if columns.count == 8 {
                var each = SIMD8<UInt32>()
                for y in rows {
                    each |= unsafe UnsafeRawPointer(base + (y &* stride &+ columns.lowerBound)).loadUnaligned(
                        as: SIMD8<UInt32>.self)
                }
                return each != .zero
            }
            for y in rows {
                for x in columns { all |= unsafe base[y &* stride &+ x] }
                if all != 0 { return true }
            }
            return false
        }
    }
}
