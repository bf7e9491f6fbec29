/// A piece of a frame's size that layers are drawn on before it is laid over the frame pixel by pixel: premultiplied
/// YUVA words as in a `Sprite`, in the range of the frame. Its memory grows to the largest piece and is kept.
public struct LayerBuffer: ~Copyable {
    /// Where it lies in the frame, pixels; `x` and `y` are even, since chroma is shared between neighbours.
    public private(set) var region = PixelRect(x: 0, y: 0, width: 0, height: 0)
    private var words: [UInt32] = []
    private var isNearArt: [Bool] = []

    /// An empty tile.
    public init() {}

    /// Words from one row to the next: whole runs, so that a row's end needs no care.
    public var stride: Int { (region.width + runLength - 1) / runLength * runLength }

    /// Makes it a transparent piece of a picture.
    /// - Parameters:
    ///   - region: pixels; what lies outside of the picture is cut off, and odd edges are widened to even ones.
    ///   - layout: the picture's.
    ///   - margin: pixels by which it may reach beyond the picture, even; `compositeLayer` wants none.
    /// - Returns: false where nothing of it lies in the picture.
    public mutating func begin(_ region: PixelRect, in layout: FrameLayout, margin: Int = 0) -> Bool {
        begin(region, width: layout.width, height: layout.height, margin: margin)
    }

    /// The same in a picture of that size.
    public mutating func begin(_ region: PixelRect, width: Int, height: Int, margin: Int = 0) -> Bool {
        let moved = PixelRect(x: region.x + margin, y: region.y + margin, width: region.width, height: region.height)
        var piece = moved.evenPiece(width: width + 2 * margin, height: height + 2 * margin)
        piece.x -= margin
        piece.y -= margin
        self.region = piece
        guard !piece.isEmpty else { return false }
        let count = stride * piece.height
        // A quarter more, so that a face that comes nearer does not ask for memory in each frame.
        if words.count < count { words = Array(repeating: 0, count: count + count / 4) }
        var span = words.mutableSpan
        unsafe span.withUnsafeMutableBufferPointer { unsafe $0.extracting(0..<count).update(repeating: 0) }
        return true
    }

    /// Row by row, `stride` words each: those of `region` from its top left on.
    public var pixels: MutableSpan<UInt32> {
        @_lifetime(&self) mutating get { words.mutableSpan }
    }

    /// The same to read.
    public var readPixels: Span<UInt32> {
        @_lifetime(borrow self) get { words.span }
    }

    /// Says where art lies, for `compositeLayer` with a map; called when all is drawn.
    public mutating func markArt() {
        // Taken out meanwhile: a span of the words keeps all else from being changed.
        var isNear: [Bool] = []
        swap(&isNear, &isNearArt)
        ArtBlocks.moved.mark(words.span, width: region.width, height: region.height, stride: stride, into: &isNear)
        isNearArt = isNear
    }

    /// Blocks that hold art or are next to one that does.
    var nearArt: Span<Bool> {
        @_lifetime(borrow self) get { isNearArt.span }
    }
}

/// Lays a tile over the frame where it belongs. Allocates nothing.
/// - Parameter paint: how it is laid.
public func compositeLayer(_ layer: borrowing LayerBuffer, _ paint: Paint, onto frame: inout Frame) {
    let (region, layout) = (layer.region, frame.layout)
    guard !region.isEmpty, paint.opacity > 0 else { return }
    let gain = UInt32((min(paint.opacity, 1) * 256).rounded())
    let blender = PixelBlender(paint, layout.range)
    let rows = layout.format.chromaShift.y == 1 ? 2 : 1
    let pixels = layer.readPixels
    let rowWords = layer.stride
    var bytes = frame.mutableBytes
    unsafe bytes.withUnsafeMutableBufferPointer { target in
        unsafe pixels.withUnsafeBufferPointer { words in
            guard let base = target.baseAddress, let words = words.baseAddress else { return }
            for y in Swift.stride(from: 0, to: region.height, by: rows) {
                let isPair = rows == 2 && y + 1 < region.height
                for x in Swift.stride(from: 0, to: region.width, by: runLength) {
                    let at = unsafe UnsafeRawPointer(words + y * rowWords + x)
                    let upper = unsafe faded(at.loadUnaligned(as: Run.self), gain)
                    var lower: Run?
                    if rows == 2 {
                        lower = isPair ? unsafe faded((at + rowWords * 4).loadUnaligned(as: Run.self), gain) : Run()
                    }
                    guard !isEmpty(upper) || !isEmpty(lower ?? Run()) else { continue }
                    let place = RunPlace(
                        x: region.x + x, y: region.y + y, count: min(runLength, layout.width - region.x - x))
                    unsafe blender.blend(
                        upper, region.y + y + 1 < layout.height ? lower : nil, onto: base, layout, at: place)
                }
            }
        }
    }
}

private func isEmpty(_ run: Run) -> Bool { (run .== Run()) == SIMDMask(repeating: true) }
