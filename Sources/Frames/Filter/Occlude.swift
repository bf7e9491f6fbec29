extension Rasterizer {
    /// Draws invisible triangles that occlude what is drawn later behind them: one depth sample per pixel.
    /// - Parameter triangles: three indices of `vertices` each; back faces are skipped.
    public mutating func occlude(_ vertices: Span<RasterVertex>, _ triangles: Span<UInt16>) {
        let (width, height) = (region.width, region.height)
        let origin = SIMD4<Float>(Float(region.x), Float(region.y), 0, 0)
        unsafe occluders.withUnsafeMutableBufferPointer { occluders in
            guard let base = occluders.baseAddress else { return }
            for i in stride(from: 0, to: triangles.count - 2, by: 3) {
                let a = vertices[Int(triangles[i])].position - origin
                let b = vertices[Int(triangles[i + 1])].position - origin
                let c = vertices[Int(triangles[i + 2])].position - origin
                unsafe rasterizeOccluder(triangle: a, b, c, base, width: width, height: height)
            }
        }
        isFarthestOutdated = true
    }

    /// Computes the farthest occluder of each block. Reading beyond a row's end is safe: it can only make a block
    /// farther.
    mutating func updateFarthestOccluders() {
        isFarthestOutdated = false
        let (width, height, across) = (region.width + 2, region.height + 2, blocksAcross)
        unsafe occluders.withUnsafeBufferPointer { occluders in
            unsafe farthestOccluders.withUnsafeMutableBufferPointer { farthestOccluders in
                guard let occluders = occluders.baseAddress, let farthestOccluders = farthestOccluders.baseAddress
                else { return }
                for top in stride(from: 0, to: height, by: Self.blockSide) {
                    let row = unsafe farthestOccluders + (top >> Self.blockShift) * across
                    let rows = top..<min(height, top + Self.blockSide)
                    for x in 0..<across { unsafe row[x] = farthest(occluders, x, rows, width) }
                }
            }
        }
    }
}

/// The farthest occluder of a block.
/// - Parameter block: the index of the block of 8 columns in the rows.
private func farthest(
    _ occluders: UnsafePointer<Float>, _ block: Int, _ rows: Range<Int>, _ width: Int
) -> Float {
    var (left, right) = (SIMD4<Float>(repeating: -.infinity), SIMD4<Float>(repeating: -.infinity))
    for y in rows {
        let at = unsafe UnsafeRawPointer(occluders + (y * width + block << Rasterizer.blockShift))
        left = laneMax(left, unsafe at.loadUnaligned(as: SIMD4<Float>.self))
        right = laneMax(right, unsafe at.loadUnaligned(fromByteOffset: 16, as: SIMD4<Float>.self))
    }
    return laneMax(left, right).max()
}

/// Draws one triangle into the depths, row by row.
private func rasterizeOccluder(
    triangle a: SIMD4<Float>, _ b: SIMD4<Float>, _ c: SIMD4<Float>, _ base: UnsafeMutablePointer<Float>, width: Int,
    height: Int
) {
    let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    guard area > 0, area.isFinite else { return }
    let (low, high) = (min(a.y, b.y, c.y), max(a.y, b.y, c.y))
    guard low < Float(height), high > 0, high - low < 100_000 else { return }
    let (top, bottom) = (max(0, Int(low)), min(height - 1, Int(high)))
    guard top <= bottom else { return }
    // The plane through the depths of the corners.
    let (ux, uy) = ((c.y - a.y) / area, (a.x - c.x) / area)
    let (vx, vy) = ((a.y - b.y) / area, (b.x - a.x) / area)
    let zx = (b.z - a.z) * ux + (c.z - a.z) * vx
    let zy = (b.z - a.z) * uy + (c.z - a.z) * vy
    // The change of columns per row along the edges; not used for horizontal edges.
    let (ab, bc, ca) = ((b.x - a.x) / (b.y - a.y), (c.x - b.x) / (c.y - b.y), (a.x - c.x) / (a.y - c.y))
    let columns = SIMD4<Float>(0, 1, 2, 3)
    for y in top...bottom {
        let fy = Float(y)
        var span = (begin: Float(0), end: Float(width - 1))
        narrow(&span, a, b, ab, fy)
        narrow(&span, b, c, bc, fy)
        narrow(&span, c, a, ca, fy)
        guard span.begin <= span.end else { continue }
        let begin = Int(span.begin)
        var x = Float(begin) < span.begin ? begin + 1 : begin
        let end = Int(span.end)
        let row = unsafe base + (y + 1) * (width + 2) + 1
        var z = a.z + (Float(x) - a.x + columns) * zx + (fy - a.y) * zy
        while x &+ 3 <= end {
            let at = unsafe UnsafeMutableRawPointer(row + x)
            unsafe at.storeBytes(of: laneMin(at.loadUnaligned(as: SIMD4<Float>.self), z), as: SIMD4<Float>.self)
            z += zx * 4
            x &+= 4
        }
        while x <= end {
            unsafe row[x] = min(row[x], z.x)
            z.x += zx
            x &+= 1
        }
    }
}

/// Restricts the columns to those right of an edge.
@inline(__always)
private func narrow(
    _ span: inout (begin: Float, end: Float), _ p: SIMD4<Float>, _ q: SIMD4<Float>, _ slope: Float, _ y: Float
) {
    let dy = q.y - p.y
    guard dy != 0 else {
        // A horizontal edge: it keeps the whole row or none of it.
        if (q.x - p.x) * (y - p.y) < 0 { span.end = -1 }
        return
    }
    let x = p.x + (y - p.y) * slope
    if dy < 0 { span.begin = max(span.begin, x) } else { span.end = min(span.end, x) }
}
