import COutline
import Frames
import SystemKit

/// The outline of all people in a video: a matte for every frame, from 0 (background) to 255 (person).
///
/// The network runs on some frames, on the frame reduced to 256 x 144 cells. Its mask is smoothed over time, and
/// brought to the frame's own size by a guided filter on every frame's luma, so that it follows edges in between. Once
/// warm, nothing allocates.
public struct OutlineTracker: ~Copyable {
    /// What the matte is in a gap between the centres of cells.
    enum Content: UInt8 { case background, edge, person }

    static let columns = DownsampledFrame.columns
    static let rows = DownsampledFrame.rows

    /// Seconds between runs of the network while little moves, and while much does: less than two frames and one of 30
    /// a second, since the times of cameras' frames vary by some milliseconds.
    private static let (calmInterval, busyInterval) = (1 / 17.0, 1 / 36.0)
    /// Seconds between runs while frames are late, whatever moves, and for which that stays so after the last late
    /// frame.
    private static let (lateInterval, lateness) = (1 / 8.0, 1.0)
    /// The fraction of cells that must have changed since the last run for the shorter interval. A talking head changes
    /// less, a waving arm or a moved camera more.
    private static let busyShare: Float = 0.03
    /// The difference of mean luma, in samples, from which a cell counts as changed, and from which entirely. Noise is
    /// less than 2 in a cell.
    private static let changed: (Float, Float) = (5, 14)
    /// The fraction of a new mask that is taken over where nothing changed and both are alike: noise is reduced to the
    /// square root of w / (2 - w), 0.38.
    private static let smoothing: Float = 0.25
    /// Seconds without a frame after which nothing is kept.
    private static let longestGap = 0.5
    /// The radius of the guided filter's window, in cells; and the variance of luma, which is 0 to 1, up to which a
    /// window counts as flat.
    private static let (radius, smoothness): (Int, Float) = (3, 2e-3)
    /// The contrast of the matte around one half: the filter's veil, and what the network finds unlikely, is removed.
    private static let contrast: Float = 2.2

    private var cells: DownsampledFrame?
    private var network: OutlineNetwork?
    /// The mask of the network, smoothed over time; person is 1.
    private(set) var mask = VectorBuffer<Float>(count: 0)
    /// Tells the main person from others; nil until that is asked for.
    private var selector: PersonSelector?
    /// What the matte shows, as a mask, if that is not everybody.
    private var selected = VectorBuffer<Float>(count: 0)
    /// Luma of the cells at the network's last run.
    private var lastLuma = VectorBuffer<Float>(count: 0)
    private var change = VectorBuffer<Float>(count: 0)
    /// The guided filter's coefficients: the matte, from 0 to 1, is a * luma + b.
    private var a = VectorBuffer<Float>(count: 0)
    private var b = VectorBuffer<Float>(count: 0)
    private var scratch = VectorBuffer<Float>(count: 0)
    /// Rows of coefficients, at the frame's width: of the cells above and below.
    private var rows = VectorBuffer<Float>(count: 0)
    /// The matte of the last frame where its content is an edge, then luma of each pixel, smoothed over time there, so
    /// that the camera's noise does not flicker in it. Both are older elsewhere.
    private(set) var matte = VectorBuffer<UInt8>(count: 0)
    /// The content of each gap between rows and columns of cells.
    private(set) var contents: [UInt8] = []
    /// The content of each cell.
    private var cellContents: [UInt8] = []
    /// When the network ran last, and when the last frame was measured; seconds.
    private var ran: Double?
    private var lastTime: Double?

    /// Whether frames are published too late. Then the network runs less often, and the matte has half the rows; the
    /// first frame of a scene still gets its own outline.
    public var missesDeadline = false
    /// When a frame was late last, seconds.
    private var lastLate: Double?

    /// Whether the matte belongs to the last frame.
    public private(set) var isFresh = false
    /// The CPU time of the last update in nanoseconds.
    public private(set) var cost: UInt64 = 0
    /// What the matte shows.
    private var subject = OutlineSubject.everybody
    /// The size of a cell of the mask, in pixels of the frame.
    public private(set) var cellSize = Point.zero
    /// How often the network has run.
    public private(set) var runs = 0

    /// Starts without memory: all is allocated by the first frame.
    public init() {}

    /// Forgets the outline, for another scene.
    public mutating func reset() {
        (ran, lastTime, lastLate, isFresh, hasMainPerson) = (nil, nil, nil, false, false)
        selector?.reset()
    }

    /// Whether there was a main person in the last frame for which one was wanted.
    public private(set) var hasMainPerson = false

    /// Whether a place showed the main person in that frame.
    /// - Parameter point: in pixels of the frame.
    public func showsMainPerson(at point: Point) -> Bool {
        switch selector {
        case .some(let selector): selector.isKept(at: point / cellSize)
        case .none: false
        }
    }

    /// Frees all memory but a little, because no mask needs the outline.
    public mutating func release() {
        guard cells != nil || network != nil else { return }
        self = OutlineTracker()
    }

    /// Finds the outline of the people in a frame, before anything is drawn on it.
    /// - Parameters:
    ///   - model: nil if it is missing. Then nothing is found.
    ///   - subject: what the matte shows.
    ///   - heads: all heads in the frame, to tell the main person from others.
    ///   - time: seconds, by the source's clock. The same time as before: the same frame.
    public mutating func update(
        _ frame: borrowing Frame, _ model: OutlineModel?, showing subject: OutlineSubject = .everybody,
        heads: borrowing [OutlineHead] = [], at time: Double
    ) {
        let start = threadTime()
        let isSame = isFresh && lastTime == time && network?.model === model
        // The second matte of a frame adds to the first one's cost.
        let spent = isSame ? cost : 0
        defer { cost = spent + threadTime() - start }
        let kernels = unsafe coutline_kernels(model.map { $0.isWide ? 1 : 0 } ?? coutline_is_wide())
        prepare(frame.layout, model)
        if isFresh, lastTime == time {
            guard subject != self.subject, var cells = cells.take() else { return }
            select(subject, heads)
            unsafe draw(frame, &cells, kernels)
            self.cells = consume cells
            return
        }
        if let lastTime, time < lastTime || time > lastTime + Self.longestGap { reset() }
        guard var cells = cells.take() else { return }
        unsafe cells.measure(frame, kernels)
        if missesDeadline { lastLate = time }
        if model != nil {
            unsafe runIfDue(&cells, kernels, at: time)
            select(subject, heads)
            unsafe draw(frame, &cells, kernels)
            (lastTime, isFresh) = (time, true)
        }
        self.cells = consume cells
    }

    /// Finds the people in a frame without making a matte, for `coverage`.
    /// - Parameter time: seconds, by the source's clock. If `update` was called for the same frame, nothing is left to
    ///   do.
    public mutating func probe(_ frame: borrowing Frame, _ model: OutlineModel, at time: Double) {
        guard !(isFresh && lastTime == time && network?.model === model) else { return }
        let start = threadTime()
        let kernels = unsafe coutline_kernels(model.isWide ? 1 : 0)
        prepare(frame.layout, model)
        if var cells = cells.take() {
            unsafe cells.measure(frame, kernels)
            if let fresh = unsafe network?.run(cells, kernels) {
                unsafe mask.base.update(from: fresh, count: DownsampledFrame.count)
                runs += 1
            }
            self.cells = consume cells
        }
        // The mask was not smoothed over time, so the next `update` must not build on it.
        reset()
        cost = threadTime() - start
    }

    /// How much of a place belongs to people, 0...1, as the network saw it in the last frame that was given to `probe`
    /// or `update`: without fine edges. Nil less than a cell from the frame's edge, or outside of it.
    /// - Parameter point: in pixels of the frame.
    public func coverage(at point: Point) -> Float? {
        let at = point / cellSize - 0.5
        guard at.x > 0.5, at.y > 0.5, at.x < Float(Self.columns) - 1.5, at.y < Float(Self.rows) - 1.5 else {
            return nil
        }
        let (x, y) = (Int(at.x), Int(at.y))
        let part = at - Point(Float(x), Float(y))
        func row(_ y: Int) -> Float {
            let first = y * Self.columns + x
            return unsafe mask.base[first] + (mask.base[first + 1] - mask.base[first]) * part.x
        }
        return row(y) + (row(y + 1) - row(y)) * part.y
    }

    /// Clears the cost, before a frame that may need no outline.
    public mutating func resetCost() { cost = 0 }

    /// Makes all memory for a layout and a model, if it is not there yet.
    private mutating func prepare(_ layout: FrameLayout, _ model: OutlineModel?) {
        if network?.model !== model {
            network = model.map { OutlineNetwork($0) }
            reset()
        }
        guard cells?.layout != layout else { return }
        if scratch.count == 0 {
            mask = VectorBuffer<Float>(count: DownsampledFrame.count)
            lastLuma = VectorBuffer<Float>(count: DownsampledFrame.count)
            change = VectorBuffer<Float>(count: DownsampledFrame.count)
            a = VectorBuffer<Float>(count: DownsampledFrame.count)
            b = VectorBuffer<Float>(count: DownsampledFrame.count)
            scratch = VectorBuffer<Float>(count: (4 * Self.radius + 10) * Self.columns + 12 * Self.radius)
        }
        reset()
        cells = DownsampledFrame(layout)
        cellSize = Point(Float(layout.width) / Float(Self.columns), Float(layout.height) / Float(Self.rows))
        rows = VectorBuffer<Float>(count: 4 * (layout.width + 64))
        matte = VectorBuffer<UInt8>(count: 2 * (layout.width * layout.height + 64))
        contents = Array(repeating: 0, count: (Self.rows + 1) * (Self.columns + 1))
        cellContents = Array(repeating: 0, count: DownsampledFrame.count)
    }

    /// Runs the network if its last mask is too old.
    private mutating func runIfDue(
        _ cells: inout DownsampledFrame, _ kernels: UnsafePointer<coutline_kernels>, at time: Double
    ) {
        let count = DownsampledFrame.count
        let changed = unsafe kernels.pointee.change(
            cells.y.base, lastLuma.base, count, Self.changed.0, Self.changed.1, change.base)
        if let ran {
            let isBusy = changed > Self.busyShare * Float(count)
            let interval = isHurried ? Self.lateInterval : isBusy ? Self.busyInterval : Self.calmInterval
            guard time >= ran + interval else { return }
        }
        guard let fresh = unsafe network?.run(cells, kernels) else { return }
        if ran == nil {
            unsafe mask.base.update(from: fresh, count: count)
        } else {
            unsafe kernels.pointee.smooth(fresh, change.base, count, Self.smoothing, mask.base)
        }
        unsafe lastLuma.base.update(from: cells.y.base, count: count)
        ran = time
        runs += 1
    }

    /// Whether the outline takes as little time as it can.
    private var isHurried: Bool { lastLate.map { (lastTime ?? $0) - $0 < Self.lateness } ?? false }

    /// Makes the mask of what the matte shows.
    private mutating func select(
        _ subject: OutlineSubject, _ heads: borrowing [OutlineHead]
    ) {
        self.subject = subject
        guard subject != .everybody else { return }
        if selected.count == 0 { selected = VectorBuffer<Float>(count: DownsampledFrame.count) }
        var selector = selector.take() ?? PersonSelector()
        selector.select(mask, heads, cell: cellSize)
        let (all, kept, out) = unsafe (mask.base, selector.kept.base, selected.base)
        switch subject {
        case .allButOthers: for i in 0..<DownsampledFrame.count { unsafe out[i] = 1 - (all[i] - kept[i]) }
        case .mainPerson, .everybody: unsafe out.update(from: kept, count: DownsampledFrame.count)
        }
        hasMainPerson = selector.isKeeping
        self.selector = consume selector
    }

    /// Draws the matte at the frame's size.
    private mutating func draw(
        _ frame: borrowing Frame, _ cells: inout DownsampledFrame, _ kernels: UnsafePointer<coutline_kernels>
    ) {
        let (columns, rows) = (Self.columns, Self.rows)
        unsafe kernels.pointee.guide(
            subject == .everybody ? mask.base : selected.base, cells.y.base, CInt(columns), CInt(rows),
            CInt(Self.radius), Self.smoothness * 255 * 255, a.base,
            b.base, scratch.base)
        unsafe contents.withUnsafeMutableBufferPointer { gaps in
            unsafe cellContents.withUnsafeMutableBufferPointer { cells in
                guard let gaps = gaps.baseAddress, let cells = cells.baseAddress else { return }
                unsafe kernels.pointee.classify(
                    a.base, b.base, CInt(columns), CInt(rows), Self.contrast, cells, gaps)
            }
        }
        let (width, site, length) = (cells.layout.width, cells.layout.luma, cells.layout.width + 64)
        let (a0, b0) = unsafe (self.rows.base, self.rows.base + length)
        let (a1, b1) = unsafe (self.rows.base + 2 * length, self.rows.base + 3 * length)
        let (across, down, isHurried) = (cells.steps.across, cells.steps.down, isHurried)
        let (matte, denoised) = unsafe (matte.base, matte.base + matte.count / 2)
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            unsafe across.withSteps { steps in
                guard let bytes = bytes.baseAddress else { return }
                for interval in 0...rows where down.starts[interval] < down.starts[interval + 1] {
                    let upper = max(0, interval - 1) * columns
                    let lower = min(rows - 1, interval) * columns
                    var first = 0
                    while let run = contents.run(from: first, interval) {
                        first = run.end
                        let (start, end) = (Int(across.starts[run.first]), Int(across.starts[run.end]))
                        guard end > start, run.content == .edge else { continue }
                        let (from, to) = (CInt(run.first), CInt(run.end))
                        let top = Int(down.starts[interval])
                        let (lines, count) = (CInt(Int(down.starts[interval + 1]) - top), CInt(end - start))
                        unsafe kernels.pointee.prefetch(
                            bytes + site.offset + top * site.stride + start * site.step, site.stride, lines,
                            count * CInt(site.step))
                        unsafe kernels.pointee.prefetch(denoised + top * width + start, width, lines, count)
                        unsafe kernels.pointee.prefetch(matte + top * width + start, width, lines, count)
                        unsafe kernels.pointee.expand(a.base + upper, steps, from, to, a0)
                        unsafe kernels.pointee.expand(b.base + upper, steps, from, to, b0)
                        unsafe kernels.pointee.expand(a.base + lower, steps, from, to, a1)
                        unsafe kernels.pointee.expand(b.base + lower, steps, from, to, b1)
                        for y in Int(down.starts[interval])..<Int(down.starts[interval + 1]) {
                            let out = unsafe matte + y * width + start
                            if isHurried, y & 1 == 1, y > Int(down.starts[interval]) {
                                unsafe out.update(from: out - width, count: end - start)
                                continue
                            }
                            let luma = unsafe bytes + site.offset + y * site.stride
                            unsafe kernels.pointee.matte(
                                luma + start * site.step, CInt(site.step), a0 + start, b0 + start,
                                a1 + start, b1 + start, down.weights[y], CInt(end - start),
                                denoised + y * width + start, out)
                        }
                    }
                }
            }
        }
    }

    /// The matte of every pixel, row by row, for tests and benchmarks.
    func wholeMatte() -> [UInt8] {
        var whole = unsafe Array(UnsafeBufferPointer(start: matte.base, count: matte.count / 2))
        switch cells {
        case .none: break
        case .some(let cells):
            let (across, down) = (cells.steps.across.starts, cells.steps.down.starts)
            let width = cells.layout.width
            for interval in 0...Self.rows where down[interval] < down[interval + 1] {
                var first = 0
                while let run = contents.run(from: first, interval) {
                    first = run.end
                    guard run.content != .edge, across[run.first] < across[run.end] else { continue }
                    for y in Int(down[interval])..<Int(down[interval + 1]) {
                        for x in Int(across[run.first])..<Int(across[run.end]) {
                            whole[y * width + x] = run.content == .person ? 255 : 0
                        }
                    }
                }
            }
        }
        return whole
    }

    /// Lends what painting a background needs: the cells of the last frame, and the coefficients of its matte.
    mutating func withCells(_ body: (inout DownsampledFrame, _ outline: borrowing OutlineTracker) -> Void) {
        guard var current = cells.take() else { return }
        body(&current, self)
        cells = consume current
    }

    /// Lends the matte at each cell, as coefficients of its luma: a * luma + b, clamped to 0...1.
    func withCoefficients(_ body: (_ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>) -> Void) {
        unsafe body(a.base, b.base)
    }
}

/// Neighbouring gaps with the same content.
struct GapRun {
    let first: Int
    let end: Int
    let content: OutlineTracker.Content
}

extension [UInt8] {
    /// The gaps with the same content from one on, in a row of gaps; nil after the last one.
    func run(from first: Int, _ row: Int) -> GapRun? {
        let length = OutlineTracker.columns + 1
        guard first < length else { return nil }
        let (start, content) = (row * length, self[row * length + first])
        var end = first + 1
        // Most gaps are in long runs: eight at a time.
        let eight = UInt64(content) * 0x0101_0101_0101_0101
        unsafe withUnsafeBytes { gaps in
            while end + 8 <= length,
                unsafe gaps.loadUnaligned(fromByteOffset: start + end, as: UInt64.self) == eight
            {
                end += 8
            }
        }
        while end < length, self[start + end] == content { end += 1 }
        return GapRun(first: first, end: end, content: OutlineTracker.Content(rawValue: content) ?? .edge)
    }
}

extension GridSteps {
    /// Lends the steps across to the kernels.
    @unsafe func withSteps(_ body: (_ luma: coutline_steps, _ chroma: coutline_steps) -> Void) {
        unsafe across.withSteps { luma in unsafe acrossChroma.withSteps { unsafe body(luma, $0) } }
    }
}

extension CellSteps {
    /// Lends the steps to the kernels.
    @unsafe func withSteps(_ body: (coutline_steps) -> Void) {
        unsafe starts.withUnsafeBufferPointer { starts in
            unsafe weights.withUnsafeBufferPointer { weights in
                unsafe fixedWeights.withUnsafeBufferPointer { fixedWeights in
                    guard let starts = starts.baseAddress, let weights = weights.baseAddress,
                        let fixedWeights = fixedWeights.baseAddress
                    else { return }
                    unsafe body(
                        coutline_steps(
                            cells: CInt(cells), starts: starts, weights: weights, fixed_weights: fixedWeights))
                }
            }
        }
    }
}
