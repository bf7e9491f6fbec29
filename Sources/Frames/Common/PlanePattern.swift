/// The pattern of channels along a plane's rows, which repeats every two pixels in all formats. Kernels that sum, copy
/// or map bytes by this pattern work on any layout, packed or planar.
struct PlanePattern {
    let plane: FrameLayout.Plane
    /// Bytes for two neighbouring pixels: 1, 2 or 4.
    let bytesPerPair: Int
    /// The channel of each byte (0 Y, 1 U, 2 V), repeated to four.
    let channels: SIMD4<UInt8>
    /// The second luma byte of a packed row's last pair if the width is odd, which belongs to no pixel; else -1.
    let paddingByte: Int
    /// Rows of pixels per row of samples, as a power of two.
    let rowShift: Int

    init(_ layout: FrameLayout, plane index: Int) {
        plane = layout.planes[index]
        let isLuma = index == 0
        let isPacked = layout.format.isPacked
        paddingByte = isPacked && layout.width % 2 == 1 ? layout.width * 2 + layout.luma.offset - plane.offset : -1
        rowShift = isLuma ? 0 : layout.format.chromaShift.y
        switch layout.format {
        case .yuyv: (bytesPerPair, channels) = (4, [0, 1, 0, 2])
        case .uyvy: (bytesPerPair, channels) = (4, [1, 0, 2, 0])
        case .gray: (bytesPerPair, channels) = (2, .zero)
        case .nv12: (bytesPerPair, channels) = (2, isLuma ? .zero : [1, 2, 1, 2])
        case .i420, .i422: (bytesPerPair, channels) = isLuma ? (2, .zero) : (1, SIMD4(repeating: UInt8(index)))
        case .i444: (bytesPerPair, channels) = (2, SIMD4(repeating: UInt8(index)))
        }
    }

    /// The bytes of a row that contain pixels `from ..< to`; both even.
    func bytes(_ from: Int, _ to: Int) -> Range<Int> {
        let end = min(plane.rowBytes, (to + 1) / 2 * bytesPerPair)
        return min(from / 2 * bytesPerPair, end)..<end
    }

    /// The rows of samples that contain rows of pixels `from ..< to`; both even.
    func rows(_ from: Int, _ to: Int) -> Range<Int> {
        let end = min(plane.rows, (to + (1 << rowShift) - 1) >> rowShift)
        return min(from >> rowShift, end)..<end
    }
}
