/// Takes a tile's art away where what lies under it is dark, on one side of a line: where hair falls over the forehead.
/// Allocates nothing.
/// - Parameters:
///   - dark: luma, samples of the frame: where it is at the lower bound or below, all art goes, from the upper one on none.
///   - side: what is taken is weighed by `side.x * x + side.y * y + side.z` for the frame's pixels, from 0 to 1 and beyond.
public func uncover(_ tile: inout Tile, dark: ClosedRange<Float>, side: SIMD3<Float>, over frame: borrowing Frame) {
    let (region, rowWords, layout) = (tile.region, tile.stride, frame.layout)
    let low = UInt16(max(0, min(255, dark.lowerBound)))
    let span = UInt16(max(1, min(255, dark.upperBound - dark.lowerBound)))
    // 256 in sixteenths over the span.
    let slope = 4096 / span
    // In 256ths, within what sixteen bits hold over a run.
    let step = Int16(max(-1000, min(1000, side.x * 256)))
    let rises = SIMD16<Int16>(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) &* step
    var words = tile.pixels
    unsafe words.withUnsafeMutableBufferPointer { words in
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            guard let words = words.baseAddress, let bytes = bytes.baseAddress else { return }
            let reader = unsafe UnderReader(bytes, layout)
            for y in 0..<region.height {
                let row = side.y * Float(region.y + y) + side.z
                let (left, right) = (Float(region.x), Float(region.x + region.width))
                guard max(row + side.x * left, row + side.x * right) > 0 else { continue }
                for x in stride(from: 0, to: region.width, by: runLength) {
                    let at = unsafe UnsafeMutableRawPointer(words + y * rowWords + x)
                    let art = unsafe at.load(as: SIMD32<UInt16>.self)
                    guard art != SIMD32<UInt16>() else { continue }
                    let first = Int16(max(-15_000, min(15_000, (row + side.x * Float(region.x + x)) * 256)))
                    let weight = clamped(rises &+ first, to: 255)
                    guard weight != SIMD16<UInt16>() else { continue }
                    let luma = unsafe reader.luma(region.x + x, region.y + y)
                    let above = pointwiseMin(pointwiseMax(luma, SIMD16(repeating: low)) &- low, SIMD16(repeating: span))
                    let taken = (weight &* (256 &- (above &* slope) &>> 4)) &>> 8
                    var kept = SIMD32<UInt16>()
                    (kept.evenHalf, kept.oddHalf) = (256 &- taken, 256 &- taken)
                    // Two channels in each word of 16 bits.
                    let (lower, upper) = (((art & 255) &* kept) &>> 8, (art &>> 8) &* kept & 0xff00)
                    unsafe at.storeBytes(of: lower | upper, as: SIMD32<UInt16>.self)
                }
            }
        }
    }
}

/// From 0 to a bound.
@inline(__always)
private func clamped(_ a: SIMD16<Int16>, to most: Int16) -> SIMD16<UInt16> {
    SIMD16<UInt16>(truncatingIfNeeded: pointwiseMin(pointwiseMax(a, SIMD16()), SIMD16(repeating: most)))
}
