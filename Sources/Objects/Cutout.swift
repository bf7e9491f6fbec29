import Frames

/// A thing cut out of a picture, in the size in which things are compared.
public struct Cutout: Equatable, Sendable {
    /// Width and height in pixels.
    public static let side = 144
    /// The distance of the thing's farthest point from its centre, which is in the middle; pixels.
    static let radius: Float = 62

    /// Luma, U and V in full range, without the unevenness of the light; row by row.
    public internal(set) var y = [UInt8](repeating: 0, count: side * side)
    public internal(set) var u = [UInt8](repeating: 128, count: side * side)
    public internal(set) var v = [UInt8](repeating: 128, count: side * side)
    /// 255 on the thing, 0 beside it.
    public internal(set) var mask = [UInt8](repeating: 0, count: side * side)

    /// A cut-out without a thing.
    public init() {}

    /// A cut-out by its planes, such as that of a saved picture.
    /// - Precondition: each plane has `side * side` samples.
    public init(y: [UInt8], u: [UInt8], v: [UInt8], mask: [UInt8]) {
        let count = Self.side * Self.side
        precondition(y.count == count && u.count == count && v.count == count && mask.count == count)
        (self.y, self.u, self.v, self.mask) = (y, u, v, mask)
    }

    /// Cuts a region out of a picture. Allocates nothing.
    /// - Parameter segmenter: has found the region in this very picture.
    mutating func cut(_ region: Region, from view: borrowing FrameView, _ segmenter: borrowing Segmenter) {
        let layout = view.layout
        let bytes = view.bytes
        let scale = region.radius / Self.radius
        let (luma, range) = (layout.luma, layout.range)
        let gain = 255 / Float(range.lumaSpan)
        let chromaGain = 255 / Float(range.chromaSpan)
        let shift = layout.format.chromaShift
        let half = Float(Self.side - 1) / 2
        // Four samples for each pixel of a large thing, so that its fine structure doesn't alias.
        let count = scale > 1.3 ? 4 : 1
        let (cells, columns, rows) = (segmenter.marks.cells.span, segmenter.marks.columns, segmenter.marks.rows)
        // Where the thing can be: its box and a cell around it.
        let (step, box) = (segmenter.step, region.box)
        let first = Point(max(0, box.x - step.x), max(0, box.y - step.y))
        let last = Point(
            min(Float(layout.width - 1), box.x + box.width + step.x),
            min(Float(layout.height - 1), box.y + box.height + step.y))
        for i in mask.indices { mask[i] = 0 }
        for row in 0..<Self.side {
            let pointY = region.center.y + (Float(row) - half) * scale
            guard pointY >= first.y, pointY < last.y else { continue }
            let light = segmenter.light(alongRow: pointY)
            let cellY = pointY / step.y - 0.5
            let cy = Int(cellY.rounded(.down))
            let fy = cellY - Float(cy)
            for column in 0..<Self.side {
                let pointX = region.center.x + (Float(column) - half) * scale
                guard pointX >= first.x, pointX < last.x else { continue }
                // The cells' marks, smoothed by bilinear interpolation.
                let cellX = pointX / step.x - 0.5
                let cx = Int(cellX.rounded(.down))
                let fx = cellX - Float(cx)
                func isThing(_ x: Int, _ y: Int) -> Float {
                    guard x >= 0, y >= 0, x < columns, y < rows else { return 0 }
                    return cells[y * columns + x] == region.mark ? 1 : 0
                }
                let share =
                    (isThing(cx, cy) * (1 - fx) + isThing(cx + 1, cy) * fx) * (1 - fy)
                    + (isThing(cx, cy + 1) * (1 - fx) + isThing(cx + 1, cy + 1) * fx) * fy
                guard share >= 0.5 else { continue }
                let i = row * Self.side + column
                mask[i] = 255
                let level = light.value(pointX)
                var sum: Float = 0
                for k in 0..<count {
                    let shift = count == 1 ? 0 : 0.25 * scale
                    let (x, y) = (
                        max(0, pointX + (k & 1 == 0 ? -shift : shift)), max(0, pointY + (k < 2 ? -shift : shift))
                    )
                    let (x0, y0) = (min(Int(x), layout.width - 2), min(Int(y), layout.height - 2))
                    let (wx, wy) = (min(1, x - Float(x0)), min(1, y - Float(y0)))
                    let at = luma.offset + y0 * luma.stride + x0 * luma.step
                    let upper = Float(bytes[at]) * (1 - wx) + Float(bytes[at + luma.step]) * wx
                    let lower =
                        Float(bytes[at + luma.stride]) * (1 - wx) + Float(bytes[at + luma.stride + luma.step]) * wx
                    sum += upper * (1 - wy) + lower * wy
                }
                y[i] = UInt8(max(0, min(255, (sum / Float(count) - Float(range.black)) * gain / level)))
                guard let (us, vs) = layout.chroma else { continue }
                let (x0, y0) = (Int(pointX + 0.5) >> shift.x, Int(pointY + 0.5) >> shift.y)
                let chroma = SIMD2(
                    Float(bytes[us.offset + y0 * us.stride + x0 * us.step]),
                    Float(bytes[vs.offset + y0 * vs.stride + x0 * vs.step]))
                let uv = (chroma - 128) * (chromaGain / level) + 128
                u[i] = UInt8(max(0, min(255, uv.x)))
                v[i] = UInt8(max(0, min(255, uv.y)))
            }
        }
    }
}
