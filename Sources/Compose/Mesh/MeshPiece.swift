import Frames

/// Triangles of one material.
struct MeshPiece: Sendable {
    let mesh: Mesh
    private(set) var material: Material
    let build: Build
    /// Head units for each of the picture's sides, where it is stretched most.
    let stretch: SIMD2<Float>

    init(mesh: Mesh, material: Material, build: Build) {
        (self.mesh, self.material, self.build) = (mesh, material, build)
        stretch = material.picture == nil ? .zero : mesh.stretch
    }

    /// The same with no finer picture than a head needs.
    /// - Parameter scale: pixels per head unit, at most.
    func upTo(scale: Float) -> MeshPiece {
        var piece = self
        piece.material.picture = material.picture.map {
            $0.upTo(scale: texelScale($0, scale) * $0.whole.density)
        }
        return piece
    }

    /// Pixels of the frame for one of the picture's, where it is stretched most.
    func texelScale(_ picture: borrowing Art, _ scale: Float) -> Float {
        let (width, height) = (Float(picture.size.x), Float(picture.size.y))
        return scale * max(stretch.x / max(width, 1), stretch.y / max(height, 1))
    }

    enum Build {
        /// Closed: seen from outside alone.
        case body
        /// Seen from both sides.
        case sheet
        /// Blades, lit as what they stand on.
        case fur
    }
}
