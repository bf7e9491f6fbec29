import Frames
import JSON

/// The coordinate system that a mesh layer's parts are described in.
enum MeshPlacement: String, CaseIterable {
    /// Head space.
    case head
    /// The origin is at the centre of a hat's brim line, and the axes lean back with it. What is round there fits a
    /// head with its hair, which is longer than wide.
    case hat

    /// The map to head space.
    var map: AffineMap3D {
        switch self {
        case .head: AffineMap3D()
        // The brim line crosses the forehead below the hairline, and the back of the head below its widest part. Hats
        // of this size were preferred to smaller ones that fit a bald head, on 36 of 40 photos shown in pairs.
        case .hat: AffineMap3D(at: [0, -0.80, 1.40], turn: [-9, 0, 0], scale: [1.1, 1.08, 1.38])
        }
    }
}

extension AffineMap3D {
    /// Unit vector perpendicular to this space's floor, upward.
    var up: SIMD3<Float> { normalized(normal([0, -1, 0])) }

    /// The height of a point above the floor through this space's origin.
    func height(of p: SIMD3<Float>) -> Float { dot(up, p - shift) }
}

extension Fields {
    /// Reads `at`, `turn` (degrees) and `scale` (one number, or one per axis).
    /// - Throws: `Problem` with file and line for an error in the description.
    mutating func affineMap3D() throws -> AffineMap3D {
        let at = try vector("at", default: .zero, limit: 20)
        let turn = try vector("turn", default: .zero, limit: 360)
        return AffineMap3D(at: at, turn: turn, scale: try scaleVector())
    }

    private mutating func scaleVector() throws -> SIMD3<Float> {
        guard let json = json("scale") else { return [1, 1, 1] }
        let scale: SIMD3<Float>
        if case .number = json.value {
            scale = SIMD3(repeating: Float(try number("scale", in: -20...20)))
        } else {
            scale = try vector("scale", default: [1, 1, 1], limit: 20)
        }
        guard abs(scale.x) > 1e-3, abs(scale.y) > 1e-3, abs(scale.z) > 1e-3 else {
            throw wrong("scale", "too small", allowed: "numbers from 0.001 to 20, or their negatives")
        }
        return scale
    }

    /// Reads three numbers between -limit and limit.
    /// - Throws: `Problem` with file and line if they aren't.
    mutating func vector(_ key: String, default fallback: SIMD3<Float>?, limit: Double) throws -> SIMD3<Float> {
        if let fallback, json(key) == nil { return fallback }
        let list = try numbers(key, count: 3)
        guard list.allSatisfy({ abs($0) <= limit }) else {
            throw wrong(key, "out of range", allowed: "numbers from \(Int(-limit)) to \(Int(limit))")
        }
        return [Float(list[0]), Float(list[1]), Float(list[2])]
    }

    /// Reads a list of rows of numbers.
    /// - Parameters:
    ///   - widths: how many numbers a row may have.
    ///   - count: how many rows there may be.
    ///   - limit: the largest absolute value of a number.
    /// - Throws: `Problem` with file and line for an error in the description.
    mutating func rows(
        _ key: String, widths: ClosedRange<Int>, count: ClosedRange<Int>, limit: Double
    ) throws -> [[Float]] {
        let allowed =
            "\(count.lowerBound) to \(count.upperBound) lists of \(widths.lowerBound)"
            + (widths.count > 1 ? " or \(widths.upperBound)" : "") + " numbers up to \(Int(limit))"
        guard let json = json(key) else { throw wrong(key, "missing", allowed: allowed) }
        guard case .array(let rows) = json.value, count.contains(rows.count) else {
            throw wrong(key, "of the wrong type or length", allowed: allowed)
        }
        return try rows.map { row in
            guard case .array(let numbers) = row.value, widths.contains(numbers.count) else {
                throw wrong(key, "a list with \(row.kindName)", allowed: allowed)
            }
            return try numbers.map { number in
                guard case .number(let value) = number.value, abs(value) <= limit else {
                    throw wrong(key, "a list with \(number.kindName)", allowed: allowed)
                }
                return Float(value)
            }
        }
    }
}

/// Reads a mesh layer's parts, one after another.
struct MeshReader {
    private enum Kind: String, CaseIterable { case lathe, extrusion, tube, ring, ball, plane }

    private let materials: [(name: String, material: Material)]
    private let frame: AffineMap3D
    private let division: MeshDetail.Division
    private(set) var submeshes: [Submesh] = []
    /// The point about which swinging parts rotate, in head space; nil if nothing swings.
    private(set) var pivot: SIMD3<Float>?

    init(materials: [(name: String, material: Material)], frame: AffineMap3D, _ division: MeshDetail.Division) {
        (self.materials, self.frame, self.division) = (materials, frame, division)
    }

    /// The part of columns and rows that a coarse division has, and of tufts: with half, single ones stand out.
    private static let (coarse, coarseTufts): (Float, Float) = (0.75, 0.6)
    /// Columns and rows up to which a shape may be meant to have corners.
    private static let cornered = 12

    /// The columns or rows that are made of so many.
    private func divided(_ count: Int) -> Int {
        guard division == .coarse, count > Self.cornered else { return count }
        return max(Self.cornered, Int((Float(count) * Self.coarse).rounded()))
    }

    /// Reads a part.
    /// - Throws: `Problem` with file and line for an error in the description.
    mutating func read(_ part: inout Fields) throws {
        let kind = try part.choice("shape", default: Kind.lathe)
        guard part.has("shape") else {
            throw part.wrong("shape", "missing", allowed: Kind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let material = try material(&part)
        var (mesh, isDoubleSided) = try shape(kind, &part)
        try part.refuse("sheet", renamedTo: "doubleSided")
        isDoubleSided = try part.bool("doubleSided", default: isDoubleSided)
        try bend(&mesh, &part)
        try roughen(&mesh, &part)
        let own = try part.affineMap3D()
        let swings = try swing(&mesh, &part, own)
        let blades = try tufts(&mesh, &part)
        var copies = try part.object("copies")
        let count = try copies.integer("count", in: 1...64, default: 1)
        let turn = try copies.vector("turn", default: .zero, limit: 360)
        let move = try copies.vector("move", default: .zero, limit: 20)
        let about = try copies.vector("about", default: .zero, limit: 20)
        try copies.finish()
        try part.finish()
        mesh.transform(own)
        var fur = blades
        fur?.transform(own)
        for copy in 0..<count {
            let k = Float(copy)
            let turned = AffineMap3D(at: about + move * k, turn: turn * k).after(AffineMap3D(at: about * -1))
            let map = frame.after(turned)
            try add(mesh, map, material, isDoubleSided ? .doubleSided : .closed, part)
            if let fur { try add(fur, map, material, .fur, part) }
            if swings, pivot == nil { pivot = map(own.shift) }
        }
    }

    private func material(_ part: inout Fields) throws -> Material {
        let name = try part.string("material")
        guard let found = materials.first(where: { $0.name == name }) else {
            throw part.unknown("material", name, among: materials.map(\.name), what: "material")
        }
        return found.material
    }

    /// Adds the meshes of a model.
    /// - Throws: `Problem` if there are too many triangles together with the parts.
    mutating func add(_ model: MeshModel, _ fields: Fields) throws {
        for primitive in model.primitives {
            try add(
                primitive.mesh, frame, primitive.material, primitive.isDoubleSided ? .doubleSided : .closed, fields,
                key: "model")
        }
    }

    private mutating func add(
        _ mesh: Mesh, _ map: AffineMap3D, _ material: Material, _ surface: Submesh.Surface, _ part: Fields,
        key: String = "shape"
    ) throws {
        var placed = mesh
        placed.transform(map)
        guard placed.vertices.allSatisfy({ $0.position.x.isFinite && $0.position.y.isFinite && $0.position.z.isFinite })
        else { throw part.wrong(key, "too large to be drawn", allowed: "smaller sizes and scales") }
        submeshes.append(Submesh(mesh: placed, material: material, surface: surface))
        let triangles = submeshes.reduce(0) { $0 + $1.mesh.triangles.count / 3 }
        let vertices = submeshes.reduce(0) { $0 + $1.mesh.vertices.count }
        guard triangles <= Mesh.maxTriangles, vertices <= Mesh.maxVertices else {
            throw part.wrong(
                key, "too detailed: more than \(Mesh.maxTriangles) triangles with the parts before it",
                allowed: "fewer copies, columns or tufts")
        }
    }

    /// Makes the mesh of a part's shape.
    /// - Returns: the mesh, and whether it is visible from both sides.
    private func shape(_ kind: Kind, _ part: inout Fields) throws -> (Mesh, Bool) {
        switch kind {
        case .lathe:
            let rows = try part.rows("profile", widths: 2...3, count: 2...64, limit: 20)
            let around = divided(try part.integer("around", in: 3...128, default: 40))
            let profile = rows.map { (radius: max(0, $0[0]), height: $0[1], shade: $0.count > 2 ? $0[2] : 1) }
            let isClosed = profile[0].radius < 1e-3 && profile[profile.count - 1].radius < 1e-3
            return (Shape.lathe(profile, around: around), !isClosed)
        case .extrusion:
            let text = try part.string("path")
            let unit = Float(try part.number("unit", in: 0.1...10_000, default: 100))
            // Half a pixel on a face whose eyes are 150 pixels apart.
            guard let path = OutlinePath(text, tolerance: unit / 300) else {
                throw part.wrong(
                    "path", "not a closed outline", allowed: "the data of an SVG path with up to 2000 points")
            }
            let depth = Float(try part.number("depth", in: 0.001...10, default: 0.1))
            let bevel = Float(try part.number("bevel", in: 0...5, default: 0.02))
            let outlines = path.outlines.map { $0.map { $0 / unit } }
            return (Shape.extrusion(outlines, depth: depth, bevel: bevel), false)
        case .tube:
            let path = try part.rows("path", widths: 3...3, count: 2...64, limit: 20)
            let isClosed = try part.bool("closed", default: false)
            let radii = try radii(&part, count: path.count)
            let mesh = Shape.tube(
                path.map { [$0[0], $0[1], $0[2]] }, radii: radii,
                around: divided(try part.integer("around", in: 3...64, default: 14)),
                steps: divided(try part.integer("steps", in: 2...256, default: path.count * 4)),
                flatness: Float(try part.number("flatness", in: 0.02...1, default: 1)), isClosed: isClosed)
            return (mesh, false)
        case .ring:
            let radius = Float(try part.number("radius", in: 0.01...10))
            let thickness = Float(try part.number("thickness", in: 0.005...5))
            let corners = 24
            let path = (0..<corners).map { i -> SIMD3<Float> in
                let turn = 2 * Float.pi * Float(i) / Float(corners)
                return [-radius * sin(turn), 0, radius * cos(turn)]
            }
            let mesh = Shape.tube(
                path, radii: Array(repeating: thickness, count: corners),
                around: divided(try part.integer("around", in: 3...64, default: 12)),
                steps: divided(try part.integer("steps", in: 6...256, default: 48)),
                flatness: Float(try part.number("flatness", in: 0.02...1, default: 1)), isClosed: true)
            return (mesh, false)
        case .ball:
            let radius = Float(try part.number("radius", in: 0.005...10))
            return (
                Shape.ball(radius: radius, around: divided(try part.integer("around", in: 6...96, default: 24))), false
            )
        case .plane:
            let width = Float(try part.number("width", in: 0.01...20))
            let height = Float(try part.number("height", in: 0.01...20))
            let columns = try part.integer("columns", in: 1...64, default: 12)
            let rows = try part.integer("rows", in: 1...64, default: columns)
            return (Shape.plane(width: width, height: height, columns: divided(columns), rows: divided(rows)), true)
        }
    }

    /// Reads one radius for all points of the path, or one for each.
    private func radii(_ part: inout Fields, count: Int) throws -> [Float] {
        guard let json = part.json("radius") else {
            throw part.wrong("radius", "missing", allowed: "a number, or one for each point of the path")
        }
        if case .number = json.value {
            return Array(repeating: Float(try part.number("radius", in: 0.001...10)), count: count)
        }
        return try part.numbers("radius", count: count).map { Float(max(0, min(10, $0))) }
    }

    /// Bends the mesh around an axis by an angle over its own height (or width, around y), and tapers it towards its
    /// top.
    private func bend(_ mesh: inout Mesh, _ part: inout Fields) throws {
        let taper = Float(try part.number("taper", in: 0...4, default: 1))
        var fields = try part.object("bend")
        let angle = radians(Float(try fields.number("angle", in: -360...360, default: 0)))
        let axis = try fields.string("axis", default: "z")
        guard ["x", "y", "z"].contains(axis) else { throw fields.wrong("axis", "'\(axis)'", allowed: "x, y, z") }
        try fields.finish()
        // A smaller angle has no visible effect, and its radius would overflow.
        let isBent = abs(angle) > 1e-4
        guard taper != 1 || isBent else { return }
        var (low, high) = (SIMD3<Float>(repeating: .infinity), SIMD3<Float>(repeating: -.infinity))
        for vertex in mesh.vertices {
            low = pointwiseMin(low, vertex.position)
            high = pointwiseMax(high, vertex.position)
        }
        let size = pointwiseMax(high - low, SIMD3(repeating: 1e-4))
        mesh.deform { vertex in
            var p = vertex.position
            let up = (high.y - p.y) / size.y
            let factor = 1 + (taper - 1) * up
            p.x *= factor
            p.z *= factor
            guard isBent else { return p }
            switch axis {
            // Wraps a sheet around the vertical axis; its centre stays in place.
            case "y":
                let radius = size.x / angle
                let turn = (p.x - (low.x + high.x) / 2) / radius
                let r = radius - p.z
                return [sin(turn) * r + (low.x + high.x) / 2, p.y, radius - cos(turn) * r]
            // The bottom of the mesh stays in place and the top leans over.
            case "x":
                let radius = size.y / angle
                let turn = (high.y - p.y) / radius
                let r = radius - p.z
                return [p.x, high.y - sin(turn) * r, radius - cos(turn) * r]
            default:
                let radius = size.y / angle
                let turn = (high.y - p.y) / radius
                let r = radius - p.x
                return [radius - cos(turn) * r, high.y - sin(turn) * r, p.z]
            }
        }
    }

    /// Adds bumps of noise to the surface.
    private func roughen(_ mesh: inout Mesh, _ part: inout Fields) throws {
        var fields = try part.object("rough")
        let height = Float(try fields.number("height", in: 0...1, default: 0))
        let size = Float(try fields.number("size", in: 0.01...10, default: 0.3))
        let seed = UInt64(try fields.integer("seed", in: 0...1_000_000, default: 1))
        try fields.finish()
        guard height > 0 else { return }
        mesh.deform { vertex in
            let bump =
                valueNoise(vertex.position / size, seed: seed) + valueNoise(
                    vertex.position / (size * 0.5), seed: seed + 1) / 2
            return vertex.position + vertex.normal * (bump * height)
        }
    }

    /// Reads how much the part swings about its own origin: more with distance from there, if `stiff` is given.
    /// - Returns: whether the part swings.
    private func swing(_ mesh: inout Mesh, _ part: inout Fields, _ own: AffineMap3D) throws -> Bool {
        guard part.has("swing") else { return false }
        var fields = try part.object("swing")
        let amount = Float(try fields.number("amount", in: 0...1, default: 1))
        let stiff = Float(try fields.number("stiff", in: 0...20, default: 0))
        try fields.finish()
        for i in mesh.vertices.indices {
            let reach = norm(mesh.vertices[i].position)
            mesh.vertices[i].swing = amount * (stiff > 0 ? min(1, reach / stiff) : 1)
        }
        return true
    }

    /// Makes the tufts of fur on a mesh; nil if the part has none.
    private func tufts(_ mesh: inout Mesh, _ part: inout Fields) throws -> Mesh? {
        guard part.has("tufts") else { return nil }
        var fields = try part.object("tufts")
        let count = try fields.integer("count", in: 1...8000)
        let length = Float(try fields.number("length", in: 0.005...3))
        let width = Float(try fields.number("width", in: 0.001...0.5, default: Double(length) / 6))
        let lean = try fields.vector("lean", default: [0, 0.3, 0], limit: 5)
        let seed = UInt64(try fields.integer("seed", in: 0...1_000_000, default: 1))
        try fields.finish()
        // Fewer and wider ones cover as much.
        let share = division == .coarse ? Self.coarseTufts : 1
        return Shape.tufts(
            on: mesh, count: max(1, Int(Float(count) * share)), length: length, width: width / share, lean: lean,
            seed: seed)
    }
}
