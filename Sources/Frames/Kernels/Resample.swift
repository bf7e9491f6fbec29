/// Luma kernels. Here, and in this folder alone, samples are read without bounds checks, after one check of the whole.

/// Fills a small upright picture from a region of a large one that may be scaled and turned.
///
/// Each output pixel is the mean of `taps` x `taps` bilinear samples spread evenly over the area that it covers, so
/// that a large face made small does not alias. Outside the picture its edge goes on.
/// - Parameters:
///   - picture: the large picture.
///   - map: from the patch's pixels to the picture's.
///   - patch: `width * height` samples, row by row.
public func resample(
    _ picture: borrowing LumaView, by map: Affine, into patch: inout MutableSpan<UInt8>, width: Int, height: Int
) {
    precondition(patch.count >= width * height)
    guard map.a.isFinite, map.b.isFinite, map.c.isFinite, map.d.isFinite, map.tx.isFinite, map.ty.isFinite else {
        return
    }
    // Beyond this the sampling positions could leave Int32 in 24.8 fixed point; no picture is that large.
    let limit: Float = 4_000_000
    guard abs(map.tx) < limit, abs(map.ty) < limit, abs(map.a) < 1000, abs(map.b) < 1000, abs(map.c) < 1000,
        abs(map.d) < 1000
    else { return }
    let shrink = abs(map.determinant).squareRoot()
    let taps = max(1, min(4, Int(shrink.rounded())))
    let last = (x: picture.width - 1, y: picture.height - 1)
    let (dx, dy) = (picture.pixelStride, picture.rowStride)
    unsafe picture.samples.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return }
        let fixed: Float = 256
        let step = (x: Int((map.a * fixed).rounded()), y: Int((map.c * fixed).rounded()))
        for row in 0..<height {
            for column in 0..<width {
                var sum = 0
                for i in 0..<taps * taps {
                    // The tap's offset from the pixel's centre, in patch pixels.
                    let u = (Float(i % taps) + 0.5) / Float(taps) - 0.5
                    let v = (Float(i / taps) + 0.5) / Float(taps) - 0.5
                    let p = map(Point(u, Float(row) + v))
                    let fx = Int((p.x * fixed)) + column * step.x
                    let fy = Int((p.y * fixed)) + column * step.y
                    let x0 = max(0, min(fx >> 8, last.x))
                    let y0 = max(0, min(fy >> 8, last.y))
                    let x1 = min(x0 + 1, last.x)
                    let y1 = min(y0 + 1, last.y)
                    let (wx, wy) = (fx & 255, fy & 255)
                    let top = unsafe Int(base[y0 * dy + x0 * dx]) * (256 - wx) + Int(base[y0 * dy + x1 * dx]) * wx
                    let bottom = unsafe Int(base[y1 * dy + x0 * dx]) * (256 - wx) + Int(base[y1 * dy + x1 * dx]) * wx
                    sum += top * (256 - wy) + bottom * wy
                }
                unsafe patch[unchecked: row * width + column] = UInt8(truncatingIfNeeded: (sum / (taps * taps) + 32768) >> 16)
            }
        }
    }
}
