import Frames

/// The pixels of the hands before one head, kept while masks are drawn, and laid over them afterwards.
struct HandPixels: ~Copyable {
    /// The pixels around the hand, as they were and with masks.
    private var pixels = LayerBuffer()
    private var drawn = LayerBuffer()
    /// What is kept; nil: nothing.
    private var kept: Kept?
    /// How much of each cell the hand covers, and the hand with its fringe, 0...1, both smoothed.
    private var cover = Array(repeating: SIMD2<Float>.zero, count: CellSet.columns * CellSet.rows)

    /// The coverage of cells at which a pixel begins to belong to the hand, or to its fringe, and how fast it rises.
    private static let (onset, slope): (SIMD2<Float>, SIMD2<Float>) = ([0.35, 0.2], [1 / 0.3, 1 / 0.4])
    /// Pixels of a row that are looked at together.
    private static let run = 8

    /// A hand, and the colour of its skin.
    private struct Kept {
        /// The cells that are entirely the hand's, and those outside of which nothing is.
        let whole, around: CellSet
        let grid: HeadGrid
        let skin: SkinKey
    }

    /// Copies the hand of a face from the frame.
    mutating func keep(_ hands: borrowing HandSegmenter, of frame: borrowing Frame) {
        kept = nil
        let (hand, fringe) = (hands.hand, hands.fringe)
        guard !hand.isEmpty else { return }
        let all = hand.union(fringe)
        let around = all.dilated()
        guard let box = Self.box(of: around, hands.grid), pixels.copyPixels(box, of: frame) else { return }
        Self.smooth(hand, all, into: &cover)
        kept = Kept(whole: hand.eroded(), around: around, grid: hands.grid, skin: hands.skin)
    }

    /// Lays the hand over what was drawn on the frame since it was kept.
    mutating func restore(onto frame: inout Frame) {
        guard let kept = kept.take(), drawn.copyPixels(pixels.region, of: frame) else { return }
        Self.cut(&pixels, drawn, kept, cover, frame.layout.range)
        compositeLayer(pixels, Paint(), onto: &frame)
    }

    /// Makes transparent what is no part of the hand, and what nothing was drawn over: most hands are beside a face.
    private static func cut(
        _ pixels: inout LayerBuffer, _ drawn: borrowing LayerBuffer, _ hand: Kept, _ cover: [SIMD2<Float>],
        _ range: ColorRange
    ) {
        let (piece, stride) = (pixels.region, pixels.stride)
        let (scale, black) = (255 / Float(range.lumaSpan), Float(range.black))
        let chromaScale = 255 / Float(range.chromaSpan)
        var target = pixels.pixels
        let (cover, now, grid) = (cover.span, drawn.readPixels, hand.grid)
        let origin = grid.position(of: Point(Float(piece.x), Float(piece.y)))
        let across = grid.position(of: Point(Float(piece.x + 1), Float(piece.y))) - origin
        let down = grid.position(of: Point(Float(piece.x), Float(piece.y + 1))) - origin
        for y in 0..<piece.height {
            for start in Swift.stride(from: 0, to: piece.width, by: run) {
                let end = min(start + run, piece.width)
                let isSame = (start..<end).allSatisfy { target[y * stride + $0] == now[y * stride + $0] }
                if isSame {
                    for x in start..<end { target[y * stride + x] = 0 }
                    continue
                }
                let first = origin + across * Float(start) + down * Float(y)
                let cells = CellRange(first, first + across * Float(end - start - 1))
                if cells.isWithin(hand.whole) { continue }
                guard cells.intersects(hand.around) else {
                    for x in start..<end { target[y * stride + x] = 0 }
                    continue
                }
                for x in start..<end {
                    let pixel = target[y * stride + x]
                    let parts = (value(cover, at: first + across * Float(x - start)) - onset) * slope
                    var part = parts.x
                    if part < 1, parts.y > 0 {
                        let luma = (Float(pixel & 255) - black) * scale
                        let chroma = (SIMD2(Float(pixel >> 8 & 255), Float(pixel >> 16 & 255)) - 128) * chromaScale
                        part = max(part, min(1, parts.y) * hand.skin.likelihood(luma, chroma))
                    }
                    target[y * stride + x] = faded(pixel, UInt32(max(0, min(1, part)) * 256))
                }
            }
        }
    }

    /// The value between the middles of cells; 0 outside of the grid.
    @inline(__always)
    private static func value(_ cells: Span<SIMD2<Float>>, at p: SIMD2<Float>) -> SIMD2<Float> {
        guard p.x >= 0, p.y >= 0, p.x < Float(CellSet.columns - 1), p.y < Float(CellSet.rows - 1) else { return .zero }
        let (x, y) = (Int(p.x), Int(p.y))
        let (u, v, i) = (p.x - Float(x), p.y - Float(y), y * CellSet.columns + x)
        let upper = cells[i] + (cells[i + 1] - cells[i]) * u
        let lower = cells[i + CellSet.columns] + (cells[i + CellSet.columns + 1] - cells[i + CellSet.columns]) * u
        return upper + (lower - upper) * v
    }

    /// Blurs two sets by 1 2 1 across and down.
    private static func smooth(_ first: CellSet, _ second: CellSet, into cells: inout [SIMD2<Float>]) {
        /// The sum of the bits around a cell, in sixteenths of its blurred value.
        func sum(_ set: CellSet, _ x: Int, _ y: Int) -> Int {
            func row(_ y: Int) -> Int {
                let around = Int((set[y] << 1) >> UInt64(x) & 7)
                return (around & 1) + (around & 2) + (around >> 2)
            }
            return 2 * row(y) + (y > 0 ? row(y - 1) : 0) + (y + 1 < CellSet.rows ? row(y + 1) : 0)
        }
        for y in 0..<CellSet.rows {
            let rows = max(0, y - 1)...min(CellSet.rows - 1, y + 1)
            guard rows.contains(where: { second[$0] != 0 }) else {
                for x in 0..<CellSet.columns { cells[y * CellSet.columns + x] = .zero }
                continue
            }
            for x in 0..<CellSet.columns {
                cells[y * CellSet.columns + x] = SIMD2(Float(sum(first, x, y)), Float(sum(second, x, y))) / 16
            }
        }
    }

    /// The upright box around cells, pixels; nil if it is nowhere.
    private static func box(of cells: CellSet, _ grid: HeadGrid) -> PixelRect? {
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for y in 0..<CellSet.rows where cells[y] != 0 {
            let first = grid.point(cells[y].trailingZeroBitCount, y)
            let last = grid.point(63 - cells[y].leadingZeroBitCount, y)
            low = pointwiseMin(low, pointwiseMin(first, last))
            high = pointwiseMax(high, pointwiseMax(first, last))
        }
        return PixelRect(covering: low - grid.cell, high + grid.cell)
    }
}

/// The cells that a line of the picture crosses, as a block.
private struct CellRange {
    private let columns: UInt64
    private let rows: ClosedRange<Int>
    private let isInGrid: Bool

    init(_ from: SIMD2<Float>, _ to: SIMD2<Float>) {
        let (left, right) = (
            Int((min(from.x, to.x) + 0.5).rounded(.down)), Int((max(from.x, to.x) + 0.5).rounded(.down))
        )
        let (top, bottom) = (
            Int((min(from.y, to.y) + 0.5).rounded(.down)), Int((max(from.y, to.y) + 0.5).rounded(.down))
        )
        isInGrid = left >= 0 && top >= 0 && right < CellSet.columns && bottom < CellSet.rows
        let (low, high) = (max(0, left), min(CellSet.columns - 1, right))
        columns = low <= high ? (UInt64(1) << UInt64(high - low + 1) - 1) << UInt64(low) : 0
        rows = max(0, min(top, CellSet.rows - 1))...max(0, min(bottom, CellSet.rows - 1))
    }

    func isWithin(_ set: CellSet) -> Bool { isInGrid && rows.allSatisfy { set[$0] & columns == columns } }

    func intersects(_ set: CellSet) -> Bool { rows.contains { set[$0] & columns != 0 } }
}
