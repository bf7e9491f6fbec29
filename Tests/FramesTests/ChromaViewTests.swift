import Testing

@testable import Frames

@Test(arguments: PixelFormat.allCases) func `chroma is seen in each format, and gray has none`(format: PixelFormat) {
    var frame = Frame(FrameLayout(width: 7, height: 5, format: format))
    frame.fill(y: 16, u: 90, v: 160)
    guard let chroma = frame.view.chroma else {
        #expect(format == .gray)
        return
    }
    let shift = format.chromaShift
    #expect(chroma.width == (shift.x == 1 ? 4 : 7) && chroma.height == (shift.y == 1 ? 3 : 5))
    for y in 0..<chroma.height {
        for x in 0..<chroma.width { #expect(chroma.sample(x: x, y: y) == SIMD2(90, 160), "\(x) \(y)") }
    }
}
