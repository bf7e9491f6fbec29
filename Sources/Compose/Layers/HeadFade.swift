import Frames

extension Canvas {
    /// Fades the layer buffer from the outline grown by `full` to nothing at the outline grown by `none`.
    mutating func fadeTile(_ outline: HeadOutline, full: Float, none: Float) {
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
