import SystemKit

/// A coarse grid of cells over part of a frame, each the mean of its pixels: shown as pixelation, or the first step of
/// a strong blur. Its memory grows to the largest grid and is kept.
public struct Pixelation: ~Copyable {
    /// The number of cells across.
    public private(set) var columns = 0
    /// The number of cells down.
    public private(set) var rows = 0
    /// The columns of pixels where cells begin, and where the last one ends; even, and clipped to the frame.
    private var xs: [Int] = []
    /// The rows of pixels where cells begin, and where the last one ends; even, and clipped to the frame.
    private var ys: [Int] = []
    /// The cells' colours as YUVA, as in a `Sprite`.
    private var values: [UInt32] = []
    private var spare: [UInt32] = []
    /// Each cell's sums and counts by channel, while a row of cells is averaged.
    private var totals: [SIMD4<UInt32>] = []
    private var counts: [SIMD4<UInt32>] = []
    /// One row of bytes: the column sums over a row of cells (`sums`), or the bytes to write there (`line`).
    private var sums: [UInt16] = []
    private var line: [UInt8] = []
    /// One row interpolated between two rows of cells, with separated channels.
    private var blended: [UInt64] = []

    /// The most rows whose byte sums fit in 16 bits; of taller cells only some rows are averaged.
    private static let maxRows = 256

    /// An empty grid.
    public init() {}

    /// Averages the cells of a grid. Each grid line is rounded to the nearest even pixel separately, so that a grid
    /// that follows a face neither swims nor jumps by whole cells.
    /// - Parameters:
    ///   - origin: the grid's top left corner, pixels; it may be outside the frame.
    ///   - side: the side of a cell, pixels, at least 2.
    ///   - columns: the number of cells across.
    ///   - rows: the number of cells down.
    public mutating func average(_ frame: borrowing Frame, origin: Point, side: Float, columns: Int, rows: Int) {
        let layout = frame.layout
        (self.columns, self.rows) = (columns, rows)
        Self.setLines(&xs, from: origin.x, side, columns, limit: (layout.width + 1) & ~1)
        Self.setLines(&ys, from: origin.y, side, rows, limit: (layout.height + 1) & ~1)
        Self.grow(&values, columns * rows, 0)
        Self.grow(&spare, columns * rows, 0)
        Self.grow(&totals, columns, .zero)
        Self.grow(&counts, columns, .zero)
        let row = (layout.width + 1) / 2 * 4
        Self.grow(&sums, row, 0)
        Self.grow(&line, row, 0)
        for j in 0..<rows { averageRow(j, of: frame) }
        fillOutside()
    }

    private static func grow<T>(_ array: inout [T], _ count: Int, _ value: T) {
        // Half as much again, so that an approaching face doesn't cause an allocation in every frame.
        if array.count < count { array = Array(repeating: value, count: count + count / 2) }
    }

    private static func setLines(_ lines: inout [Int], from: Float, _ side: Float, _ count: Int, limit: Int) {
        grow(&lines, count + 1, 0)
        for i in 0...count {
            // Clamped first, so that the conversion to Int is defined.
            let position = max(-2, min(Float(limit + 2), from + side * Float(i)))
            lines[i] = max(0, min(limit, Int((position / 2).rounded()) * 2))
        }
    }

    private mutating func averageRow(_ j: Int, of frame: borrowing Frame) {
        for i in 0..<columns { (totals[i], counts[i]) = (.zero, .zero) }
        for index in frame.layout.planes.indices {
            let pattern = PlanePattern(frame.layout, plane: index)
            let rows = pattern.rows(ys[j], ys[j + 1])
            let bytes = pattern.bytes(xs[0], xs[columns])
            guard !rows.isEmpty, !bytes.isEmpty else { continue }
            let step = (rows.count + Self.maxRows - 1) / Self.maxRows
            sum(frame.bytes, pattern, bytes, rows, step)
            let sampledRows = UInt32((rows.count + step - 1) / step)
            for i in 0..<columns {
                let cell = pattern.bytes(xs[i], xs[i + 1])
                var (sum, count) = laneSums(cell.lowerBound - bytes.lowerBound, cell.count)
                if cell.contains(pattern.paddingByte) {
                    sum[(pattern.paddingByte - cell.lowerBound) & 3] -= UInt32(
                        sums[pattern.paddingByte - bytes.lowerBound])
                    count[(pattern.paddingByte - cell.lowerBound) & 3] -= 1
                }
                // Every cell begins with a whole pair of pixels.
                for lane in 0..<4 {
                    let channel = Int(pattern.channels[lane & (pattern.bytesPerPair - 1)])
                    totals[i][channel] += sum[lane]
                    counts[i][channel] += count[lane] * sampledRows
                }
            }
        }
        let isGray = frame.layout.format == .gray
        for i in 0..<columns {
            let (total, count) = (totals[i], counts[i])
            guard count.x > 0 else {
                values[j * columns + i] = 0
                continue
            }
            func mean(_ channel: Int) -> UInt32 {
                isGray && channel > 0 ? 128 : (total[channel] + count[channel] / 2) / max(count[channel], 1)
            }
            values[j * columns + i] = mean(0) | mean(1) << 8 | mean(2) << 16 | 0xff00_0000
        }
    }

    /// Sums every fourth element of part of `sums`, and counts them.
    private func laneSums(_ first: Int, _ count: Int) -> (sum: SIMD4<UInt32>, count: SIMD4<UInt32>) {
        var (sum, numbers) = (SIMD4<UInt32>.zero, SIMD4<UInt32>(repeating: UInt32(count / 4)))
        unsafe sums.withUnsafeBufferPointer { sums in
            let sums = sums.extracting(first..<first + count)
            var (a, b, c, d): (UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0)
            for i in Swift.stride(from: 0, to: count & ~3, by: 4) {
                unsafe a &+= UInt32(sums[i])
                unsafe b &+= UInt32(sums[i &+ 1])
                unsafe c &+= UInt32(sums[i &+ 2])
                unsafe d &+= UInt32(sums[i &+ 3])
            }
            sum = [a, b, c, d]
            for i in count & ~3..<count {
                unsafe sum[i & 3] &+= UInt32(sums[i])
                numbers[i & 3] += 1
            }
        }
        return (sum, numbers)
    }

    /// Sums rows of bytes, column by column.
    private mutating func sum(
        _ bytes: Span<UInt8>, _ pattern: PlanePattern, _ columns: Range<Int>, _ rows: Range<Int>, _ step: Int
    ) {
        let (offset, stride) = (pattern.plane.offset, pattern.plane.stride)
        var span = sums.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe span.withUnsafeMutableBufferPointer { sums in
                guard let base = bytes.baseAddress, let sums = sums.baseAddress else { return }
                let first = unsafe UnsafeRawPointer(base + offset + rows.lowerBound * stride + columns.lowerBound)
                let count = (rows.count + step - 1) / step
                var x = 0
                while x + 16 <= columns.count {
                    // Pairs of bytes are separated by shifts, which is cheaper than widening them.
                    var (even, odd) = (SIMD8<UInt16>.zero, SIMD8<UInt16>.zero)
                    var at = unsafe first + x
                    for _ in 0..<count {
                        let pairs = unsafe at.loadUnaligned(as: SIMD8<UInt16>.self)
                        even &+= pairs & 255
                        odd &+= pairs &>> 8
                        unsafe at += stride * step
                    }
                    var sum = SIMD16<UInt16>()
                    (sum.evenHalf, sum.oddHalf) = (even, odd)
                    unsafe UnsafeMutableRawPointer(sums + x).storeBytes(of: sum, as: SIMD16<UInt16>.self)
                    x += 16
                }
                while x < columns.count {
                    var sum: UInt16 = 0
                    for row in 0..<count {
                        sum &+= unsafe UInt16(first.load(fromByteOffset: row * stride * step + x, as: UInt8.self))
                    }
                    unsafe sums[x] = sum
                    x += 1
                }
            }
        }
    }

    /// Copies the nearest cells inside the frame to those outside, so that the blur is not affected by the latter.
    private mutating func fillOutside() {
        guard let left = (0..<columns).first(where: { xs[$0] < xs[$0 + 1] }),
            let right = (0..<columns).last(where: { xs[$0] < xs[$0 + 1] }),
            let top = (0..<rows).first(where: { ys[$0] < ys[$0 + 1] }),
            let bottom = (0..<rows).last(where: { ys[$0] < ys[$0 + 1] })
        else { return }
        for j in 0..<rows {
            let inside = max(top, min(bottom, j))
            for i in 0..<columns {
                values[j * columns + i] = values[inside * columns + max(left, min(right, i))]
            }
        }
    }

    /// Gives the cells of each square their mean, so that it looks like one cell. The first square begins at the grid's
    /// origin. The grid itself stays, and so can be faded and filled cell by cell.
    /// - Parameter side: the side of a square, cells.
    public mutating func join(_ side: Int) {
        guard side > 1 else { return }
        for top in Swift.stride(from: 0, to: rows, by: side) {
            for left in Swift.stride(from: 0, to: columns, by: side) {
                let (bottom, right) = (min(rows, top + side), min(columns, left + side))
                var sum = SIMD4<UInt32>.zero
                for j in top..<bottom {
                    for i in left..<right {
                        let value = values[j * columns + i]
                        let cell: SIMD4<UInt32> = [value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24]
                        sum &+= cell
                    }
                }
                let count = UInt32((bottom - top) * (right - left))
                let mean = (sum &+ count / 2) / SIMD4(repeating: count)
                let value = mean.x | mean.y << 8 | mean.z << 16 | mean.w << 24
                for j in top..<bottom {
                    for i in left..<right { values[j * columns + i] = value }
                }
            }
        }
    }

    /// Rounds the cells' values to multiples of 8. This removes small differences between cells, from which trained
    /// networks could reconstruct faces.
    public mutating func quantize() {
        for i in 0..<columns * rows {
            let value = values[i]
            var rounded = value & 0xff00_0000
            for channel in 0..<3 as Range<UInt32> {
                rounded |= (min((value >> (8 * channel) & 255) + 4, 255) & 0xf8) << (8 * channel)
            }
            values[i] = rounded
        }
    }

    /// The cells for reading, row by row.
    public var cells: Span<UInt32> {
        @_lifetime(borrow self) get { values.span }
    }

    /// Draws the cells as a smooth picture, bilinearly; outside the grid the layer is unchanged.
    /// - Parameters:
    ///   - corner: the centre of the first cell in the frame, pixels.
    ///   - side: the distance between the centres of cells, pixels.
    public mutating func draw(into layer: inout LayerBuffer, corner: Point, side: Float) {
        guard side >= 1, columns > 1, rows > 1, abs(corner.x) < 1e6, abs(corner.y) < 1e6 else { return }
        let (piece, stride) = (layer.region, layer.stride)
        Self.grow(&blended, columns, 0)
        let one = Float(1 << Self.fraction)
        let step = Int((one / side).rounded())
        let start = Int((Float(piece.x) - corner.x) / side * one)
        // The layer's columns between the centres of the first and the last cell.
        let last = (columns - 1) << Self.fraction - 1
        let first = start < 0 ? (-start + step - 1) / step : 0
        let end = min(piece.width, start > last ? 0 : (last - start) / step + 1)
        var pixels = layer.pixels
        for y in 0..<piece.height {
            let v = (Float(piece.y + y) - corner.y) / side
            guard v >= 0, v < Float(rows - 1), first < end else { continue }
            let row = Int(v)
            let weight = UInt64((v - Float(row)) * 256)
            for i in 0..<columns {
                let (above, below) = (values[row * columns + i], values[(row + 1) * columns + i])
                blended[i] = Channels.mix(Channels.separate(above), Channels.separate(below), weight)
            }
            let cells = blended.span
            var u = start + first * step
            for x in first..<end {
                let (i, weight) = (u &>> Self.fraction, UInt64(truncatingIfNeeded: u &>> (Self.fraction - 8)) & 255)
                // Unchecked: i + 1 is within the columns computed above.
                let mixed = unsafe Channels.mix(cells[unchecked: i], cells[unchecked: i &+ 1], weight)
                pixels[y &* stride &+ x] = Channels.join(mixed)
                u &+= step
            }
        }
    }

    /// Fraction bits of a position in the grid.
    private static let fraction = 24

    /// Multiplies each cell by an alpha, 0...255.
    public mutating func fade(_ alpha: (_ column: Int, _ row: Int) -> UInt32) {
        for j in 0..<rows {
            for i in 0..<columns {
                let (value, alpha) = (values[j * columns + i] | 0xff00_0000, alpha(i, j))
                // 257/65536 is 1/255 to 16 bits.
                func part(_ shift: UInt32) -> UInt32 { ((value >> shift & 255) * alpha * 257 + 32768) >> 16 }
                values[j * columns + i] = part(0) | part(8) << 8 | part(16) << 16 | part(24) << 24
            }
        }
    }

    /// Blurs the cells by repeated box filters: three passes approximate a Gaussian.
    /// - Parameters:
    ///   - radius: the radius of the box, cells.
    ///   - passes: the number of boxes, each across and down. The variance is `passes * radius * (radius + 1) / 3`
    ///     cells squared.
    public mutating func blur(radius: Int, passes: Int) {
        for _ in 0..<passes {
            Self.box(values, into: &spare, radius, count: columns, step: 1, lines: rows, lineStep: columns)
            Self.box(spare, into: &values, radius, count: rows, step: columns, lines: columns, lineStep: 1)
        }
    }

    private static func box(
        _ source: [UInt32], into target: inout [UInt32], _ radius: Int, count: Int, step: Int, lines: Int, lineStep: Int
    ) {
        let width = UInt32(2 * radius + 1)
        for line in 0..<lines {
            let start = line * lineStep
            func cell(_ i: Int) -> SIMD4<UInt32> {
                let value = source[start + max(0, min(count - 1, i)) * step]
                return [value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24]
            }
            var sum = SIMD4<UInt32>.zero
            for i in -radius...radius { sum &+= cell(i) }
            for i in 0..<count {
                let mean = (sum &+ width / 2) / SIMD4(repeating: width)
                target[start + i * step] = mean.x | mean.y << 8 | mean.z << 16 | mean.w << 24
                sum = sum &+ cell(i + radius + 1) &- cell(i - radius)
            }
        }
    }

    /// Fills the frame's pixels with the colours of their cells, except cells whose alpha is 0. Any other alpha counts
    /// as opaque: nothing shows through.
    public mutating func fill(_ frame: inout Frame) {
        let layout = frame.layout
        for index in layout.planes.indices {
            let pattern = PlanePattern(layout, plane: index)
            for j in 0..<rows { fill(&frame, pattern, row: j) }
        }
    }

    private mutating func fill(_ frame: inout Frame, _ pattern: PlanePattern, row j: Int) {
        let rows = pattern.rows(ys[j], ys[j + 1])
        guard !rows.isEmpty else { return }
        var i = 0
        while i < columns {
            guard values[j * columns + i] >> 24 > 0 else {
                i += 1
                continue
            }
            // Adjacent cells are joined, so that each row is copied in one go.
            let first = i
            while i < columns, values[j * columns + i] >> 24 > 0 {
                for b in pattern.bytes(xs[i], xs[i + 1]) {
                    let shift = UInt32(pattern.channels[b & 3 & (pattern.bytesPerPair - 1)]) * 8
                    line[b] = UInt8(truncatingIfNeeded: values[j * columns + i] >> shift)
                }
                i += 1
            }
            let bytes = pattern.bytes(xs[first], xs[i])
            var target = frame.mutableBytes
            let source = line.span
            unsafe source.withUnsafeBytes { source in
                unsafe target.withUnsafeMutableBytes { target in
                    guard let from = source.baseAddress, let to = target.baseAddress else { return }
                    for y in rows {
                        let start = pattern.plane.offset + y * pattern.plane.stride + bytes.lowerBound
                        unsafe (to + start).copyMemory(from: from + bytes.lowerBound, byteCount: bytes.count)
                    }
                }
            }
        }
    }
}
