import COutline
import Frames

/// How samples of a row or column lie between the centres of cells, for bilinear interpolation.
struct CellSteps {
    /// The first sample after each cell's centre, on even places: pairs of pixels share chroma. The first is 0, the
    /// last the number of samples.
    let starts: [Int32]
    /// The weight of the next cell at each sample.
    let weights: [Float]
    /// `weights` in 32768ths, at most 32767.
    let fixedWeights: [Int16]

    var cells: Int { starts.count - 2 }

    /// - Parameters:
    ///   - cells: the number of cells.
    ///   - samples: the number of samples that they cover.
    init(cells: Int, samples: Int) {
        var (starts, weights) = ([Int32(0)], [Float](repeating: 0, count: samples + 8))
        let size = Float(samples) / Float(cells)
        for cell in 0..<cells { starts.append(Int32((Float(cell) + 0.5) * size) & ~1) }
        starts.append(Int32(samples))
        for cell in 0...cells {
            for sample in starts[cell]..<max(starts[cell], starts[cell + 1]) {
                weights[Int(sample)] = (Float(sample) + 0.5) / size - (Float(cell) - 0.5)
            }
        }
        self.init(starts, weights)
    }

    /// The steps of samples that pairs of these share.
    init(half full: CellSteps, samples: Int) {
        let weights: [Float] = (0..<samples).map { (full.weights[2 * $0] + full.weights[2 * $0 + 1]) / 2 }
        let starts: [Int32] = full.starts.dropLast().map { $0 / 2 }
        self.init(starts + [Int32(samples)], weights + [Float](repeating: 0, count: 8))
    }

    private init(_ starts: [Int32], _ weights: [Float]) {
        (self.starts, self.weights) = (starts, weights)
        fixedWeights = weights.map { Int16(max(0, min(32767, $0 * 32768))) } + [Int16](repeating: 0, count: 16)
    }
}

/// How a frame's samples lie between the centres of a grid's cells.
struct GridSteps {
    let across: CellSteps
    let acrossChroma: CellSteps
    let down: CellSteps

    init(columns: Int, rows: Int, _ layout: FrameLayout) {
        across = CellSteps(cells: columns, samples: layout.width)
        let shift = layout.format.chromaShift.x
        acrossChroma = shift == 1 ? CellSteps(half: across, samples: (layout.width + shift) >> shift) : across
        down = CellSteps(cells: rows, samples: layout.height)
    }
}

/// A frame reduced to a grid of means, which the network, the edge filter and the blur share.
struct DownsampledFrame: ~Copyable {
    static let columns = 256
    static let rows = 144
    static let count = columns * rows

    /// Mean samples, 0 to 255, row by row.
    var y = VectorBuffer<Float>(count: count)
    var u = VectorBuffer<Float>(count: count)
    var v = VectorBuffer<Float>(count: count)
    /// The layout of the frames that are measured.
    let layout: FrameLayout
    /// How samples lie between cells, and between squares of 2 x 2 cells.
    let steps: GridSteps
    let coarseSteps: GridSteps
    private var edges: [Int32]
    private var chromaEdges: [Int32]
    /// Sums of a row of cells: of the bytes of a packed row, or of the three planes.
    private var sums: [UInt16]

    init(_ layout: FrameLayout) {
        self.layout = layout
        steps = GridSteps(columns: Self.columns, rows: Self.rows, layout)
        coarseSteps = GridSteps(columns: Self.columns / 2, rows: Self.rows / 2, layout)
        func edges(_ samples: Int) -> [Int32] { (0...Self.columns).map { Int32($0 * samples / Self.columns) } }
        (self.edges, chromaEdges) = (edges(layout.width), edges(Self.chromaWidth(layout)))
        sums = Array(repeating: 0, count: 4 * layout.width + 64)
        unsafe u.base.update(repeating: 128, count: Self.count)
        unsafe v.base.update(repeating: 128, count: Self.count)
    }

    private static func chromaWidth(_ layout: FrameLayout) -> Int {
        (layout.width + layout.format.chromaShift.x) >> layout.format.chromaShift.x
    }

    /// The first row of a row of cells.
    private static func top(_ row: Int, of height: Int) -> Int { row * height / rows }

    /// Measures a frame of the layout that the cells were made for.
    mutating func measure(_ frame: borrowing Frame, _ kernels: UnsafePointer<coutline_kernels>) {
        precondition(frame.layout == layout, "the cells were made for another layout")
        let (width, height, luma, chroma) = (layout.width, layout.height, layout.luma, layout.chroma)
        let (isPacked, shift) = (layout.format.isPacked, layout.format.chromaShift.y)
        let (chromaWidth, edges, chromaEdges) = (Self.chromaWidth(layout), edges, chromaEdges)
        let means = unsafe (y: y.base, u: u.base, v: v.base)
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            unsafe sums.withUnsafeMutableBufferPointer { sums in
                guard let bytes = bytes.baseAddress, let sums = sums.baseAddress else { return }
                for row in 0..<Self.rows {
                    let first = Self.top(row, of: height)
                    let end = max(first + 1, Self.top(row + 1, of: height))
                    let at = row * Self.columns
                    let to = unsafe (means.y + at, means.u + at, means.v + at)
                    let (weight, lines) = (1 / Float(end - first), CInt(end - first))
                    if isPacked, let (u, v) = chroma {
                        let start = min(luma.offset, u.offset)
                        unsafe kernels.pointee.sum_rows(
                            bytes + start + first * luma.stride, luma.stride, lines, CInt(4 * chromaWidth), sums)
                        unsafe Self.cells(sums + luma.offset - start, 2, edges, weight, to.0, kernels)
                        unsafe Self.cells(sums + u.offset - start, 4, chromaEdges, weight, to.1, kernels)
                        unsafe Self.cells(sums + v.offset - start, 4, chromaEdges, weight, to.2, kernels)
                        continue
                    }
                    unsafe kernels.pointee.sum_rows(
                        bytes + luma.offset + first * luma.stride, luma.stride, lines, CInt(width), sums)
                    unsafe Self.cells(sums, 1, edges, weight, to.0, kernels)
                    guard let (u, v) = chroma else { continue }
                    let (upper, lower) = (first >> shift, max(first >> shift + 1, end >> shift))
                    let (chromaWeight, chromaLines) = (1 / Float(lower - upper), CInt(lower - upper))
                    let isPaired = u.step == 2
                    let start = isPaired ? min(u.offset, v.offset) : u.offset
                    unsafe kernels.pointee.sum_rows(
                        bytes + start + upper * u.stride, u.stride, chromaLines,
                        CInt(isPaired ? 2 * chromaWidth : chromaWidth), sums)
                    if !isPaired {
                        unsafe kernels.pointee.sum_rows(
                            bytes + v.offset + upper * v.stride, v.stride, chromaLines, CInt(chromaWidth),
                            sums + 2 * width)
                    }
                    unsafe Self.cells(sums, isPaired ? 2 : 1, chromaEdges, chromaWeight, to.1, kernels)
                    unsafe Self.cells(
                        isPaired ? sums + 1 : sums + 2 * width, isPaired ? 2 : 1, chromaEdges, chromaWeight, to.2,
                        kernels)
                }
            }
        }
    }

    @unsafe private static func cells(
        _ sums: UnsafePointer<UInt16>, _ step: Int, _ edges: [Int32], _ weight: Float,
        _ out: UnsafeMutablePointer<Float>, _ kernels: UnsafePointer<coutline_kernels>
    ) {
        unsafe edges.withUnsafeBufferPointer { edges in
            guard let edges = edges.baseAddress else { return }
            unsafe kernels.pointee.cells(sums, CInt(step), edges, CInt(columns), weight, out)
        }
    }
}
