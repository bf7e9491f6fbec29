import Frames

/// An ORB key point (Rublee et al., "ORB: an efficient alternative to SIFT or SURF", 2011).
struct KeyPoint: Equatable, Sendable {
    /// The position in pixels of the cut-out, from its middle.
    let position: Point
    /// The diameter of its surroundings, pixels.
    let size: Float
    /// The direction in radians.
    let angle: Float
    /// 256 comparisons of its surroundings' luma.
    let descriptor: SIMD4<UInt64>

    /// The number of comparisons in which two key points differ.
    func distance(to other: KeyPoint) -> Int {
        let difference = descriptor ^ other.descriptor
        return difference[0].nonzeroBitCount + difference[1].nonzeroBitCount + difference[2].nonzeroBitCount
            + difference[3].nonzeroBitCount
    }
}

/// Finds how many key points of one picture have a partner in another one, where all partners agree on how the picture
/// was moved, rotated and scaled.
struct KeyPointMatcher {
    /// Comparisons in which partners may differ, of 256; those of different points differ in 128.
    private static let maxDistance = 72
    /// The best partner must be closer than the second best by this factor (Lowe, 2004).
    private static let ratio: Float = 0.88
    /// Pixels by which a partner may be off, of 124 across a thing: first, and once the motion is fitted to several.
    private static let (roughTolerance, tolerance): (Float, Float) = (11, 7)
    /// The scales that a partly covered thing may have.
    private static let scales: ClosedRange<Float> = 0.5...2

    /// A rotation with a scale, and a translation: q = (a, b) p + t, as of complex numbers.
    private struct Motion {
        var turn: SIMD2<Float>
        var shift: Point

        func callAsFunction(_ p: Point) -> Point {
            Point(turn.x * p.x - turn.y * p.y, turn.y * p.x + turn.x * p.y) + shift
        }
    }

    private var pairs: [(from: Int, to: Int)] = []

    init() { pairs.reserveCapacity(256) }

    /// The number of partners that agree.
    mutating func count(_ points: [KeyPoint], in others: [KeyPoint]) -> Int {
        findPairs(points, others)
        var best = 0
        for pair in pairs {
            let (p, q) = (points[pair.from], others[pair.to])
            let scale = q.size / p.size
            guard Self.scales.contains(scale) else { continue }
            let angle = q.angle - p.angle
            let turn = SIMD2(cos(angle), sin(angle)) * scale
            var motion = Motion(turn: turn, shift: .zero)
            motion.shift = q.position - motion(p.position)
            guard inliers(motion, points, others, Self.roughTolerance) > max(2, best / 2) else { continue }
            guard let fitted = fit(motion, points, others) else { continue }
            best = max(best, inliers(fitted, points, others, Self.tolerance))
        }
        return best
    }

    private mutating func findPairs(_ points: [KeyPoint], _ others: [KeyPoint]) {
        pairs.removeAll(keepingCapacity: true)
        for (from, point) in points.enumerated() {
            var (best, second, to) = (257, 257, 0)
            for k in others.indices {
                let distance = point.distance(to: others[k])
                if distance < best {
                    // Neighbours in the picture and in its scales are the same point.
                    if (others[k].position - others[to].position).length > 6 { second = best }
                    (best, to) = (distance, k)
                } else if distance < second, (others[k].position - others[to].position).length > 6 {
                    second = distance
                }
            }
            if best <= Self.maxDistance, Float(best) < Self.ratio * Float(second) { pairs.append((from, to)) }
        }
    }

    /// The number of different points that a motion maps to their partners.
    private func inliers(
        _ motion: Motion, _ points: [KeyPoint], _ others: [KeyPoint], _ tolerance: Float
    ) -> Int {
        var count = 0
        for pair in pairs
        where (motion(points[pair.from].position) - others[pair.to].position).length < tolerance { count += 1 }
        return count
    }

    /// The least-squares motion of the partners that agree roughly with one; nil if there are too few of them.
    private func fit(_ motion: Motion, _ points: [KeyPoint], _ others: [KeyPoint]) -> Motion? {
        var (p0, q0, count) = (Point.zero, Point.zero, Float(0))
        for pair in pairs
        where (motion(points[pair.from].position) - others[pair.to].position).length < Self.roughTolerance {
            p0 += points[pair.from].position
            q0 += others[pair.to].position
            count += 1
        }
        guard count >= 3 else { return nil }
        (p0, q0) = (p0 / count, q0 / count)
        var (dot, cross, size) = (Float(0), Float(0), Float(0))
        for pair in pairs
        where (motion(points[pair.from].position) - others[pair.to].position).length < Self.roughTolerance {
            let (p, q) = (points[pair.from].position - p0, others[pair.to].position - q0)
            dot += (p * q).sum()
            cross += p.x * q.y - p.y * q.x
            size += (p * p).sum()
        }
        guard size > 1 else { return nil }
        var fitted = Motion(turn: SIMD2(dot, cross) / size, shift: .zero)
        guard Self.scales.contains(fitted.turn.length) else { return nil }
        fitted.shift = q0 - fitted(p0)
        return fitted
    }
}
