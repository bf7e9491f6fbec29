import Frames
import JSON
import Track

extension LayerKind {
    static let swap = LayerKind("swap", allowsBehind: false, onPicture: { try FaceSwapLayer(&$0, $1) })
}

/// A layer that swaps the two largest faces in the picture, each in the other's light and colours. With one face it
/// draws nothing.
struct FaceSwapLayer: PictureLayer {
    /// Soft edges fade from the first to the second of these outlines, relative to the features' outline.
    private static let (full, none): (Float, Float) = (0.78, 1)

    /// The layer has no keys of its own.
    init(_ fields: inout Fields, _ context: LayerContext) throws {}

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let count = scene.trackedFaces.count
        guard count >= 2, appearance.opacity > 0 else { return }
        let (one, other) = (scene.trackedFaces[count - 1].face, scene.trackedFaces[count - 2].face)
        let (here, there) = (HeadOutline(features: one), HeadOutline(features: other))
        guard here.isSound, there.isSound, let map = Self.map(from: one, to: other), let back = map.inverse,
            canvas.effects.first.copyPixels(here.box(grown: 1.1), of: canvas.frame),
            canvas.effects.second.copyPixels(there.box(grown: 1.1), of: canvas.frame)
        else { return }
        let (mine, yours) = (FaceColors(canvas.effects.first, here), FaceColors(canvas.effects.second, there))
        mine.recolor(&canvas.effects.first, like: yours)
        yours.recolor(&canvas.effects.second, like: mine)
        guard canvas.layer.begin(there.box(), in: canvas.frame.layout) else { return }
        canvas.layer.draw(canvas.effects.first, by: map)
        canvas.fadeLayer(there, full: Self.full, none: Self.none)
        canvas.drawLayer(opacity: appearance.opacity)
        guard canvas.layer.begin(here.box(), in: canvas.frame.layout) else { return }
        canvas.layer.draw(canvas.effects.second, by: back)
        canvas.fadeLayer(here, full: Self.full, none: Self.none)
        canvas.drawLayer(opacity: appearance.opacity)
    }

    /// The similarity transform that maps one face's eyes and mouth as closely as possible to the other's (least
    /// squares).
    private static func map(from: borrowing Face, to: borrowing Face) -> Affine? {
        let a: [3 of Point] = [from[.rightEye], from[.leftEye], from[.mouth]]
        let b: [3 of Point] = [to[.rightEye], to[.leftEye], to[.mouth]]
        let (p, q) = ((a[0] + a[1] + a[2]) / 3, (b[0] + b[1] + b[2]) / 3)
        // Rotation and scale as a complex number: the sum of conj(a) b over the sum of |a|^2.
        var (real, imaginary, length) = (Float(0), Float(0), Float(0))
        for i in 0..<3 {
            let (u, v) = (a[i] - p, b[i] - q)
            real += u.x * v.x + u.y * v.y
            imaginary += u.x * v.y - u.y * v.x
            length += u.x * u.x + u.y * u.y
        }
        guard length > 1 else { return nil }
        let (c, s) = (real / length, imaginary / length)
        return Affine(a: c, b: -s, c: s, d: c, tx: q.x - c * p.x + s * p.y, ty: q.y - s * p.x - c * p.y)
    }
}

/// A face's colour statistics: the mean of its pixels, and the contrast of its luma.
struct FaceColors {
    /// Mean Y, U and V, in samples.
    let mean: SIMD3<Float>
    /// The standard deviation of luma, in samples.
    let contrast: Float

    /// Measures every other pixel of every other row, well inside an outline.
    init(_ layer: borrowing LayerBuffer, _ outline: HeadOutline) {
        let (piece, stride) = (layer.region, layer.stride)
        let words = layer.readPixels
        var (sum, squares, count) = (SIMD3<Float>.zero, Float(0), Float(0))
        for y in Swift.stride(from: 0, to: piece.height, by: 2) {
            for x in Swift.stride(from: 0, to: piece.width, by: 2) {
                guard outline.distance(Point(Float(piece.x + x), Float(piece.y + y))) < 0.8 else { continue }
                let word = words[y * stride + x]
                let sample = SIMD3(Float(word & 255), Float(word >> 8 & 255), Float(word >> 16 & 255))
                sum += sample
                squares += sample.x * sample.x
                count += 1
            }
        }
        mean = sum / max(count, 1)
        contrast = max(0, squares / max(count, 1) - mean.x * mean.x).squareRoot()
    }

    /// Recolours a layer buffer from these statistics to another face's.
    func recolor(_ layer: inout LayerBuffer, like other: FaceColors) {
        // Limited, so that a face in flat light neither takes all of another's shadows nor loses all of its own.
        let gain = max(0.7, min(1.4, other.contrast / max(contrast, 1)))
        let scale = Int32(gain * 256)
        let from = SIMD3<Int32>(Int32(mean.x), Int32(mean.y), Int32(mean.z))
        let to = SIMD3<Int32>(Int32(other.mean.x), Int32(other.mean.y), Int32(other.mean.z))
        let (piece, stride) = (layer.region, layer.stride)
        var words = layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let word = words[y * stride + x]
                func value(_ shift: UInt32) -> Int32 { Int32(word >> shift & 255) }
                func kept(_ value: Int32) -> UInt32 { UInt32(max(16, min(240, value))) }
                let luma = kept((value(0) - from.x) * scale / 256 + to.x)
                let (u, v) = (kept(value(8) - from.y + to.y), kept(value(16) - from.z + to.z))
                words[y * stride + x] = luma | u << 8 | v << 16 | 0xff00_0000
            }
        }
    }
}

extension Canvas {
    /// Fades the layer buffer from the outline grown by `full` to nothing at the outline grown by `none`.
    fileprivate mutating func fadeLayer(_ outline: HeadOutline, full: Float, none: Float) {
        let (piece, stride) = (layer.region, layer.stride)
        var words = layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let cover = outline.cover(Point(Float(piece.x + x), Float(piece.y + y)), full: full, none: none)
                guard cover < 1 else { continue }
                words[y * stride + x] = faded(words[y * stride + x], UInt32(cover * 256))
            }
        }
    }
}
