import Frames

/// Functions on closed outlines in the plane, y down.
enum Polygon {
    /// Twice the signed area; positive if clockwise as seen.
    static func area(_ outline: [SIMD2<Float>]) -> Float {
        var sum: Float = 0
        for (p, q) in zip(outline, outline.dropFirst() + outline.prefix(1)) { sum += p.x * q.y - q.x * p.y }
        return sum
    }

    /// Groups of outlines: each outer one (clockwise), followed by its holes (counter-clockwise).
    static func groups(_ outlines: [[SIMD2<Float>]]) -> [[[SIMD2<Float>]]] {
        let usable = outlines.filter { $0.count >= 3 && abs(area($0)) > 1e-9 }
        // By the even-odd rule, an outline inside an odd number of others is a hole.
        let depths = usable.indices.map { i in
            usable.indices.filter { $0 != i && contains(usable[$0], usable[i][0]) }
        }
        var groups: [[[SIMD2<Float>]]] = []
        for i in usable.indices where depths[i].count % 2 == 0 {
            var group = [oriented(usable[i], clockwise: true)]
            for k in usable.indices where depths[k].count == depths[i].count + 1 && depths[k].contains(i) {
                group.append(oriented(usable[k], clockwise: false))
            }
            groups.append(group)
        }
        return groups
    }

    private static func oriented(_ outline: [SIMD2<Float>], clockwise: Bool) -> [SIMD2<Float>] {
        (area(outline) > 0) == clockwise ? outline : outline.reversed()
    }

    /// Whether a point is inside an outline.
    static func contains(_ outline: [SIMD2<Float>], _ p: SIMD2<Float>) -> Bool {
        var isInside = false
        for (a, b) in zip(outline, outline.dropFirst() + outline.prefix(1)) where (a.y > p.y) != (b.y > p.y) {
            if p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x) { isInside.toggle() }
        }
        return isInside
    }

    /// The outline moved towards the filled side.
    static func inset(_ outline: [SIMD2<Float>], by distance: Float) -> [SIMD2<Float>] {
        guard distance > 0 else { return outline }
        let count = outline.count
        return outline.indices.map { i in
            let before = unit(outline[i] - outline[(i + count - 1) % count])
            let after = unit(outline[(i + 1) % count] - outline[i])
            // The filled side is on the right: inside a clockwise outline, and outside a hole, which is
            // counter-clockwise.
            let (n, m) = (SIMD2(-before.y, before.x), SIMD2(-after.y, after.x))
            let middle = n + m
            let length = (middle * middle).sum()
            // Sharp corners are cut off at twice the distance.
            return outline[i] + middle * (distance * min(2 / max(length, 1e-6), 2))
        }
    }

    private static func unit(_ v: SIMD2<Float>) -> SIMD2<Float> { v / max(v.length, 1e-9) }

    /// Whether any two sides of the outlines cross.
    static func isCrossed(_ outlines: [[SIMD2<Float>]]) -> Bool {
        let sides = outlines.flatMap { outline in
            outline.indices.map { (outline[$0], outline[($0 + 1) % outline.count]) }
        }
        for i in sides.indices {
            for k in sides.indices.dropFirst(i + 1) {
                let ((a, b), (c, d)) = (sides[i], sides[k])
                if side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0 { return true }
            }
        }
        return false
    }

    /// Triangulates an outline with holes by ear clipping (Meisters, 1975). Holes are joined to the outline by bridges.
    /// - Returns: the points, and three indices for each triangle, clockwise.
    static func triangulated(_ group: [[SIMD2<Float>]]) -> (points: [SIMD2<Float>], triangles: [Int]) {
        var points = group[0]
        var ring = Array(points.indices)
        let holes = group.dropFirst().sorted { ($0.map(\.x).max() ?? 0) > ($1.map(\.x).max() ?? 0) }
        for hole in holes {
            let first = points.count
            points += hole
            guard let right = hole.indices.max(by: { hole[$0].x < hole[$1].x }) else { continue }
            // Bridge to the nearest point of the ring that is visible from the hole's rightmost point.
            let from = hole[right]
            let seen = ring.indices.filter { isVisible(points, ring, from, ring[$0]) }
            let candidates = seen.isEmpty ? Array(ring.indices) : seen
            guard let at = candidates.min(by: { (points[ring[$0]] - from).length < (points[ring[$1]] - from).length })
            else { continue }
            let loop = (0...hole.count).map { first + (right + $0) % hole.count }
            ring.insert(contentsOf: loop + [ring[at]], at: at + 1)
        }
        var triangles: [Int] = []
        while ring.count > 3 {
            var cut: Int?
            for i in ring.indices where isEar(points, ring, i) {
                cut = i
                break
            }
            // Self-intersecting outlines sometimes have no ear: then cut any corner.
            let i = cut ?? 0
            let count = ring.count
            triangles += [ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]]
            ring.remove(at: i)
        }
        if ring.count == 3 { triangles += ring }
        return (points, triangles)
    }

    /// Twice the signed area of a triangle; positive if clockwise as seen.
    private static func side(_ a: SIMD2<Float>, _ b: SIMD2<Float>, _ c: SIMD2<Float>) -> Float {
        (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
    }

    /// Whether a corner of the ring is convex, and its triangle contains no other point.
    private static func isEar(_ points: [SIMD2<Float>], _ ring: [Int], _ i: Int) -> Bool {
        let count = ring.count
        let (a, b, c) = (points[ring[(i + count - 1) % count]], points[ring[i]], points[ring[(i + 1) % count]])
        guard side(a, b, c) > 0 else { return false }
        return ring.allSatisfy { k in
            let p = points[k]
            if p == a || p == b || p == c { return true }
            return !(side(a, b, p) >= 0 && side(b, c, p) >= 0 && side(c, a, p) >= 0)
        }
    }

    /// Whether no side of the ring crosses the line from a point to one of the ring's points.
    private static func isVisible(_ points: [SIMD2<Float>], _ ring: [Int], _ from: SIMD2<Float>, _ to: Int) -> Bool {
        let target = points[to]
        for (i, k) in ring.indices.map({ ($0, ($0 + 1) % ring.count) }) {
            let (a, b) = (points[ring[i]], points[ring[k]])
            if a == target || b == target { continue }
            if side(from, target, a) * side(from, target, b) < 0 && side(a, b, from) * side(a, b, target) < 0 {
                return false
            }
        }
        return true
    }
}
