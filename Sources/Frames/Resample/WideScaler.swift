import CScale

/// A scaler with AVX2, for pictures that aren't reduced to half or less. Each row of the picture is filtered
/// horizontally, once, and each row of the output is mixed from two of these. The fewer chroma samples a format has,
/// the less it costs.
@safe struct WideScaler: ~Copyable {
    private let kernels: UnsafePointer<cscale_kernels>
    private var luma: WideFilter
    private var chroma: WideFilter
    /// The last two filtered rows of each component.
    private var lines: [Int16]
    /// The length of each of these rows.
    private let lineLength: Int
    /// The numbers of these rows in the picture; -1: none.
    private var filteredRows = [6 of Int](repeating: -1)
    /// The samples of one component of a row, if they aren't side by side in the picture.
    private var gathered: [UInt8]

    /// Allocates the memory; nil if the processor has no AVX2, or the filters reduce too much.
    init?(_ luma: PlaneFilter, _ chroma: PlaneFilter) {
        guard let kernels = unsafe cscale_kernels(), luma.isInterpolation, chroma.isInterpolation else { return nil }
        unsafe self.kernels = unsafe kernels
        self.luma = WideFilter(luma.columns)
        self.chroma = WideFilter(chroma.columns)
        // The kernels mix two groups of 16 samples at once.
        lineLength = (max(luma.columns.count, chroma.columns.count) + 31) / 32 * 32
        lines = Array(repeating: 0, count: 6 * lineLength)
        gathered = Array(repeating: 0, count: max(luma.columns.capacity, chroma.columns.capacity) + 32)
    }

    /// Begins a picture.
    /// - Parameter hasMoved: whether the filters have changed since the last one.
    mutating func begin(_ luma: PlaneFilter, _ chroma: PlaneFilter, hasMoved: Bool) {
        filteredRows = [6 of Int](repeating: -1)
        guard hasMoved else { return }
        self.luma.set(luma.columns)
        self.chroma.set(chroma.columns)
    }

    /// Whether pictures of a layout can be scaled into a frame's own memory.
    /// - Parameter width: of the region in the frame, pixels.
    static func canDraw(_ from: FrameLayout, into to: FrameLayout, width: Int) -> Bool {
        guard from.range == to.range else { return false }
        switch to.format {
        case .yuyv, .uyvy: return from.format != .gray && width & 1 == 0
        case .i420, .i422, .i444: return from.format != .gray
        case .gray: return true
        case .nv12: return false
        }
    }

    /// Scales a picture into a region of a frame.
    /// - Precondition: `canDraw`.
    mutating func draw(
        _ view: borrowing FrameView, _ luma: PlaneFilter, _ chroma: PlaneFilter, into frame: inout Frame,
        at region: PixelRect
    ) {
        guard frame.layout.format.isPacked else {
            return draw(view, luma, chroma, rows: 0..<region.height, into: &frame, at: (region.x, region.y))
        }
        let (from, to) = (view.layout, frame.layout)
        let lumaFirst: CInt = to.format == .yuyv ? 1 : 0
        var target = frame.mutableBytes
        precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes")
        unsafe view.bytes.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress, let sites = from.chroma else {
                    return
                }
                let plane = to.planes[0]
                for row in 0..<region.height {
                    let y = unsafe prepareRows(0, source, from.luma, luma, row)
                    let u = unsafe prepareRows(1, source, sites.u, chroma, row)
                    let v = unsafe prepareRows(2, source, sites.v, chroma, row)
                    let out = unsafe target + plane.offset + (region.y + row) * plane.stride + 2 * region.x
                    unsafe lines.withUnsafeBufferPointer { lines in
                        guard let lines = lines.baseAddress else { return }
                        var (y, u, v) = unsafe (y.rows(in: lines), u.rows(in: lines), v.rows(in: lines))
                        unsafe kernels.pointee.mix_packed(&y, &u, &v, CInt(region.width), lumaFirst, out)
                    }
                }
            }
        }
    }

    /// Scales some rows of the region into a planar frame.
    /// - Parameter origin: the column and row of the first row's first pixel in the frame.
    mutating func draw(
        _ view: borrowing FrameView, _ luma: PlaneFilter, _ chroma: PlaneFilter, rows: Range<Int>,
        into frame: inout Frame, at origin: (x: Int, y: Int)
    ) {
        let (from, to) = (view.layout, frame.layout)
        var target = frame.mutableBytes
        precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes")
        unsafe view.bytes.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                func start(_ plane: FrameLayout.Plane, _ x: Int, _ y: Int) -> (UnsafeMutablePointer<UInt8>, Int) {
                    unsafe (target + plane.offset + y * plane.stride + x, plane.stride)
                }
                unsafe draw(0, source, from.luma, luma, rows, into: start(to.planes[0], origin.x, origin.y))
                guard let sites = from.chroma, to.planes.count == 3 else { return }
                let shift = to.format.chromaShift
                let (x, y) = (origin.x >> shift.x, origin.y >> shift.y)
                let chromaRows = rows.lowerBound >> shift.y..<(rows.upperBound + shift.y) >> shift.y
                unsafe draw(1, source, sites.u, chroma, chromaRows, into: start(to.planes[1], x, y))
                unsafe draw(2, source, sites.v, chroma, chromaRows, into: start(to.planes[2], x, y))
            }
        }
    }

    /// Scales some rows of a component.
    /// - Parameters:
    ///   - component: 0 for luma, 1 and 2 for chroma.
    ///   - rows: the rows of the region.
    ///   - target: the first row's first sample, and bytes from one row to the next.
    private mutating func draw(
        _ component: Int, _ source: UnsafePointer<UInt8>, _ site: SampleSite, _ filter: PlaneFilter,
        _ rows: Range<Int>, into target: (start: UnsafeMutablePointer<UInt8>, stride: Int)
    ) {
        for (i, row) in rows.enumerated() {
            let at = unsafe prepareRows(component, source, site, filter, row)
            unsafe lines.withUnsafeBufferPointer { lines in
                guard let lines = lines.baseAddress else { return }
                var rows = unsafe at.rows(in: lines)
                unsafe kernels.pointee.mix(&rows, CInt(filter.columns.count), target.start + i * target.stride)
            }
        }
    }

    /// Filters the two rows of the picture between which a row of the region lies.
    private mutating func prepareRows(
        _ component: Int, _ source: UnsafePointer<UInt8>, _ site: SampleSite, _ filter: PlaneFilter, _ row: Int
    ) -> LinePair {
        let row = min(row, filter.rows.count - 1)
        let first = filter.rows.samples.lowerBound + Int(filter.rows.first[row])
        let second = min(first + 1, filter.rows.samples.upperBound - 1)
        unsafe prepare(component, source, site, filter, first)
        unsafe prepare(component, source, site, filter, second)
        let secondWeight = CInt(filter.rows.weights[row][4])
        return LinePair(
            first: slot(component, first) * lineLength, second: slot(component, second) * lineLength,
            secondWeight: secondWeight)
    }

    /// The place of a filtered row in `lines`: each component keeps an even and an odd row.
    private func slot(_ component: Int, _ line: Int) -> Int { 2 * component + line & 1 }

    /// Filters a row of the picture, unless that was done for the row before.
    private mutating func prepare(
        _ component: Int, _ source: UnsafePointer<UInt8>, _ site: SampleSite, _ filter: PlaneFilter, _ line: Int
    ) {
        let slot = slot(component, line)
        guard filteredRows[slot] != line else { return }
        filteredRows[slot] = line
        let count = filter.columns.samples.count
        let start = unsafe source + site.offset + filter.columns.samples.lowerBound * site.step + line * site.stride
        let into = slot * lineLength
        if component == 0 {
            unsafe Self.filter(start, site.step, count, luma, kernels, &gathered, &lines, into)
        } else {
            unsafe Self.filter(start, site.step, count, chroma, kernels, &gathered, &lines, into)
        }
    }

    /// Filters a row. This is static, and the filter noncopyable, because copies would count references in each row.
    private static func filter(
        _ start: UnsafePointer<UInt8>, _ step: Int, _ count: Int, _ columns: borrowing WideFilter,
        _ kernels: UnsafePointer<cscale_kernels>, _ gathered: inout [UInt8], _ lines: inout [Int16], _ offset: Int
    ) {
        unsafe gathered.withUnsafeMutableBufferPointer { gathered in
            unsafe lines.withUnsafeMutableBufferPointer { lines in
                guard let gathered = gathered.baseAddress, let lines = lines.baseAddress else { return }
                var samples = unsafe start
                if step > 1 {
                    unsafe kernels.pointee.gather(start, CInt(step), CInt(count), gathered)
                    unsafe samples = UnsafePointer(gathered)
                } else if count < WideFilter.window {
                    unsafe gathered.update(from: start, count: count)
                    unsafe samples = UnsafePointer(gathered)
                }
                unsafe columns.withFilter { filter in
                    var filter = unsafe filter
                    unsafe kernels.pointee.filter(samples, &filter, lines + offset)
                }
            }
        }
    }
}

/// Two filtered rows: where they begin in the memory of filtered rows, and the second one's weight, 0 to 256.
private struct LinePair {
    let first: Int
    let second: Int
    let secondWeight: CInt

    @unsafe func rows(in lines: UnsafePointer<Int16>) -> cscale_rows {
        unsafe cscale_rows(first: lines + first, second: lines + second, second_weight: secondWeight)
    }
}

/// A filter of columns, as the kernels read it.
private struct WideFilter: ~Copyable {
    private let groups: Int
    private var starts: [Int32]
    private var shuffle: [UInt8]
    private var weights: [UInt8]
    /// The number of groups at the start that repeat the first one's pattern, and the input samples from one half of a
    /// group to the next in them.
    private var (uniform, step) = (0, 0)

    /// The input samples of half a group. Its 8 outputs need no more, since pictures aren't reduced to half.
    static let window = 16

    init(_ filter: ScaleFilter) {
        groups = filter.first.count / cscale_group
        starts = Array(repeating: 0, count: 2 * groups)
        shuffle = Array(repeating: 0, count: 32 * groups)
        weights = shuffle
        set(filter)
    }

    /// Replaces the filter by another of the same size. Allocates nothing.
    mutating func set(_ filter: ScaleFilter) {
        let last = max(0, filter.samples.count - Self.window)
        for half in 0..<2 * groups {
            let start = min(Int(filter.first[min(8 * half, filter.count - 1)]), last)
            starts[half] = Int32(start)
            // The last half may be beyond the row.
            for x in min(8 * half, filter.count)..<min(8 * half + 8, filter.count) {
                let offset = Int(filter.first[x]) - start
                // The filter's weights are 65535ths, the kernels' 255ths.
                let weight = UInt8((Int(filter.weights[x][0]) + 128) / 257)
                (shuffle[2 * x], shuffle[2 * x + 1]) = (UInt8(offset), UInt8(min(offset + 1, Self.window - 1)))
                (weights[2 * x], weights[2 * x + 1]) = (weight, 255 - weight)
            }
        }
        (uniform, step) = (0, Int(starts[1] - starts[0]))
        while uniform < groups, isLikeFirst(uniform) { uniform += 1 }
    }

    private func isLikeFirst(_ group: Int) -> Bool {
        (0..<2).allSatisfy { Int(starts[2 * group + $0] - starts[0]) == (2 * group + $0) * step }
            && (0..<32).allSatisfy {
                shuffle[32 * group + $0] == shuffle[$0] && weights[32 * group + $0] == weights[$0]
            }
    }

    func withFilter(_ body: (cscale_filter) -> Void) {
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe shuffle.withUnsafeBufferPointer { shuffle in
                unsafe weights.withUnsafeBufferPointer { weights in
                    guard let starts = starts.baseAddress, let shuffle = shuffle.baseAddress,
                        let weights = weights.baseAddress
                    else { return }
                    unsafe body(
                        cscale_filter(
                            groups: CInt(groups), uniform: CInt(uniform), step: CInt(step), starts: starts,
                            shuffle: shuffle, weights: weights))
                }
            }
        }
    }
}
