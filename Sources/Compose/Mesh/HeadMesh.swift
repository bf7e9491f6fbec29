import Frames
import Synchronization
import SystemKit

/// Meshes in head space that are drawn on a head: lit like the face, and hidden where the head is in front of them.
struct HeadMesh: Sendable {
    /// A number that no other mesh has.
    let number = Self.numbers.add(1, ordering: .relaxed).newValue
    private static let numbers = Atomic(0)
    /// The same shapes with more and with fewer triangles.
    private let fine, coarse: [Submesh]
    private let occluder: Occluder?
    let range: ColorRange
    /// The point about which swinging parts rotate, in head space.
    private let pivot: SIMD3<Float>
    /// Strength of the contact shadow, 0...1.
    private let shadow: Float
    /// The z of a normal from which on blades aren't drawn: surfaces that face away by more than 30 degrees hide them.
    private static let beyond: Float = 0.5
    /// The least z of a sheet's normal for a reference corner. Sheets within 12 degrees of edge-on are almost
    /// invisible, and about to show the other side's light.
    private static let onEdge: Float = 0.2

    /// How far the contact shadow of a hat falls, and the radius of its blur, in head units.
    private static let (shadowFall, shadowBlur): (Float, Float) = (0.42, 0.225)
    /// The width or height, in head units, from which on a mesh casts such a shadow. What is smaller, as glasses or a
    /// clown's nose, lies closer to the head.
    private static let hatSize: Float = 1.3

    /// Makes a mesh of its submeshes.
    /// - Parameters:
    ///   - fine: all shapes, for large heads.
    ///   - coarse: the same with fewer triangles.
    ///   - occluder: the head, which hides what is behind it; nil: it hides nothing.
    ///   - pivot: the point about which swinging parts rotate, in head space.
    ///   - shadow: strength of the contact shadow, 0...1.
    init(
        fine: [Submesh], coarse: [Submesh], occluder: Occluder?, range: ColorRange, pivot: SIMD3<Float>, shadow: Float
    ) {
        (self.fine, self.coarse, self.occluder) = (fine, coarse, occluder)
        (self.range, self.pivot, self.shadow) = (range, pivot, shadow)
    }

    private func submeshes(_ division: MeshDetail.Division) -> [Submesh] { division == .fine ? fine : coarse }

    /// The call that draws a mesh on a head as it is in one frame, now or later.
    struct DrawCall: Sendable {
        let mesh: HeadMesh
        let owner: Impostor.Owner
        let state: FrameState
        /// Pixels per head unit.
        let scale: Float
        /// The detail with which it is drawn.
        let detail: MeshDetail
        /// The standard deviation of the picture's blur, pixels.
        let blur: Float

        /// Draws the mesh into an entry of the impostor cache.
        /// - Returns: false if none of it is near the frame.
        func draw(on scratch: inout MeshScratch, _ slot: Int, _ layout: FrameLayout) -> Bool {
            mesh.draw(on: &scratch, slot, state, scale: scale, detail, blur: blur, layout)
        }
    }

    /// The head's placement and light in one frame.
    struct FrameState: Sendable {
        let view: HeadProjection
        /// How much wider the hair is than what is worn.
        let hair: HairWidth
        let lighting: Lighting
        let swing: AffineMap3D
    }

    /// The affine map that moves the cached impostor to its place in this frame, and the remaining deviation; nil if
    /// there is no such map.
    func reprojection(_ impostor: borrowing Impostor, _ state: FrameState) -> (map: Affine, deviation: Float)? {
        var positions = Impostor.Positions(repeating: .zero)
        var deviation = Impostor.Deviation.ofColors
        let submeshes = submeshes(impostor.detail.division)
        for i in impostor.referenceCorners.indices {
            let reference = impostor.referenceCorners[i]
            let submesh = submeshes[reference.submesh]
            let seen = projected(submesh.mesh.vertices[reference.vertex], state)
            let color = color(submesh.mesh.vertices[reference.vertex], seen.facing, submesh, state.lighting)
            let off = color - reference.color
            deviation.add((off * off).max())
            positions[i] = Point(seen.position.x, seen.position.y)
        }
        guard let carried = impostor.map(to: positions) else { return nil }
        return (carried.map, max(carried.deviation, deviation.size(over: impostor.referenceCorners.count)))
    }

    /// Draws the mesh into an entry of the impostor cache.
    /// - Parameter scale: pixels per head unit.
    /// - Returns: false if none of it is near the frame.
    private func draw(
        on scratch: inout MeshScratch, _ slot: Int, _ state: FrameState, scale: Float, _ detail: MeshDetail,
        blur: Float, _ layout: FrameLayout
    ) -> Bool {
        let submeshes = submeshes(detail.division)
        scratch.corners.removeAll(keepingCapacity: true)
        var (low, high) = (Point(repeating: .infinity), Point(repeating: -.infinity))
        for submesh in submeshes {
            scratch.begin()
            for vertex in submesh.mesh.vertices {
                let seen = projected(vertex, state)
                if submesh.surface == .fur && seen.facing.z > Self.beyond {
                    // All three corners of the blade: a triangle without area isn't drawn.
                    scratch.corners.append(RasterVertex(position: .zero, color: .zero, texture: .zero))
                    continue
                }
                var corner = corner(vertex, seen, submesh, state.lighting)
                low = pointwiseMin(low, Point(corner.position.x, corner.position.y))
                high = pointwiseMax(high, Point(corner.position.x, corner.position.y))
                corner.position = detail.drawn(corner.position)
                scratch.corners.append(corner)
            }
        }
        // The shadow always falls downward to some extent, so that a brim always shades the brow.
        let light = state.lighting.direction
        let size = min(1, (high - low).min() / (Self.hatSize * scale))
        let fall = Point(0 - light.x * 0.5, max(0.45, 0 - light.y)) * (Self.shadowFall * size * scale)
        let shadowBlur = Self.shadowBlur * size * scale
        if shadow > 0, let head = occluder?.bounds(state.view, hair: state.hair) {
            // The blur reaches twice its radius, and that rounded to cells of the shadow, or it would end in a line.
            let cell = Rasterizer.shadowCell / detail.pixels
            let reach = 2 * (shadowBlur + cell)
            // Only the head receives shadow; one cell beside it shows that it ends.
            let shadowLow = pointwiseMax(low + fall - reach, head.low - cell)
            let shadowHigh = pointwiseMin(high + fall + reach, head.high + cell)
            (low, high) = (pointwiseMin(low, shadowLow), pointwiseMax(high, shadowHigh))
        }
        let border = Float(warpBorder)
        let region = PixelRect(covering: low - border, high + border)
        guard let region, scratch.beginImpostor(slot, region, detail, hair: state.hair, in: layout) else {
            return false
        }
        let drawn = scratch.layer.region
        scratch.rasterizer.begin(drawn, range: range)
        if let occluder { scratch.occlude(occluder, state.view, hair: state.hair, detail) }
        selectCandidates(&scratch.candidates, of: submeshes, among: scratch.corners, state)
        for top in stride(from: 0, to: drawn.height, by: scratch.rasterizer.bandHeight) {
            scratch.rasterizer.select(top..<min(drawn.height, top + scratch.rasterizer.bandHeight))
            // Transparent submeshes come last.
            for pass in 0..<2 {
                var first = 0
                for submesh in submeshes {
                    let count = submesh.mesh.vertices.count
                    if (submesh.material.opacity < 1) == (pass == 1) {
                        scratch.draw(submesh, from: first, surface(submesh, scale * detail.pixels))
                    }
                    first += count
                }
            }
            scratch.findVisibleCandidates()
            scratch.rasterizer.resolve(into: &scratch.layer)
        }
        recordCorners(on: &scratch, slot, detail)
        if shadow > 0 {
            scratch.rasterizer.castShadow(
                in: &scratch.layer, offset: fall * detail.pixels, blur: shadowBlur * detail.pixels,
                strength: shadow, color: state.lighting.shade, range: range, border: warpBorder)
        }
        scratch.finishImpostor(slot, detail, blur: blur)
        return true
    }

    /// Selects corners that face the camera, some from each submesh. Those that turn out to be visible become the
    /// impostor's reference corners.
    /// - Parameter corners: of all submeshes, in their order, in drawn pixels.
    private func selectCandidates(
        _ candidates: inout [MeshScratch.Candidate], of submeshes: [Submesh], among corners: borrowing [RasterVertex],
        _ state: FrameState
    ) {
        candidates.removeAll(keepingCapacity: true)
        candidates.reserveCapacity(max(Impostor.maxReferenceCorners, 4 * submeshes.count))
        let all = submeshes.reduce(0) { $0 + $1.mesh.vertices.count }
        let spare = max(0, Impostor.maxReferenceCorners - 4 * submeshes.count)
        var first = 0
        for (number, submesh) in submeshes.enumerated() {
            let count = submesh.mesh.vertices.count
            var phase: Float = 0
            for _ in 0..<4 + spare * count / max(all, 1) {
                // Steps by the golden ratio, which spread over the submesh however its vertices are numbered.
                phase += 0.618_034
                phase -= phase.rounded(.down)
                let i = min(Int(phase * Float(count)), count - 1)
                guard i >= 0 else { continue }
                let facing = state.view.turned(submesh.mesh.vertices[i].normal).z
                guard submesh.surface == .doubleSided ? abs(facing) > Self.onEdge : facing < 0 else { continue }
                candidates.append(MeshScratch.Candidate(submesh: number, vertex: i, corner: corners[first + i]))
            }
            first += count
        }
    }

    /// Records the visible corners, once the picture is drawn without its shadow.
    private func recordCorners(on scratch: inout MeshScratch, _ slot: Int, _ detail: MeshDetail) {
        for candidate in scratch.candidates where candidate.isVisible {
            let point = Point(candidate.corner.position.x, candidate.corner.position.y)
            guard scratch.layer.isDrawn(at: point) else { continue }
            scratch.impostors.entries[slot].recordCorner(
                Impostor.Corner(
                    submesh: candidate.submesh, vertex: candidate.vertex, position: detail.shown(point),
                    color: candidate.corner.color))
        }
    }

    /// A vertex's position in the picture, and its normal in the picture's axes.
    @inline(__always)
    private func projected(_ vertex: Mesh.Vertex, _ state: FrameState) -> (position: SIMD4<Float>, facing: SIMD3<Float>)
    {
        var (position, normal) = (vertex.position, vertex.normal)
        if vertex.swing > 0 {
            position += (state.swing(position - pivot) + pivot - position) * vertex.swing
            normal = normalized(normal + (state.swing(normal) - normal) * vertex.swing)
        }
        return (state.view(position), state.view.turned(normal))
    }

    /// The lit colour of a vertex.
    @inline(__always)
    private func color(
        _ vertex: Mesh.Vertex, _ facing: SIMD3<Float>, _ submesh: Submesh, _ lighting: Lighting
    ) -> SIMD4<Float> {
        let material = submesh.material
        // The inner side of a sheet has the opposite normal, and is darker.
        let isInside = submesh.surface == .doubleSided && facing.z > 0
        // A picture has its own colours, in the light on white.
        let base = material.picture == nil ? material.color : SIMD3(Float(range.lumaSpan), 0, 0)
        return lighting.color(
            base, material.finish, normal: isInside ? facing * -1 : facing,
            shade: isInside ? vertex.shade * material.inside : vertex.shade)
    }

    /// The vertex for the rasterizer.
    private func corner(
        _ vertex: Mesh.Vertex, _ seen: (position: SIMD4<Float>, facing: SIMD3<Float>), _ submesh: Submesh,
        _ lighting: Lighting
    ) -> RasterVertex {
        let material = submesh.material
        let texture: SIMD2<Float>
        if let picture = material.picture {
            // One transparent pixel surrounds the art, and whole coordinates are pixel centres.
            texture = vertex.uv * [Float(picture.size.x), Float(picture.size.y)] + 0.5
        } else {
            texture = vertex.grainUV * (GrainTextures.samples / GrainTextures.size)
        }
        return RasterVertex(
            position: seen.position, color: color(vertex, seen.facing, submesh, lighting), texture: texture)
    }

    /// The surface with which the rasterizer fills a submesh.
    /// - Parameter scale: pixels per head unit.
    private func surface(_ submesh: Submesh, _ scale: Float) -> RasterSurface {
        let material = submesh.material
        if submesh.surface == .fur { return .plain }
        if material.opacity < 1 { return .glass(opacity: material.opacity) }
        if let picture = material.picture {
            let whole = picture.whole
            let level = picture.level(forScale: whole.density * submesh.texelScale(picture, scale))
            let shrink = level.density / whole.density
            return .picture(
                level.sprite, shrink: shrink,
                shift: [level.map.tx - shrink * whole.map.tx, level.map.ty - shrink * whole.map.ty])
        }
        guard let grain = material.grain else { return .plain }
        return .grain(grain, level: grain.level(samplesPerPixel: GrainTextures.samples / GrainTextures.size / scale))
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
