import Frames

/// The memory that meshes are drawn with, kept from frame to frame.
struct MeshScratch: ~Copyable {
    var rasterizer = Rasterizer()
    var impostors = ImpostorCache()
    var corners: [RasterVertex] = []
    /// Whether pictures that became a little old may be laid once more, and are drawn anew by `drawDeferred`.
    var mayLag = false
    private var deferred: [HeadMesh.DrawRequest] = []
    private var first = 0

    init() { deferred.reserveCapacity(ImpostorCache.most) }

    /// Has an impostor that is a little old drawn anew by `drawDeferred`.
    mutating func postpone(_ request: HeadMesh.DrawRequest) {
        if deferred.count < ImpostorCache.most { deferred.append(request) }
    }

    /// Draws the pictures anew that were laid though they had become old, as their heads lay then.
    /// - Parameter layout: of the frame that they were laid on.
    mutating func drawDeferred(_ layout: FrameLayout) {
        for i in deferred.indices {
            let request = deferred[i]
            guard let place = impostors.find(request.owner) else { continue }
            _ = request.draw(on: &self, place, layout)
        }
        deferred.removeAll(keepingCapacity: true)
    }

    /// The corners that follow belong together.
    mutating func begin() { first = corners.count }

    /// - Parameter hides: false where shadows fall on it alone.
    mutating func occlude(_ mesh: borrowing Mesh, _ view: HeadProjection, hides: Bool) {
        begin()
        for vertex in mesh.vertices {
            var position = view(vertex.position)
            // As far away as can be.
            if !hides { position.z = 0 }
            corners.append(RasterVertex(position: position, color: .zero, texture: .zero))
        }
        Self.occlude(&rasterizer, corners, from: first, mesh.triangles)
    }

    mutating func draw(_ piece: borrowing MeshPiece, from first: Int, _ surface: RasterSurface) {
        Self.draw(&rasterizer, corners, from: first, piece, surface)
    }

    // The parts one by one: a span of one keeps the whole from being changed otherwise.
    private static func occlude(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int, _ triangles: [UInt16]
    ) {
        rasterizer.occlude(corners.span.extracting(first..<corners.count), triangles.span)
    }

    private static func draw(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int,
        _ piece: borrowing MeshPiece, _ surface: RasterSurface
    ) {
        rasterizer.draw(
            corners.span.extracting(first..<first + piece.mesh.vertices.count), piece.mesh.triangles.span,
            faces: piece.build == .body ? .front : .both, surface)
    }
}
