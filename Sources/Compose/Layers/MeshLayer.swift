import Frames
import JSON
import Synchronization
import Track

/// Meshes on the head (`"kind": "solid"`): triangles in head space, lit like the face, and hidden where the head is in
/// front of them.
struct MeshLayer: Layer {
    /// A mesh with one material.
    struct Piece: Sendable {
        let mesh: Mesh
        private(set) var material: Material
        let build: Build
        /// Head units that the picture's width and height would cover if the picture were stretched everywhere as much
        /// as where it is stretched most.
        let stretch: SIMD2<Float>

        init(mesh: Mesh, material: Material, build: Build) {
            (self.mesh, self.material, self.build) = (mesh, material, build)
            stretch = material.picture == nil ? .zero : mesh.stretch
        }

        /// A copy without the picture's levels that are finer than any head needs.
        /// - Parameter scale: the most pixels per head unit.
        func upTo(scale: Float) -> Piece {
            var piece = self
            piece.material.picture = material.picture.map {
                $0.upTo(scale: texelScale($0, scale) * $0.whole.density)
            }
            return piece
        }

        /// Frame pixels per picture pixel where the picture is stretched most.
        /// - Parameter scale: frame pixels per head unit.
        func texelScale(_ picture: borrowing Art, _ scale: Float) -> Float {
            let (width, height) = (Float(picture.size.x), Float(picture.size.y))
            return scale * max(stretch.x / max(width, 1), stretch.y / max(height, 1))
        }

        /// How a mesh is shaded and culled.
        enum Build {
            /// A closed surface: only its outside is visible.
            case body
            /// An open surface, visible from both sides.
            case sheet
            /// Blades of fur, lit like the surface that they stand on.
            case fur
        }
    }

    /// Unique number of the layer.
    private let number = Self.numbers.add(1, ordering: .relaxed).newValue
    private static let numbers = Atomic(0)
    private let pieces: [Piece]
    private let occluder: Occluder?
    private let range: ColorRange
    /// The point about which swinging parts rotate, in head space.
    private let pivot: SIMD3<Float>
    /// Strength of the contact shadow, 0...1.
    private let shadow: Float
    /// The z of a normal from which on blades aren't drawn: surfaces that face away by more than 30 degrees hide them.
    private static let beyond: Float = 0.5
    /// The least z of a sheet's normal for a reference corner. Sheets within 12 degrees of edge-on are almost
    /// invisible, and about to show the other side's light.
    private static let onEdge: Float = 0.2

    /// Reads the layer's description, model and pictures.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ parts: LayerParts) throws {
        range = parts.target.range
        shadow = Float(try fields.number("shadow", in: 0...1, default: 0.5))
        let place = try fields.choice("place", default: MeshPlacement.head)
        let frame = place.map.after(try fields.affineMap3D())
        var materials: [(name: String, material: Material)] = []
        for var entry in try fields.objects("materials") {
            let name = try entry.string("name")
            guard !materials.contains(where: { $0.name == name }) else {
                throw entry.wrong("name", "'\(name)', which is there already", allowed: "a name of its own")
            }
            materials.append((name, try Material(&entry, parts)))
        }
        if parts.style.tint != nil, !materials.contains(where: \.material.isTinted) {
            throw fields.wrong("tint", "for no material", allowed: "a material with \"tinted\": true")
        }
        var reader = MeshReader(materials: materials, frame: frame)
        for var part in try fields.objects("parts") { try reader.read(&part) }
        if fields.has("model") {
            let name = try fields.string("model")
            try reader.add(try MeshModel(file: name, folder: parts.folder, range: range), fields)
        }
        pieces = reader.pieces.map { $0.upTo(scale: parts.target.eyeDistance) }
        pivot = reader.pivot ?? frame.shift
        guard !pieces.isEmpty else {
            throw fields.wrong("parts", "an empty list", allowed: "at least one part, or a model")
        }
        let isHiding = try fields.bool("occluder", default: true)
        occluder = isHiding ? Occluder(under: place == .hat ? place.map : nil) : nil
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let layout = canvas.frame.layout
        let pose = Pose(
            view: HeadProjection(tracked.face.head, width: max(layout.width, layout.height)),
            lighting: Lighting(appearance.lightApplied(of: tracked.light), range: range),
            // SIMD3 from components: the compiler sometimes builds an array for an array literal.
            swing: AffineMap3D(turn: SIMD3(appearance.swing.y, 0, appearance.swing.x)))
        let owner = Impostor.Owner(number: number, face: tracked.face.id)
        let place = canvas.meshes.impostors.place(of: owner)
        let request = DrawRequest(meshLayer: self, owner: owner, pose: pose, scale: tracked.face.head.scale)
        var map: Affine? = .identity
        let carried = reprojection(canvas.meshes.impostors.entries[place], pose)
        let most = Impostor.mostLag * request.scale
        let tolerance = canvas.meshes.impostors.entries[place].trackHead(tracked.face.head.origin)
        if let carried, carried.deviation <= min(tolerance, max(most, 1)) {
            map = carried.map
        } else if let carried, canvas.meshes.mayLag, carried.deviation <= most {
            map = carried.map
            canvas.meshes.deferredSearchTime(request)
        } else if !request.draw(on: &canvas.meshes, place, layout) {
            map = nil
        }
        guard let map else { return }
        compositeLayer(
            canvas.meshes.impostors.entries[place].layer, moved: map, appearance.paint, within: Impostor.maxWarpError,
            onto: &canvas.frame)
    }

    /// A request to draw a mesh layer on a head as it is in one frame.
    struct DrawRequest {
        fileprivate let meshLayer: MeshLayer
        let owner: Impostor.Owner
        fileprivate let pose: Pose
        /// Pixels per head unit.
        fileprivate let scale: Float

        /// Draws the layer into an entry of the impostor cache.
        /// - Returns: false if none of it is near the frame.
        func draw(on scratch: inout MeshScratch, _ place: Int, _ layout: FrameLayout) -> Bool {
            meshLayer.draw(on: &scratch, place, pose, scale: scale, layout)
        }
    }

    /// The head's placement and light in one frame.
    fileprivate struct Pose {
        let view: HeadProjection
        let lighting: Lighting
        let swing: AffineMap3D
    }

    /// The affine map that moves the cached impostor to its place in this frame, and the remaining deviation; nil if
    /// there is no such map.
    private func reprojection(_ impostor: borrowing Impostor, _ pose: Pose) -> (map: Affine, deviation: Float)? {
        var places = Impostor.Places(repeating: .zero)
        var deviation = Impostor.Deviation.ofColors
        for i in impostor.referenceCorners.indices {
            let reference = impostor.referenceCorners[i]
            let piece = pieces[reference.piece]
            let seen = seen(piece.mesh.vertices[reference.vertex], pose)
            let color = color(piece.mesh.vertices[reference.vertex], seen.facing, piece, pose.lighting)
            let off = color - reference.color
            deviation.add((off * off).max())
            places[i] = Point(seen.place.x, seen.place.y)
        }
        guard let carried = impostor.map(to: places) else { return nil }
        return (carried.map, max(carried.deviation, deviation.size(over: impostor.referenceCorners.count)))
    }

    /// Draws the layer into an entry of the impostor cache.
    /// - Parameter scale: pixels per head unit.
    /// - Returns: false if none of it is near the frame.
    private func draw(
        on scratch: inout MeshScratch, _ place: Int, _ pose: Pose, scale: Float, _ layout: FrameLayout
    ) -> Bool {
        scratch.corners.removeAll(keepingCapacity: true)
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for piece in pieces {
            scratch.begin()
            for vertex in piece.mesh.vertices {
                let seen = seen(vertex, pose)
                if piece.build == .fur && seen.facing.z > Self.beyond {
                    // All three corners of the blade: a triangle without area isn't drawn.
                    scratch.corners.append(RasterVertex(position: .zero, color: .zero, texture: .zero))
                    continue
                }
                let corner = corner(vertex, seen, piece, pose.lighting)
                low = pointwiseMin(low, Point(corner.position.x, corner.position.y))
                high = pointwiseMax(high, Point(corner.position.x, corner.position.y))
                scratch.corners.append(corner)
            }
        }
        // The shadow always falls downward to some extent, so that a brim always shades the brow.
        let light = pose.lighting.direction
        let fall = Point(0 - light.x * 0.5, max(0.45, 0 - light.y)) * (0.2 * scale)
        let spread = shadow > 0 ? Point(repeating: 0.15 * scale) : .zero
        let border = Float(warpBorder)
        let region = PixelRect(
            covering: pointwiseMin(low, low + fall - spread) - border, pointwiseMax(high, high + fall + spread) + border
        )
        guard let region, scratch.impostors.entries[place].begin(region, in: layout) else { return false }
        let drawn = scratch.impostors.entries[place].layer.region
        scratch.rasterizer.begin(drawn, range: range)
        if let occluder {
            scratch.occlude(occluder.covered, pose.view, hides: false)
            scratch.occlude(occluder.mesh, pose.view, hides: true)
        }
        for top in stride(from: 0, to: drawn.height, by: scratch.rasterizer.bandHeight) {
            scratch.rasterizer.select(top..<min(drawn.height, top + scratch.rasterizer.bandHeight))
            // Transparent pieces come last.
            for pass in 0..<2 {
                var first = 0
                for piece in pieces {
                    let count = piece.mesh.vertices.count
                    if (piece.material.opacity < 1) == (pass == 1) {
                        scratch.draw(piece, from: first, surface(piece, scale))
                    }
                    first += count
                }
            }
            scratch.rasterizer.resolve(into: &scratch.impostors.entries[place].layer)
        }
        recordCorners(on: &scratch.impostors.entries[place], scratch.corners, pose)
        if shadow > 0 {
            scratch.rasterizer.castShadow(
                in: &scratch.impostors.entries[place].layer, offset: fall, blur: 0.1 * scale, strength: shadow,
                range: range,
                border: warpBorder)
        }
        scratch.impostors.entries[place].layer.markArt()
        return true
    }

    /// Records the positions and colours of visible corners, some from each piece.
    /// - Parameter corners: of all pieces, in their order.
    private func recordCorners(on impostor: inout Impostor, _ corners: borrowing [RasterVertex], _ pose: Pose) {
        let all = pieces.reduce(0) { $0 + $1.mesh.vertices.count }
        let spare = max(0, Impostor.maxReferenceCorners - 4 * pieces.count)
        var first = 0
        for (number, piece) in pieces.enumerated() {
            let count = piece.mesh.vertices.count
            var place: Float = 0
            for _ in 0..<4 + spare * count / max(all, 1) {
                // Steps by the golden ratio, which spread over the piece however its vertices are numbered.
                place += 0.618_034
                place -= place.rounded(.down)
                let i = min(Int(place * Float(count)), count - 1)
                guard i >= 0 else { continue }
                let facing = pose.view.turned(piece.mesh.vertices[i].normal).z
                guard piece.build == .sheet ? abs(facing) > Self.onEdge : facing < 0 else { continue }
                let corner = corners[first + i]
                guard impostor.shows(Point(corner.position.x, corner.position.y)) else { continue }
                impostor.recordCorner(
                    Impostor.Corner(
                        piece: number, vertex: i, position: Point(corner.position.x, corner.position.y),
                        color: corner.color))
            }
            first += count
        }
    }

    /// A vertex's position in the picture, and its normal in the picture's axes.
    @inline(__always)
    private func seen(_ vertex: Mesh.Vertex, _ pose: Pose) -> (place: SIMD4<Float>, facing: SIMD3<Float>) {
        var (place, normal) = (vertex.position, vertex.normal)
        if vertex.swing > 0 {
            place += (pose.swing(place - pivot) + pivot - place) * vertex.swing
            normal = normalized(normal + (pose.swing(normal) - normal) * vertex.swing)
        }
        return (pose.view(place), pose.view.turned(normal))
    }

    @inline(__always)
    /// The lit colour of a vertex.
    private func color(
        _ vertex: Mesh.Vertex, _ facing: SIMD3<Float>, _ piece: Piece, _ lighting: Lighting
    ) -> SIMD4<Float> {
        let material = piece.material
        // The inner side of a sheet has the opposite normal, and is darker.
        let isInside = piece.build == .sheet && facing.z > 0
        return lighting.color(
            material.color, material.finish, normal: isInside ? facing * -1 : facing,
            shade: isInside ? vertex.shade * material.inside : vertex.shade)
    }

    /// The vertex for the rasterizer.
    private func corner(
        _ vertex: Mesh.Vertex, _ seen: (place: SIMD4<Float>, facing: SIMD3<Float>), _ piece: Piece, _ lighting: Lighting
    ) -> RasterVertex {
        let material = piece.material
        let texture: SIMD2<Float>
        if let picture = material.picture {
            // One transparent pixel surrounds the art, and whole coordinates are pixel centres.
            texture = vertex.part * [Float(picture.size.x), Float(picture.size.y)] + 0.5
        } else {
            texture = vertex.along * (GrainTextures.samples / GrainTextures.size)
        }
        return RasterVertex(
            position: seen.place, color: color(vertex, seen.facing, piece, lighting), texture: texture)
    }

    /// The surface with which the rasterizer fills a piece.
    /// - Parameter scale: pixels per head unit.
    private func surface(_ piece: Piece, _ scale: Float) -> RasterSurface {
        let material = piece.material
        if piece.build == .fur { return .plain }
        if material.opacity < 1 { return .glass(opacity: material.opacity) }
        if let picture = material.picture {
            let whole = picture.whole
            let level = picture.level(forScale: whole.density * piece.texelScale(picture, scale))
            let shrink = level.density / whole.density
            return .picture(
                level.sprite, shrink: shrink,
                shift: [level.map.tx - shrink * whole.map.tx, level.map.ty - shrink * whole.map.ty])
        }
        guard let grain = material.grain else { return .plain }
        return .grain(grain, level: grain.level(samplesPerPixel: GrainTextures.samples / GrainTextures.size / scale))
    }
}

/// Perspective projection of head space, with an average webcam's lens and the vanishing point at the head's origin.
struct HeadProjection {
    private let head: HeadPlacement
    /// The third row of the head's rotation: from head space to depth.
    private let away: SIMD3<Float>
    private let scale: Float
    /// Distance from the camera to the eyes, in eye distances.
    private let distance: Float

    /// Focal length relative to the picture's width: at a distance of 1, the picture shows a width of 1.1 (58 degrees),
    /// as most webcams do at 720p.
    private static let focalLength: Float = 0.9
    /// The least distance of the camera, in eye distances. Photos with larger heads are mostly crops of larger
    /// pictures.
    private static let nearest: Float = 7

    init(_ head: HeadPlacement, width: Int) {
        self.head = head
        scale = max(head.scale, 1e-3)
        away = cross(head.x, head.y) / (scale * scale)
        distance = max(Self.nearest, Self.focalLength * Float(width) / scale)
    }

    /// Projects a point. x and y are pixels; z is depth, -1 over the distance from the camera in head units: linear in
    /// the picture, and smaller for nearer points.
    @inline(__always)
    func callAsFunction(_ p: SIMD3<Float>) -> SIMD4<Float> {
        let inverse = 1 / max(distance + dot(away, p), 1)
        let factor = distance * inverse
        return SIMD4(
            head.origin.x + dot(head.x, p) * factor, head.origin.y + dot(head.y, p) * factor, 0 - inverse, 0)
    }

    /// A direction of head space in the picture's axes.
    @inline(__always)
    func turned(_ v: SIMD3<Float>) -> SIMD3<Float> {
        SIMD3(dot(head.x, v) / scale, dot(head.y, v) / scale, dot(away, v))
    }
}

extension PixelRect {
    /// The smallest rectangle of whole pixels that contains both corners; nil if they aren't finite or are far away.
    init?(covering low: Point, _ high: Point) {
        let limit: Float = 100_000
        guard low.x > -limit, low.y > -limit, high.x < limit, high.y < limit, low.x <= high.x, low.y <= high.y else {
            return nil
        }
        let (x, y) = (Int(low.x.rounded(.down)), Int(low.y.rounded(.down)))
        self.init(x: x, y: y, width: Int(high.x) + 2 - x, height: Int(high.y) + 2 - y)
    }
}

/// The working memory of mesh layers, kept from frame to frame.
struct MeshScratch: ~Copyable {
    var rasterizer = Rasterizer()
    var impostors = ImpostorCache()
    var corners: [RasterVertex] = []
    /// Whether slightly outdated impostors may be shown once more and redrawn by `drawDeferred`.
    var mayLag = false
    private var deferred: [MeshLayer.DrawRequest] = []
    private var first = 0

    init() { deferred.reserveCapacity(ImpostorCache.most) }

    /// Queues a request for `drawDeferred`.
    fileprivate mutating func deferredSearchTime(_ request: MeshLayer.DrawRequest) {
        if deferred.count < ImpostorCache.most { deferred.append(request) }
    }

    /// Redraws the impostors that were shown although they were outdated, with the heads' placements of that frame.
    /// - Parameter layout: of that frame.
    mutating func drawDeferred(_ layout: FrameLayout) {
        for i in deferred.indices {
            let request = deferred[i]
            guard let place = impostors.find(request.owner) else { continue }
            _ = request.draw(on: &self, place, layout)
        }
        deferred.removeAll(keepingCapacity: true)
    }

    /// Starts a mesh: the corners appended from now on belong to it.
    mutating func begin() { first = corners.count }

    /// Adds a mesh as an occluder.
    /// - Parameter hides: false for a mesh that only receives shadows.
    mutating func occlude(_ mesh: borrowing Mesh, _ view: HeadProjection, hides: Bool) {
        begin()
        for vertex in mesh.vertices {
            var position = view(vertex.position)
            // The largest depth.
            if !hides { position.z = 0 }
            corners.append(RasterVertex(position: position, color: .zero, texture: .zero))
        }
        Self.occlude(&rasterizer, corners, from: first, mesh.triangles)
    }

    /// Draws a piece's triangles.
    mutating func draw(_ piece: borrowing MeshLayer.Piece, from first: Int, _ surface: RasterSurface) {
        Self.draw(&rasterizer, corners, from: first, piece, surface)
    }

    // Static functions that take each part by itself: a span of one part would keep the whole from being changed.
    private static func occlude(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int, _ triangles: [UInt16]
    ) {
        rasterizer.occlude(corners.span.extracting(first..<corners.count), triangles.span)
    }

    private static func draw(
        _ rasterizer: inout Rasterizer, _ corners: borrowing [RasterVertex], from first: Int,
        _ piece: borrowing MeshLayer.Piece, _ surface: RasterSurface
    ) {
        rasterizer.draw(
            corners.span.extracting(first..<first + piece.mesh.vertices.count), piece.mesh.triangles.span,
            faces: piece.build == .body ? .front : .both, surface)
    }
}
