import Frames

/// The pixels of the hands before one head, kept while masks are drawn, and laid over them afterwards.
struct HandPixels: ~Copyable {
    /// The pixels of the hand, and those within `reach` of it, as they were; and one of both with masks.
    private var pixels = LayerBuffer()
    private var wide = LayerBuffer()
    private var drawn = LayerBuffer()
    /// What is kept; nil: nothing.
    private var kept: Kept?
    /// The middle of each cell before masks were drawn: luma and chroma, as `PixelReader` reads them.
    private var before = Array(repeating: SIMD3<Float>.zero, count: CellSet.columns * CellSet.rows)
    /// How much of each cell the hand covers, and the hand with its fringe, 0...1, both smoothed.
    private var cover = Array(repeating: SIMD2<Float>.zero, count: CellSet.columns * CellSet.rows)

    /// The coverage of cells at which a pixel begins to belong to the hand, or to its fringe, and how fast it rises.
    private static let (onset, slope): (SIMD2<Float>, SIMD2<Float>) = ([0.35, 0.2], [1 / 0.3, 1 / 0.4])
    /// Pixels of a row that are looked at together.
    private static let run = 8

    /// Cells around a hand in which what it cuts off from a mask is left out too: one eye distance.
    private static let reach = 8

    /// A hand, and the colour of its skin.
    private struct Kept {
        let hand, fringe: CellSet
        /// The cells within `reach`.
        let near: CellSet
        let grid: HeadGrid
        let skin: SkinKey
    }

    /// Copies the hand of a face from the frame, and what is around it.
    mutating func keep(_ hands: borrowing HandSegmenter, of frame: borrowing Frame) {
        kept = nil
        let (hand, fringe) = (hands.hand, hands.fringe)
        guard !hand.isEmpty else { return }
        let all = hand.union(fringe).dilated()
        let near = (0..<Self.reach).reduce(all) { cells, _ in cells.dilated() }
        guard let box = Self.box(of: all, hands.grid), let wideBox = Self.box(of: near, hands.grid),
            pixels.copyPixels(box, of: frame), wide.copyPixels(wideBox, of: frame)
        else { return }
        let reader = PixelReader(frame.view)
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                if let now = Self.middle(x, y, hands.grid, reader) { before[y * CellSet.columns + x] = now }
            }
        }
        kept = Kept(hand: hand, fringe: fringe, near: near, grid: hands.grid, skin: hands.skin)
    }

    /// Lays the hand over what was drawn on the frame since it was kept.
    mutating func restore(onto frame: inout Frame) {
        guard let kept = kept.take() else { return }
        var scraps = CellSet()
        if !Self.art(on: frame, kept.grid, before, within: kept.hand).isEmpty {
            let art = Self.art(on: frame, kept.grid, before)
            // The edge of what is left out is half a cell beside it.
            scraps = art.scraps(behind: kept.hand).intersection(kept.near.eroded()).dilated()
        }
        if !scraps.isEmpty { swap(&pixels, &wide) }
        guard drawn.copyPixels(pixels.region, of: frame) else { return }
        let hand = kept.hand.union(scraps)
        let all = hand.union(kept.fringe)
        Self.smooth(hand, all, into: &cover)
        Self.cut(&pixels, drawn, whole: hand.eroded(), around: all.dilated(), cover, kept, frame.layout.range)
        compositeLayer(pixels, Paint(), onto: &frame)
    }

    /// The middle of a cell; nil outside of the frame.
    private static func middle(_ x: Int, _ y: Int, _ grid: HeadGrid, _ pixels: borrowing PixelReader) -> SIMD3<Float>? {
        let point = grid.point(x, y)
        guard pixels.contains(point) else { return nil }
        let (luma, chroma) = pixels[Int(point.x), Int(point.y)]
        return SIMD3(Float(luma), chroma.x, chroma.y)
    }

    /// The change of a pixel, in levels, from which on something is drawn there; less may be a fine shade.
    private static let visible: Float = 20
    /// A shadow: the least part of the luma that it leaves, and the most by which it changes the chroma, in levels.
    private static let (shade, tint): (Float, Float) = (0.45, 10)

    /// The cells over which something was drawn, without those that only have a shadow.
    /// - Parameter looked: the cells that are looked at; nil: all.
    private static func art(
        on frame: borrowing Frame, _ grid: HeadGrid, _ before: borrowing [SIMD3<Float>], within looked: CellSet? = nil
    ) -> CellSet {
        let reader = PixelReader(frame.view)
        var cells = CellSet()
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                if let looked, !looked.contains(x, y) { continue }
                guard let now = middle(x, y, grid, reader) else { continue }
                let was = before[y * CellSet.columns + x]
                let (luma, chroma) = (now.x - was.x, max(abs(now.y - was.y), abs(now.z - was.z)))
                let isShadow = luma < 0 && now.x > shade * was.x && chroma < tint
                if abs(luma) + chroma > visible && !isShadow { cells.insert(x, y) }
            }
        }
        return cells
    }

    /// Makes transparent what is no part of the hand, and what nothing was drawn over: most hands are beside a face.
    /// - Parameters:
    ///   - whole: the cells that are entirely the hand's.
    ///   - around: the cells outside of which nothing is.
    private static func cut(
        _ pixels: inout LayerBuffer, _ drawn: borrowing LayerBuffer, whole: CellSet, around: CellSet,
        _ cover: [SIMD2<Float>], _ hand: Kept, _ range: ColorRange
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
                let first = origin + across * Float(start) + down * Float(y)
                let cells = isSame ? nil : CellRange(first, first + across * Float(end - start - 1))
                if cells?.isWithin(whole) == true { continue }
                guard let cells, cells.intersects(around) else {
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

extension CellSet {
    /// The most cells of a scrap, as a part of those of the largest piece that is visible.
    private static let scrap: Float = 0.25

    /// What a hand cuts off from something that is drawn: small pieces that are connected to the largest one
    /// behind the hand alone. They look like litter.
    func scraps(behind hand: CellSet) -> CellSet {
        // Cells are coarse: a piece may hang together by one beside the hand, or end one beside it.
        let near = hand.dilated()
        let connected = union(closed(by: 1).intersection(near))
        // What the hand does not touch is not looked at.
        let open = connected.intersection(near).grown(within: connected).intersection(self).subtracting(near)
        var (largest, scraps) = (CellSet(), CellSet())
        open.forEachPart { if $0.count > largest.count { largest = $0 } }
        let most = Int(Self.scrap * Float(largest.count))
        open.forEachPart { part in
            if part.count < most, part.grown(within: connected).meets(largest) { scraps = scraps.union(part) }
        }
        return scraps
    }

    private func meets(_ other: CellSet) -> Bool { !intersection(other).isEmpty }
}
