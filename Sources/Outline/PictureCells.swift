import COutline
import Frames

/// How samples of a row or column lie between the centres of cells, for bilinear interpolation.
struct CellSteps {
    /// The first sample after each cell's centre, on even places: pairs of pixels share chroma. The first is 0, the
    /// last the number of samples.
    let starts: [Int32]
    /// The weight of the next cell at each sample.
    let weights: [Float]

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
        (self.starts, self.weights) = (starts, weights)
    }

    /// The steps of samples that pairs of these share.
    init(half full: CellSteps, samples: Int) {
        starts = full.starts.dropLast().map { $0 / 2 } + [Int32(samples)]
        weights =
            (0..<samples).map { (full.weights[2 * $0] + full.weights[2 * $0 + 1]) / 2 }
            + [Float](repeating: 0, count: 8)
    }
}

/// The places of a frame's samples, in any format.
struct SamplePlaces: Equatable {
    let width: Int
    let height: Int
    let luma: (offset: Int, stride: Int, step: Int)
    let chroma: (u: Int, v: Int, stride: Int, step: Int)
    let shift: (x: Int, y: Int)
    let hasChroma: Bool
    let isPacked: Bool
    let isLimited: Bool

    init(_ layout: FrameLayout) {
        (width, height) = (layout.width, layout.height)
        luma = (layout.luma.offset, layout.planes[0].stride, layout.luma.pixelStride)
        shift = layout.format.chromaShift
        hasChroma = layout.format != .gray
        isPacked = layout.format == .yuyv || layout.format == .uyvy
        isLimited = layout.range == .limited
        let planes = layout.planes
        chroma =
            switch layout.format {
            case .yuyv: (planes[0].offset + 1, planes[0].offset + 3, planes[0].stride, 4)
            case .uyvy: (planes[0].offset, planes[0].offset + 2, planes[0].stride, 4)
            case .nv12: (planes[1].offset, planes[1].offset + 1, planes[1].stride, 2)
            case .i420, .i422, .i444: (planes[1].offset, planes[2].offset, planes[1].stride, 1)
            case .gray: (0, 0, 0, 0)
            }
    }

    var chromaWidth: Int { (width + shift.x) >> shift.x }

    static func == (a: SamplePlaces, b: SamplePlaces) -> Bool {
        a.luma == b.luma && a.chroma == b.chroma && a.width == b.width && a.height == b.height
    }
}

/// A frame reduced to a grid of means, which the network, the edge filter and the blur share.
struct PictureCells: ~Copyable {
    static let columns = 256
    static let rows = 144
    static let count = columns * rows

    /// Mean samples, 0 to 255, row by row.
    var y = Floats(count: count)
    var u = Floats(count: count)
    var v = Floats(count: count)
    private(set) var places: SamplePlaces
    /// How pixels lie between cells.
    private(set) var across: CellSteps
    private(set) var acrossChroma: CellSteps
    private(set) var down: CellSteps
    private var edges: [Int32]
    private var chromaEdges: [Int32]
    /// Sums of a row of cells: of the bytes of a packed row, or of the three planes.
    private var sums: [UInt16]

    init(_ layout: FrameLayout) {
        places = SamplePlaces(layout)
        across = CellSteps(cells: Self.columns, samples: layout.width)
        acrossChroma =
            places.shift.x == 1
            ? CellSteps(half: across, samples: places.chromaWidth)
            : CellSteps(cells: Self.columns, samples: layout.width)
        down = CellSteps(cells: Self.rows, samples: layout.height)
        func edges(_ samples: Int) -> [Int32] { (0...Self.columns).map { Int32($0 * samples / Self.columns) } }
        (self.edges, chromaEdges) = (edges(layout.width), edges(places.chromaWidth))
        sums = Array(repeating: 0, count: 4 * layout.width + 64)
        unsafe u.base.update(repeating: 128, count: Self.count)
        unsafe v.base.update(repeating: 128, count: Self.count)
    }

    /// The first row of a row of cells.
    private static func top(_ row: Int, of height: Int) -> Int { row * height / rows }

    /// Measures a frame of the layout that the cells were made for.
    mutating func measure(_ frame: borrowing Frame, _ kernels: UnsafePointer<coutline_kernels>) {
        let places = places
        precondition(SamplePlaces(frame.layout) == places, "the cells were made for another layout")
        let width = places.width
        let (chromaWidth, edges, chromaEdges) = (places.chromaWidth, edges, chromaEdges)
        let means = unsafe (y: y.base, u: u.base, v: v.base)
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            unsafe sums.withUnsafeMutableBufferPointer { sums in
                guard let bytes = bytes.baseAddress, let sums = sums.baseAddress else { return }
                for row in 0..<Self.rows {
                    let first = Self.top(row, of: places.height)
                    let end = max(first + 1, Self.top(row + 1, of: places.height))
                    let at = row * Self.columns
                    let to = unsafe (means.y + at, means.u + at, means.v + at)
                    unsafe sums.update(repeating: 0, count: 4 * width)
                    let weight = 1 / Float(end - first)
                    if places.isPacked {
                        let start = min(places.luma.offset, places.chroma.u)
                        for line in first..<end {
                            unsafe kernels.pointee.add_row(
                                bytes + start + line * places.luma.stride, sums, CInt(4 * chromaWidth))
                        }
                        unsafe Self.cells(sums + places.luma.offset - start, 2, edges, weight, to.0, kernels)
                        unsafe Self.cells(sums + places.chroma.u - start, 4, chromaEdges, weight, to.1, kernels)
                        unsafe Self.cells(sums + places.chroma.v - start, 4, chromaEdges, weight, to.2, kernels)
                        continue
                    }
                    for line in first..<end {
                        unsafe kernels.pointee.add_row(
                            bytes + places.luma.offset + line * places.luma.stride, sums, CInt(width))
                    }
                    unsafe Self.cells(sums, 1, edges, weight, to.0, kernels)
                    guard places.hasChroma else { continue }
                    unsafe sums.update(repeating: 0, count: 4 * width)
                    let (upper, lower) = (
                        first >> places.shift.y, max(first >> places.shift.y + 1, end >> places.shift.y)
                    )
                    let isPaired = places.chroma.step == 2
                    for line in upper..<lower {
                        let from = unsafe bytes + line * places.chroma.stride
                        unsafe kernels.pointee.add_row(
                            from + places.chroma.u, sums, CInt(isPaired ? 2 * chromaWidth : chromaWidth))
                        if isPaired { continue }
                        unsafe kernels.pointee.add_row(from + places.chroma.v, sums + 2 * width, CInt(chromaWidth))
                    }
                    let share = 1 / Float(lower - upper)
                    unsafe Self.cells(sums, isPaired ? 2 : 1, chromaEdges, share, to.1, kernels)
                    unsafe Self.cells(
                        isPaired ? sums + 1 : sums + 2 * width, isPaired ? 2 : 1, chromaEdges, share, to.2, kernels)
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
