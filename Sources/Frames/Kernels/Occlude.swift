extension Rasteriser {
    /// Draws triangles that hide what is drawn later behind them and show nothing themselves: one sample a pixel.
    /// - Parameter triangles: three corners each, by their number in `vertices`; those that face away are left out.
    public mutating func occlude(_ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>) {
        let (width, height) = (region.width, region.height)
        let origin = SIMD4<Float>(Float(region.x), Float(region.y), 0, 0)
        unsafe occluders.withUnsafeMutableBufferPointer { occluders in
            guard let base = occluders.baseAddress else { return }
            for i in stride(from: 0, to: triangles.count - 2, by: 3) {
                let a = vertices[Int(triangles[i])].position - origin
                let b = vertices[Int(triangles[i + 1])].position - origin
                let c = vertices[Int(triangles[i + 2])].position - origin
                unsafe hide(behind: a, b, c, base, width: width, height: height)
            }
        }
    }
}

/// Enters one triangle, row by row.
private func hide(
    behind a: SIMD4<Float>, _ b: SIMD4<Float>, _ c: SIMD4<Float>, _ base: UnsafeMutablePointer<Float>, width: Int,
    height: Int
) {
    let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    guard area > 0, area.isFinite else { return }
    let (low, high) = (min(a.y, b.y, c.y), max(a.y, b.y, c.y))
    guard low < Float(height), high > 0, high - low < 100_000 else { return }
    let (top, bottom) = (max(0, Int(low)), min(height - 1, Int(high)))
    guard top <= bottom else { return }
    // The plane through the corners' depths.
    let (ux, uy) = ((c.y - a.y) / area, (a.x - c.x) / area)
    let (vx, vy) = ((a.y - b.y) / area, (b.x - a.x) / area)
    let zx = (b.z - a.z) * ux + (c.z - a.z) * vx
    let zy = (b.z - a.z) * uy + (c.z - a.z) * vy
    for y in top...bottom {
        let fy = Float(y)
        var span = (begin: Float(0), end: Float(width - 1))
        narrow(&span, a, b, fy)
        narrow(&span, b, c, fy)
        narrow(&span, c, a, fy)
        guard span.begin <= span.end else { continue }
        let begin = Int(span.begin)
        var x = Float(begin) < span.begin ? begin + 1 : begin
        let end = Int(span.end)
        let row = unsafe base + (y + 1) * (width + 2) + 1
        var z = a.z + (Float(x) - a.x) * zx + (fy - a.y) * zy
        while x <= end {
            if unsafe z < row[x] { unsafe row[x] = z }
            z += zx
            x += 1
        }
    }
}

/// Keeps the columns on the right of an edge.
@inline(__always)
private func narrow(
    _ span: inout (begin: Float, end: Float), _ p: SIMD4<Float>, _ q: SIMD4<Float>, _ y: Float
) {
    let dy = q.y - p.y
    guard dy != 0 else {
        // Level: all of the row or none of it.
        if (q.x - p.x) * (y - p.y) < 0 { span.end = -1 }
        return
    }
    let x = p.x + (y - p.y) * (q.x - p.x) / dy
    if dy < 0 { span.begin = max(span.begin, x) } else { span.end = min(span.end, x) }
}
