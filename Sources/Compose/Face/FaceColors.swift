import Frames

/// A face's colour statistics: the mean of its pixels, and the contrast of its luma.
struct FaceColors {
    /// Mean Y, U and V, in samples.
    let mean: SIMD3<Float>
    /// The standard deviation of luma, in samples.
    let contrast: Float

    /// Measures every other pixel of every other row, well inside an outline.
    init(_ layer: borrowing LayerBuffer, _ outline: HeadOutline) {
        let (piece, stride) = (layer.region, layer.stride)
        let pixels = layer.readPixels
        var (sum, squares, count) = (SIMD3<Float>.zero, Float(0), Float(0))
        for y in Swift.stride(from: 0, to: piece.height, by: 2) {
            for x in Swift.stride(from: 0, to: piece.width, by: 2) {
                guard outline.distance(Point(Float(piece.x + x), Float(piece.y + y))) < 0.8 else { continue }
                let pixel = pixels[y * stride + x]
                let sample = SIMD3(Float(pixel & 255), Float(pixel >> 8 & 255), Float(pixel >> 16 & 255))
                sum += sample
                squares += sample.x * sample.x
                count += 1
            }
        }
        mean = sum / max(count, 1)
        contrast = max(0, squares / max(count, 1) - mean.x * mean.x).squareRoot()
    }

    /// Recolours a layer buffer from these statistics to another face's.
    /// - Parameter range: of the buffer's samples; what would leave it is clipped.
    func recolor(_ layer: inout LayerBuffer, like other: FaceColors, in range: ColorRange) {
        // Limited, so that a face in flat light neither takes all of another's shadows nor loses all of its own.
        let gain = max(0.7, min(1.4, other.contrast / max(contrast, 1)))
        let scale = Int32(gain * 256)
        let from = SIMD3<Int32>(Int32(mean.x), Int32(mean.y), Int32(mean.z))
        let to = SIMD3<Int32>(Int32(other.mean.x), Int32(other.mean.y), Int32(other.mean.z))
        let lowest = Int32(range.black)
        let (white, highest) = (lowest + Int32(range.lumaSpan), lowest + Int32(range.chromaSpan))
        let (piece, stride) = (layer.region, layer.stride)
        var pixels = layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let pixel = pixels[y * stride + x]
                func value(_ shift: UInt32) -> Int32 { Int32(pixel >> shift & 255) }
                func kept(_ value: Int32, _ limit: Int32) -> UInt32 { UInt32(max(lowest, min(limit, value))) }
                let luma = kept((value(0) - from.x) * scale / 256 + to.x, white)
                let (u, v) = (kept(value(8) - from.y + to.y, highest), kept(value(16) - from.z + to.z, highest))
                pixels[y * stride + x] = luma | u << 8 | v << 16 | 0xff00_0000
            }
        }
    }
}
