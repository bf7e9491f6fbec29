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
        if storage.count < count { storage = Array(repeating: 0, count: count + count / 4) }
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
