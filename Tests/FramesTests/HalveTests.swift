import Testing

@testable import Frames
@testable import SystemKit

/// Halving of pictures.
struct HalveTests {
    /// A smooth picture, for which all methods agree.
    private func fill(_ frame: inout Frame, luma: (Int, Int) -> Int, u: (Int, Int) -> Int, v: (Int, Int) -> Int) {
        let (layout, plane) = (frame.layout, frame.layout.planes[0])
        var bytes = frame.mutableBytes
        let places = layout.format == .yuyv ? (y: 0, u: 1, v: 3) : (y: 1, u: 0, v: 2)
        for y in 0..<layout.height {
            for pair in 0..<(layout.width + 1) / 2 {
                let start = plane.offset + y * plane.stride + 4 * pair
                bytes[start + places.y] = UInt8(luma(2 * pair, y))
                bytes[start + places.y + 2] = UInt8(luma(2 * pair + 1, y))
                bytes[start + places.u] = UInt8(u(2 * pair, y))
                bytes[start + places.v] = UInt8(v(2 * pair, y))
            }
        }
    }

    @Test(arguments: [PixelFormat.yuyv, .uyvy], [(64, 48), (63, 47), (66, 50), (2, 2), (1, 1), (5, 3)])
    func `a packed picture is halved like a planar one`(format: PixelFormat, size: (Int, Int)) {
        let layout = FrameLayout(width: size.0, height: size.1, format: format, lumaStride: (size.0 + 1) / 2 * 4 + 12)
        var frame = Frame(layout)
        fill(&frame) {
            40 + $0 + $1
        } u: {
            60 + $0 + $1
        } v: {
            200 - $0 - $1 / 2
        }
        var planes = Frame(FrameLayout(width: size.0, height: size.1, format: .i420))
        convert(frame, into: &planes)
        let half = FrameLayout(width: (size.0 + 1) / 2, height: (size.1 + 1) / 2, format: .i420)
        var expected = Frame(half)
        halve(planes, into: &expected)
        var found = Frame(half)
        halve(packed: frame.view, into: &found)
        var worst = (luma: 0, chroma: 0)
        for (index, plane) in half.planes.enumerated() {
            for row in 0..<plane.rows {
                for column in 0..<plane.rowBytes {
                    let i = plane.offset + row * plane.stride + column
                    let difference = abs(Int(found.bytes[i]) - Int(expected.bytes[i]))
                    if index == 0 { worst.luma = max(worst.luma, difference) }
                    if index > 0 { worst.chroma = max(worst.chroma, difference) }
                }
            }
        }
        // Luma is the same sum; for planar frames chroma is rounded twice, and odd edges are handled differently.
        #expect(worst.luma <= (size.0 & 1 == 0 ? 0 : 1), "\(worst)")
        #expect(worst.chroma <= 2, "\(worst)")
    }
}
