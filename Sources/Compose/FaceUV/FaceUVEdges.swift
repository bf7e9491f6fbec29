import Frames

/// The openings of the face that a chart drawing leaves free, and the softness of its edges.
struct FaceUVEdges: Sendable {
    /// Whether the drawing covers the eyes.
    var hasEyes = false
    /// Whether the drawing covers the opening of the mouth.
    var hasMouth = false
    /// Width in chart units over which art fades out towards the chart's outline.
    var feather: Float = 9
    /// Width in chart units over which art fades out towards uncovered eyes: narrow, since the lashes begin there.
    var lidFeather: Float = 0.9
    /// Width in chart units over which art fades out towards an uncovered mouth.
    var lipFeather: Float = 0.9

    /// Fades out a chart drawing towards its outline and the openings.
    func fadeEdges(_ raster: inout RGBAImage) {
        let outline = CanonicalFaceUV.outline.map { CanonicalFaceUV.points[$0] }
        var holes: [(edge: [Point], feather: Float)] = []
        if !hasEyes {
            for eye in [CanonicalFaceUV.rightEye, CanonicalFaceUV.leftEye] {
                holes.append((Self.rounded(eye.map { CanonicalFaceUV.points[$0] }), max(lidFeather, 0.1)))
            }
        }
        if !hasMouth {
            holes.append((CanonicalFaceUV.innerLips.map { CanonicalFaceUV.points[$0] }, max(lipFeather, 0.1)))
        }
        let boxes = holes.map { Self.box($0.edge, margin: $0.feather) }
        for y in 0..<raster.height {
            for x in 0..<raster.width {
                let at = (y * raster.width + x) * 4
                guard raster.bytes[at + 3] != 0 else { continue }
                let p = raster.origin + Point(Float(x) + 0.5, Float(y) + 0.5) / raster.scale
                // Opaque inside an ellipse within the outline: most pixels need no distance to the edges.
                let q = (p - Point(0, 30)) / Point(78, 115)
                var gain: Float = 1
                if (q * q).sum() > 1 {
                    gain = Self.contains(outline, p) ? smoothstep(Self.distance(outline, p) / max(feather, 0.1)) : 0
                }
                for (hole, box) in zip(holes, boxes)
                where p.x > box.low.x && p.y > box.low.y && p.x < box.high.x && p.y < box.high.y {
                    gain *= Self.contains(hole.edge, p) ? 0 : smoothstep(Self.distance(hole.edge, p) / hole.feather)
                }
                guard gain < 1 else { continue }
                for i in at..<at + 4 { raster.bytes[i] = UInt8(Float(raster.bytes[i]) * gain + 0.5) }
            }
        }
    }

    /// Rounds an eye's outline as lids are: curves from corner to corner through the landmarks, of which each lid has
    /// two (Catmull and Rom, "A class of local interpolating splines", 1974). Each curve is extrapolated at its ends.
    private static func rounded(_ eye: [Point]) -> [Point] {
        let steps = 5
        return [[eye[0], eye[1], eye[2], eye[3]], [eye[3], eye[4], eye[5], eye[0]]].flatMap { lid in
            let points = [lid[0] * 2 - lid[1]] + lid + [lid[3] * 2 - lid[2]]
            return (0..<3 * steps).map { i in
                let (k, t) = (i / steps, Float(i % steps) / Float(steps))
                let (a, b, c, d) = (points[k], points[k + 1], points[k + 2], points[k + 3])
                let (slope, bend, twist) = (c - a, a * 2 - b * 5 + c * 4 - d, b * 3 - a - c * 3 + d)
                return b + (slope + (bend + twist * t) * t) * (t / 2)
            }
        }
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

    /// The distance from a point to the nearest edge of a polygon.
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
