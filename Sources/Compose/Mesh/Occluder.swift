import Frames
import SystemKit

/// A head that hides what is behind it and receives shadows: an average adult's, enlarged for hair.
struct Occluder: Sendable {
    /// The visible head, which hides what is behind it.
    let mesh: Mesh
    /// The part of the head inside a hat. It hides nothing, since hair gives way to the hat, but what is visible of it
    /// is in the hat's shadow.
    let covered: Mesh

    private static let columns = 28
    /// Enlargement of the skull by hair: its sides, its back, and by half of that its top.
    private static let hair: Float = 0.08

    /// Makes the head.
    /// - Parameter lid: the space of a hat, whose floor (origin and y axis) cuts off the head above it, since hair
    ///   gives way to a hat; nil: no hat.
    init(under lid: AffineMap3D?) {
        let sections = AverageHead.sections
        var mesh = Mesh.grid(columns: Self.columns, rows: sections.count - 1, isClosed: true) { column, row in
            let section = sections[row]
            let turn = 2 * Float.pi * Float(column) / Float(Self.columns)
            let middle = (section.front + section.back) / 2
            let long = (section.back - section.front) / 2
            // Hair starts above the ears and behind the forehead.
            let isHairy = max(0, min(1, (section.up + 0.2) / 0.5))
            let (s, c) = (sin(turn), cos(turn))
            let behind = max(0, min(1, c + 0.8))
            let hair = 1 + Self.hair * isHairy * behind
            return [
                -section.half * s * hair, -section.up * (section.up > 1.2 ? 1 + Self.hair / 2 : 1),
                middle + long * c * hair,
            ]
        }
        // The nose: bridge, tip and wings.
        let first = mesh.vertices.count
        let nose: [SIMD3<Float>] = [
            [0, -0.1, -0.26], [0, 0.52, -0.62], [-0.24, 0.7, -0.26], [0.24, 0.7, -0.26], [0, 0.76, -0.36],
        ]
        mesh.vertices += nose.map { Mesh.Vertex(position: $0) }
        for (a, b, c) in [(0, 1, 2), (0, 3, 1), (2, 1, 4), (4, 1, 3)] { mesh.add(first + a, first + b, first + c) }
        var covered = Mesh()
        if let lid {
            let heights = mesh.vertices.map { lid.height(of: $0.position) }
            covered.vertices = mesh.vertices
            for i in stride(from: 0, to: mesh.triangles.count, by: 3) {
                let corners = mesh.triangles[i..<i + 3]
                if corners.contains(where: { heights[Int($0)] > 0 }) { covered.triangles += corners }
            }
            for (i, height) in heights.enumerated() where height > 0 {
                mesh.vertices[i].position -= lid.up * height
            }
        }
        (self.mesh, self.covered) = (mesh, covered)
    }

    /// The corners of the head's bounding box in the picture, pixels.
    func bounds(_ view: HeadProjection) -> (low: Point, high: Point) {
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        func add(_ vertices: [Mesh.Vertex]) {
            for vertex in vertices {
                let seen = view(vertex.position)
                low = pointwiseMin(low, Point(seen.x, seen.y))
                high = pointwiseMax(high, Point(seen.x, seen.y))
            }
        }
        add(mesh.vertices)
        add(covered.vertices)
        return (low, high)
    }
}
