import SystemKit

/// Scales a part of a picture into a region of a frame, which may have another format and range. The rest of the frame
/// becomes black. Allocates nothing after `init`.
///
/// With AVX2, `WideScaler` writes into the frame itself, unless range or format forbid it. Otherwise four rows are made
/// at a time, so that everything between the picture and the frame stays in the nearest cache: on processors without
/// AVX2 the picture's rows are filtered vertically first, in whatever format they are; then horizontally, where the
/// same weights apply to four rows in a vector's lanes.
public struct FrameScaler: ~Copyable {
    /// The layout of the pictures.
    public let input: FrameLayout
    /// The layout of the frames.
    public let output: FrameLayout

    /// The place of the scaled part in the frame, in pixels.
    private let region: PixelRect
    private var luma: PlaneFilter
    private var chroma: PlaneFilter
    /// Nil if the processor or the scale doesn't allow it.
    private var wide: WideScaler?
    /// Whether the filters have changed since the last picture.
    private var hasMoved = false
    /// Four rows of the frame, planar and in the picture's range.
    private var strip: Frame
    /// Four black rows of the frame.
    private let black: Frame
    /// Whether `wide` needs no strip.
    private let drawsDirectly: Bool
    /// Four rows of samples, 256 times their value, that are filtered vertically: first row by row, or two rows of
    /// interleaved chroma; then transposed, the four samples of a column side by side.
    private var memory: [UInt16]

    /// Allocates buffers for pictures and frames of these layouts.
    /// - Parameters:
    ///   - bounds: the part of the picture that may be read, starting on even pixels. All of it is scaled until
    ///     `setPart` is called.
    ///   - region: the place in the frame, starting on even pixels.
    ///   - mayBeWide: false: uses no AVX2, for tests.
    public init(
        from input: FrameLayout, _ bounds: PixelRect, to output: FrameLayout, _ region: PixelRect,
        mayBeWide: Bool = true
    ) {
        (self.input, self.output, self.region) = (input, output, region)
        luma = PlaneFilter(from: bounds, (0, 0), to: region, (0, 0))
        chroma = PlaneFilter(from: bounds, input.format.chromaShift, to: region, output.format.chromaShift)
        let format: PixelFormat =
            switch output.format {
            case .yuyv, .uyvy, .i422: .i422
            case .nv12, .i420: .i420
            case .i444: .i444
            case .gray: .gray
            }
        let layout = FrameLayout(width: output.width, height: stripRows, format: format, range: input.range)
        strip = Frame(layout)
        black = Frame(
            FrameLayout(width: output.width, height: stripRows, format: output.format, range: output.range))
        let wide = mayBeWide ? WideScaler(luma, chroma) : nil
        drawsDirectly = wide != nil && WideScaler.canDraw(input, into: output, width: region.width)
        self.wide = consume wide
        memory = Array(repeating: 0, count: 2 * 4 * max(luma.columns.capacity, luma.columns.first.count))
    }

    /// Sets the part of the picture that is scaled, from the next one on. Allocates nothing.
    /// - Parameter part: in pixels, inside the bounds; whole numbers are the edges of pixels.
    public mutating func setPart(_ part: Rect) {
        luma.set(part)
        chroma.set(part)
        hasMoved = true
    }

    /// Scales a picture.
    /// - Precondition: the view and the frame have the layouts `input` and `output`.
    public mutating func scale(_ view: borrowing FrameView, into frame: inout Frame) {
        precondition(view.layout == input && frame.layout == output, "the frames must have the scaler's layouts")
        for row in stride(from: 0, to: region.y, by: stripRows) {
            convert(black, rows: min(stripRows, region.y - row), into: &frame, at: row)
        }
        for row in stride(from: region.y + region.height, to: output.height, by: stripRows) {
            convert(black, rows: min(stripRows, output.height - row), into: &frame, at: row)
        }
        var wide = self.wide.take()
        wide?.begin(luma, chroma, hasMoved: hasMoved)
        hasMoved = false
        if drawsDirectly {
            blackenSides(of: &frame)
            wide?.draw(view, luma, chroma, into: &frame, at: region)
            self.wide = consume wide
            return
        }
        for row in stride(from: 0, to: region.height, by: stripRows) {
            let rows = row..<row + stripRows
            if wide?.draw(view, luma, chroma, rows: rows, into: &strip, at: (region.x, 0)) == nil {
                Self.draw(view, luma, chroma, from: row, into: &strip, at: region.x, &memory)
            }
            convert(strip, rows: min(stripRows, region.height - row), into: &frame, at: region.y + row)
        }
        self.wide = consume wide
    }

    /// Blackens what is left and right of the region, in its rows.
    private func blackenSides(of frame: inout Frame) {
        guard region.width < output.width else { return }
        let right = region.x + region.width
        for row in stride(from: region.y, to: region.y + region.height, by: stripRows) {
            let rows = min(stripRows, region.y + region.height - row)
            copyRows(of: black, rows: rows, columns: 0..<region.x, into: &frame, at: row)
            copyRows(of: black, rows: rows, columns: right..<output.width, into: &frame, at: row)
        }
    }

    /// Scales four rows of a picture, from `row` of the region on, into the strip's columns from `x` on.
    private static func draw(
        _ view: borrowing FrameView, _ luma: PlaneFilter, _ chroma: PlaneFilter, from row: Int,
        into strip: inout Frame, at x: Int, _ memory: inout [UInt16]
    ) {
        let (from, to) = (view.layout, strip.layout)
        var target = strip.mutableBytes
        var span = memory.mutableSpan
        precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes")
        unsafe view.bytes.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                unsafe span.withUnsafeMutableBufferPointer { memory in
                    guard let source = source.baseAddress, let target = target.baseAddress,
                        let rows = memory.baseAddress
                    else { return }
                    let kernel = unsafe ScaleKernel(
                        source: source, target: target, rows: rows, quads: rows + memory.count / 2)
                    let line = to.planes[0].stride
                    kernel.draw(from.luma, luma, row, into: (x, x + line, x + 2 * line, x + 3 * line))
                    guard let sites = from.chroma, to.planes.count == 3 else { return }
                    let (shift, chromaLine) = (to.format.chromaShift, to.planes[1].stride)
                    // Two rows of both components are four rows.
                    for pair in stride(from: 0, to: to.planes[1].rows, by: 2) {
                        let start = pair * chromaLine + x >> shift.x
                        let (u, v) = (to.planes[1].offset + start, to.planes[2].offset + start)
                        kernel.draw(sites, chroma, row >> shift.y + pair, into: (u, v, u + chromaLine, v + chromaLine))
                    }
                }
            }
        }
    }
}

/// Rows that are made at a time. Even, since two rows may share their chroma.
let stripRows = 4

/// The filters of a component.
struct PlaneFilter {
    var columns: ScaleFilter
    var rows: ScaleFilter

    /// - Parameters:
    ///   - from: pixels per sample of the picture, as powers of two.
    ///   - to: those of the frame.
    init(from bounds: PixelRect, _ from: (x: Int, y: Int), to region: PixelRect, _ to: (x: Int, y: Int)) {
        // A weight has 16 bits; products of the rows' weights with samples must fit in as many.
        columns = ScaleFilter(from: bounds.x, bounds.width, from.x, to: region.width, to.x, total: 65535)
        rows = ScaleFilter(from: bounds.y, bounds.height, from.y, to: region.height, to.y, total: 256)
    }

    /// Whether nothing is reduced to half or less, so that each sample is made of at most two by two.
    var isInterpolation: Bool { columns.isInterpolation && rows.isInterpolation }

    mutating func set(_ part: Rect) {
        columns.set(from: Double(part.x), Double(part.width))
        rows.set(from: Double(part.y), Double(part.height))
    }
}

@safe private struct ScaleKernel {
    let source: UnsafePointer<UInt8>
    let target: UnsafeMutablePointer<UInt8>
    let rows: UnsafeMutablePointer<UInt16>
    let quads: UnsafeMutablePointer<UInt16>

    /// Scales four rows of luma.
    /// - Parameters:
    ///   - row: the first row.
    ///   - starts: offsets of the rows in the target.
    func draw(_ site: SampleSite, _ filter: PlaneFilter, _ row: Int, into starts: (Int, Int, Int, Int)) {
        let count = filter.columns.samples.count
        for i in 0..<4 { unsafe filterRows(site, site.step, filter, row + i, count, into: rows + i * count) }
        transpose(count)
        filterColumns(filter.columns)
        separate(filter.columns.count, into: starts)
    }

    /// Scales two rows of chroma.
    func draw(
        _ sites: (u: SampleSite, v: SampleSite), _ filter: PlaneFilter, _ row: Int, into starts: (Int, Int, Int, Int)
    ) {
        let count = filter.columns.samples.count
        if sites.u.step == 1 {
            for i in 0..<4 {
                unsafe filterRows(
                    i & 1 == 0 ? sites.u : sites.v, 1, filter, row + i / 2, count, into: rows + i * count)
            }
            transpose(count)
        } else {
            // U and V alternate: both are filtered as one row, of every byte or every second one.
            for i in 0..<2 {
                unsafe filterRows(
                    sites.u, sites.u.step / 2, filter, row + i, 2 * count, into: rows + 2 * i * count)
            }
            transposePairs(count)
        }
        filterColumns(filter.columns)
        separate(filter.columns.count, into: starts)
    }

    /// Filters a row vertically.
    /// - Parameter step: bytes from one sample to the next.
    private func filterRows(
        _ site: SampleSite, _ step: Int, _ filter: PlaneFilter, _ row: Int, _ count: Int,
        into out: UnsafeMutablePointer<UInt16>
    ) {
        let rows = filter.rows
        let row = min(row, rows.count - 1)
        let start = unsafe source + site.offset + filter.columns.samples.lowerBound * site.step
        func line(_ i: Int) -> UnsafePointer<UInt8> {
            // Samples after the last one have no weight.
            let line = min(rows.samples.lowerBound + Int(rows.first[row]) + i, rows.samples.upperBound - 1)
            return unsafe start + line * site.stride
        }
        for pair in 0..<rows.pairs {
            let weights = rows.weights[row * rows.pairs + pair]
            let (a, b) = unsafe (line(2 * pair), line(2 * pair + 1))
            switch (step, pair) {
            case (1, 0): unsafe mix(a, b, weights, 1, count, adding: false, into: out)
            case (1, _): unsafe mix(a, b, weights, 1, count, adding: true, into: out)
            case (_, 0): unsafe mix(a, b, weights, 2, count, adding: false, into: out)
            case (_, _): unsafe mix(a, b, weights, 2, count, adding: true, into: out)
            }
        }
    }

    @inline(__always)
    private func mix(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ weights: SIMD8<UInt16>, _ step: Int, _ count: Int,
        adding: Bool, into out: UnsafeMutablePointer<UInt16>
    ) {
        let (one, other) = (weights[0], weights[4])
        for i in 0..<count {
            let sum = unsafe UInt16(a[i &* step]) &* one &+ UInt16(b[i &* step]) &* other
            unsafe out[i] = adding ? out[i] &+ sum : sum
        }
    }

    /// Transposes four rows.
    @inline(never)
    private func transpose(_ count: Int) {
        let (a, b, c, d) = unsafe (rows, rows + count, rows + 2 * count, rows + 3 * count)
        for i in 0..<count {
            unsafe (quads[4 * i], quads[4 * i + 1], quads[4 * i + 2], quads[4 * i + 3]) = (a[i], b[i], c[i], d[i])
        }
    }

    /// Transposes two rows of pairs.
    @inline(never)
    private func transposePairs(_ count: Int) {
        let (a, b) = unsafe (UnsafeRawPointer(rows), UnsafeRawPointer(rows + 2 * count))
        let out = unsafe UnsafeMutableRawPointer(quads)
        for i in 0..<count {
            unsafe out.storeBytes(
                of: a.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self), toByteOffset: 8 * i, as: UInt32.self)
            unsafe out.storeBytes(
                of: b.loadUnaligned(fromByteOffset: 4 * i, as: UInt32.self), toByteOffset: 8 * i + 4, as: UInt32.self)
        }
    }

    /// Filters the columns of four rows. Writes 16 columns of all rows, then the next 16 columns.
    @inline(never)
    private func filterColumns(_ filter: ScaleFilter) {
        unsafe filter.first.withUnsafeBufferPointer { first in
            unsafe filter.weights.withUnsafeBufferPointer { weights in
                guard let first = first.baseAddress, let weights = weights.baseAddress else { return }
                let columns = unsafe ColumnKernel(quads: UnsafeRawPointer(quads), first: first, weights: weights)
                if filter.pairs == 1 {
                    unsafe columns.filter(filter.count, pairs: 1, into: UnsafeMutableRawPointer(rows))
                } else {
                    unsafe columns.filter(filter.count, pairs: filter.pairs, into: UnsafeMutableRawPointer(rows))
                }
            }
        }
    }

    /// Separates the rows that `filterColumns` wrote.
    /// - Parameter starts: the rows' offsets in the target.
    @inline(never)
    private func separate(_ count: Int, into starts: (Int, Int, Int, Int)) {
        for x in stride(from: 0, to: count, by: ScaleFilter.group) {
            let address = unsafe UnsafeRawPointer(rows) + 4 &* x
            func columns(_ i: Int) -> SIMD8<UInt16> {
                unsafe address.loadUnaligned(fromByteOffset: i &* 16, as: SIMD8<UInt16>.self)
            }
            let (a, b) = zipped(columns(0), columns(1))
            let (c, d) = zipped(columns(2), columns(3))
            let (left, right) = (zippedPairs(a, c), zippedPairs(b, d))
            let (upper, lower) = (zippedHalves(left.0, right.0), zippedHalves(left.1, right.1))
            let many = min(ScaleFilter.group, count &- x)
            unsafe store(upper.0, many, target + (starts.0 &+ x))
            unsafe store(upper.1, many, target + (starts.1 &+ x))
            unsafe store(lower.0, many, target + (starts.2 &+ x))
            unsafe store(lower.1, many, target + (starts.3 &+ x))
        }
    }

    @inline(__always)
    private func store(_ samples: SIMD8<UInt16>, _ count: Int, _ address: UnsafeMutablePointer<UInt8>) {
        if count == ScaleFilter.group {
            unsafe UnsafeMutableRawPointer(address).storeBytes(of: samples, as: SIMD8<UInt16>.self)
        } else {
            let bytes = unsafe unsafeBitCast(samples, to: SIMD16<UInt8>.self)
            for i in 0..<count { unsafe address[i] = bytes[i] }
        }
    }
}

/// Filters the columns of four rows at once.
@safe private struct ColumnKernel {
    let quads: UnsafeRawPointer
    let first: UnsafePointer<Int32>
    let weights: UnsafePointer<SIMD8<UInt16>>

    @inline(__always)
    func filter(_ count: Int, pairs: Int, into out: UnsafeMutableRawPointer) {
        for x in stride(from: 0, to: count, by: ScaleFilter.group) {
            for i in 0..<4 {
                unsafe out.storeBytes(
                    of: twice(x &+ 2 &* i, pairs), toByteOffset: 4 &* x &+ 16 &* i, as: SIMD8<UInt16>.self)
            }
        }
    }

    /// The samples of columns `x` and `x + 1`, a word for each row; then those of the columns eight further.
    @inline(__always)
    private func twice(_ x: Int, _ pairs: Int) -> SIMD8<UInt16> {
        means(x, pairs) &>> 8 | means(x &+ 1, pairs) & 0xff00
    }

    /// Column `x` of each row, then column `x + 8`, as 256 times the samples' value.
    @inline(__always)
    private func means(_ x: Int, _ pairs: Int) -> SIMD8<UInt16> {
        let (one, other) = zippedHalves(sums(x, pairs), sums(x &+ 8, pairs))
        // Half a sample; and half of a 256th for each of the two sums, which are cut off.
        return one &+ other &+ 129
    }

    /// The weighted sums of the even and of the odd source columns of each row.
    @inline(__always)
    private func sums(_ x: Int, _ pairs: Int) -> SIMD8<UInt16> {
        let address = unsafe quads + Int(first[x]) &* 8
        if pairs == 1 { return unsafe high(address.loadUnaligned(as: SIMD8<UInt16>.self), weights[x]) }
        // Cut off only once, since what is lost would add up.
        var sums = SIMD8<UInt32>()
        for pair in 0..<pairs {
            let samples = unsafe address.loadUnaligned(fromByteOffset: 16 &* pair, as: SIMD8<UInt16>.self)
            let weights = unsafe weights[x &* pairs &+ pair]
            for i in 0..<8 { sums[i] &+= UInt32(samples[i]) &* UInt32(weights[i]) }
        }
        var lanes = SIMD8<UInt16>()
        for i in 0..<8 { lanes[i] = UInt16(truncatingIfNeeded: sums[i] &>> 16) }
        return lanes
    }

    /// The upper halves of the products: lane by lane, which the compiler turns into one instruction (PMULHUW).
    @inline(__always)
    private func high(_ a: SIMD8<UInt16>, _ b: SIMD8<UInt16>) -> SIMD8<UInt16> {
        var lanes = SIMD8<UInt16>()
        for i in 0..<8 { lanes[i] = UInt16(truncatingIfNeeded: (UInt32(a[i]) &* UInt32(b[i])) &>> 16) }
        return lanes
    }
}
