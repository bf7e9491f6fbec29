import Frames

/// The working memory of mesh layers, kept from frame to frame.
struct MeshScratch: ~Copyable {
    var rasterizer = Rasterizer()
    var impostors = ImpostorCache()
    var corners: [RasterVertex] = []
    /// The corners from which an impostor's reference corners are chosen.
    var candidates: [Candidate] = []
    /// What is being drawn.
    var layer = LayerBuffer()
    /// The detail that the frame can show.
    var detail = MeshDetail.full
    /// Whether slightly outdated impostors may be shown once more and redrawn by `drawDeferred`.
    var mayLag = false
    /// A corner that faces the camera, in drawn pixels.
    struct Candidate {
        /// Index of the mesh in the layer.
        let submesh: Int
        /// Index of the vertex in the mesh.
        let vertex: Int
        let corner: RasterVertex
        /// Whether nothing hides it.
        var isVisible = false
    }

    /// The distance behind what was drawn, in head units, up to which a corner counts as visible: samples lie beside
    /// it.
    private static let visibleDepth: Float = 0.1
    private var deferred: [HeadMesh.DrawCall] = []
    private var first = 0

    init() { deferred.reserveCapacity(ImpostorCache.capacity) }

    /// Queues a request for `drawDeferred`.
    mutating func postpone(_ request: HeadMesh.DrawCall) {
        if deferred.count < ImpostorCache.capacity { deferred.append(request) }
    }

    /// Redraws the impostors that were shown although they were outdated, with the heads' placements of that frame.
    /// - Parameter layout: of that frame.
    mutating func drawDeferred(_ layout: FrameLayout) {
        for i in deferred.indices {
            let request = deferred[i]
            guard let slot = impostors.find(request.owner) else { continue }
            _ = request.draw(on: &self, slot, layout)
        }
        deferred.removeAll(keepingCapacity: true)
    }

    /// Prepares `layer` for the new picture of an impostor.
    /// - Parameter region: the picture's bounding box in pixels of the frame.
    /// - Returns: false if none of it is near the frame.
    mutating func beginImpostor(
        _ slot: Int, _ region: PixelRect, _ detail: MeshDetail, hair: HairWidth, in layout: FrameLayout
    ) -> Bool {
        guard impostors.entries[slot].begin(region, detail, hair: hair, in: layout) else { return false }
        guard detail.isEnlarged else {
            swap(&layer, &impostors.entries[slot].layer)
            return true
        }
        let drawn = detail.drawn(impostors.entries[slot].layer.region)
        return layer.begin(drawn, in: layout, margin: Impostor.margin)
    }

    /// Hands the picture in `layer` over to an impostor.
    /// - Parameter blur: the standard deviation of the frame's blur, pixels.
    mutating func finishImpostor(_ slot: Int, _ detail: MeshDetail, blur: Float) {
        if detail.isEnlarged {
            layer.soften(variance: detail.softening(for: blur))
            impostors.entries[slot].layer.draw(layer, by: detail.enlargement)
        } else {
            swap(&layer, &impostors.entries[slot].layer)
            impostors.entries[slot].layer.soften(variance: detail.softening(for: blur))
        }
        impostors.entries[slot].layer.markArt()
    }

    /// Marks the candidates in the rasterizer's band that are visible. A hidden corner moves unlike what is seen there
    /// when the head turns, and would call a good picture outdated.
    mutating func findVisibleCandidates() {
        let region = rasterizer.drawnRegion
        for i in candidates.indices {
            let position = candidates[i].corner.position
            let (x, y) = (Int(position.x.rounded()), Int(position.y.rounded()))
            guard x >= region.x, x < region.x + region.width, y >= region.y, y < region.y + region.height else {
                continue
            }
            // Depths are -1 over the distance; nothing is infinitely far.
            let drawn = rasterizer.depths(x: x, y: y).max()
            candidates[i].isVisible = drawn > 0 || -1 / position.z - Self.visibleDepth <= -1 / drawn
        }
    }

    /// Starts a mesh: the corners appended from now on belong to it.
    mutating func begin() { first = corners.count }

    /// Adds a head as an occluder.
    /// - Parameter width: that of the hair, as for `Occluder.position`.
    mutating func occlude(_ head: Occluder, _ view: HeadProjection, hair width: HairWidth, _ detail: MeshDetail) {
        // The part inside a hat only receives shadows: it has the largest depth.
        occlude(head.covered.vertices.count, head.covered.triangles) {
            detail.drawn(view(head.covered.vertices[$0].position)) * SIMD4(1, 1, 0, 1)
        }
        occlude(head.mesh.vertices.count, head.mesh.triangles) { detail.drawn(view(head.position($0, hair: width))) }
    }

    /// Adds triangles as an occluder.
    /// - Parameter position: of a corner, in drawn pixels.
    private mutating func occlude(_ count: Int, _ triangles: [UInt16], _ position: (Int) -> SIMD4<Float>) {
        begin()
        for i in 0..<count {
            corners.append(RasterVertex(position: position(i), color: .zero, texture: .zero))
        }
        Self.occlude(&rasterizer, corners, from: first, triangles)
    }

    /// Draws a submesh's triangles.
    mutating func draw(_ submesh: borrowing Submesh, from first: Int, _ surface: RasterSurface) {
        Self.draw(&rasterizer, corners, from: first, submesh, surface)
    }

    // Static functions that take each part by itself: a span of one part would keep the whole from being changed.
    private static func occlude(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int, _ triangles: [UInt16]
    ) {
        rasterizer.occlude(corners.span.extracting(first..<corners.count), triangles.span)
    }

    private static func draw(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int,
        _ submesh: borrowing Submesh, _ surface: RasterSurface
    ) {
        rasterizer.draw(
            corners.span.extracting(first..<first + submesh.mesh.vertices.count), submesh.mesh.triangles.span,
            faces: submesh.surface == .closed ? .front : .both, surface)
    }
}
