/// How one plane's bytes repeat along a row: the same for every two pixels, in all formats. Kernels that sum, copy or map
/// bytes by this pattern work on any layout, packed or planar, as it is.
struct PlanePattern {
    let plane: FrameLayout.Plane
    /// Bytes for two neighbouring pixels: 1, 2 or 4.
    let unit: Int
    /// The channel of each of them (0 Y, 1 U, 2 V), repeated to four.
    let channels: SIMD4<UInt8>
    /// The second luma of a packed row's last pair where the width is odd: a byte, but of no pixel; -1 where there is none.
    let spareByte: Int
    /// Rows of pixels for one row of samples, as a power of two.
    let rowShift: Int

    init(_ layout: FrameLayout, plane index: Int) {
        plane = layout.planes[index]
        let isLuma = index == 0
        let isPacked = layout.format == .yuyv || layout.format == .uyvy
        spareByte = isPacked && layout.width % 2 == 1 ? layout.width * 2 + layout.luma.offset - plane.offset : -1
        rowShift = isLuma ? 0 : layout.format.chromaShift.y
        switch layout.format {
        case .yuyv: (unit, channels) = (4, [0, 1, 0, 2])
        case .uyvy: (unit, channels) = (4, [1, 0, 2, 0])
        case .gray: (unit, channels) = (2, .zero)
        case .nv12: (unit, channels) = (2, isLuma ? .zero : [1, 2, 1, 2])
        case .i420, .i422: (unit, channels) = isLuma ? (2, .zero) : (1, SIMD4(repeating: UInt8(index)))
        case .i444: (unit, channels) = (2, SIMD4(repeating: UInt8(index)))
        }
    }

    /// The bytes of a row that pixels `from ..< to` take; both even.
    func bytes(_ from: Int, _ to: Int) -> Range<Int> {
        let end = min(plane.rowBytes, (to + 1) / 2 * unit)
        return min(from / 2 * unit, end)..<end
    }

    /// The rows of samples that rows of pixels `from ..< to` take; both even.
    func rows(_ from: Int, _ to: Int) -> Range<Int> {
        let end = min(plane.rows, (to + (1 << rowShift) - 1) >> rowShift)
        return min(from >> rowShift, end)..<end
    }
}
