import JSON

/// The properties of a layer kind that other code uses. Each kind is declared next to its layer.
struct LayerKind: Sendable {
    /// All kinds, in the order in which messages list them. To add one, declare it in a new file of this folder, list
    /// it here, and describe it in Masks/mask.schema.json, from which `make reference` writes a row of docs/masks.md.
    static let all: [LayerKind] = [
        .sprite, .mesh, .skin, .makeup, .anonymize, .faceBlend, .swap, .background, .effect, .frame, .particles, .text,
        .objects, .stamps,
    ]

    /// Reads which options a layer's description gives to the user: each by its name, with its value if the user has
    /// chosen none.
    typealias Options = @Sendable (_ layer: JSON) -> [String: (option: MaskOption, defaultValue: String?)]

    /// Reads the keys that only layers of this kind have.
    typealias Reader<Content> = @Sendable (_ fields: inout Fields, _ context: LayerContext) throws -> Content

    private enum Scope: Sendable {
        case faces(Reader<any Layer>)
        case picture(Reader<any PictureLayer>)
        case facesIf(key: String, Reader<any Layer & PictureLayer>)
    }

    /// The value of "kind" in `mask.json`.
    let name: String
    /// The keys of "motion" that the layer has.
    let motion: Set<Motion.Key>
    /// The options of the layer's user, besides colours and palettes, which layers of several kinds have.
    let options: Options
    /// Whether a layer on the whole picture can lie behind the people.
    let allowsBehind: Bool
    /// Whether the layer needs the things that the user has taught.
    let needsThings: Bool
    /// The keys of its art's paint that the layer has.
    let paint: Set<LayerStyle.PaintKey>
    /// What a layer hides, by its description.
    let hiddenParts: @Sendable (_ layer: JSON) -> HiddenParts
    private let scope: Scope

    private init(
        _ name: String, _ scope: Scope, motion: Set<Motion.Key> = [], options: @escaping Options = { _ in [:] },
        allowsBehind: Bool = false, needsThings: Bool = false, paint: Set<LayerStyle.PaintKey> = [],
        hiddenParts: @escaping @Sendable (_ layer: JSON) -> HiddenParts = { _ in [] }
    ) {
        self.hiddenParts = hiddenParts
        (self.name, self.scope, self.options, self.paint) = (name, scope, options, paint)
        (self.motion, self.allowsBehind, self.needsThings) = (motion, allowsBehind, needsThings)
    }

    /// Makes a kind whose layers are drawn on faces.
    init(
        _ name: String, motion: Set<Motion.Key> = [], paint: Set<LayerStyle.PaintKey> = [],
        hiddenParts: @escaping @Sendable (_ layer: JSON) -> HiddenParts = { _ in [] },
        onFaces read: @escaping Reader<any Layer>
    ) {
        self.init(name, .faces(read), motion: motion, paint: paint, hiddenParts: hiddenParts)
    }

    /// Makes a kind whose layers are drawn once, on the whole picture.
    init(
        _ name: String, motion: Set<Motion.Key> = [], options: @escaping Options = { _ in [:] },
        allowsBehind: Bool = true, needsThings: Bool = false,
        hiddenParts: @escaping @Sendable (_ layer: JSON) -> HiddenParts = { _ in [] },
        onPicture read: @escaping Reader<any PictureLayer>
    ) {
        self.init(
            name, .picture(read), motion: motion, options: options, allowsBehind: allowsBehind,
            needsThings: needsThings, hiddenParts: hiddenParts)
    }

    /// Makes a kind whose layers are drawn on faces if their description has a key, or else on the whole picture.
    init(
        _ name: String, options: @escaping Options, onFacesIf key: String,
        read: @escaping Reader<any Layer & PictureLayer>
    ) {
        self.init(name, .facesIf(key: key, read), options: options, allowsBehind: true)
    }

    /// The kind with a name; nil if there is none.
    static func named(_ name: String) -> LayerKind? { all.first { $0.name == name } }

    /// The names of all kinds that have a property, for messages: "sprite and mesh".
    static func names(_ property: (LayerKind) -> Bool) -> String {
        all.filter(property).map(\.name).joined(separator: " and ")
    }

    /// Whether a layer of this kind is drawn on faces, not on the whole picture.
    /// - Parameter has: whether the layer's object in `mask.json` has a key.
    func isOnFaces(_ has: (String) -> Bool) -> Bool {
        switch scope {
        case .faces: true
        case .picture: false
        case .facesIf(let key, _): has(key)
        }
    }

    /// Reads the keys that only layers of this kind have, and makes the layer.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    func read(_ fields: inout Fields, _ context: LayerContext) throws -> MaskLayer.Content {
        switch scope {
        case .faces(let read): return .face(try read(&fields, context))
        case .picture(let read): return .picture(try read(&fields, context))
        case .facesIf(let key, let read):
            let layer = try read(&fields, context)
            return fields.has(key) ? .face(layer) : .picture(layer)
        }
    }
}
