/// A buffer for a region of a frame, in which layers are drawn before it is composited over the frame: premultiplied
/// YUVA pixels as in a `Sprite`, in the range of the frame. Its memory grows to the largest region and is kept.
public struct LayerBuffer: ~Copyable {
    /// The region of the frame, pixels; `x` and `y` are even, since neighbouring pixels share chroma.
    public private(set) var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    private var storage: [UInt32] = []
    private var isNearArt: [Bool] = []
    /// A row between two others; see `draw`.
    var mixed: [UInt32] = []

    /// An empty buffer.
    public init() {}

    /// Pixels from one row to the next: a whole number of runs, so that the end of a row needs no special case.
    public var stride: Int { (region.width + runLength - 1) / runLength * runLength }

    /// Starts a transparent region of a picture.
    /// - Parameters:
    ///   - region: pixels; it is clipped to the picture, and odd left and top edges move outwards to even ones.
    ///   - layout: the picture's layout.
    ///   - margin: pixels by which the region may extend beyond the picture, even; must be 0 for `compositeLayer`
    ///     without a map.
    /// - Returns: false if the region is outside the picture.
    public mutating func begin(_ region: PixelRect, in layout: FrameLayout, margin: Int = 0) -> Bool {
        begin(region, width: layout.width, height: layout.height, margin: margin)
    }

    /// Starts a transparent region of a picture of the given size; see above.
    public mutating func begin(_ region: PixelRect, width: Int, height: Int, margin: Int = 0) -> Bool {
        let moved = PixelRect(x: region.x + margin, y: region.y + margin, width: region.width, height: region.height)
        var piece = moved.evenPiece(width: width + 2 * margin, height: height + 2 * margin)
        piece.x -= margin
        piece.y -= margin
        self.region = piece
        guard !piece.isEmpty else { return false }
        let count = stride * piece.height
        // A quarter more, so that an approaching face doesn't cause an allocation in every frame.
        // A run more, since `soften` reads one pixel beyond the last.
        if storage.count < count + runLength { storage = Array(repeating: 0, count: count + count / 4 + runLength) }
        var span = storage.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { unsafe $0.extracting(0..<count).update(repeating: 0) }
        return true
    }

    /// The pixels for writing, row by row, `stride` pixels each, from the top left of `region` on.
    public var pixels: MutableSpan<UInt32> {
        @_lifetime(&self) mutating get { storage.mutableSpan }
    }

    /// The pixels for reading, in the order of `pixels`.
    public var readPixels: Span<UInt32> {
        @_lifetime(borrow self) get { storage.span }
    }

    /// Whether anything is drawn at a position.
    /// - Parameter position: pixels of the picture that the region is of.
    public func isDrawn(at position: Point) -> Bool {
        let (x, y) = (position.x.rounded() - Float(region.x), position.y.rounded() - Float(region.y))
        guard x >= 0, y >= 0, x < Float(region.width), y < Float(region.height) else { return false }
        return storage[Int(y) * stride + Int(x)] >> 24 != 0
    }

    /// Marks the blocks that contain art, for `compositeLayer` with a map; called after drawing.
    public mutating func markArt() {
        // Taken out meanwhile: while a span of the pixels exists, nothing else can be modified.
        var isNear: [Bool] = []
        swap(&isNear, &isNearArt)
        OccupancyGrid.moved.mark(
            storage.span, width: region.width, height: region.height, stride: stride, into: &isNear)
        isNearArt = isNear
    }

    /// Blurs what was drawn, to the nearest variance that steps of 1 2 1 across and down, or weaker ones, add up to.
    /// The outermost rows stay sharp.
    /// - Parameter variance: pixels squared, finite; each 0.5 is a step.
    public mutating func soften(variance: Float) {
        var rest = variance
        while rest > Self.variance(halvings: 1) {
            soften(halvings: 1)
            rest -= Self.variance(halvings: 1)
        }
        // From the strongest step on: the first one that is nearer than the next, or than none.
        for halvings in 1...Self.mostHalvings {
            let next = halvings < Self.mostHalvings ? Self.variance(halvings: halvings + 1) : 0
            if rest > (Self.variance(halvings: halvings) + next) / 2 { return soften(halvings: halvings) }
        }
    }

    /// A neighbour's share in the weakest step is 1/2 to this power.
    private static let mostHalvings = 4

    /// The variance across, and down, of a step in which a neighbour's share is 1/2 to the power of `halvings`, to one
    /// side and then to the other.
    private static func variance(halvings: Int) -> Float {
        let share = 1 / Float(1 << halvings)
        return 2 * share * (1 - share)
    }

    private mutating func soften(halvings: Int) {
        let (height, rowStride) = (region.height, stride)
        var target = pixels
        unsafe target.withUnsafeMutableBufferPointer { target in
            guard let base = UnsafeMutableRawPointer(target.baseAddress), height > 3 else { return }
            // In place: to the right and down, and then back, so that no pixel is read after it was written.
            for y in 0..<height - 1 {
                for x in Swift.stride(from: 0, to: rowStride, by: runLength) {
                    unsafe Self.share(base + (y * rowStride + x) * 4, next: 4, row: rowStride * 4, halvings)
                }
            }
            for y in (2..<height).reversed() {
                for x in Swift.stride(from: rowStride - runLength, through: 0, by: -runLength) {
                    unsafe Self.share(base + (y * rowStride + x) * 4, next: -4, row: rowStride * -4, halvings)
                }
            }
        }
    }

    /// Mixes a run's pixels with their neighbours in the row, and with the two in the other row.
    /// - Parameter next: bytes to the neighbour in the row; `row`: to the one in the other row.
    @inline(__always)
    private static func share(_ at: UnsafeMutableRawPointer, next: Int, row: Int, _ halvings: Int) {
        func run(_ offset: Int) -> Run { unsafe (at + offset).loadUnaligned(as: Run.self) }
        // Rounded down first in rows, and up first between them, so that nothing gets darker or brighter.
        let first = shared(run(0), run(next), halvings, isUpFirst: false)
        let second = shared(run(row), run(row + next), halvings, isUpFirst: false)
        unsafe at.storeBytes(of: shared(first, second, halvings, isUpFirst: true), as: Run.self)
    }

    /// Each byte of `a` with a share of `b` that is halved so many times.
    @inline(__always)
    private static func shared(_ a: Run, _ b: Run, _ halvings: Int, isUpFirst: Bool) -> Run {
        var (sum, isUp) = (b, isUpFirst)
        for _ in 0..<halvings {
            sum = isUp ? upperMean(a, sum) : lowerMean(a, sum)
            isUp.toggle()
        }
        return sum
    }

    /// The mean of each byte, rounded down: what both have, and half of what one of them has.
    @inline(__always)
    private static func lowerMean(_ a: Run, _ b: Run) -> Run { (a & b) &+ ((a ^ b) & 0xfefe_fefe) &>> 1 }

    /// The mean of each byte, rounded up: what one of them has, without half of what not both have.
    @inline(__always)
    private static func upperMean(_ a: Run, _ b: Run) -> Run { (a | b) &- ((a ^ b) & 0xfefe_fefe) &>> 1 }

    /// For each block, whether it or a neighbour contains art.
    var nearArt: Span<Bool> {
        @_lifetime(borrow self) get { isNearArt.span }
    }
}

/// Composites a layer over its region of the frame. Allocates nothing.
/// - Parameter paint: blend mode, opacity and light.
public func compositeLayer(_ layer: borrowing LayerBuffer, _ paint: Paint, onto frame: inout Frame) {
    let (region, layout) = (layer.region, frame.layout)
    guard !region.isEmpty, paint.opacity > 0 else { return }
    let gain = UInt32((min(paint.opacity, 1) * 256).rounded())
    let blender = PixelBlender(paint, layout.range)
    let rows = layout.format.chromaShift.y == 1 ? 2 : 1
    let pixels = layer.readPixels
    let rowStride = layer.stride
    var bytes = frame.mutableBytes
    unsafe bytes.withUnsafeMutableBufferPointer { target in
        unsafe pixels.withUnsafeBufferPointer { pixels in
            guard let base = target.baseAddress, let pixels = pixels.baseAddress else { return }
            for y in Swift.stride(from: 0, to: region.height, by: rows) {
                let isPair = rows == 2 && y + 1 < region.height
                for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                    let at = unsafe UnsafeRawPointer(pixels + y * rowStride + x)
                    let upper = unsafe faded(at.loadUnaligned(as: Run.self), gain)
                    var lower: Run?
                    if rows == 2 {
                        lower = isPair ? unsafe faded((at + rowStride * 4).loadUnaligned(as: Run.self), gain) : Run()
                    }
                    guard !isEmpty(upper) || !isEmpty(lower ?? Run()) else { continue }
                    let position = RunPosition(
                        x: region.x + x, y: region.y + y, count: min(runLength, layout.width - region.x - x))
                    unsafe blender.blend(
                        upper, region.y + y + 1 < layout.height ? lower : nil, onto: base, layout, at: position)
                }
            }
        }
    }
}

private func isEmpty(_ run: Run) -> Bool { (run .== Run()) == SIMDMask(repeating: true) }
