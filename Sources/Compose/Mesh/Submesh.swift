import Frames

/// Triangles that have one material.
struct Submesh: Sendable {
    let mesh: Mesh
    private(set) var material: Material
    let surface: Surface
    /// The width and height of the material's picture on the mesh in head units, where it is stretched most.
    let stretch: SIMD2<Float>

    init(mesh: Mesh, material: Material, surface: Surface) {
        (self.mesh, self.material, self.surface) = (mesh, material, surface)
        stretch = material.picture == nil ? .zero : mesh.stretch
    }

    /// A copy without the levels of the picture that are finer than needed.
    /// - Parameter scale: the most pixels per head unit.
    func droppingLevels(above scale: Float) -> Submesh {
        var submesh = self
        submesh.material.picture = material.picture.map {
            $0.upTo(scale: texelScale($0, scale) * $0.whole.density)
        }
        return submesh
    }

    /// Pixels of the frame per pixel of the picture, where it is stretched most.
    /// - Parameter scale: pixels per head unit.
    func texelScale(_ picture: borrowing Art, _ scale: Float) -> Float {
        let (width, height) = (Float(picture.size.x), Float(picture.size.y))
        return scale * max(stretch.x / max(width, 1), stretch.y / max(height, 1))
    }

    /// Kinds of surfaces.
    enum Surface {
        /// A closed surface, visible only from outside.
        case closed
        /// An open surface, visible from both sides.
        case doubleSided
        /// Blades, lit like the surface they stand on.
        case fur
    }
}
