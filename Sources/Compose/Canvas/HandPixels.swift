import Frames

/// The pixels of the hands before one head, kept while masks are drawn, and laid over them afterwards.
struct HandPixels: ~Copyable {
    private var pixels = LayerBuffer()
    private var isKept = false
    /// How much of each cell the hand covers, and the hand with its fringe, 0...1, each smoothed.
    private var (sure, possible) = (
        Array(repeating: Float(0), count: CellSet.columns * CellSet.rows),
        Array(repeating: Float(0), count: CellSet.columns * CellSet.rows)
    )

    /// The coverage of cells at which a pixel begins to belong to the hand, and from which on it does.
    private static let (sureEdge, possibleEdge): (SIMD2<Float>, SIMD2<Float>) = ([0.35, 0.65], [0.2, 0.6])

    /// Copies the hand of a face from the frame.
    mutating func keep(_ hands: borrowing HandSegmenter, of frame: borrowing Frame) {
        isKept = false
        let (hand, fringe) = (hands.hand, hands.fringe)
        guard !hand.isEmpty else { return }
        let all = hand.union(fringe)
        guard pixels.copyPixels(Self.box(of: all.dilated(), hands.grid), of: frame) else { return }
        Self.smooth(hand, into: &sure)
        Self.smooth(all, into: &possible)
        Self.cut(&pixels, sure, possible, hands.grid, hands.skin, frame.layout.range)
        isKept = true
    }

    /// Lays the hand over what was drawn on the frame since it was kept.
    mutating func restore(onto frame: inout Frame) {
        if isKept { compositeLayer(pixels, Paint(), onto: &frame) }
        isKept = false
    }

    /// Makes transparent what is no part of the hand.
    private static func cut(
        _ pixels: inout LayerBuffer, _ sure: [Float], _ possible: [Float], _ grid: HeadGrid, _ skin: SkinKey,
        _ range: ColorRange
    ) {
        let (piece, stride) = (pixels.region, pixels.stride)
        let (scale, black) = (255 / Float(range.lumaSpan), Float(range.black))
        let chromaScale = 255 / Float(range.chromaSpan)
        var target = pixels.pixels
        let origin = grid.position(of: Point(Float(piece.x), Float(piece.y)))
        let across = grid.position(of: Point(Float(piece.x + 1), Float(piece.y))) - origin
        let down = grid.position(of: Point(Float(piece.x), Float(piece.y + 1))) - origin
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let place = origin + across * Float(x) + down * Float(y)
                let i = y * stride + x
                let near = ramp(value(possible.span, at: place), possibleEdge)
                guard near > 0 else {
                    target[i] = 0
                    continue
                }
                var part = ramp(value(sure.span, at: place), sureEdge)
                if part < near {
                    let pixel = target[i]
                    let luma = (Float(pixel & 255) - black) * scale
                    let chroma = (SIMD2(Float(pixel >> 8 & 255), Float(pixel >> 16 & 255)) - 128) * chromaScale
                    part = max(part, near * skin.likelihood(luma, chroma))
                }
                target[i] = faded(target[i], UInt32(part * 256))
            }
        }
    }

    private static func ramp(_ value: Float, _ edge: SIMD2<Float>) -> Float {
        max(0, min(1, (value - edge.x) / (edge.y - edge.x)))
    }

    /// The value between the middles of cells; 0 outside of the grid.
    @inline(__always)
    private static func value(_ cells: Span<Float>, at p: SIMD2<Float>) -> Float {
        guard p.x >= 0, p.y >= 0, p.x < Float(CellSet.columns - 1), p.y < Float(CellSet.rows - 1) else { return 0 }
        let (x, y) = (Int(p.x), Int(p.y))
        let (u, v, i) = (p.x - Float(x), p.y - Float(y), y * CellSet.columns + x)
        let upper = cells[i] + (cells[i + 1] - cells[i]) * u
        let lower = cells[i + CellSet.columns] + (cells[i + CellSet.columns + 1] - cells[i + CellSet.columns]) * u
        return upper + (lower - upper) * v
    }

    /// Blurs a set by 1 2 1 across and down.
    private static func smooth(_ set: CellSet, into cells: inout [Float]) {
        for y in 0..<CellSet.rows {
            let rows = [y > 0 ? set[y - 1] : 0, set[y], y + 1 < CellSet.rows ? set[y + 1] : 0] as [3 of UInt64]
            for x in 0..<CellSet.columns {
                var sum = 0
                for row in 0..<3 {
                    let around = Int((rows[row] << 1) >> UInt64(x) & 7)
                    sum += (row == 1 ? 2 : 1) * ((around & 1) + (around & 2) + (around >> 2))
                }
                cells[y * CellSet.columns + x] = Float(sum) / 16
            }
        }
    }

    /// The upright box around cells, pixels.
    private static func box(of cells: CellSet, _ grid: HeadGrid) -> PixelRect {
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for y in 0..<CellSet.rows where cells[y] != 0 {
            for isLast in [false, true] {
                let p = grid.point(isLast ? 63 - cells[y].leadingZeroBitCount : cells[y].trailingZeroBitCount, y)
                low = Point(min(low.x, p.x), min(low.y, p.y))
                high = Point(max(high.x, p.x), max(high.y, p.y))
            }
        }
        let edge: Float = 100_000  // keeps Int conversions defined
        func whole(_ value: Float) -> Int { Int(max(-edge, min(edge, value))) }
        let (left, top) = (whole(low.x - grid.cell), whole(low.y - grid.cell))
        return PixelRect(
            x: left, y: top, width: whole(high.x + grid.cell) - left + 1, height: whole(high.y + grid.cell) - top + 1)
    }
}
