import CGLTF
import Frames
import Glibc

/// A body that a designer modelled elsewhere: glTF 2.0, as Blender exports it. Static meshes of plain triangles; base colour
/// with its picture, roughness, metal; all in one file.
///
/// Its y goes up and its z to the viewer, with a unit of one eye distance: Blender's own axes come out so by its default.
/// The unsafe calls to the C shim are in this file alone.
struct MeshModel {
    struct Piece {
        let mesh: Mesh
        let material: Material
        let isSheet: Bool
    }

    let pieces: [Piece]

    /// Bytes of a .glb. The pictures of a hat take most of it.
    static let largestBinary = 16 << 20
    /// Bytes of a description: of a .gltf, or of a .glb's first part. Sixty thousand triangles take a few megabytes.
    static let largestText = 6 << 20
    /// Levels of a description; tinygltf goes down by calling itself.
    static let deepestText = 48
    private static let limits = cgltf_limits(
        nodes: 1000, depth: 32, vertices: Mesh.mostVertices, triangles: Mesh.mostTriangles)
    /// Pixels of the longer side of a picture on a body.
    private static let largestPicture = 512

    /// - Parameters:
    ///   - name: of the file, relative to the mask's folder, which it may not leave.
    ///   - range: of the frames that it is for.
    /// - Throws: `Problem` that names the file.
    init(file name: String, folder: String, range: ColorRange) throws {
        let path = try Art.resolvePath(folder, name)
        let bytes = try contents(of: path, limit: Self.largestBinary)
        try self.init(bytes, path: path, range: range)
    }

    /// - Parameter path: for messages.
    init(_ bytes: [UInt8], path: String, range: ColorRange) throws {
        let isBinary = bytes.starts(with: "glTF".utf8)
        try Self.checkText(bytes, isBinary, path)
        var text = [CChar](repeating: 0, count: 256)
        guard
            let scene = unsafe cgltf_read(
                bytes, bytes.count, isBinary ? 1 : 0, Self.limits, &text, text.count)
        else { throw Self.broken(path, ArtError.string(text)) }
        defer { unsafe cgltf_close(scene) }
        var pieces: [Piece] = []
        var pictures: [[UInt8]: Art] = [:]
        for i in unsafe 0..<cgltf_piece_count(scene) {
            let piece = unsafe cgltf_piece_at(scene, i)
            let vertices = unsafe Array(UnsafeBufferPointer(start: piece.vertices, count: piece.vertex_count))
            let indices = unsafe Array(UnsafeBufferPointer(start: piece.indices, count: piece.index_count))
            var picture: Art?
            if unsafe piece.picture != nil {
                let png = unsafe Array(UnsafeBufferPointer(start: piece.picture, count: piece.picture_size))
                picture = try pictures[png] ?? Self.picture(png, path, range)
                pictures[png] = picture
            }
            let hasNormals = unsafe piece.has_normals != 0
            let mesh = Self.mesh(vertices, indices, hasNormals: hasNormals, picture: picture)
            let color = unsafe SIMD4(piece.color.0, piece.color.1, piece.color.2, piece.color.3)
            let look = unsafe (piece.roughness, piece.metal, piece.is_blended != 0, piece.is_two_sided != 0)
            let material = Material(
                linear: color, roughness: look.0, metal: look.1, isBlended: look.2, picture: picture, range: range)
            pieces.append(Piece(mesh: mesh, material: material, isSheet: look.3))
        }
        self.pieces = pieces
    }

    private static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(
            .unusable, "cannot read the model \(path): \(reason.isEmpty ? "it is no glTF 2.0" : reason)",
            fix: "export it again as .glb: plain triangles, no compression, pictures as PNG")
    }

    /// Size and nesting of the description, before anybody reads it.
    private static func checkText(_ bytes: [UInt8], _ isBinary: Bool, _ path: String) throws(Problem) {
        var text = bytes[...]
        if isBinary {
            // Magic, version, length; then the first part's length and kind, and the part.
            guard bytes.count >= 20 else { throw broken(path, "it is cut off") }
            let length = bytes[12..<16].reversed().reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - 20 else { throw broken(path, "it is cut off") }
            text = bytes[20..<20 + length]
        }
        guard text.count <= largestText else {
            throw broken(path, "a description of more than \(largestText >> 20) MiB is too large")
        }
        var (depth, isText, isEscaped) = (0, false, false)
        for byte in text {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            guard depth <= deepestText else { throw broken(path, "it is nested deeper than \(deepestText) levels") }
        }
    }

    private static func picture(_ bytes: [UInt8], _ path: String, _ range: ColorRange) throws -> Art {
        guard bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) else { throw broken(path, "one of its pictures is no PNG") }
        return Art(try ArtReader.load(png: bytes, named: path, maxDimension: largestPicture), range: range) { _ in }
    }

    /// From glTF's axes (y up, z to the viewer) to head space's, which is half a turn about x; and the corners from
    /// counter-clockwise to clockwise.
    private static func mesh(
        _ vertices: [cgltf_vertex], _ indices: [UInt32], hasNormals: Bool, picture: Art?
    ) -> Mesh {
        // Within the picture by a pixel, for it is surrounded by nothing.
        let edge = picture.map { SIMD2<Float>(repeating: 1) / [Float($0.size.x), Float($0.size.y)] } ?? .zero
        var mesh = Mesh()
        mesh.vertices = vertices.map { vertex in
            let (p, n, t) = (vertex.position, vertex.normal, vertex.texture)
            let part = pointwiseMin(pointwiseMax(SIMD2(t.0, t.1), edge), 1 - edge)
            return Mesh.Vertex(
                position: SIMD3(p.0, -p.1, -p.2), normal: SIMD3(n.0, -n.1, -n.2), part: part)
        }
        for i in stride(from: 0, to: indices.count - 2, by: 3) {
            mesh.add(Int(indices[i]), Int(indices[i + 2]), Int(indices[i + 1]))
        }
        if !hasNormals { mesh.smooth() }
        // As large as the whole picture would lie on the body, by the areas: it says how fine a picture is needed.
        var (body, art): (Float, Float) = (0, 0)
        for i in stride(from: 0, to: mesh.triangles.count - 2, by: 3) {
            let corners = (0..<3).map { mesh.vertices[Int(mesh.triangles[i + $0])] }
            body += norm(cross(corners[1].position - corners[0].position, corners[2].position - corners[0].position))
            let (u, v) = (corners[1].part - corners[0].part, corners[2].part - corners[0].part)
            art += abs(u.x * v.y - u.y * v.x)
        }
        let size = art > 1e-9 ? (body / art).squareRoot() : 1
        for i in mesh.vertices.indices { mesh.vertices[i].along = SIMD2(size, size) }
        return mesh
    }
}

extension Material {
    /// As glTF describes one.
    /// - Parameters:
    ///   - linear: RGBA, 0...1, by the light, not by sRGB's curve.
    ///   - isBlended: whether the alpha is glass's.
    init(
        linear: SIMD4<Float>, roughness: Float, metal: Float, isBlended: Bool, picture: Art?, range: ColorRange
    ) {
        // IEC 61966-2-1.
        func sRGB(_ x: Float) -> Float { x <= 0.003_130_8 ? x * 12.92 : 1.055 * powf(x, 1 / 2.4) - 0.055 }
        let black: Float = range == .full ? 0 : 16
        let color = Color(sRGB(linear.x) * 255, sRGB(linear.y) * 255, sRGB(linear.z) * 255)
        var finish = Finish()
        finish.metal = metal
        // Smooth surfaces mirror lamps, sharply; rough ones do not.
        finish.gloss = 0.6 * (1 - roughness)
        finish.squarings = Int((7 * (1 - roughness)).rounded())
        self.init(
            color: color.yuv(range) - [black, 128, 128], finish: finish, picture: picture,
            opacity: isBlended ? linear.w : 1)
    }
}
