import CScale

/// Scales rows with AVX2, for pictures that aren't reduced to half or less. Rows are filtered horizontally first, each
/// only once, and then mixed in pairs. Formats with fewer chroma samples therefore cost less.
@safe struct WideScaler: ~Copyable {
    private let kernels: UnsafePointer<cscale_kernels>
    private var luma: WideFilter
    private var chroma: WideFilter
    /// The last two filtered rows of each component.
    private var lines: [Int16]
    /// The length of each of these rows.
    private let lineLength: Int
    /// The numbers of these rows in the picture; -1: none.
    private var held = [6 of Int](repeating: -1)
    /// The samples of a row that aren't side by side in the picture.
    private var gathered: [UInt8]

    /// Allocates the memory; nil if the processor has no AVX2, or the filters reduce too much.
    init?(_ luma: PlaneFilter, _ chroma: PlaneFilter) {
        guard let kernels = unsafe cscale_kernels(), luma.isInterpolation, chroma.isInterpolation else { return nil }
        unsafe self.kernels = unsafe kernels
        self.luma = WideFilter(luma.columns)
        self.chroma = WideFilter(chroma.columns)
        // Rows are mixed in pairs of groups.
        lineLength = (max(luma.columns.count, chroma.columns.count) + 31) / 32 * 32
        lines = Array(repeating: 0, count: 6 * lineLength)
        gathered = Array(repeating: 0, count: max(luma.columns.capacity, chroma.columns.capacity) + 32)
    }

    /// Begins a picture.
    /// - Parameter hasMoved: whether the filters have changed since the last one.
    mutating func begin(_ luma: PlaneFilter, _ chroma: PlaneFilter, hasMoved: Bool) {
        held = [6 of Int](repeating: -1)
        guard hasMoved else { return }
        self.luma.set(luma.columns)
        self.chroma.set(chroma.columns)
    }

    /// Scales four rows of a picture, from `row` of the region on, into the strip's columns from `x` on.
    mutating func draw(
        _ view: borrowing FrameView, _ luma: PlaneFilter, _ chroma: PlaneFilter, from row: Int,
        into strip: inout Frame, at x: Int
    ) {
        let (from, to) = (view.layout, strip.layout)
        var target = strip.mutableBytes
        precondition(view.bytes.count >= from.byteCount && target.count >= to.byteCount, "too few bytes")
        unsafe view.bytes.withUnsafeBufferPointer { source in
            unsafe target.withUnsafeMutableBufferPointer { target in
                guard let source = source.baseAddress, let target = target.baseAddress else { return }
                let stride = to.planes[0].stride
                unsafe draw(0, source, from.luma, luma, row..<row + stripRows, into: (target + x, stride))
                guard let sites = from.chroma, to.planes.count == 3 else { return }
                let shift = to.format.chromaShift
                let rows = row >> shift.y..<row >> shift.y + to.planes[1].rows
                for component in 1...2 {
                    let plane = to.planes[component]
                    unsafe draw(
                        component, source, component == 1 ? sites.u : sites.v, chroma, rows,
                        into: (target + plane.offset + x >> shift.x, plane.stride))
                }
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
            let row = min(row, filter.rows.count - 1)
            let first = filter.rows.samples.lowerBound + Int(filter.rows.first[row])
            let second = min(first + 1, filter.rows.samples.upperBound - 1)
            unsafe prepare(component, source, site, filter, first)
            unsafe prepare(component, source, site, filter, second)
            let below = CInt(filter.rows.weights[row][4])
            unsafe lines.withUnsafeBufferPointer { lines in
                guard let lines = lines.baseAddress else { return }
                unsafe kernels.pointee.mix(
                    lines + slot(component, first) * lineLength, lines + slot(component, second) * lineLength, below,
                    CInt(filter.columns.count), target.start + i * target.stride)
            }
        }
    }

    private func slot(_ component: Int, _ line: Int) -> Int { 2 * component + line & 1 }

    /// Filters a row of the picture, unless that was done for the row before.
    private mutating func prepare(
        _ component: Int, _ source: UnsafePointer<UInt8>, _ site: SampleSite, _ filter: PlaneFilter, _ line: Int
    ) {
        let slot = slot(component, line)
        guard held[slot] != line else { return }
        held[slot] = line
        let count = filter.columns.samples.count
        let start = unsafe source + site.offset + filter.columns.samples.lowerBound * site.step + line * site.stride
        let columns = component == 0 ? luma : chroma
        let (kernels, length) = unsafe (kernels, lineLength)
        unsafe gathered.withUnsafeMutableBufferPointer { gathered in
            unsafe lines.withUnsafeMutableBufferPointer { lines in
                guard let gathered = gathered.baseAddress, let lines = lines.baseAddress else { return }
                var samples = unsafe start
                if site.step > 1 {
                    unsafe kernels.pointee.gather(start, CInt(site.step), CInt(count), gathered)
                    unsafe samples = UnsafePointer(gathered)
                } else if count < WideFilter.window {
                    unsafe gathered.update(from: start, count: count)
                    unsafe samples = UnsafePointer(gathered)
                }
                unsafe columns.withFilter { filter in
                    var filter = unsafe filter
                    unsafe kernels.pointee.filter(samples, &filter, lines + slot * length)
                }
            }
        }
    }
}

/// A filter of columns, as the kernels read it.
private struct WideFilter {
    private let groups: Int
    private var starts: [Int32]
    private var places: [UInt8]
    private var weights: [UInt8]

    /// Input samples from which half a group is made. As long as nothing is reduced to half, 8 outputs need no more.
    static let window = 16

    init(_ filter: ScaleFilter) {
        groups = filter.first.count / cscale_group
        starts = Array(repeating: 0, count: 2 * groups)
        places = Array(repeating: 0, count: 32 * groups)
        weights = places
        set(filter)
    }

    /// Takes over a filter. Allocates nothing.
    mutating func set(_ filter: ScaleFilter) {
        let last = max(0, filter.samples.count - Self.window)
        for half in 0..<2 * groups {
            let start = min(Int(filter.first[min(8 * half, filter.count - 1)]), last)
            starts[half] = Int32(start)
            // The last half may be beyond the row.
            for x in min(8 * half, filter.count)..<min(8 * half + 8, filter.count) {
                let place = Int(filter.first[x]) - start
                // Of 65535, and of 255.
                let weight = UInt8((Int(filter.weights[x][0]) + 128) / 257)
                (places[2 * x], places[2 * x + 1]) = (UInt8(place), UInt8(min(place + 1, Self.window - 1)))
                (weights[2 * x], weights[2 * x + 1]) = (weight, 255 - weight)
            }
        }
    }

    func withFilter(_ body: (cscale_filter) -> Void) {
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe places.withUnsafeBufferPointer { places in
                unsafe weights.withUnsafeBufferPointer { weights in
                    guard let starts = starts.baseAddress, let places = places.baseAddress,
                        let weights = weights.baseAddress
                    else { return }
                    unsafe body(
                        cscale_filter(groups: CInt(groups), starts: starts, places: places, weights: weights))
                }
            }
        }
    }
}
