import CArt
import Frames
import Glibc
import SystemKit

/// A glTF 2.0 model, as exported by Blender: static meshes of plain triangles, with base colour and its picture,
/// roughness and metalness, all in one file.
///
/// The axes are glTF's: y up, z to the viewer, which is the default of Blender's export. The unit is one eye distance.
struct MeshModel {
    /// A mesh with one material.
    struct Primitive {
        let mesh: Mesh
        let material: Material
        /// Whether it is visible from both sides.
        let isDoubleSided: Bool
    }

    let primitives: [Primitive]

    /// The most bytes of a .glb. The pictures of a hat take most of it.
    static let largestBinary = 16 << 20
    /// The most pixels on the longer side of a picture.
    private static let largestPicture = 512

    /// Reads a model from a file.
    /// - Parameters:
    ///   - name: path relative to the mask's folder; may not lead outside it.
    ///   - range: of the frames that it will be drawn on.
    /// - Throws: `Problem` that names the file.
    init(file name: String, folder: String, range: ColorRange) throws {
        let path = try Art.resolvePath(folder, name)
        let bytes = try contents(of: path, limit: Self.largestBinary)
        try self.init(bytes, path: path, range: range)
    }

    /// Reads a model from the bytes of a .glb or .gltf.
    /// - Parameter path: for messages.
    /// - Throws: `unusable` if the model is damaged or too large.
    init(_ bytes: [UInt8], path: String, range: ColorRange) throws {
        let broken = { Self.broken(path, $0) }
        var reader = PrimitiveReader(bytes: try ArtProcess.primitives(ofModel: bytes, broken: broken))
        var primitives: [Primitive] = []
        var pictures: [Painting: Art] = [:]
        while !reader.isAtEnd {
            guard let (primitive, vertices, indices, png) = reader.next() else {
                throw broken("guise-art sent an invalid reply")
            }
            let color = SIMD4(primitive.color.0, primitive.color.1, primitive.color.2, primitive.color.3)
            var picture: Art?
            if !png.isEmpty {
                let painting = Painting(png: png, factor: SIMD3(color.x, color.y, color.z))
                picture = try pictures[painting] ?? Self.picture(painting, path, range)
                pictures[painting] = picture
            }
            let hasNormals = primitive.has_normals != 0
            let mesh = Self.mesh(vertices, indices, hasNormals: hasNormals, picture: picture)
            let material = Material(
                linear: color, roughness: primitive.roughness, metal: primitive.metal,
                isBlended: primitive.is_blended != 0, picture: picture, range: range)
            primitives.append(Primitive(mesh: mesh, material: material, isDoubleSided: primitive.is_two_sided != 0))
        }
        self.primitives = primitives
    }

    private static func broken(_ path: String, _ reason: String) -> Problem {
        Problem(
            .unusable, "cannot read the model \(path): \(reason)",
            fix: "export it again as .glb: plain triangles, no compression, pictures as PNG")
    }

    /// A picture, and the base colour that it is multiplied by: RGB in linear light, 0...1.
    private struct Painting: Hashable {
        let png: [UInt8]
        let factor: SIMD3<Float>
    }

    private static func picture(_ painting: Painting, _ path: String, _ range: ColorRange) throws -> Art {
        guard painting.png.starts(with: PNG.signature) else {
            throw broken(path, "one of its pictures is not a PNG")
        }
        let raster = try ArtReader.load(png: painting.png, named: path, maxDimension: largestPicture)
        return Art(raster, range: range) { multiply(&$0, by: painting.factor) }
    }

    /// Multiplies the colours of a picture, in linear light.
    private static func multiply(_ raster: inout RGBAImage, by factor: SIMD3<Float>) {
        guard factor != .one else { return }
        for channel in 0..<3 {
            // By the sample without its alpha.
            let products = (0...255).map { encodedSRGB(linearSRGB(Float($0) / 255) * factor[channel]) }
            for i in stride(from: 0, to: raster.bytes.count, by: 4) where raster.bytes[i + 3] > 0 {
                let alpha = Int(raster.bytes[i + 3])
                let sample = min(255, (Int(raster.bytes[i + channel]) * 255 + alpha / 2) / alpha)
                raster.bytes[i + channel] = UInt8(products[sample] * Float(alpha) + 0.5)
            }
        }
    }

    /// How many pictures the texture coordinates lie right of and below 0...1. In glTF pictures repeat, so that
    /// coordinates may lie in another copy; a mesh that spans several copies gets the middle one.
    private static func textureShift(_ vertices: [cart_vertex]) -> SIMD2<Float> {
        var (low, high) = (SIMD2<Float>(repeating: .infinity), SIMD2<Float>(repeating: -.infinity))
        for vertex in vertices {
            let place = SIMD2(vertex.uv.0, vertex.uv.1)
            (low, high) = (pointwiseMin(low, place), pointwiseMax(high, place))
        }
        let isInside = low .>= 0 .& high .<= 1
        return ((low + high) / 2).rounded(.down).replacing(with: 0, where: isInside)
    }

    /// Converts glTF's axes (y up, z to the viewer) to head space's, which is half a turn about x, and the order of
    /// corners from counter-clockwise to clockwise.
    private static func mesh(
        _ vertices: [cart_vertex], _ indices: [UInt32], hasNormals: Bool, picture: Art?
    ) -> Mesh {
        // Texture coordinates stay one pixel inside the picture, whose border is transparent.
        let edge = picture.map { SIMD2<Float>(repeating: 1) / [Float($0.size.x), Float($0.size.y)] } ?? .zero
        let shift = textureShift(vertices)
        var mesh = Mesh()
        mesh.vertices = vertices.map { vertex in
            let (p, n, t) = (vertex.position, vertex.normal, vertex.uv)
            let part = pointwiseMin(pointwiseMax(SIMD2(t.0, t.1) - shift, edge), 1 - edge)
            return Mesh.Vertex(
                position: SIMD3(p.0, -p.1, -p.2), normal: SIMD3(n.0, -n.1, -n.2), uv: part)
        }
        for i in stride(from: 0, to: indices.count - 2, by: 3) {
            mesh.add(Int(indices[i]), Int(indices[i + 2]), Int(indices[i + 1]))
        }
        if !hasNormals { mesh.smooth() }
        // The size that the whole picture would have on the mesh, by the ratio of areas. It tells how detailed a
        // picture is needed.
        var (body, art): (Float, Float) = (0, 0)
        for i in stride(from: 0, to: mesh.triangles.count - 2, by: 3) {
            let corners = (0..<3).map { mesh.vertices[Int(mesh.triangles[i + $0])] }
            body += norm(cross(corners[1].position - corners[0].position, corners[2].position - corners[0].position))
            let (u, v) = (corners[1].uv - corners[0].uv, corners[2].uv - corners[0].uv)
            art += abs(u.x * v.y - u.y * v.x)
        }
        let size = art > 1e-9 ? (body / art).squareRoot() : 1
        for i in mesh.vertices.indices { mesh.vertices[i].grainUV = SIMD2(size, size) }
        return mesh
    }
}

/// Reads the primitives of a model from the bytes that `guise-art` sent. It has read an untrusted file, so everything
/// that it sends is checked. The only unsafe code here copies values from bytes.
private struct PrimitiveReader {
    let bytes: [UInt8]
    private var offset = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { offset == bytes.count }

    /// The next primitive; nil if the bytes are not one.
    mutating func next() -> (cart_primitive, vertices: [cart_vertex], indices: [UInt32], picture: [UInt8])? {
        guard let primitive = take(cart_primitive.self, 1)?.first, primitive.vertex_count <= Mesh.maxVertices,
            primitive.index_count <= 3 * Mesh.maxTriangles,
            let vertices = take(cart_vertex.self, Int(primitive.vertex_count)),
            let indices = take(UInt32.self, Int(primitive.index_count)),
            let picture = take(UInt8.self, Int(primitive.texture_size)),
            indices.allSatisfy({ $0 < primitive.vertex_count }),
            vertices.allSatisfy(\.isFinite), primitive.isInRange
        else { return nil }
        return (primitive, vertices, indices, picture)
    }

    private mutating func take<Value: BitwiseCopyable>(_ type: Value.Type, _ count: Int) -> [Value]? {
        let size = count * MemoryLayout<Value>.stride
        guard size <= bytes.count - offset else { return nil }
        defer { offset += size }
        return unsafe bytes.withUnsafeBytes { bytes in
            (0..<count).map {
                unsafe bytes.loadUnaligned(fromByteOffset: offset + $0 * MemoryLayout<Value>.stride, as: Value.self)
            }
        }
    }
}

extension cart_vertex {
    /// Whether all its numbers are finite.
    fileprivate var isFinite: Bool {
        let sum =
            position.0 + position.1 + position.2 + normal.0 + normal.1 + normal.2 + uv.0 + uv.1
        return sum.isFinite
    }
}

extension cart_primitive {
    /// Whether its material's numbers are between 0 and 1.
    fileprivate var isInRange: Bool {
        [color.0, color.1, color.2, color.3, roughness, metal].allSatisfy { (0...1) ~= $0 }
    }
}

/// The sRGB transfer function (IEC 61966-2-1), from linear light to samples; both 0...1.
private func encodedSRGB(_ light: Float) -> Float {
    light <= 0.003_130_8 ? light * 12.92 : 1.055 * powf(light, 1 / 2.4) - 0.055
}

/// The inverse of `encodedSRGB`.
private func linearSRGB(_ sample: Float) -> Float {
    sample <= 0.04045 ? sample / 12.92 : powf((sample + 0.055) / 1.055, 2.4)
}

extension Material {
    /// Makes a material from glTF's values.
    /// - Parameters:
    ///   - linear: RGBA, 0...1, in linear light and not sRGB-encoded.
    ///   - isBlended: whether alpha makes the material transparent.
    init(
        linear: SIMD4<Float>, roughness: Float, metal: Float, isBlended: Bool, picture: Art?, range: ColorRange
    ) {
        let black = Float(range.black)
        let color = Color(
            encodedSRGB(linear.x) * 255, encodedSRGB(linear.y) * 255, encodedSRGB(linear.z) * 255)
        var finish = Finish()
        finish.metal = metal
        // Smooth surfaces have strong, sharp highlights; rough ones have none.
        finish.gloss = 0.6 * (1 - roughness)
        finish.specularExponentLog2 = Int((7 * (1 - roughness)).rounded())
        self.init(
            color: color.yuv(range) - [black, 128, 128], finish: finish, picture: picture,
            opacity: isBlended ? linear.w : 1)
    }
}
