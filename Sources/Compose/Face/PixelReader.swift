import Frames

/// Reads single pixels of a frame in any layout, as full-range levels.
struct PixelReader: ~Escapable {
    private let bytes: Span<UInt8>
    let width: Int
    let height: Int
    private let luma: SampleSite
    private let chroma: (u: SampleSite, v: SampleSite)?
    private let shift: (x: Int, y: Int)
    private let isFull: Bool

    @_lifetime(copy view)
    init(_ view: borrowing FrameView) {
        let layout = view.layout
        bytes = view.bytes
        (width, height, shift) = (layout.width, layout.height, layout.format.chromaShift)
        (luma, chroma) = (layout.luma, layout.chroma)
        isFull = layout.range == .full
    }

    /// Whether a point is inside the frame.
    func contains(_ p: Point) -> Bool { p.x >= 0 && p.y >= 0 && p.x < Float(width) && p.y < Float(height) }

    /// The luma of a pixel, from 0 (black) to 255 (white).
    func luma(_ x: Int, _ y: Int) -> Int {
        let sample = Int(bytes[luma.offset + y * luma.stride + x * luma.step])
        return isFull ? sample : max(0, min(255, ((sample - 16) * 298) >> 8))
    }

    /// The luma of a pixel, 0...255, and its chroma (U, V) relative to neutral, both in full range.
    subscript(x: Int, y: Int) -> (luma: Int, chroma: SIMD2<Float>) {
        let luma = luma(x, y)
        guard let chroma else { return (luma, .zero) }
        let start = (y >> shift.y) * chroma.u.stride + (x >> shift.x) * chroma.u.step
        let value = SIMD2(Float(bytes[chroma.u.offset + start]), Float(bytes[chroma.v.offset + start])) - 128
        return (luma, isFull ? value : value * (255.0 / 224))
    }
}
