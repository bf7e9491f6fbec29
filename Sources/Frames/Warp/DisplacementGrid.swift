import CScale
import SystemKit

/// Where the pixels of a region come from: places at the corners of square cells, and between them in proportion. Its
/// memory grows to the largest region and is kept.
public struct DisplacementGrid: ~Copyable {
    /// The side of a cell, pixels.
    fileprivate static let side = 8
    /// The least displacement that is drawn, pixels.
    private static let least: Float = 0.3

    /// Pixels of the frame; `x` and `y` are even, since neighbouring pixels share chroma.
    fileprivate private(set) var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// For each corner, the place in the region that is shown there, pixels from the region's own corner.
    private var sources: [Point] = []
    private var isDisplaced: [Bool] = []
    /// The region's samples of one component before they are displaced.
    fileprivate var samples: [UInt8] = []

    /// The number of cells across; even, since those of subsampled chroma are twice as large.
    fileprivate var columns: Int { (region.width + 2 * Self.side - 1) / (2 * Self.side) * 2 }
    /// The number of cells down; even too.
    fileprivate var rows: Int { (region.height + 2 * Self.side - 1) / (2 * Self.side) * 2 }

    /// An empty grid.
    public init() {}

    /// Sets the grid.
    /// - Parameters:
    ///   - region: pixels; it is clipped to the frame, and odd left and top edges move outwards to even ones.
    ///   - layout: of the frame.
    ///   - source: the place that is shown at another, both in pixels of the frame. Places outside of the region are
    ///     moved to its edge.
    /// - Returns: false if the region is outside of the frame.
    public mutating func fill(_ region: PixelRect, in layout: FrameLayout, _ source: (Point) -> Point) -> Bool {
        self.region = region.evenPiece(width: layout.width, height: layout.height)
        guard !self.region.isEmpty else { return false }
        let (across, down) = (columns + 1, rows + 1)
        if sources.count < across * down {
            // Half as much again, so that an approaching face doesn't cause an allocation in every frame.
            sources = Array(repeating: .zero, count: across * down * 3 / 2)
            isDisplaced = Array(repeating: false, count: sources.count)
        }
        let corner = Point(Float(self.region.x), Float(self.region.y))
        let last = Point(Float(self.region.width - 1), Float(self.region.height - 1))
        for row in 0..<down {
            for column in 0..<across {
                let here = Point(Float(column * Self.side), Float(row * Self.side))
                let there = pointwiseMin(pointwiseMax(source(corner + here) - corner, .zero), last)
                sources[row * across + column] = there
                isDisplaced[row * across + column] = (there - pointwiseMin(here, last)).length > Self.least
            }
        }
        return true
    }

    /// A cell, or 2 x 2 cells: the places that are shown at its corners.
    fileprivate struct Cell {
        let (topLeft, topRight, bottomLeft, bottomRight): (Point, Point, Point, Point)
    }

    /// The cell at a column and row; nil if none of its corners is displaced.
    /// - Parameter span: the number of cells across and down that count as one.
    fileprivate func cell(_ column: Int, _ row: Int, span: Int) -> Cell? {
        let across = columns + 1
        let (i, below) = (row * across + column, span * across)
        let isMoved = isDisplaced[i] || isDisplaced[i + span] || isDisplaced[i + below] || isDisplaced[i + below + span]
        guard isMoved else { return nil }
        return Cell(
            topLeft: sources[i], topRight: sources[i + span], bottomLeft: sources[i + below],
            bottomRight: sources[i + below + span])
    }
}

extension Frame {
    /// Moves the samples of a region to where a grid shows them, bilinearly. Allocates nothing.
    /// - Parameters:
    ///   - grid: filled for this frame's layout.
    ///   - mayBeWide: whether AVX2 may be used, with the same result.
    public mutating func displace(by grid: inout DisplacementGrid, mayBeWide: Bool = true) {
        let layout = layout
        let kernels = unsafe mayBeWide ? cscale_kernels() : nil
        var bytes = mutableBytes
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            guard let bytes = bytes.baseAddress else { return }
            unsafe Displacement(bytes + layout.luma.offset, layout.luma, (0, 0), kernels).draw(&grid)
            guard let (u, v) = layout.chroma else { return }
            unsafe Displacement(bytes + u.offset, u, layout.format.chromaShift, kernels).draw(&grid)
            unsafe Displacement(bytes + v.offset, v, layout.format.chromaShift, kernels).draw(&grid)
        }
    }
}

/// Samples of a row that are moved together.
private enum Group {
    static let size = 8
    /// Bytes after the last sample of a row that are read with it, and rows after the last one.
    static let (bytesBeyond, rowsBeyond) = (16, 17)
    /// The least position of a sample: it keeps rounded steps from leading out of the region.
    static let least: Float = 1 / 128
}

/// The displacement of the samples of one component.
@unsafe private struct Displacement {
    /// The component's first sample, and where the others are.
    let samples: UnsafeMutablePointer<UInt8>
    let site: SampleSite
    /// Pixels per sample, across and down, as powers of two.
    let shift: (x: Int, y: Int)
    /// The kernels for AVX2, if they may be used.
    let kernels: UnsafePointer<cscale_kernels>?

    init(
        _ samples: UnsafeMutablePointer<UInt8>, _ site: SampleSite, _ shift: (x: Int, y: Int),
        _ kernels: UnsafePointer<cscale_kernels>?
    ) { unsafe (self.samples, self.site, self.shift, self.kernels) = (samples, site, shift, kernels) }

    func draw(_ grid: inout DisplacementGrid) {
        let (region, site, shift) = unsafe (grid.region, site, shift)
        let origin = unsafe samples + (region.y >> shift.y) * site.stride + (region.x >> shift.x) * site.step
        let width = (region.width + (1 << shift.x) - 1) >> shift.x
        let height = (region.height + (1 << shift.y) - 1) >> shift.y
        let stride = width + Group.bytesBeyond
        let room = stride * (height + Group.rowsBeyond)
        // Taken out meanwhile: while a span of the samples exists, nothing else can be modified.
        var copies: [UInt8] = []
        swap(&copies, &grid.samples)
        // Half as much again, as for the places.
        if copies.count < room { copies = Array(repeating: 0, count: room * 3 / 2) }
        var span = copies.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { copies in
            guard let copies = copies.baseAddress else { return }
            for y in 0..<height { unsafe copy(width, from: origin + y * site.stride, to: copies + y * stride) }
            // As many cells as make a group of samples.
            let span = 1 << shift.x
            let rows = span * DisplacementGrid.side >> shift.y
            let last = Point(Float(width - 1), Float(height - 1))
            // As many as a cell of 4:2:2 chroma has: 16 rows.
            var moved = [128 of UInt8](repeating: 0)
            for row in Swift.stride(from: 0, to: grid.rows, by: span) {
                let top = row * DisplacementGrid.side >> shift.y
                for column in Swift.stride(from: 0, to: grid.columns, by: span) {
                    let left = column / span * Group.size
                    let size = (width: min(Group.size, width - left), height: min(rows, height - top))
                    guard size.width > 0, size.height > 0, let cell = grid.cell(column, row, span: span) else {
                        continue
                    }
                    var bytes = moved.mutableSpan
                    unsafe bytes.withUnsafeMutableBufferPointer { moved in
                        guard let moved = moved.baseAddress else { return }
                        unsafe move(patch(of: cell, span: span, rows, last), copies, stride, rows, to: moved)
                        unsafe paste(moved, size, to: origin + top * site.stride + left * site.step)
                    }
                }
            }
        }
        swap(&copies, &grid.samples)
    }

    private func copy(_ count: Int, from: UnsafePointer<UInt8>, to: UnsafeMutablePointer<UInt8>) {
        let step = unsafe site.step
        if step == 1 {
            unsafe to.update(from: from, count: count)
        } else if let kernels = unsafe kernels {
            unsafe kernels.pointee.gather(from, CInt(step), CInt(count), to)
        } else {
            for x in 0..<count { unsafe to[x] = from[step &* x] }
        }
    }

    /// Where the samples of a cell come from.
    /// - Parameters:
    ///   - span: the number of grid cells across and down.
    ///   - last: the position of the last sample.
    private func patch(of cell: DisplacementGrid.Cell, span: Int, _ rows: Int, _ last: Point) -> cscale_patch {
        let scale = unsafe Point(Float(1 << shift.x), Float(1 << shift.y))
        // A chroma sample is at the centre of its pixels.
        let center = (scale - 1) / 2
        let side = Float(span * DisplacementGrid.side)
        /// The place of one of the cell's samples among the component's.
        func place(_ column: Int, _ row: Int) -> Point {
            let part = (Point(Float(column), Float(row)) * scale + center) / side
            let above = cell.topLeft + (cell.topRight - cell.topLeft) * part.x
            let below = cell.bottomLeft + (cell.bottomRight - cell.bottomLeft) * part.x
            let pixel = above + (below - above) * part.y
            return pointwiseMin(pointwiseMax((pixel - center) / scale, Point(repeating: Group.least)), last)
        }
        let (across, down) = (Group.size - 1, rows - 1)
        let start = place(0, 0)
        let step = (place(across, 0) - start) / Float(across)
        let low = place(0, down)
        let lowStep = (place(across, down) - low) / Float(across)
        func fixed(_ samples: Float) -> Int32 { Int32((samples * 65536).rounded()) }
        let (below, change) = ((low - start) / Float(down), (lowStep - step) / Float(down))
        return cscale_patch(
            u: fixed(start.x), v: fixed(start.y), du: fixed(step.x), dv: fixed(step.y), down_u: fixed(below.x),
            down_v: fixed(below.y), down_du: fixed(change.x), down_dv: fixed(change.y))
    }

    /// Moves the samples of a cell.
    private func move(
        _ patch: cscale_patch, _ samples: UnsafePointer<UInt8>, _ stride: Int, _ rows: Int,
        to out: UnsafeMutablePointer<UInt8>
    ) {
        if let kernels = unsafe kernels {
            unsafe withUnsafePointer(to: patch) { unsafe kernels.pointee.move(samples, stride, $0, CInt(rows), out) }
            return
        }
        for y in 0..<Int32(rows) {
            let (startU, startV) = ((patch.u &+ y &* patch.down_u) >> 4, (patch.v &+ y &* patch.down_v) >> 4)
            let du = (patch.du &+ y &* patch.down_du &+ 8) >> 4
            let dv = (patch.dv &+ y &* patch.down_dv &+ 8) >> 4
            for i in 0..<Int32(Group.size) {
                let (u, v) = (startU &+ i &* du, startV &+ i &* dv)
                let at = unsafe samples + (Int(v >> 12) &* stride &+ Int(u >> 12))
                let (right, below) = (u >> 4 & 255, v >> 4 & 255)
                let first = unsafe Int32(at[0]) &* (256 &- below) &+ Int32(at[stride]) &* below
                let second = unsafe Int32(at[1]) &* (256 &- below) &+ Int32(at[stride + 1]) &* below
                let sum = first &* (256 &- right) &+ second &* right &+ 32768
                unsafe out[Int(y) &* Group.size &+ Int(i)] = UInt8(truncatingIfNeeded: sum >> 16)
            }
        }
    }

    /// Writes samples that were moved into the frame.
    private func paste(
        _ moved: UnsafePointer<UInt8>, _ size: (width: Int, height: Int), to out: UnsafeMutablePointer<UInt8>
    ) {
        let site = unsafe site
        for y in 0..<size.height {
            let (from, to) = unsafe (moved + y &* Group.size, out + y &* site.stride)
            if site.step == 1, size.width == Group.size {
                unsafe UnsafeMutableRawPointer(to).copyMemory(from: from, byteCount: Group.size)
            } else {
                for x in 0..<size.width { unsafe to[x &* site.step] = from[x] }
            }
        }
    }
}
