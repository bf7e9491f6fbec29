import COutline
import Frames

/// Lays backgrounds behind people. Works on the outline's cells, and at the frame's size only where the person is not.
/// Once warm, nothing allocates.
public struct BackgroundPainter: ~Copyable {
    /// The background as cells, samples times `unit`: Y, U and V, one after the other.
    private var back = VectorBuffer<Int16>(count: 0)
    /// The gradient that `back` holds; nil if it holds something else.
    private var gradient: (start: SIMD3<Float>, end: SIMD3<Float>)?
    /// The room's own colour beside the person, in the same form, for backgrounds that replace it.
    private var room = VectorBuffer<Int16>(count: 0)
    private var weights = VectorBuffer<Float>(count: 0)
    private var weighted = VectorBuffer<Float>(count: 0)
    private var scratch = VectorBuffer<Float>(count: 0)
    /// A disc's columns: cells above and below the middle, and what the next ones count, if not nothing.
    private var spans: [Int32] = []
    private var parts: [Float] = []
    /// Rows of cells at the frame's width: for each plane of the background those with even and with odd numbers, then
    /// for each plane of the room those above and below.
    private var lines = VectorBuffer<Int16>(count: 0)
    /// Rows of samples: for each plane those of the frame, the background, the room; then two of the matte.
    private var samples: [UInt8] = []
    /// The length of each of these rows, with a margin for vectors.
    private var length = 0

    private static let unit = Float(1 << coutline_fraction)
    /// The largest radius of a disc, in cells.
    private static let maxRadius = 40
    /// The radius within which the room's colour beside the person is measured, relative to the picture's height:
    /// somewhat more than the edge is wide.
    private static let roomRadius: Float = 0.035
    /// Bright points become bright discs: from this luma on cells weigh more, at white `shine` times more.
    private static let (bright, shine): (Float, Float) = (170, 6)
    /// The weight of cells that the person covers. It only matters where there are no others.
    private static let covered: Float = 1e-4

    /// Starts without memory.
    public init() {}

    /// Draws a background behind the people; over the whole picture if the outline is not that of this frame.
    /// - Parameters:
    ///   - outline: was updated with this frame.
    ///   - opacity: the background's, for backgrounds that do not hide the room; others are always opaque.
    public mutating func draw(
        _ background: Background, opacity: Float = 1, behind outline: inout OutlineTracker, onto frame: inout Frame
    ) {
        unsafe draw(.background(background), opacity, &outline, &frame)
    }

    /// Draws a picture behind the people in the same way, such as one of a moving background.
    /// - Parameter picture: has the frame's layout.
    public mutating func draw(
        _ picture: borrowing Frame, behind outline: inout OutlineTracker, onto frame: inout Frame
    ) {
        precondition(picture.layout == frame.layout, "the frames have different layouts")
        unsafe picture.bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            unsafe draw(.frame(base), 1, &outline, &frame)
        }
    }

    @unsafe private mutating func draw(
        _ content: Content, _ opacity: Float, _ outline: inout OutlineTracker, _ frame: inout Frame
    ) {
        let kernels = unsafe coutline_kernels(coutline_is_wide())
        outline.withCells { cells, outline in
            prepare(frame.layout.width)
            switch unsafe content {
            case .background(.blur(let radius)):
                gradient = nil
                unsafe blur(
                    &cells, outline, radius, isCoarse: content.isCoarse, isShining: true, into: back.base, kernels)
            case .background(.gradient(let start, let end)): fill(start, end)
            case .background(.picture), .background(.adjusted), .frame: break
            }
            if unsafe content.replacesRoom, outline.isFresh {
                unsafe blur(
                    &cells, outline, Self.roomRadius, isCoarse: false, isShining: false, into: room.base, kernels)
            }
            unsafe paint(content, opacity, &cells, outline, &frame, kernels)
        }
    }

    /// Lays people in front of what was drawn on a frame since. Without the outline of this frame, nothing is laid.
    /// - Parameter before: the frame with the people, of the same layout.
    public mutating func restore(
        _ before: borrowing Frame, in outline: inout OutlineTracker, onto frame: inout Frame
    ) {
        precondition(before.layout == frame.layout, "the frames have different layouts")
        guard outline.isFresh else { return }
        let kernels = unsafe coutline_kernels(coutline_is_wide())
        outline.withCells { cells, outline in
            prepare(frame.layout.width)
            let length = length
            var bytes = frame.mutableBytes
            unsafe bytes.withUnsafeMutableBufferPointer { bytes in
                unsafe before.bytes.withUnsafeBufferPointer { before in
                    unsafe samples.withUnsafeMutableBufferPointer { samples in
                        guard let bytes = bytes.baseAddress, let before = before.baseAddress,
                            let samples = samples.baseAddress
                        else { return }
                        let overlay = unsafe PeopleOverlay(
                            kernels: kernels, layout: cells.layout, before: before, bytes: bytes,
                            matte: outline.matte.base, samples: samples, length: length)
                        unsafe overlay.draw(outline.contents, cells)
                    }
                }
            }
        }
    }

    /// Frees all memory, because no mask has a background.
    public mutating func release() {
        guard length > 0 else { return }
        self = BackgroundPainter()
    }

    private mutating func prepare(_ width: Int) {
        if back.count == 0 {
            back = VectorBuffer<Int16>(count: 3 * DownsampledFrame.count)
            room = VectorBuffer<Int16>(count: 3 * DownsampledFrame.count)
            weights = VectorBuffer<Float>(count: DownsampledFrame.count)
            weighted = VectorBuffer<Float>(count: DownsampledFrame.count)
            let (columns, rows) = (DownsampledFrame.columns, DownsampledFrame.rows)
            scratch = VectorBuffer<Float>(
                count: 2 * DownsampledFrame.count + (rows + 2 * Self.maxRadius + 1) * (columns + 2 * Self.maxRadius))
            spans.reserveCapacity(2 * Self.maxRadius + 1)
            parts.reserveCapacity(2 * Self.maxRadius + 1)
        }
        guard length != width + 64 else { return }
        length = width + 64
        lines = VectorBuffer<Int16>(count: 12 * length)
        samples = Array(repeating: 0, count: 12 * length)
    }

    /// Fills the background's cells with a gradient, unless they hold it already.
    private mutating func fill(_ start: SIMD3<Float>, _ end: SIMD3<Float>) {
        guard gradient?.start != start || gradient?.end != end else { return }
        gradient = (start, end)
        let (columns, rows) = (DownsampledFrame.columns, DownsampledFrame.rows)
        for row in 0..<rows {
            for column in 0..<columns {
                let fraction = (Float(column) / Float(columns - 1) + Float(row) / Float(rows - 1)) / 2
                let color = (start + (end - start) * fraction) * Self.unit + 0.5
                let i = row * columns + column
                for plane in 0..<3 { unsafe back.base[plane * DownsampledFrame.count + i] = Int16(color[plane]) }
            }
        }
    }

    /// Blurs the room's cells by discs, without the person: each cell counts as much as it shows of the room.
    /// - Parameters:
    ///   - radius: relative to the picture's height.
    ///   - isCoarse: whether the result has half as many cells across and down.
    @unsafe private mutating func blur(
        _ cells: inout DownsampledFrame, _ outline: borrowing OutlineTracker, _ radius: Float, isCoarse: Bool,
        isShining: Bool, into result: UnsafeMutablePointer<Int16>, _ kernels: UnsafePointer<coutline_kernels>
    ) {
        let size = isCoarse ? 2 : 1
        let (columns, rows) = (DownsampledFrame.columns / size, DownsampledFrame.rows / size)
        let count = columns * rows
        let aspect = Float(cells.layout.height) / Float(cells.layout.width)
        let radii = radius * SIMD2(Float(DownsampledFrame.columns) * aspect, Float(DownsampledFrame.rows))
        let reach = makeDisc(
            radii.clamped(lowerBound: .one, upperBound: SIMD2(repeating: Float(Self.maxRadius))), isCoarse: isCoarse)
        let tallest = (spans.max() ?? 0) + (isCoarse ? 1 : 0)
        let (totals, sums, memory) = unsafe (scratch.base, scratch.base + count, scratch.base + 2 * count)
        let (weights, weighted) = unsafe (weights.base, weighted.base)
        let luma = unsafe cells.y.base
        unsafe outline.withCoefficients { a, b in
            unsafe kernels.pointee.weigh(
                luma, outline.isFresh ? a : nil, outline.isFresh ? b : nil, DownsampledFrame.count, Self.covered,
                Self.bright, isShining ? Self.shine : 0, weights)
        }
        func reduce(_ cells: UnsafePointer<Float>, _ factors: UnsafePointer<Float>?) -> UnsafePointer<Float> {
            if isCoarse {
                unsafe kernels.pointee.pool(
                    cells, factors, CInt(DownsampledFrame.columns), CInt(DownsampledFrame.rows), weighted)
            } else if let factors = unsafe factors {
                unsafe kernels.pointee.multiply(cells, factors, count, weighted)
            } else {
                return unsafe cells
            }
            return unsafe UnsafePointer(weighted)
        }
        unsafe spans.withUnsafeBufferPointer { spans in
            unsafe parts.withUnsafeBufferPointer { parts in
                guard let spans = spans.baseAddress else { return }
                func sum(_ cells: UnsafePointer<Float>, _ out: UnsafeMutablePointer<Float>) {
                    unsafe kernels.pointee.disc(
                        cells, CInt(columns), CInt(rows), CInt(reach), spans, isCoarse ? parts.baseAddress : nil,
                        tallest, out, memory)
                }
                unsafe sum(reduce(weights, nil), totals)
                for plane in 0..<3 {
                    let from = unsafe plane == 0 ? cells.y.base : plane == 1 ? cells.u.base : cells.v.base
                    unsafe sum(reduce(from, weights), sums)
                    unsafe kernels.pointee.divide(sums, totals, count, result + plane * DownsampledFrame.count)
                }
            }
        }
    }

    /// Makes the columns of a disc.
    /// - Parameters:
    ///   - radii: across and down, in the outline's cells.
    ///   - isCoarse: whether the disc has half as many cells. Then it is smoothed, so that it stays round.
    /// - Returns: the columns on each side of the middle.
    private mutating func makeDisc(_ radii: SIMD2<Float>, isCoarse: Bool) -> Int {
        spans.removeAll(keepingCapacity: true)
        parts.removeAll(keepingCapacity: true)
        func height(_ x: Float, _ across: Float) -> Float {
            let part = x / across
            return max(0, 1 - part * part).squareRoot()
        }
        guard isCoarse else {
            let reach = Int(radii.x)
            for dx in -reach...reach { spans.append(Int32(radii.y * height(Float(dx), radii.x + 0.5) + 0.5)) }
            return reach
        }
        let half = (radii + 0.5) / 2
        let reach = Int(half.x)
        for dx in -reach...reach {
            // The mean over the column's width.
            var mean: Float = 0
            for i in 0..<4 { mean += height(Float(dx) + (Float(i) - 1.5) / 4, half.x) / 4 }
            let rest = max(0, half.y * mean - 0.5)
            spans.append(Int32(rest))
            parts.append(rest - rest.rounded(.down))
        }
        return reach
    }

    /// Paints the background's pixels of all rows.
    @unsafe private mutating func paint(
        _ content: Content, _ opacity: Float, _ cells: inout DownsampledFrame, _ outline: borrowing OutlineTracker,
        _ frame: inout Frame, _ kernels: UnsafePointer<coutline_kernels>
    ) {
        let (lines, length) = unsafe (lines.base, length)
        let (back, room) = unsafe (back.base, room.base)
        var bytes = frame.mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            unsafe samples.withUnsafeMutableBufferPointer { samples in
                guard let bytes = bytes.baseAddress, let samples = samples.baseAddress else { return }
                let backSteps = unsafe content.isCoarse ? cells.coarseSteps : cells.steps
                unsafe backSteps.withSteps { backLuma, backChroma in
                    var brush = unsafe Brush(
                        kernels: kernels, content: content, opacity: opacity, layout: cells.layout,
                        isWhole: !outline.isFresh, back: back, backSteps: (backLuma, backChroma, backSteps.down),
                        room: room, lines: lines, samples: samples, length: length, matte: outline.matte.base,
                        bytes: bytes, lumaSite: cells.layout.luma, chromaSites: cells.layout.chroma,
                        isPacked: cells.layout.format.isPacked, shift: cells.layout.format.chromaShift)
                    unsafe cells.steps.withSteps { luma, chroma in
                        for interval in 0...DownsampledFrame.rows {
                            unsafe brush.paint(interval, cells.steps.down, outline.contents, luma, chroma)
                        }
                    }
                }
            }
        }
    }
}

/// What is drawn: a background, or the bytes of a frame with the same layout.
@unsafe private enum Content {
    case background(Background)
    case frame(UnsafePointer<UInt8>)

    /// Whether it comes from cells.
    var hasCells: Bool {
        switch unsafe self {
        case .background(.blur), .background(.gradient): true
        case .background(.picture), .background(.adjusted), .frame: false
        }
    }

    /// Whether its cells are twice as wide and high as the outline's: those of a disc with a radius of 4 cells or more.
    var isCoarse: Bool {
        switch unsafe self {
        case .background(.blur(let radius)): radius * Float(DownsampledFrame.rows) >= 4
        case .background, .frame: false
        }
    }

    /// Whether the room's colour is removed from the person's edge.
    var replacesRoom: Bool {
        switch unsafe self {
        case .background(.gradient), .background(.picture), .frame: true
        case .background(.blur), .background(.adjusted): false
        }
    }

    /// Whether nothing of the room is left.
    var hidesRoom: Bool {
        switch unsafe self {
        case .background(let background): background.hidesRoom
        case .frame: true
        }
    }
}

/// Paints the background's pixels on rows of a frame, run by run.
@unsafe private struct Brush {
    let kernels: UnsafePointer<coutline_kernels>
    let content: Content
    let opacity: Float
    let layout: FrameLayout
    /// Whether everything is background.
    let isWhole: Bool
    let back: UnsafeMutablePointer<Int16>
    /// How samples lie between the background's cells.
    let backSteps: (luma: coutline_steps, chroma: coutline_steps, down: CellSteps)
    let room: UnsafeMutablePointer<Int16>
    let lines: UnsafeMutablePointer<Int16>
    let samples: UnsafeMutablePointer<UInt8>
    let length: Int
    let matte: UnsafePointer<UInt8>
    let bytes: UnsafeMutablePointer<UInt8>
    /// Where the layout's samples are.
    let lumaSite: SampleSite
    let chromaSites: (u: SampleSite, v: SampleSite)?
    let isPacked: Bool
    let shift: (x: Int, y: Int)

    /// The row of the background's cells below the centre of which no pixels are painted yet.
    var backInterval = 0
    /// The last row of the background's cells that was brought to the frame's width.
    var lastRow = -1

    /// The rows of the background's cells above and below.
    private var backCells: (upper: Int, lower: Int) {
        unsafe (max(0, backInterval - 1), min(backSteps.down.cells - 1, backInterval))
    }

    /// Paints the rows between the centres of two rows of cells.
    mutating func paint(
        _ interval: Int, _ down: CellSteps, _ contents: [UInt8], _ luma: coutline_steps, _ chroma: coutline_steps
    ) {
        var rows = Int(down.starts[interval])..<Int(down.starts[interval + 1])
        while !rows.isEmpty {
            while unsafe Int(backSteps.down.starts[backInterval + 1]) <= rows.lowerBound { unsafe backInterval += 1 }
            let end = unsafe min(rows.upperBound, Int(backSteps.down.starts[backInterval + 1]))
            unsafe paint(rows.lowerBound..<end, interval, contents, luma, chroma)
            rows = end..<rows.upperBound
        }
    }

    /// Paints rows that are between the centres of two rows of cells, the background's too.
    private mutating func paint(
        _ rows: Range<Int>, _ interval: Int, _ contents: [UInt8], _ luma: coutline_steps, _ chroma: coutline_steps
    ) {
        let all = GapRun(first: 0, end: DownsampledFrame.columns + 1, content: .background)
        var next = unsafe isWhole ? all : contents.run(from: 0, interval)
        while let run = next {
            if run.content != .person {
                unsafe expandBack()
                if unsafe content.replacesRoom, run.content == .edge {
                    unsafe expandRoom(run, interval, luma, chroma)
                }
                if run.content == .edge {
                    let (start, count) = unsafe (Int(luma.starts[run.first]), CInt(rows.count))
                    let width = unsafe luma.starts[run.end] - luma.starts[run.first]
                    unsafe kernels.pointee.prefetch(
                        matte + rows.lowerBound * layout.width + start, layout.width, count, width)
                    unsafe kernels.pointee.prefetch(
                        bytes + lumaSite.offset + rows.lowerBound * lumaSite.stride + start * lumaSite.step,
                        lumaSite.stride, count, width * CInt(lumaSite.step))
                }
                for y in rows { unsafe paint(run, y, backSteps.down.weights[y], luma, chroma) }
            }
            next = unsafe isWhole ? nil : contents.run(from: run.end, interval)
        }
    }

    /// Interpolates the background's rows of cells above and below to the frame's width, each once.
    private mutating func expandBack() {
        let (upper, lower) = unsafe backCells
        guard unsafe content.hasCells, unsafe lastRow < lower else { return }
        for row in unsafe max(upper, lastRow + 1)...lower {
            unsafe expand(
                back, row, 0, Int(backSteps.luma.cells) + 1, to: row & 1, backSteps.luma, backSteps.chroma)
        }
        unsafe lastRow = lower
    }

    /// Interpolates the room's rows of cells above and below to a run's samples.
    private func expandRoom(_ run: GapRun, _ interval: Int, _ luma: coutline_steps, _ chroma: coutline_steps) {
        let (upper, lower) = (max(0, interval - 1), min(DownsampledFrame.rows - 1, interval))
        unsafe expand(room, upper, run.first, run.end, to: 6, luma, chroma)
        unsafe expand(room, lower, run.first, run.end, to: 7, luma, chroma)
    }

    /// Interpolates the gaps of a row of cells to the frame's width, in all planes.
    /// - Parameter line: the first plane's line; the next plane's is 2 later.
    private func expand(
        _ cells: UnsafePointer<Int16>, _ row: Int, _ first: Int, _ end: Int, to line: Int, _ luma: coutline_steps,
        _ chroma: coutline_steps
    ) {
        for plane in 0..<(unsafe chromaSites != nil ? 3 : 1) {
            let from = unsafe cells + plane * DownsampledFrame.count + row * Int(luma.cells)
            let to = unsafe lines + (line + 2 * plane) * length
            unsafe kernels.pointee.expand_samples(from, plane == 0 ? luma : chroma, CInt(first), CInt(end), to)
        }
    }

    /// Paints a run's pixels of a row.
    /// - Parameter below: the weight of the row of cells below.
    private func paint(_ run: GapRun, _ y: Int, _ below: Float, _ luma: coutline_steps, _ pairs: coutline_steps) {
        let start = unsafe Int(luma.starts[run.first])
        let width = unsafe Int(luma.starts[run.end]) - start
        guard width > 0 else { return }
        let (first, count) = unsafe (
            Int(pairs.starts[run.first]), Int(pairs.starts[run.end]) - Int(pairs.starts[run.first])
        )
        let (site, shift, row) = unsafe (lumaSite, self.shift, matte + y * layout.width)
        let isEdge = unsafe needsMatte(run)
        if unsafe isPacked && content.hasCells && !(isEdge && content.replacesRoom), count > 0,
            let chroma = unsafe chromaSites
        {
            return unsafe paintPacked(first, count, y, below, isEdge ? row + start : nil, site, chroma.u)
        }
        let y0 = unsafe paint(
            0, run, y, start, width, below, bytes + site.offset + y * site.stride, site.step, row + start)
        guard let chroma = unsafe chromaSites, shift.y == 0 || y & 1 == 0, count > 0 else { return }
        var coverage = unsafe row + start
        if shift.x == 1, run.content == .edge {
            let halved = unsafe samples + 9 * length
            unsafe kernels.pointee.halve(row + 2 * first, CInt(count), halved)
            unsafe coverage = UnsafePointer(halved)
        }
        func plane(_ plane: Int, _ site: SampleSite) -> UnsafePointer<UInt8> {
            let line = unsafe bytes + site.offset + (y >> shift.y) * site.stride
            return unsafe paint(plane, run, y, first, count, below, line, site.step, coverage)
        }
        let (u, v) = unsafe (plane(1, chroma.u), plane(2, chroma.v))
        guard unsafe isPacked else { return }
        let (isLumaFirst, pair) = unsafe packedPlace(first, y, site, chroma.u)
        unsafe kernels.pointee.pack(y0, u, v, CInt(count), isLumaFirst ? 1 : 0, pair)
    }

    /// Paints pairs of pixels of a packed frame with cells of the background.
    /// - Parameter matte: of the pixels; nil: they show the background alone.
    private func paintPacked(
        _ first: Int, _ count: Int, _ y: Int, _ below: Float, _ matte: UnsafePointer<UInt8>?, _ luma: SampleSite,
        _ u: SampleSite
    ) {
        var (lumaRows, uRows, vRows) = unsafe (backRows(0, 2 * first), backRows(1, first), backRows(2, first))
        let (isLumaFirst, pair) = unsafe packedPlace(first, y, luma, u)
        unsafe kernels.pointee.mix_packed(
            &lumaRows, &uRows, &vRows, below, matte, CInt(count), isLumaFirst ? 1 : 0, pair)
    }

    /// The rows of a plane of the background between which pixels are painted, from a sample on.
    private func backRows(_ plane: Int, _ start: Int) -> coutline_rows {
        let line = unsafe UnsafePointer(lines + 2 * plane * length + start)
        let (upper, lower) = unsafe backCells
        return unsafe coutline_rows(upper: line + (upper & 1) * length, lower: line + (lower & 1) * length)
    }

    /// The place of a pair of pixels in a packed frame, and whether luma comes first in it.
    private func packedPlace(
        _ first: Int, _ y: Int, _ luma: SampleSite, _ u: SampleSite
    ) -> (isLumaFirst: Bool, UnsafeMutablePointer<UInt8>) {
        unsafe (luma.offset < u.offset, bytes + min(luma.offset, u.offset) + y * luma.stride + 4 * first)
    }

    /// Whether a run shows more than the background.
    private func needsMatte(_ run: GapRun) -> Bool { unsafe run.content == .edge || !content.hidesRoom }

    /// Makes a run's samples of one plane, and writes them to the frame if it is not packed.
    /// - Returns: the samples.
    private func paint(
        _ plane: Int, _ run: GapRun, _ y: Int, _ start: Int, _ count: Int, _ below: Float,
        _ row: UnsafeMutablePointer<UInt8>, _ step: Int, _ matte: UnsafePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let (out, width) = unsafe (row + start * step, CInt(count))
        let (own, other, beside) = unsafe (
            samples + plane * length + start, samples + (3 + plane) * length + start,
            samples + (6 + plane) * length + start
        )
        let line = unsafe lines + 2 * plane * length + start
        // Where everything is background, the matte was not drawn.
        let coverage = unsafe run.content == .background ? UnsafePointer(samples + 10 * length) : matte
        let zero: CInt = unsafe plane > 0 ? 128 : CInt(layout.range.black)
        switch unsafe content {
        case .background(.blur), .background(.gradient):
            let rows = unsafe backRows(plane, start)
            unsafe kernels.pointee.mix(rows.upper, rows.lower, below, width, other)
        case .background(.picture(let picture)):
            let shift = unsafe plane == 0 ? 0 : shift.x
            let from = y * picture.width + start << shift
            unsafe picture.planes[plane].withUnsafeBufferPointer { samples in
                guard let base = samples.baseAddress else { return }
                unsafe kernels.pointee.gather(base + from, 1 << CInt(shift), width, other)
            }
        case .frame(let bytes):
            // The samples are where they are in the frame that is painted.
            unsafe kernels.pointee.gather(bytes + self.bytes.distance(to: out), CInt(step), width, other)
        case .background(.adjusted): break
        }
        var made = unsafe other
        if unsafe needsMatte(run) {
            unsafe made = own
            unsafe kernels.pointee.gather(out, CInt(step), width, own)
            switch unsafe content {
            case .background(.blur): unsafe kernels.pointee.lay(other, coverage, width, own)
            case .background(.gradient), .background(.picture), .frame:
                unsafe kernels.pointee.mix(line + 6 * length, line + 7 * length, below, width, beside)
                unsafe kernels.pointee.replace(other, beside, coverage, zero, width, own)
            case .background(.adjusted(let gain, let offset)):
                let factor = unsafe 1 + (gain[plane] - 1) * opacity
                unsafe kernels.pointee.adjust(coverage, factor, offset[plane] * opacity, zero, width, own)
            }
        }
        if unsafe !isPacked { unsafe kernels.pointee.scatter(made, CInt(step), width, out) }
        return unsafe UnsafePointer(made)
    }
}

/// Lays people of an earlier state of a frame in front of what was drawn since, run by run.
@unsafe private struct PeopleOverlay {
    let kernels: UnsafePointer<coutline_kernels>
    let layout: FrameLayout
    let before: UnsafePointer<UInt8>
    let bytes: UnsafeMutablePointer<UInt8>
    let matte: UnsafePointer<UInt8>
    /// Rows of samples, `length` each: the person's, those drawn since, and of the matte.
    let samples: UnsafeMutablePointer<UInt8>
    let length: Int

    func draw(_ contents: [UInt8], _ cells: borrowing DownsampledFrame) {
        let (luma, chroma, down) = (cells.steps.across.starts, cells.steps.acrossChroma.starts, cells.steps.down.starts)
        for interval in 0...DownsampledFrame.rows {
            let rows = Int(down[interval])..<Int(down[interval + 1])
            guard !rows.isEmpty else { continue }
            var first = 0
            while let run = contents.run(from: first, interval) {
                first = run.end
                guard run.content != .background else { continue }
                let isEdge = run.content == .edge
                let pixels = Int(luma[run.first])..<Int(luma[run.end])
                let pairs = Int(chroma[run.first])..<Int(chroma[run.end])
                for y in rows { unsafe draw(y, pixels, pairs, isEdge: isEdge) }
            }
        }
    }

    /// Lays a run of a row: its luma, and its chroma if the row has any.
    private func draw(_ y: Int, _ pixels: Range<Int>, _ pairs: Range<Int>, isEdge: Bool) {
        let (coverage, site, shift) = unsafe (matte + y * layout.width, layout.luma, layout.format.chromaShift)
        unsafe lay(site, y, pixels, isEdge ? coverage + pixels.lowerBound : nil)
        guard let chroma = unsafe layout.chroma, shift.y == 0 || y & 1 == 0, !pairs.isEmpty else { return }
        var beside: UnsafePointer<UInt8>?
        if isEdge {
            if shift.x == 1 {
                let halved = unsafe samples + 2 * length
                unsafe kernels.pointee.halve(coverage + 2 * pairs.lowerBound, CInt(pairs.count), halved)
                unsafe beside = UnsafePointer(halved)
            } else {
                unsafe beside = coverage + pairs.lowerBound
            }
        }
        unsafe lay(chroma.u, y >> shift.y, pairs, beside)
        unsafe lay(chroma.v, y >> shift.y, pairs, beside)
    }

    /// Lays samples of one component.
    /// - Parameters:
    ///   - y: the row of samples.
    ///   - coverage: how much of each sample is a person, 0 to 255; nil: they are people whole.
    private func lay(_ site: SampleSite, _ y: Int, _ columns: Range<Int>, _ coverage: UnsafePointer<UInt8>?) {
        guard !columns.isEmpty else { return }
        let (at, count) = (site.offset + y * site.stride + columns.lowerBound * site.step, CInt(columns.count))
        let (own, drawn) = unsafe (samples, samples + length)
        unsafe kernels.pointee.gather(before + at, CInt(site.step), count, own)
        if let coverage = unsafe coverage {
            unsafe kernels.pointee.gather(bytes + at, CInt(site.step), count, drawn)
            unsafe kernels.pointee.lay(drawn, coverage, count, own)
        }
        unsafe kernels.pointee.scatter(own, CInt(site.step), count, bytes + at)
    }
}
