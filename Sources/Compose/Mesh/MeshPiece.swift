import Frames

/// Triangles that have one material.
struct MeshPiece: Sendable {
    let mesh: Mesh
    private(set) var material: Material
    let build: Build
    /// The width and height of the material's picture on the mesh in head units, where it is stretched most.
    let stretch: SIMD2<Float>

    init(mesh: Mesh, material: Material, build: Build) {
        (self.mesh, self.material, self.build) = (mesh, material, build)
        stretch = material.picture == nil ? .zero : mesh.stretch
    }

    /// A copy without the levels of the picture that are finer than needed.
    /// - Parameter scale: the most pixels per head unit.
    func upTo(scale: Float) -> MeshPiece {
        var piece = self
        piece.material.picture = material.picture.map {
            $0.upTo(scale: texelScale($0, scale) * $0.whole.density)
        }
        return piece
    }

    /// Pixels of the frame per pixel of the picture, where it is stretched most.
    /// - Parameter scale: pixels per head unit.
    func texelScale(_ picture: borrowing Art, _ scale: Float) -> Float {
        let (width, height) = (Float(picture.size.x), Float(picture.size.y))
        return scale * max(stretch.x / max(width, 1), stretch.y / max(height, 1))
    }

    /// Kinds of surfaces.
    enum Build {
        /// A closed surface, visible only from outside.
        case body
        /// An open surface, visible from both sides.
        case sheet
        /// Blades, lit like the surface they stand on.
        case fur
    }
}
