import Frames
import SystemKit

/// A head that hides what is behind it and receives shadows: an average adult's, enlarged for hair.
struct Occluder: Sendable {
    /// The visible head, which hides what is behind it.
    let mesh: Mesh
    /// The part of the head inside a hat. It hides nothing, since hair gives way to the hat, but what is visible of it
    /// is in the hat's shadow.
    let covered: Mesh

    /// The parts of this person's hair in the width of each corner of the visible head: of that which a hat presses to
    /// the head, and of that which hangs beside it.
    private let hair: [SIMD2<Float>]

    private static let columns = 28
    /// Enlargement of the skull by usual hair: its sides, its back, and by half of that its top.
    private static let usualHair: Float = 0.08

    /// Makes the head.
    /// - Parameter lid: the space of a hat, whose floor (origin and y axis) cuts off the head above it, since hair
    ///   gives way to a hat; nil: no hat.
    init(under lid: AffineMap3D?) {
        let sections = AverageHead.sections
        var hair: [SIMD2<Float>] = []
        var mesh = Mesh.grid(columns: Self.columns, rows: sections.count - 1, isClosed: true) { column, row in
            let section = sections[row]
            let turn = 2 * Float.pi * Float(column) / Float(Self.columns)
            let long = (section.back - section.front) / 2
            // Hair starts above the ears and behind the forehead.
            let isHairy = max(0, min(1, (section.up + 0.2) / 0.5))
            let (s, c) = (sin(turn), cos(turn))
            let part = isHairy * max(0, min(1, c + 0.8))
            let pressed = HairPress.part(at: section.up - HeadFit.rim)
            hair.append(SIMD2(pressed, 1 - pressed) * part)
            let enlarged = 1 + Self.usualHair * part
            return [
                -section.half * s * enlarged, -section.up * (section.up > 1.2 ? 1 + Self.usualHair / 2 : 1),
                (section.front + section.back) / 2 + long * c * enlarged,
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
        hair += Array(repeating: .zero, count: mesh.vertices.count - hair.count)
        (self.mesh, self.covered, self.hair) = (mesh, covered, hair)
    }

    /// The position of a corner of the visible head in head space, with this person's hair.
    /// - Parameter width: how much wider the hair is than what is worn on the head.
    @inline(__always)
    func position(_ corner: Int, hair width: HairWidth) -> SIMD3<Float> {
        let factor = 1 + (hair[corner] * (SIMD2(width.above, width.beside) - 1)).sum()
        let position = mesh.vertices[corner].position
        return SIMD3(position.x * factor, position.y, AverageHead.middle + (position.z - AverageHead.middle) * factor)
    }

    /// The corners of the head's bounding box in the picture, pixels.
    func bounds(_ view: HeadProjection, hair width: HairWidth) -> (low: Point, high: Point) {
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        func add(_ position: SIMD3<Float>) {
            let seen = view(position)
            low = pointwiseMin(low, Point(seen.x, seen.y))
            high = pointwiseMax(high, Point(seen.x, seen.y))
        }
        for corner in mesh.vertices.indices { add(position(corner, hair: width)) }
        for vertex in covered.vertices { add(vertex.position) }
        return (low, high)
    }
}
