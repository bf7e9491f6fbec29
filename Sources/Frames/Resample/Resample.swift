import SystemKit

/// Luma kernels. In this folder alone, samples are read without bounds checks, after one check of the whole.

/// Samples a small upright patch from a region of a large picture, scaled and rotated.
///
/// If the region is scaled down, the picture is first reduced by an integer factor, each cell the mean of its samples,
/// to avoid aliasing of large faces; the rest is bilinear. The picture's edge pixels are repeated outside. Allocates
/// nothing.
/// - Parameters:
///   - picture: the large picture.
///   - map: from the patch's pixels to the picture's. The patch is left unchanged if the map is not finite or exceeds
///     any picture.
///   - patch: `width * height` samples, row by row.
///   - mayBeWide: whether AVX2 may be used, with the same result.
public func resample(
    _ picture: borrowing LumaView, by map: Affine, into patch: inout MutableSpan<UInt8>, width: Int, height: Int,
    mayBeWide: Bool = true
) {
    precondition(width >= 0 && height >= 0 && patch.count >= width * height, "the patch needs width * height samples")
    let wildest = max(max(abs(map.a), abs(map.b)), max(abs(map.c), abs(map.d)))
    // Beyond this, positions could overflow fixed point; no picture is that large. False for NaN.
    guard wildest < 1000, abs(map.tx) < 4_000_000, abs(map.ty) < 4_000_000, width < 4096, height < 4096 else { return }
    let last = (picture.width - 1, picture.height - 1)
    var cells = Cells(factor: cellFactor(map), rowStride: picture.rowStride, last: last)
    unsafe picture.samples.withUnsafeBufferPointer { samples in
        unsafe patch.withUnsafeMutableBufferPointer { patch in
            guard let samples = samples.baseAddress, let patch = patch.baseAddress else { return }
            // Tile by tile, so that a tile's cells stay on the stack and in the nearest cache.
            for top in stride(from: 0, to: height, by: tileSide) {
                for left in stride(from: 0, to: width, by: tileSide) {
                    let tile = PixelRect(
                        x: left, y: top, width: min(tileSide, width - left), height: min(tileSide, height - top))
                    guard cells.setRange(under: tile, map) else { continue }
                    switch picture.pixelStride {
                    case 1: unsafe cells.fill(from: samples, pixelStride: 1)
                    case 2: unsafe cells.fill(from: samples, pixelStride: 2)
                    default: unsafe cells.fill(from: samples, pixelStride: picture.pixelStride)
                    }
                    unsafe cells.interpolate(
                        into: patch + (top &* width &+ left), tile, map, patchStride: width, mayBeWide: mayBeWide)
                }
            }
        }
    }
}

/// The side of a tile, in pixels of the patch.
private let tileSide = 32
/// The largest side of the cells under a tile: its pixels are at most 2.3 cells apart, so a rotated tile spans at most
/// 104 cells; the rest is for partial cells.
private let cellSide = 128

/// The side of a cell in picture pixels: 0.65 of the map's scale along its most reduced axis. Cells as large as the
/// patch's pixels blur small faces too much (docs/tracker.md).
private func cellFactor(_ map: Affine) -> Int {
    let longest = max(map.a * map.a + map.c * map.c, map.b * map.b + map.d * map.d).squareRoot()
    return max(1, Int((longest * 0.65).rounded()))
}

/// The picture under one tile, reduced by an integer factor.
private struct Cells {
    /// The side of a cell in picture pixels.
    let factor: Int
    let rowStride: Int
    /// The picture's last column and row.
    let last: (x: Int, y: Int)
    /// The first picture pixel of cell (0, 0). A multiple of `factor`, so that tiles have no visible seams.
    private var origin = (x: 0, y: 0)
    private var count = (x: 0, y: 0)
    private var samples = [16_384 of UInt8](repeating: 0)
    /// Column sums of a row of cells; computed in parts if cells are large.
    private var sums = [2048 of UInt16](repeating: 0)

    init(factor: Int, rowStride: Int, last: (x: Int, y: Int)) {
        (self.factor, self.rowStride, self.last) = (factor, rowStride, last)
    }

    /// Computes the range of cells that interpolation reads; false if it is too large.
    mutating func setRange(under tile: PixelRect, _ map: Affine) -> Bool {
        let corner = map(Point(Float(tile.x), Float(tile.y)))
        let (right, down) = (Float(tile.width - 1), Float(tile.height - 1))
        let across = Point(map.a, map.c) * right
        let along = Point(map.b, map.d) * down
        let low = corner + pointwiseMin(across, .zero) + pointwiseMin(along, .zero)
        let high = corner + pointwiseMax(across, .zero) + pointwiseMax(along, .zero)
        // The cell whose centre is to the left of a position, with a margin for rounding.
        let margin = 0.5 + Float(factor) / 64
        func cell(_ position: Float) -> Int {
            Int(((position - Float(factor - 1) / 2) / Float(factor)).rounded(.down))
        }
        let first = (x: cell(low.x - margin), y: cell(low.y - margin))
        count = (cell(high.x + margin) + 2 - first.x, cell(high.y + margin) + 2 - first.y)
        origin = (first.x * factor, first.y * factor)
        return count.x <= cellSide && count.y <= cellSide
    }

    @inline(__always)
    mutating func fill(from picture: UnsafePointer<UInt8>, pixelStride: Int) {
        if factor == 1 {
            unsafe copy(from: picture, pixelStride: pixelStride)
        } else {
            unsafe average(from: picture, pixelStride: pixelStride)
        }
    }

    /// The part of `count` pixels from `start` on that is inside 0...last: its offset among them, its first pixel, and
    /// its length. One pixel of the edge if all are outside.
    private static func inside(_ start: Int, _ count: Int, last: Int) -> (at: Int, first: Int, count: Int) {
        let first = max(0, min(start, last))
        let end = max(first, min(start + count - 1, last))
        return (max(0, min(first - start, count - 1)), first, min(end - first + 1, count))
    }

    @inline(__always)
    private mutating func copy(from picture: UnsafePointer<UInt8>, pixelStride: Int) {
        let (at, first, within) = Self.inside(origin.x, count.x, last: last.x)
        let (columns, rows, origin, last, rowStride) = (count.x, count.y, origin, last, rowStride)
        var span = samples.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { target in
            guard let target = target.baseAddress else { return }
            for row in 0..<rows {
                let line = unsafe picture + max(0, min(origin.y + row, last.y)) * rowStride + first * pixelStride
                let out = unsafe target + row * cellSide
                let inside = unsafe out + at
                for x in 0..<within { unsafe inside[x] = line[x &* pixelStride] }
                for x in 0..<at { unsafe out[x] = out[at] }
                for x in at + within..<max(at + within, columns) { unsafe out[x] = out[at + within - 1] }
            }
        }
    }

    @inline(__always)
    private mutating func average(from picture: UnsafePointer<UInt8>, pixelStride: Int) {
        let factor = factor
        // Five rows per cell are enough (docs/tracker.md); the sums of up to sixteen would fit in 16 bits.
        let rowStep = (factor + 4) / 5
        let rows = (factor + rowStep - 1) / rowStep
        let (columns, cellRows, origin, last, rowStride) = (count.x, count.y, origin, last, rowStride)
        let weight = UInt32((Float(1 << 24) / Float(factor * rows)).rounded())
        let atOnce = min(columns, 2048 / factor)
        var sumSpan = sums.mutableSpan
        var cellSpan = samples.mutableSpan
        unsafe sumSpan.withUnsafeMutableBufferPointer { sums in
            unsafe cellSpan.withUnsafeMutableBufferPointer { cells in
                guard let sums = sums.baseAddress, let cells = cells.baseAddress else { return }
                for start in stride(from: 0, to: columns, by: atOnce) {
                    let many = min(atOnce, columns - start)
                    let width = many * factor
                    let (at, first, within) = Self.inside(origin.x + start * factor, width, last: last.x)
                    for row in 0..<cellRows {
                        let top = origin.y + row * factor
                        // Beyond the picture the edge is repeated: copy the row above.
                        if row > 0 && (top - factor >= last.y || top + factor <= 1) {
                            let above = unsafe cells + (row - 1) * cellSide + start
                            unsafe (cells + row * cellSide + start).update(from: above, count: many)
                            continue
                        }
                        let inside = unsafe sums + at
                        unsafe inside.update(repeating: 0, count: within)
                        for y in stride(from: 0, to: factor, by: rowStep) {
                            let pictureRow = max(0, min(top + y, last.y))
                            let line = unsafe picture + pictureRow * rowStride + first * pixelStride
                            // No checks inside, so that the compiler vectorizes this loop.
                            for x in 0..<within { unsafe inside[x] &+= UInt16(line[x &* pixelStride]) }
                        }
                        for x in 0..<at { unsafe sums[x] = sums[at] }
                        for x in at + within..<max(at + within, width) { unsafe sums[x] = sums[at + within - 1] }
                        let out = unsafe cells + row * cellSide + start
                        switch factor {
                        case 2: unsafe Self.gather(sums, 2, many, weight, into: out)
                        case 3: unsafe Self.gather(sums, 3, many, weight, into: out)
                        case 4: unsafe Self.gather(sums, 4, many, weight, into: out)
                        default: unsafe Self.gather(sums, factor, many, weight, into: out)
                        }
                    }
                }
            }
        }
    }

    /// Adds groups of `factor` sums and scales them to 8 bits.
    @inline(__always)
    private static func gather(
        _ sums: UnsafePointer<UInt16>, _ factor: Int, _ count: Int, _ weight: UInt32,
        into out: UnsafeMutablePointer<UInt8>
    ) {
        var cell = 0
        // Pairs are added eight at a time.
        while factor == 2, cell + 8 <= count {
            let pairs = unsafe UnsafeRawPointer(sums + 2 * cell).loadUnaligned(as: SIMD8<UInt32>.self)
            let sum = (pairs & 0xffff) &+ (pairs &>> 16)
            unsafe UnsafeMutableRawPointer(out + cell).storeBytes(
                of: SIMD8<UInt8>(truncatingIfNeeded: (sum &+ 2) &>> 2), as: SIMD8<UInt8>.self)
            cell += 8
        }
        while cell < count {
            var sum: UInt32 = 0
            for i in 0..<factor { unsafe sum &+= UInt32(sums[cell &* factor &+ i]) }
            // At most 255: the weight is rounded by half of 2^-24, and a cell has far fewer samples than 2^16.
            unsafe out[cell] = UInt8(truncatingIfNeeded: (sum &* weight &+ 1 << 23) &>> 24)
            cell += 1
        }
    }

    /// Interpolates a tile bilinearly, in 16.16 fixed point with 8 bits of weight.
    /// Mutating, so that the cells are read in place and not from a copy.
    mutating func interpolate(
        into patch: UnsafeMutablePointer<UInt8>, _ tile: PixelRect, _ map: Affine, patchStride: Int, mayBeWide: Bool
    ) {
        // From the tile's pixels to cells.
        let size = Float(factor)
        let corner = map(Point(Float(tile.x), Float(tile.y)))
        let middle = Float(factor - 1) / 2
        let one: Float = 65536
        func fixed(_ cells: Float) -> Int { Int((cells * one).rounded()) }
        let start = (
            x: fixed((corner.x - Float(origin.x) - middle) / size),
            y: fixed((corner.y - Float(origin.y) - middle) / size)
        )
        let right = (x: fixed(map.a / size), y: fixed(map.c / size))
        let down = (x: fixed(map.b / size), y: fixed(map.d / size))
        // Rounding should stay within the margin of `setRange`; this guarantees it.
        let most = ((count.x - 1) << 16 - 1, (count.y - 1) << 16 - 1)
        func isInside(_ i: Int, _ j: Int) -> Bool {
            let (x, y) = (start.x + i * right.x + j * down.x, start.y + i * right.y + j * down.y)
            return x >= 0 && y >= 0 && x <= most.0 && y <= most.1
        }
        let (w, h) = (tile.width - 1, tile.height - 1)
        guard isInside(0, 0), isInside(w, 0), isInside(0, h), isInside(w, h) else { return }
        if mayBeWide, right.x > 0, right.y == 0, down.x == 0 {
            let first = (start.x, start.y)
            return unsafe interpolateUpright(into: patch, tile, first, right.x, down.y, patchStride: patchStride)
        }
        unsafe samples.span.withUnsafeBufferPointer { cells in
            guard let cells = cells.baseAddress else { return }
            for row in 0..<tile.height {
                var (x, y) = (start.x + row * down.x, start.y + row * down.y)
                let out = unsafe patch + row * patchStride
                var column = 0
                while column + 8 <= tile.width {
                    let values = unsafe Self.blend(
                        FourSamples(cells, cellSide, &x, &y, right), FourSamples(cells, cellSide, &x, &y, right))
                    unsafe UnsafeMutableRawPointer(out + column).storeBytes(
                        of: SIMD8<UInt8>(truncatingIfNeeded: values), as: SIMD8<UInt8>.self)
                    column += 8
                }
                while column < tile.width {
                    let four = unsafe FourSamples(cells, cellSide, &x, &y, (0, 0))
                    unsafe out[column] = UInt8(truncatingIfNeeded: four.values[0])
                    x += right.x
                    y += right.y
                    column += 1
                }
            }
        }
    }

    /// Interpolates a tile that is not rotated: all its rows have the same columns of cells.
    /// - Parameters:
    ///   - first: the first pixel's position, in cells of 16.16 fixed point.
    ///   - right: the step from one pixel to the next.
    ///   - down: the step from one row to the next.
    private mutating func interpolateUpright(
        into patch: UnsafeMutablePointer<UInt8>, _ tile: PixelRect, _ first: (x: Int, y: Int), _ right: Int,
        _ down: Int, patchStride: Int
    ) {
        var starts = [32 of Int32](repeating: 0)
        var weights = [32 of UInt32](repeating: 0)
        for column in 0..<tileSide {
            // Beyond the tile the last pixel is repeated.
            let x = first.x &+ min(column, tile.width - 1) &* right
            starts[column] = Int32(truncatingIfNeeded: x &>> 16)
            weights[column] = rowWeights(right: Int32(truncatingIfNeeded: x &>> 8 & 255))
        }
        // A row of cells, and one more.
        var mixed = [129 of Int16](repeating: 0)
        var scratch = mixed.mutableSpan
        unsafe scratch.withUnsafeMutableBufferPointer { mixed in
            unsafe starts.span.withUnsafeBufferPointer { starts in
                unsafe weights.span.withUnsafeBufferPointer { weights in
                    unsafe samples.span.withUnsafeBufferPointer { cells in
                        guard let starts = starts.baseAddress, let weights = weights.baseAddress,
                            let cells = cells.baseAddress
                        else { return }
                        let taps = unsafe RowTaps(count: tile.width, starts: starts, weights: weights)
                        for row in 0..<tile.height {
                            let y = first.y &+ row &* down
                            let upper = unsafe cells + (y &>> 16) &* cellSide
                            let rows = unsafe RowPair(
                                upper, upper + cellSide, lowerWeight: Int32(truncatingIfNeeded: y &>> 8 & 255))
                            unsafe interpolateRow(rows, taps, mixed: mixed, into: patch + row &* patchStride)
                        }
                    }
                }
            }
        }
    }

    @inline(__always)
    private static func blend(_ first: FourSamples, _ second: FourSamples) -> SIMD8<UInt16> {
        let (a, b) = (first.values, second.values)
        return SIMD8(truncatingIfNeeded: SIMD8<UInt32>(lowHalf: a, highHalf: b))
    }
}

/// Four pixels of a patch in one row: the cells around each, and its position between them.
struct FourSamples {
    /// The upper left, upper right, lower left and lower right cell of each pixel, from the lowest byte up.
    private var cells = SIMD4<UInt32>()
    /// Weights of the right and of the lower cells, 0 to 255 of 256.
    private var across: SIMD4<UInt32>
    private var along: SIMD4<UInt32>

    /// Loads four pixels and advances the position past them.
    /// - Parameters:
    ///   - stride: bytes from one row of cells to the next.
    ///   - x: the first pixel's position, in cells of 16.16 fixed point.
    ///   - right: the step from one pixel to the next.
    @inline(__always)
    init(_ picture: UnsafePointer<UInt8>, _ stride: Int, _ x: inout Int, _ y: inout Int, _ right: (x: Int, y: Int)) {
        let steps = SIMD4<UInt32>(0, 1, 2, 3)
        let first = SIMD2<UInt32>(UInt32(truncatingIfNeeded: x), UInt32(truncatingIfNeeded: y))
        across = (first.x &+ steps &* UInt32(truncatingIfNeeded: right.x)) &>> 8 & 255
        along = (first.y &+ steps &* UInt32(truncatingIfNeeded: right.y)) &>> 8 & 255
        for lane in 0..<4 {
            let cell = unsafe UnsafeRawPointer(picture + ((y &>> 16) &* stride &+ x &>> 16))
            let upper = unsafe UInt32(cell.loadUnaligned(as: UInt16.self))
            let lower = unsafe UInt32(cell.loadUnaligned(fromByteOffset: stride, as: UInt16.self))
            cells[lane] = upper | lower &<< 16
            x &+= right.x
            y &+= right.y
        }
    }

    var values: SIMD4<UInt32> {
        @inline(__always) get {
            let pairs = unsafe unsafeBitCast(cells, to: SIMD8<UInt16>.self)
            let weight = unsafe unsafeBitCast(across | across &<< 16, to: SIMD8<UInt16>.self)
            // At most 255 * 256, which fits in 16 bits.
            let both = unsafe unsafeBitCast(
                (pairs & 255) &* (256 &- weight) &+ (pairs &>> 8) &* weight, to: SIMD4<UInt32>.self)
            return ((both & 0xffff) &* (256 &- along) &+ (both &>> 16) &* along &+ 32768) &>> 16
        }
    }
}
