import CArt
import Frames
import SystemKit

/// A triangle mesh in head space: origin between the eyes, x to the picture's right, y down, z away from the camera, in
/// eye distances. Seen from the front, corners are clockwise in the picture.
struct Mesh: Sendable {
    struct Vertex: Sendable {
        var position: SIMD3<Float>
        /// Outward unit normal.
        var normal: SIMD3<Float> = .zero
        /// Texture coordinates of the grain: distances along the surface in head units.
        var grainUV: SIMD2<Float> = .zero
        /// Texture coordinates of pictures, each from 0 to 1.
        var uv: SIMD2<Float> = .zero
        /// Factor for the light: less than 1 in folds and corners.
        var shade: Float = 1
        /// How much the vertex follows the swing, 0...1.
        var swing: Float = 0
    }

    /// The most vertices of a mesh, whose indices have 16 bits.
    static let maxVertices = Int(CART_MAX_VERTICES)
    /// The most triangles of a mesh: enough for ten of the largest hats.
    static let maxTriangles = Int(CART_MAX_TRIANGLES)

    var vertices: [Vertex] = []
    /// Three indices into `vertices` per triangle.
    var triangles: [UInt16] = []

    /// Adds another mesh's triangles.
    mutating func add(_ other: Mesh) {
        let first = UInt16(truncatingIfNeeded: vertices.count)
        vertices += other.vertices
        triangles += other.triangles.map { $0 &+ first }
    }

    /// Adds a triangle by the indices of its vertices.
    mutating func add(_ a: Int, _ b: Int, _ c: Int) {
        triangles.append(UInt16(truncatingIfNeeded: a))
        triangles.append(UInt16(truncatingIfNeeded: b))
        triangles.append(UInt16(truncatingIfNeeded: c))
    }

    /// Makes a mesh from a grid of points, with normals.
    /// - Parameters:
    ///   - isClosed: whether the last column coincides with the first.
    ///   - point: the position for a column and a row. Seen from outside, columns go to the right and rows down.
    static func grid(columns: Int, rows: Int, isClosed: Bool, _ point: (Int, Int) -> SIMD3<Float>) -> Mesh {
        var mesh = Mesh()
        for row in 0...rows {
            for column in 0...columns {
                let uv = SIMD2(Float(column) / Float(columns), Float(row) / Float(rows))
                mesh.vertices.append(Vertex(position: point(column, row), uv: uv))
            }
        }
        let width = columns + 1
        for row in 0..<rows {
            for column in 0..<columns {
                let at = row * width + column
                mesh.add(at, at + 1, at + width + 1)
                mesh.add(at, at + width + 1, at + width)
            }
        }
        mesh.measure(columns: columns, rows: rows)
        mesh.smooth()
        if isClosed {
            for row in 0...rows {
                let (first, last) = (row * width, row * width + columns)
                let sum = mesh.vertices[first].normal + mesh.vertices[last].normal
                mesh.vertices[first].normal = normalized(sum)
                mesh.vertices[last].normal = normalized(sum)
            }
        }
        return mesh
    }

    /// Sets `grainUV`. All rows use the length of the longest one, so that textures aren't stretched there.
    private mutating func measure(columns: Int, rows: Int) {
        let width = columns + 1
        var longest: Float = 0
        var middle: [Float] = [0]
        for row in 0...rows {
            var length: Float = 0
            for column in 0..<columns {
                let at = row * width + column
                length += norm(vertices[at + 1].position - vertices[at].position)
            }
            longest = max(longest, length)
            guard row > 0 else { continue }
            var down: Float = 0
            for column in 0..<columns {
                down += norm(vertices[row * width + column].position - vertices[(row - 1) * width + column].position)
            }
            middle.append(middle[row - 1] + down / Float(columns))
        }
        for row in 0...rows {
            for column in 0...columns {
                vertices[row * width + column].grainUV = [longest * Float(column) / Float(columns), middle[row]]
            }
        }
    }

    /// Computes vertex normals: the mean over the adjacent triangles, weighted by area.
    mutating func smooth() {
        for i in vertices.indices { vertices[i].normal = .zero }
        for i in stride(from: 0, to: triangles.count - 2, by: 3) {
            let (a, b, c) = (Int(triangles[i]), Int(triangles[i + 1]), Int(triangles[i + 2]))
            // Clockwise as seen: the cross product points away from the viewer.
            let facing = cross(
                vertices[b].position - vertices[a].position, vertices[c].position - vertices[a].position)
            for corner in [a, b, c] { vertices[corner].normal -= facing }
        }
        for i in vertices.indices { vertices[i].normal = normalized(vertices[i].normal) }
    }

    /// Head units that a picture's width and height would cover if the picture were stretched everywhere as much as
    /// where it is stretched most.
    var stretch: SIMD2<Float> {
        var largest = SIMD2<Float>.zero
        for i in stride(from: 0, to: triangles.count - 2, by: 3) {
            let (a, b, c) = (
                vertices[Int(triangles[i])], vertices[Int(triangles[i + 1])], vertices[Int(triangles[i + 2])]
            )
            let (u, v) = (b.uv - a.uv, c.uv - a.uv)
            let area = u.x * v.y - u.y * v.x
            guard abs(area) > 1e-9 else { continue }
            let (p, q) = (b.position - a.position, c.position - a.position)
            largest = pointwiseMax(largest, SIMD2(norm(p * v.y - q * u.y), norm(q * u.x - p * v.x)) / abs(area))
        }
        return largest
    }

    /// Transforms all positions, and normals by the map's inverse transpose.
    mutating func transform(_ map: AffineMap3D) {
        for i in vertices.indices {
            vertices[i].position = map(vertices[i].position)
            vertices[i].normal = normalized(map.normal(vertices[i].normal))
        }
        if map.isMirrored {
            for i in stride(from: 0, to: triangles.count - 2, by: 3) { triangles.swapAt(i + 1, i + 2) }
        }
    }

    /// Moves each vertex by a function, and recomputes the normals.
    mutating func deform(_ map: (Vertex) -> SIMD3<Float>) {
        // Each normal follows from what the map does to small steps along the tangents, so that coincident points, as
        // at a seam, keep equal normals.
        let step: Float = 0.01
        for i in vertices.indices {
            let vertex = vertices[i]
            let (u, v) = tangents(vertex.normal)
            var (left, below) = (vertex, vertex)
            left.position += u * step
            below.position += v * step
            let position = map(vertex)
            let facing = cross(map(left) - position, map(below) - position)
            vertices[i].position = position
            if norm(facing) > 1e-12 { vertices[i].normal = normalized(facing) }
        }
    }
}

/// An affine map of head space: three columns and a translation.
struct AffineMap3D: Sendable {
    var x: SIMD3<Float> = [1, 0, 0]
    var y: SIMD3<Float> = [0, 1, 0]
    var z: SIMD3<Float> = [0, 0, 1]
    var shift: SIMD3<Float> = .zero

    /// Scales, then rotates about x, y and z in this order (degrees), then translates.
    init(at shift: SIMD3<Float> = .zero, turn: SIMD3<Float> = .zero, scale: SIMD3<Float> = [1, 1, 1]) {
        let (a, b, c) = (radians(turn.x), radians(turn.y), radians(turn.z))
        func turned(_ v: SIMD3<Float>) -> SIMD3<Float> {
            var v = v
            v = SIMD3(v.x, v.y * cos(a) - v.z * sin(a), v.y * sin(a) + v.z * cos(a))
            v = SIMD3(v.x * cos(b) + v.z * sin(b), v.y, v.z * cos(b) - v.x * sin(b))
            return SIMD3(v.x * cos(c) - v.y * sin(c), v.x * sin(c) + v.y * cos(c), v.z)
        }
        x = turned([scale.x, 0, 0])
        y = turned([0, scale.y, 0])
        z = turned([0, 0, scale.z])
        self.shift = shift
    }

    /// Maps a point.
    func callAsFunction(_ p: SIMD3<Float>) -> SIMD3<Float> { x * p.x + y * p.y + z * p.z + shift }

    /// Whether the map changes handedness.
    var isMirrored: Bool { dot(cross(x, y), z) < 0 }

    /// Maps a normal. The result isn't normalized.
    func normal(_ n: SIMD3<Float>) -> SIMD3<Float> {
        let sign: Float = isMirrored ? -1 : 1
        return (cross(y, z) * n.x + cross(z, x) * n.y + cross(x, y) * n.z) * sign
    }

    /// The map that applies `first` and then this one.
    func after(_ first: AffineMap3D) -> AffineMap3D {
        var map = self
        map.x = x * first.x.x + y * first.x.y + z * first.x.z
        map.y = x * first.y.x + y * first.y.y + z * first.y.z
        map.z = x * first.z.x + y * first.z.y + z * first.z.z
        map.shift = self(first.shift)
        return map
    }
}
