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
        for row in 0..<Self.side {
            for column in 0..<Self.side {
                let point = region.center + (Point(Float(column), Float(row)) - half) * scale
                let i = row * Self.side + column
                guard point.x >= 0, point.y >= 0, point.x < Float(layout.width - 1), point.y < Float(layout.height - 1)
                else {
                    mask[i] = 0
                    continue
                }
                // The cells' marks, smoothed by bilinear interpolation.
                let cell = point / segmenter.step - 0.5
                let (cx, cy) = (Int(cell.x.rounded(.down)), Int(cell.y.rounded(.down)))
                let (fx, fy) = (cell.x - Float(cx), cell.y - Float(cy))
                func isThing(_ x: Int, _ y: Int) -> Float {
                    guard x >= 0, y >= 0, x < columns, y < rows else { return 0 }
                    return cells[y * columns + x] == region.mark ? 1 : 0
                }
                let share =
                    (isThing(cx, cy) * (1 - fx) + isThing(cx + 1, cy) * fx) * (1 - fy)
                    + (isThing(cx, cy + 1) * (1 - fx) + isThing(cx + 1, cy + 1) * fx) * fy
                mask[i] = share >= 0.5 ? 255 : 0
                guard share >= 0.5 else { continue }
                let light = segmenter.light(at: point)
                var sum: Float = 0
                for k in 0..<count {
                    let shift = Point(k & 1 == 0 ? -0.25 : 0.25, k < 2 ? -0.25 : 0.25)
                    let p = count == 1 ? point : point + shift * scale
                    let (x, y) = (max(0, p.x), max(0, p.y))
                    let (x0, y0) = (min(Int(x), layout.width - 2), min(Int(y), layout.height - 2))
                    let (wx, wy) = (min(1, x - Float(x0)), min(1, y - Float(y0)))
                    let at = luma.offset + y0 * luma.stride + x0 * luma.step
                    let upper = Float(bytes[at]) * (1 - wx) + Float(bytes[at + luma.step]) * wx
                    let lower =
                        Float(bytes[at + luma.stride]) * (1 - wx) + Float(bytes[at + luma.stride + luma.step]) * wx
                    sum += upper * (1 - wy) + lower * wy
                }
                y[i] = UInt8(max(0, min(255, (sum / Float(count) - Float(range.black)) * gain / light)))
                guard let (us, vs) = layout.chroma else { continue }
                let (x0, y0) = (Int(point.x + 0.5) >> shift.x, Int(point.y + 0.5) >> shift.y)
                let chroma = SIMD2(
                    Float(bytes[us.offset + y0 * us.stride + x0 * us.step]),
                    Float(bytes[vs.offset + y0 * vs.stride + x0 * vs.step]))
                let level = (chroma - 128) * (chromaGain / light) + 128
                u[i] = UInt8(max(0, min(255, level.x)))
                v[i] = UInt8(max(0, min(255, level.y)))
            }
        }
    }
}
