import Frames
import JSON
import SystemKit
import Track

extension LayerKind {
    static let mesh = LayerKind("mesh", motion: [.swing], paint: .all, onFaces: { try MeshLayer(&$0, $1) })
}

/// A mesh on the head (`"kind": "mesh"`). It is shown as an impostor while the head moves little.
struct MeshLayer: Layer {
    private let mesh: HeadMesh
    /// Whether the mesh leans forward on a head that looks up.
    private let leans: Bool
    /// Whether the mesh takes the size of the head with its hair.
    let fitsHair: Bool
    let pressesHair: Bool

    /// Reads the layer's description, model and pictures.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let range = context.target.range
        let shadow = Float(try fields.number("shadow", in: 0...1, default: 0.5))
        let place = try fields.choice("place", default: MeshPlacement.head)
        fitsHair = try fields.bool("fitsHair", default: place == .hat)
        pressesHair = fitsHair && place == .hat
        leans = try fields.bool("leans", default: place == .hat)
        let frame = place.map.after(try fields.affineMap3D())
        var materials: [(name: String, material: Material)] = []
        for var entry in try fields.objects("materials") {
            let name = try entry.string("name")
            guard !materials.contains(where: { $0.name == name }) else {
                throw entry.wrong("name", "'\(name)', which is already used", allowed: "a unique name")
            }
            materials.append(
                (name, try Material(&entry, folder: context.folder, range: range, tint: context.style.tint)))
        }
        if context.style.tint != nil, !materials.contains(where: \.material.isTinted) {
            throw fields.wrong("tint", "set, but no material is tinted", allowed: "a material with \"tinted\": true")
        }
        var fine = MeshReader(materials: materials, frame: frame, .fine)
        var coarse = MeshReader(materials: materials, frame: frame, .coarse)
        for var part in try fields.objects("parts") {
            var same = part
            try fine.read(&part)
            try coarse.read(&same)
        }
        if fields.has("model") {
            let name = try fields.string("model")
            let model = try MeshModel(file: name, folder: context.folder, range: range)
            try fine.add(model, fields)
            try coarse.add(model, fields)
        }
        guard !fine.submeshes.isEmpty else {
            throw fields.wrong("parts", "an empty list", allowed: "at least one part, or a model")
        }
        func needed(_ submeshes: [Submesh]) -> [Submesh] {
            AmbientOcclusion.darken(submeshes).map { $0.droppingLevels(above: context.target.eyeDistance) }
        }
        let isHiding = try fields.bool("occluder", default: true)
        mesh = HeadMesh(
            fine: needed(fine.submeshes), coarse: needed(coarse.submeshes),
            occluder: isHiding ? Occluder(under: place == .hat ? place.map : nil) : nil, range: range,
            pivot: fine.pivot ?? frame.shift, shadow: shadow)
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let layout = canvas.frame.layout
        let state = HeadMesh.FrameState(
            view: HeadProjection(
                leans ? tracked.face.head.leaningHat : tracked.face.head, width: max(layout.width, layout.height),
                fit: fitsHair ? tracked.fit : HeadFit(),
                about: MeshPlacement.hat.map.shift),
            hair: pressesHair ? tracked.hair.around(tracked.fit) : HairWidth(),
            lighting: Lighting(appearance.lightApplied(of: tracked.light), range: mesh.range),
            // SIMD3 from components: the compiler sometimes builds an array for an array literal.
            swing: AffineMap3D(turn: SIMD3(appearance.swing.y, 0, appearance.swing.x)))
        let owner = Impostor.Owner(number: mesh.number, face: tracked.face.id)
        let slot = canvas.meshes.impostors.slot(of: owner)
        let moved = canvas.meshes.impostors.entries[slot].trackHead(
            tracked.face.head.origin, scale: tracked.face.head.scale)
        let detail = canvas.meshes.detail.reduced(
            by: canvas.meshes.impostors.entries[slot].motion, scale: tracked.face.head.scale, blur: tracked.blur)
        let request = HeadMesh.DrawCall(
            mesh: mesh, owner: owner, state: state, scale: tracked.face.head.scale, detail: detail,
            blur: tracked.blur)
        var map: Affine? = .identity
        let isGood = canvas.meshes.impostors.entries[slot].suffices(for: detail, hair: state.hair)
        let carried = isGood ? mesh.reprojection(canvas.meshes.impostors.entries[slot], state) : nil
        let maxDeviation = Impostor.maxLag * request.scale
        // A drawn pixel's error is as visible in a soft picture as a pixel's in a sharp one.
        let tolerance = 1 / detail.pixels + Impostor.smear * moved
        if let carried, carried.deviation <= min(tolerance, max(maxDeviation, 1)) {
            map = carried.map
        } else if let carried, canvas.meshes.mayLag, carried.deviation <= maxDeviation {
            map = carried.map
            let isOld = canvas.meshes.impostors.entries[slot].age > 1
            if isOld || carried.deviation > maxDeviation * Impostor.maxSecondLag { canvas.meshes.postpone(request) }
        } else if !request.draw(on: &canvas.meshes, slot, layout) {
            map = nil
        }
        guard let map else { return }
        compositeLayer(
            canvas.meshes.impostors.entries[slot].layer, moved: map,
            appearance.paint(litBy: tracked.light, noise: tracked.noise), within: Impostor.maxWarpError,
            onto: &canvas.frame)
    }
}
