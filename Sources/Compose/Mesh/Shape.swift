import Frames
import SystemKit

/// Generators of the shapes that mesh layers are made of. Coordinates are like head space's; "height" is upward,
/// against y.
enum Shape {
    /// The angle in degrees from which a bend in a profile is a hard edge.
    static let edgeAngle: Float = 38

    /// A profile revolved around the vertical axis.
    /// - Parameters:
    ///   - profile: radius, height and shade, from one end to the other.
    ///   - around: number of columns.
    static func lathe(_ profile: [(radius: Float, height: Float, shade: Float)], around: Int) -> Mesh {
        // Seen from outside, rows go down. The signed area between profile and axis, doubled, tells which direction
        // that is, wherever on the axis the profile is.
        var area: Float = 0
        for (p, q) in zip(profile, profile.dropFirst()) { area += (p.radius + q.radius) * (q.height - p.height) }
        let points = area > 0 ? profile.reversed() : profile
        var mesh = Mesh()
        var (first, down) = (0, Float(0))
        let whole = zip(points, points.dropFirst()).map { norm([$1.0 - $0.0, $1.1 - $0.1, 0]) }.reduce(0, +)
        for end in points.indices.dropFirst() {
            let isLast = end == points.count - 1
            guard isLast || angle(points[end - 1], points[end], points[end + 1]) > edgeAngle else { continue }
            let run = Array(points[first...end])
            var piece = Mesh.grid(columns: around, rows: run.count - 1, isClosed: true) { column, row in
                let turn = 2 * Float.pi * Float(column) / Float(around)
                return [-run[row].radius * sin(turn), -run[row].height, run[row].radius * cos(turn)]
            }
            let length = piece.vertices.last?.grainUV.y ?? 0
            for i in piece.vertices.indices {
                piece.vertices[i].shade = run[i / (around + 1)].shade
                piece.vertices[i].uv.y = (down + piece.vertices[i].grainUV.y) / max(whole, 1e-6)
                piece.vertices[i].grainUV.y += down
            }
            mesh.add(piece)
            down += length
            first = end
        }
        return mesh
    }

    /// The angle by which a profile turns at a point, in degrees, 0...180.
    private static func angle(
        _ a: (radius: Float, height: Float, shade: Float), _ b: (radius: Float, height: Float, shade: Float),
        _ c: (radius: Float, height: Float, shade: Float)
    ) -> Float {
        let turned =
            atan2(c.height - b.height, c.radius - b.radius)
            - atan2(
                b.height - a.height, b.radius - a.radius)
        let wrapped = abs(degrees(turned)).truncatingRemainder(dividingBy: 360)
        return min(wrapped, 360 - wrapped)
    }

    /// A sphere.
    static func ball(radius: Float, around: Int) -> Mesh {
        let rows = max(4, around / 2)
        return Mesh.grid(columns: around, rows: rows, isClosed: true) { column, row in
            let (turn, down) = (2 * Float.pi * Float(column) / Float(around), Float.pi * Float(row) / Float(rows))
            let r = radius * sin(down)
            return [-r * sin(turn), -radius * cos(down), r * cos(turn)]
        }
    }

    /// A tube along a smooth curve through points (Catmull-Rom, 1974).
    /// - Parameters:
    ///   - radii: one for each point of the path.
    ///   - around: number of columns around the tube.
    ///   - steps: number of rows along the tube.
    ///   - flatness: the cross-section's height relative to its width.
    ///   - isClosed: whether the tube is a ring, whose last point joins the first.
    static func tube(
        _ path: [SIMD3<Float>], radii: [Float], around: Int, steps: Int, flatness: Float, isClosed: Bool
    ) -> Mesh {
        let segments = isClosed ? path.count : path.count - 1
        let rows = max(2, steps)
        func value<V: SIMD>(_ list: [V], _ t: Float) -> V where V.Scalar == Float {
            let position = t * Float(segments)
            let i = min(Int(position), segments - 1)
            let f = position - Float(i)
            func at(_ k: Int) -> V {
                isClosed ? list[(k + list.count) % list.count] : list[max(0, min(list.count - 1, k))]
            }
            let (p0, p1, p2, p3) = (at(i - 1), at(i), at(i + 1), at(i + 2))
            let (c1, c2) = ((p2 - p0) * 0.5, p0 - p1 * 2.5 + p2 * 2 - p3 * 0.5)
            let c3 = (p3 - p0) * 0.5 + (p1 - p2) * 1.5
            return p1 + (c1 + (c2 + c3 * f) * f) * f
        }
        let widths = radii.map { SIMD2($0, 0) }
        // A rotation-minimizing frame along the curve.
        var centers: [SIMD3<Float>] = []
        var sides: [(SIMD3<Float>, SIMD3<Float>)] = []
        for row in 0...rows {
            let t = Float(row) / Float(rows)
            let center = value(path, t)
            // A ring continues beyond its ends.
            let (before, after) =
                isClosed
                ? (t < 0.002 ? t + 0.998 : t - 0.002, t > 0.998 ? t - 0.998 : t + 0.002)
                : (max(0, t - 0.002), min(1, t + 0.002))
            let ahead = normalized(value(path, after) - value(path, before))
            var side = sides.last?.0 ?? tangents(ahead).0
            side = normalized(side - ahead * dot(side, ahead))
            centers.append(center)
            // From the first to the second, seen along the curve, is counter-clockwise, so the surface faces outward.
            sides.append((side, cross(side, ahead)))
        }
        // Around a ring that isn't flat, the frame comes back rotated. That angle is distributed along the ring.
        let (first, last) = (sides[0], sides[rows])
        let excess = isClosed ? atan2(dot(last.0, first.1), dot(last.0, first.0)) : 0
        var mesh = Mesh.grid(columns: around, rows: rows, isClosed: true) { column, row in
            let t = Float(row) / Float(rows)
            let turn = 2 * Float.pi * Float(column) / Float(around)
            let radius = max(0, value(widths, t).x)
            let (c, s) = (cos(excess * t), sin(excess * t))
            let (u, v) = (sides[row].0 * c - sides[row].1 * s, sides[row].0 * s + sides[row].1 * c)
            return centers[row] + (u * cos(turn) + v * (sin(turn) * flatness)) * radius
        }
        guard isClosed else { return mesh }
        for column in 0...around {
            let (first, last) = (column, rows * (around + 1) + column)
            let sum = normalized(mesh.vertices[first].normal + mesh.vertices[last].normal)
            (mesh.vertices[first].normal, mesh.vertices[last].normal) = (sum, sum)
        }
        return mesh
    }

    /// A flat sheet that faces the viewer, with its centre at the origin.
    static func plane(width: Float, height: Float, columns: Int, rows: Int) -> Mesh {
        Mesh.grid(columns: columns, rows: rows, isClosed: false) { column, row in
            [(Float(column) / Float(columns) - 0.5) * width, (Float(row) / Float(rows) - 0.5) * height, 0]
        }
    }

    /// Flat outlines extruded, with bevelled edges.
    /// - Parameters:
    ///   - outlines: closed, in the plane; an outline inside another one is a hole in it.
    ///   - depth: from front to back, in head units; the front is at -depth / 2.
    ///   - bevel: width of the bevel, in head units.
    static func extrusion(_ outlines: [[SIMD2<Float>]], depth: Float, bevel: Float) -> Mesh {
        var mesh = Mesh()
        for group in Polygon.groups(outlines) {
            // The widest bevel at which the inner outlines don't cross.
            var bevel = min(bevel, depth * 0.49)
            var inner = group.map { Polygon.inset($0, by: bevel) }
            while bevel > 0, Polygon.isCrossed(inner) {
                bevel = bevel > 0.002 ? bevel / 2 : 0
                inner = group.map { Polygon.inset($0, by: bevel) }
            }
            for (z, isFront) in [(-depth / 2, true), (depth / 2, false)] {
                let (points, triangles) = Polygon.triangulated(inner)
                let first = mesh.vertices.count
                for p in points {
                    mesh.vertices.append(
                        Mesh.Vertex(position: [p.x, p.y, z], normal: [0, 0, isFront ? -1 : 1], grainUV: p))
                }
                for i in stride(from: 0, to: triangles.count, by: 3) {
                    let (a, b, c) = (first + triangles[i], first + triangles[i + 1], first + triangles[i + 2])
                    if isFront { mesh.add(a, b, c) } else { mesh.add(a, c, b) }
                }
            }
            for (outer, inner) in zip(group, inner) {
                let rings: [([SIMD2<Float>], Float)] =
                    bevel > 0
                    ? [
                        (inner, -depth / 2), (outer, -depth / 2 + bevel), (outer, depth / 2 - bevel),
                        (inner, depth / 2),
                    ]
                    : [(outer, -depth / 2), (outer, depth / 2)]
                for (front, back) in zip(rings, rings.dropFirst()) { mesh.add(wall(front, back)) }
            }
        }
        let low = mesh.vertices.reduce(SIMD2<Float>(repeating: .infinity)) { pointwiseMin($0, $1.grainUV) }
        let high = mesh.vertices.reduce(SIMD2<Float>(repeating: -.infinity)) { pointwiseMax($0, $1.grainUV) }
        let size = pointwiseMax(high - low, SIMD2(repeating: 1e-6))
        for i in mesh.vertices.indices { mesh.vertices[i].uv = (mesh.vertices[i].grainUV - low) / size }
        return mesh
    }

    /// A strip between two outlines with equally many points; corners of less than `edgeAngle` are smooth.
    private static func wall(_ front: ([SIMD2<Float>], Float), _ back: ([SIMD2<Float>], Float)) -> Mesh {
        var mesh = Mesh()
        let count = front.0.count
        func facing(_ i: Int) -> SIMD3<Float> {
            let (a, b, c) = (front.0[i], front.0[(i + 1) % count], back.0[i])
            let across = SIMD3(b.x - a.x, b.y - a.y, 0)
            let inward = SIMD3(c.x - a.x, c.y - a.y, back.1 - front.1)
            return normalized(cross(across, inward))
        }
        let limit = cos(radians(edgeAngle))
        for i in 0..<count {
            let here = facing(i)
            let (before, after) = (facing((i + count - 1) % count), facing((i + 1) % count))
            let start = dot(before, here) > limit ? normalized(before + here) : here
            let end = dot(after, here) > limit ? normalized(after + here) : here
            let first = mesh.vertices.count
            for (ring, normal, k) in [
                (front, start, i), (front, end, (i + 1) % count), (back, end, (i + 1) % count), (back, start, i),
            ] {
                let p = ring.0[k]
                mesh.vertices.append(Mesh.Vertex(position: [p.x, p.y, ring.1], normal: normal, grainUV: p))
            }
            // Outlines are clockwise, so their outside is on the left.
            mesh.add(first, first + 2, first + 1)
            mesh.add(first, first + 3, first + 2)
        }
        return mesh
    }

    /// Short blades all over a mesh, as fur, which soften its edges.
    /// - Parameters:
    ///   - count: number of blades.
    ///   - length: mean length of a blade, in head units.
    ///   - width: mean half width of a blade's root, in head units.
    ///   - lean: the direction that they are combed in; its length is relative to 1 for the surface's normal.
    static func tufts(
        on mesh: Mesh, count: Int, length: Float, width: Float, lean: SIMD3<Float>, seed: UInt64
    ) -> Mesh {
        var random = SplitMix64(seed: seed)
        var areas: [Float] = []
        var sum: Float = 0
        for i in stride(from: 0, to: mesh.triangles.count - 2, by: 3) {
            let corners = (0..<3).map { mesh.vertices[Int(mesh.triangles[i + $0])].position }
            sum += norm(cross(corners[1] - corners[0], corners[2] - corners[0]))
            areas.append(sum)
        }
        var tufts = Mesh()
        guard sum > 0 else { return tufts }
        for k in 0..<count {
            // Stratified sampling by area: one random place in each of `count` equal shares.
            let wanted = sum * (Float(k) + random.next()) / Float(count)
            var (low, high) = (0, areas.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if areas[middle] < wanted { low = middle + 1 } else { high = middle }
            }
            let corners = (0..<3).map { mesh.vertices[Int(mesh.triangles[low * 3 + $0])] }
            var (s, t) = (random.next(), random.next())
            if s + t > 1 { (s, t) = (1 - s, 1 - t) }
            func mixed(_ a: SIMD3<Float>, _ b: SIMD3<Float>, _ c: SIMD3<Float>) -> SIMD3<Float> {
                a * (1 - s - t) + b * s + c * t
            }
            let root = mixed(corners[0].position, corners[1].position, corners[2].position)
            let normal = normalized(mixed(corners[0].normal, corners[1].normal, corners[2].normal))
            let (u, v) = tangents(normal)
            let angle = random.next() * 2 * .pi
            let side = u * cos(angle) + v * sin(angle)
            let shaken = normal + lean + u * (random.next() - 0.5) * 1.3 + v * (random.next() - 0.5) * 1.3
            let tip = root + normalized(shaken) * length * (0.6 + 0.8 * random.next())
            let base = width * (0.7 + 0.6 * random.next())
            let tone = 0.94 + 0.12 * random.next()
            let first = tufts.vertices.count
            for (position, part, shade) in [
                (root - side * base - normal * length * 0.2, Float(0), 0.86 * tone),
                (root + side * base - normal * length * 0.2, Float(0), 0.86 * tone), (tip, Float(1), 1.03 * tone),
            ] {
                var vertex = corners[0]
                vertex.position = position
                vertex.normal = normal
                vertex.uv = [0.5, part]
                vertex.shade = corners[0].shade * shade
                tufts.vertices.append(vertex)
            }
            tufts.add(first, first + 1, first + 2)
        }
        return tufts
    }
}

/// Large odd factors, one for each axis, so that neighbouring corners get unlike keys (a spatial hash; Teschner et al.,
/// "Optimized Spatial Hashing for Collision Detection of Deformable Objects", 2003). Others would do as well.
private let hashFactors: [3 of UInt64] = [0x8da6_b343, 0xd816_3841, 0xcb1a_b31f]

/// Value noise in space: random values at integer coordinates, smoothly interpolated; -1...1. Coordinates beyond a
/// billion count as that, where a Float has no fractions any more.
func valueNoise(_ place: SIMD3<Float>, seed: UInt64) -> Float {
    let p = place.clamped(lowerBound: SIMD3(repeating: -1e9), upperBound: SIMD3(repeating: 1e9))
    let base = p.rounded(.down)
    let f = p - base
    let s = f * f * (SIMD3(repeating: 3) - f * 2)
    func value(_ x: Float, _ y: Float, _ z: Float) -> Float {
        let corner = base + [x, y, z]
        var key: UInt64 = 0
        for i in 0..<3 { key ^= UInt64(bitPattern: Int64(corner[i])) &* hashFactors[i] }
        var random = SplitMix64(seed: seed ^ key)
        return random.next() * 2 - 1
    }
    func mix(_ a: Float, _ b: Float, _ t: Float) -> Float { a + (b - a) * t }
    let near = mix(mix(value(0, 0, 0), value(1, 0, 0), s.x), mix(value(0, 1, 0), value(1, 1, 0), s.x), s.y)
    let far = mix(mix(value(0, 0, 1), value(1, 0, 1), s.x), mix(value(0, 1, 1), value(1, 1, 1), s.x), s.y)
    return mix(near, far, s.z)
}
