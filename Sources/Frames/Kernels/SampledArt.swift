import CLinux
import SystemKit

/// Premultiplied words, lent.
@safe struct SampledArt {
    let pixels: UnsafePointer<UInt32>
    let width: Int
    let height: Int
    /// Words from one row to the next.
    let stride: Int
    /// Of each of its `ArtBlocks`; nil: all of it is art.
    private let isNearArt: UnsafePointer<Bool>?
    private let blocksAcross: Int

    init(
        _ pixels: UnsafePointer<UInt32>, width: Int, height: Int, stride: Int, isNearArt: UnsafePointer<Bool>?,
        _ blocks: ArtBlocks = .sprite
    ) {
        unsafe (self.pixels, self.isNearArt) = (pixels, isNearArt)
        (self.width, self.height, self.stride, blocksAcross) = (width, height, stride, blocks.count(width))
    }

    /// Whether it has the pixel at this place, with 16 bits behind the point, and those to its right and below.
    @inline(__always)
    func contains(_ u: Int, _ v: Int) -> Bool {
        u >= 0 && v >= 0 && u < (width &- 1) << ArtLine.fraction && v < (height &- 1) << ArtLine.fraction
    }

    /// Whether a block, or one of those round it, holds any art.
    @inline(__always)
    func isNearArt(column: Int, row: Int) -> Bool {
        guard let isNearArt = unsafe isNearArt else { return true }
        return unsafe isNearArt[row &* blocksAcross &+ column]
    }

    /// Asks for all lines of the stamp's art at once. Between two frames their copies drive it out of the caches, and who
    /// samples along a slanted line waits for each of its lines in turn: make-up costs 0.86 to 0.95 of what it did.
    func prefetch() {
        let shift = ArtBlocks.sprite.shift
        for y in 0..<height {
            let row = unsafe pixels + y * stride
            for block in 0..<blocksAcross where isNearArt(column: block, row: y >> shift) {
                unsafe clinux_touch(row + (block << shift))
            }
        }
    }
}

/// Pictures in square blocks.
struct ArtBlocks {
    /// Of a block's side, pixels, as a power of two.
    let shift: Int

    /// For stamps: half a run of theirs reaches no further than the next block.
    static let sprite = ArtBlocks(shift: 4)

    /// Blocks that so many pixels touch.
    func count(_ pixels: Int) -> Int { (pixels + 1 << shift - 1) >> shift }

    /// Says of each block whether it or one of those round it holds any art, row by row.
    /// - Parameters:
    ///   - words: premultiplied, row by row.
    ///   - stride: words from one row to the next.
    ///   - isNear: keeps its memory.
    func mark(_ words: Span<UInt32>, width: Int, height: Int, stride: Int, into isNear: inout [Bool]) {
        let (across, down) = (count(width), count(height))
        if isNear.count < across * down { isNear = Array(repeating: false, count: across * down) }
        for i in isNear.indices { isNear[i] = false }
        for by in 0..<down {
            let rows = by << shift..<min(height, (by + 1) << shift)
            for bx in 0..<across {
                let columns = bx << shift..<min(width, (bx + 1) << shift)
                guard holdsArt(words, columns, rows, stride: stride) else { continue }
                for y in max(0, by - 1)...min(down - 1, by + 1) {
                    for x in max(0, bx - 1)...min(across - 1, bx + 1) { isNear[y * across + x] = true }
                }
            }
        }
    }

    private func holdsArt(_ words: Span<UInt32>, _ columns: Range<Int>, _ rows: Range<Int>, stride: Int) -> Bool {
        unsafe words.withUnsafeBufferPointer { words in
            guard let base = words.baseAddress else { return false }
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
