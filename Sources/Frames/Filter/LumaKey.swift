/// Removes a layer's art over dark pixels of the frame (a luma key), on one side of a line: where hair falls over the
/// forehead. Allocates nothing.
/// - Parameters:
///   - dark: luma, in samples of the frame. At the lower bound or below all art is removed, from the upper one on none.
///   - side: the weight of the removal at the frame's pixel (x, y): `side.x * x + side.y * y + side.z`, clamped to
///     0...1.
public func keyOutDark(
    _ layer: inout LayerBuffer, dark: ClosedRange<Float>, side: SIMD3<Float>, over frame: borrowing Frame
) {
    let (region, rowStride, layout) = (layer.region, layer.stride, frame.layout)
    let low = Int16(max(0, min(255, dark.lowerBound)))
    let span = Int16(max(1, min(255, dark.upperBound - dark.lowerBound)))
    // 256 sixteenths over the span.
    let slope = 4096 / span
    // In 256ths, limited so that a run stays within sixteen bits.
    let step = Int16(max(-1000, min(1000, side.x * 256)))
    let rises = SIMD16<Int16>(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) &* step
    let across = side.x * Float(runLength)
    var pixels = layer.pixels
    unsafe pixels.withUnsafeMutableBufferPointer { pixels in
        unsafe frame.bytes.withUnsafeBufferPointer { bytes in
            guard let pixels = pixels.baseAddress, let bytes = bytes.baseAddress else { return }
            let reader = unsafe BackdropReader(bytes, layout)
            for y in 0..<region.height {
                let row = side.y * Float(region.y + y) + side.z
                let (left, right) = (Float(region.x), Float(region.x + region.width))
                guard max(row + side.x * left, row + side.x * right) > 0 else { continue }
                for x in stride(from: 0, to: region.width, by: runLength) {
                    let begin = row + side.x * Float(region.x + x)
                    guard max(begin, begin + across) > 0 else { continue }
                    let luma = unsafe unsafeBitCast(reader.luma(region.x + x, region.y + y), to: SIMD16<Int16>.self)
                    let above = laneClamp(luma &- low, .zero, SIMD16(repeating: span))
                    let onset = Int16(max(-15_000, min(15_000, begin * 256)))
                    let weight = laneClamp(rises &+ onset, .zero, SIMD16(repeating: 255))
                    let removed =
                        unsafe unsafeBitCast(weight, to: SIMD16<UInt16>.self)
                        &* unsafeBitCast(256 &- ((above &* slope) &>> 4), to: SIMD16<UInt16>.self)
                    let kept = 256 &- (removed &>> 8)
                    let at = unsafe UnsafeMutableRawPointer(pixels + y * rowStride + x)
                    unsafe fade(at, kept.lowHalf)
                    unsafe fade(at + 32, kept.highHalf)
                }
            }
        }
    }
}

/// Multiplies the channels of eight pixels by 256ths. Works on two 16-bit numbers per pixel, of two channels each: for
/// twice as many lanes the compiler generates loops over memory.
@inline(__always)
private func fade(_ pixels: UnsafeMutableRawPointer, _ kept: SIMD8<UInt16>) {
    let art = unsafe pixels.loadUnaligned(as: SIMD16<UInt16>.self)
    var both = SIMD16<UInt16>()
    (both.evenHalf, both.oddHalf) = (kept, kept)
    let (lower, upper) = (((art & 255) &* both) &>> 8, ((art &>> 8) &* both) & 0xff00)
    unsafe pixels.storeBytes(of: lower | upper, as: SIMD16<UInt16>.self)
}
