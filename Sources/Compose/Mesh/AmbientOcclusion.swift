import Frames

/// How much light from all around is kept away from a mesh's vertices by its other parts: folds, joints and hollows are
/// darker. Computed once, when a mask is loaded, in a grid of cells that contain a surface.
struct AmbientOcclusion {
    /// The side of a cell, in head units.
    private static let cell: Float = 0.05
    /// The most cells of the grid. Masks that would need more are drawn without occlusion.
    private static let maxCells = 4 << 20
    /// The most points by which triangles are found in it, so that no mask takes long.
    private static let maxPoints = 4 << 20
    /// The distance, in head units, from which on a surface hides nothing.
    private static let reach: Float = 0.45
    /// The part of the light that is lost where all around is hidden, and the most that is lost anywhere: between parts
    /// that touch, some always comes through.
    private static let (strength, maxLoss): (Float, Float) = (0.9, 0.5)
    /// The size, in head units, of parts that lose all of that. What lies around small ones, such as beads, is too
    /// coarse in the grid.
    private static let fullSize: Float = 0.6
    /// Directions in which light is looked for: evenly spread over the sphere (a Fibonacci lattice).
    private static let directions: [SIMD3<Float>] = (0..<48).map { i in
        let z = 1 - (2 * Float(i) + 1) / 48
        let (radius, turn) = ((1 - z * z).squareRoot(), Float(i) * .pi * (3 - Float(5).squareRoot()))
        return [radius * cos(turn), radius * sin(turn), z]
    }
    /// The least cosine to a vertex's normal of a direction that counts: others run along the surface itself.
    private static let minCosine: Float = 0.1

    private let low: SIMD3<Float>
    private let counts: SIMD3<Int>
    private var isOccupied: [Bool]

    /// Darkens the vertices of meshes that are seen together.
    static func darken(_ submeshes: [Submesh]) -> [Submesh] {
        guard let occlusion = AmbientOcclusion(submeshes) else { return submeshes }
        // A picture has its own shadows in it.
        return submeshes.map { $0.material.picture == nil ? $0.darkened(occlusion.losses(of: $0)) : $0 }
    }

    /// - Returns: nil if nothing hides anything, or the parts are too large.
    private init?(_ submeshes: [Submesh]) {
        let opaque = submeshes.filter { $0.surface != .fur && $0.material.opacity == 1 }
        guard let (low, high) = Self.bounds(opaque.map(\.mesh)) else { return nil }
        self.low = low - Self.cell
        // A cell more at each side.
        let extent = (high - low) / Self.cell + 3
        guard extent.x * extent.y * extent.z < Float(Self.maxCells) else { return nil }
        counts = SIMD3(Int(extent.x), Int(extent.y), Int(extent.z))
        isOccupied = Array(repeating: false, count: counts.x * counts.y * counts.z)
        var points = 0
        for submesh in opaque {
            mark(submesh.mesh, &points)
            guard points <= Self.maxPoints else { return nil }
        }
    }

    private static func bounds(_ meshes: [Mesh]) -> (low: SIMD3<Float>, high: SIMD3<Float>)? {
        guard let first = meshes.first?.vertices.first?.position else { return nil }
        var (low, high) = (first, first)
        for mesh in meshes {
            for vertex in mesh.vertices {
                (low, high) = (pointwiseMin(low, vertex.position), pointwiseMax(high, vertex.position))
            }
        }
        return (low, high)
    }

    /// Marks the cells in which a mesh's triangles lie, by points on them that are less than a cell apart.
    /// - Parameter points: the number of points so far; if it passes `maxPoints`, the rest is left out.
    private mutating func mark(_ mesh: Mesh, _ points: inout Int) {
        for corner in stride(from: 0, to: mesh.triangles.count, by: 3) {
            let (a, b, c) = (mesh.corner(corner), mesh.corner(corner + 1), mesh.corner(corner + 2))
            let longest = max(norm(b - a), norm(c - a), norm(c - b))
            let steps = Int(longest / (0.6 * Self.cell)) + 1
            points += (steps + 1) * (steps + 2) / 2
            guard points <= Self.maxPoints else { return }
            for i in 0...steps {
                for j in 0...steps - i {
                    let point = a + (b - a) * (Float(i) / Float(steps)) + (c - a) * (Float(j) / Float(steps))
                    if let index = index(of: point) { isOccupied[index] = true }
                }
            }
        }
    }

    /// The cell of a point; nil outside the grid.
    private func index(of point: SIMD3<Float>) -> Int? {
        let cell = (point - low) / Self.cell
        // Compared before the conversion, which traps on what is far away.
        guard cell.x >= 0, cell.y >= 0, cell.z >= 0, cell.x < Float(counts.x), cell.y < Float(counts.y),
            cell.z < Float(counts.z)
        else { return nil }
        return (Int(cell.z) * counts.y + Int(cell.y)) * counts.x + Int(cell.x)
    }

    /// The part of the light that each vertex loses, 0...`maxLoss`.
    private func losses(of submesh: Submesh) -> [Float] {
        guard let (low, high) = Self.bounds([submesh.mesh]) else { return [] }
        let size = max(high.x - low.x, high.y - low.y, high.z - low.z) / Self.fullSize
        let (material, finish) = (submesh.material, submesh.material.finish)
        // Metal shows what it reflects, and neither glass nor what glows is lit from all around.
        let strength = Self.strength * min(1, size) * (1 - finish.metal) * (1 - finish.glow)
        guard strength > 0, material.opacity == 1 else { return submesh.mesh.vertices.map { _ in 0 } }
        return smoothed(submesh.mesh, submesh.mesh.vertices.map(hiddenShare)).map {
            min(Self.maxLoss, strength * $0)
        }
    }

    /// The share of the half sphere above a vertex that is hidden, 0...1, weighted by the cosine; near surfaces count
    /// more.
    private func hiddenShare(_ vertex: Mesh.Vertex) -> Float {
        // Above the cells that the surface itself lies in.
        let start = vertex.position + vertex.normal * (0.6 * Self.cell)
        var (hidden, whole) = (Float(0), Float(0))
        for direction in Self.directions {
            let cosine = dot(direction, vertex.normal)
            guard cosine > Self.minCosine else { continue }
            whole += cosine
            for distance in stride(from: 1.8 * Self.cell, to: Self.reach, by: 0.8 * Self.cell) {
                guard let index = index(of: start + direction * distance), isOccupied[index] else { continue }
                hidden += cosine * (1 - distance / Self.reach)
                break
            }
        }
        return whole > 0 ? hidden / whole : 0
    }

    /// Means over a mesh's neighbouring vertices, twice, for cells are coarse. Coincident vertices, as at a seam, count
    /// as one.
    private func smoothed(_ mesh: Mesh, _ values: [Float]) -> [Float] {
        var places: [SIMD3<Float>: Int] = [:]
        let joined = mesh.vertices.map { vertex in
            let key = (vertex.position / (0.1 * Self.cell)).rounded(.toNearestOrAwayFromZero)
            if let known = places[key] { return known }
            let next = places.count
            places[key] = next
            return next
        }
        var means = [Float](repeating: 0, count: places.count)
        for i in joined.indices { means[joined[i]] = max(means[joined[i]], values[i]) }
        for _ in 0..<2 {
            var (sums, counts) = (means, [Float](repeating: 1, count: means.count))
            for corner in stride(from: 0, to: mesh.triangles.count, by: 3) {
                let corners = (0..<3).map { joined[Int(mesh.triangles[corner + $0])] }
                for i in corners {
                    for j in corners where i != j {
                        sums[i] += means[j]
                        counts[i] += 1
                    }
                }
            }
            for i in means.indices { means[i] = sums[i] / counts[i] }
        }
        return joined.map { means[$0] }
    }
}

extension Mesh {
    /// The position of a triangle's corner.
    fileprivate func corner(_ index: Int) -> SIMD3<Float> { vertices[Int(triangles[index])].position }
}

extension Submesh {
    /// How much matte materials are lighter and darker from place to place, and the size of the places, in head units:
    /// nothing that was worn is of one shade.
    private static let (unevenness, patch): (Float, Float) = (0.12, 0.4)

    /// A copy whose vertices lose light, unless they are that dark already, and whose material is uneven.
    fileprivate func darkened(_ losses: [Float]) -> Submesh {
        let finish = material.finish
        let isLit = finish.metal == 0 && finish.glow == 0 && material.opacity == 1
        let unevenness = isLit ? Self.unevenness * (1 - finish.gloss) : 0
        var mesh = mesh
        for i in mesh.vertices.indices {
            let place = mesh.vertices[i].position / Self.patch
            let noise = 0.65 * valueNoise(place, seed: 1) + 0.35 * valueNoise(place * 2.3, seed: 2)
            mesh.vertices[i].shade = min(mesh.vertices[i].shade, 1 - losses[i]) * (1 + unevenness * noise)
        }
        return Submesh(mesh: mesh, material: material, surface: surface)
    }
}
