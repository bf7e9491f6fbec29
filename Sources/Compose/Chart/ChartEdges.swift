import Frames

/// Which openings of the face a drawing leaves free, and how softly it ends.
struct ChartEdges: Sendable {
    var hasEyes = false
    var hasMouth = false
    /// Units of the chart over which art fades out towards the chart's outline.
    var feather: Float = 9
    /// The same towards lids that are left free: thin, since the lashes begin there.
    var lidFeather: Float = 0.9
    /// The same towards lips.
    var lipFeather: Float = 0.9

    /// Fades a drawing of the chart out, towards its outline and the openings.
    func soften(_ raster: inout RasterRGBA) {
        let outline = FaceChart.outline.map { FaceChart.points[$0] }
        var holes: [(edge: [Point], feather: Float)] = []
        if !hasEyes {
            for eye in [FaceChart.rightEye, FaceChart.leftEye] {
                holes.append((eye.map { FaceChart.points[$0] }, max(lidFeather, 0.1)))
            }
        }
        if !hasMouth { holes.append((FaceChart.innerLips.map { FaceChart.points[$0] }, max(lipFeather, 0.1))) }
        let boxes = holes.map { Self.box($0.edge, margin: $0.feather) }
        for y in 0..<raster.height {
            for x in 0..<raster.width {
                let at = (y * raster.width + x) * 4
                guard raster.bytes[at + 3] != 0 else { continue }
                let p = raster.origin + Point(Float(x) + 0.5, Float(y) + 0.5) / raster.scale
                // Whole inside an ellipse within the outline: most pixels need no look at the edges.
                let q = (p - Point(0, 30)) / Point(78, 115)
                var gain: Float = 1
                if (q * q).sum() > 1 {
                    gain = Self.contains(outline, p) ? smooth(Self.distance(outline, p) / max(feather, 0.1)) : 0
                }
                for (hole, box) in zip(holes, boxes)
                where p.x > box.low.x && p.y > box.low.y && p.x < box.high.x && p.y < box.high.y {
                    gain *= Self.contains(hole.edge, p) ? 0 : smooth(Self.distance(hole.edge, p) / hole.feather)
                }
                guard gain < 1 else { continue }
                for i in at..<at + 4 { raster.bytes[i] = UInt8(Float(raster.bytes[i]) * gain + 0.5) }
            }
        }
    }

    private func smooth(_ t: Float) -> Float {
        let t = max(0, min(1, t))
        return t * t * (3 - 2 * t)
    }

    private static func box(_ polygon: [Point], margin: Float) -> (low: Point, high: Point) {
        var (low, high) = (polygon[0], polygon[0])
        for p in polygon {
            low = pointwiseMin(low, p)
            high = pointwiseMax(high, p)
        }
        return (low - margin, high + margin)
    }

    private static func contains(_ polygon: [Point], _ p: Point) -> Bool {
        var isInside = false
        var last = polygon[polygon.count - 1]
        for here in polygon {
            if (here.y > p.y) != (last.y > p.y),
                p.x < (last.x - here.x) * (p.y - here.y) / (last.y - here.y) + here.x
            {
                isInside.toggle()
            }
            last = here
        }
        return isInside
    }

    /// From a point to a polygon's nearest edge.
    private static func distance(_ polygon: [Point], _ p: Point) -> Float {
        var best = Float.infinity
        var last = polygon[polygon.count - 1]
        for here in polygon {
            let (edge, to) = (here - last, p - last)
            let t = max(0, min(1, (edge * to).sum() / max((edge * edge).sum(), 1e-6)))
            best = min(best, (to - edge * t).length)
            last = here
        }
        return best
    }
}
