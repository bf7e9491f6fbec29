import Frames
import JSON
import Track

extension LayerKind {
    static let sprite = LayerKind(
        "sprite", motion: .all, paint: .all, onFaces: { try SpriteLayer(&$0, $1) })
}

/// A layer with a picture that is pinned to landmarks. One pin places it, with scale and roll from the head; two define
/// a similarity transform, three an affine map; more warp it, so that a beard follows the jaw.
struct SpriteLayer: Layer {
    /// A point of the art that is placed on a point of the face.
    struct Pin: Sendable {
        /// Position in art units (an SVG's viewBox, a PNG's pixels).
        let art: Point
        let face: Anchor
    }

    /// Whether the lips are covered by the art or visible through it.
    enum Mouth: String, CaseIterable { case covered, through }

    /// The animation frames; one if the art isn't animated.
    let pictures: [Art]
    let timeline: Timeline
    let pins: [Pin]
    /// Distance between the eyes in art units. Used with one pin.
    let eyeDistance: Float
    /// The warp grid; nil if an affine map places the art directly on the frame.
    let spline: ThinPlateSpline?
    let lips: Mouth

    /// The most pins.
    private static let maxPins = 16

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let moving = context.style.motion.frames
        let names = moving.isEmpty ? [try fields.string("art")] : moving.map(\.art)
        if !moving.isEmpty, fields.has("art") {
            throw fields.wrong("art", "used together with 'motion.frames'", allowed: "only one of them")
        }
        lips = try fields.choice("lips", default: .covered)
        pins = try fields.objects("pins").map { pin in
            var pin = pin
            let at = try pin.numbers("art", count: 2)
            let face = try pin.string("face")
            guard let anchor = Anchor(rawValue: face) else {
                throw pin.unknown("face", face, among: Anchor.allCases.map(\.rawValue), what: "landmark")
            }
            try pin.finish()
            return Pin(art: Point(Float(at[0]), Float(at[1])), face: anchor)
        }
        guard (1...Self.maxPins).contains(pins.count) else {
            throw fields.wrong("pins", "a list of \(pins.count) pins", allowed: "1 to \(Self.maxPins)")
        }
        guard Self.canHold(pins) else {
            throw fields.wrong(
                "pins", "a list with pins at the same place, or three on one line",
                allowed: "pins apart from each other")
        }
        guard pins.count == 1 || context.style.motion.swing == nil else {
            throw fields.wrong(
                "motion", "an object with 'swing', for art with \(pins.count) pins",
                allowed: "one pin, about which it swings")
        }
        let wantsDistance = pins.count == 1
        let distance = try fields.number("eyeDistance", in: 1...10_000, default: wantsDistance ? nil : 100)
        eyeDistance = Float(distance)
        let perUnit = wantsDistance ? 1 / eyeDistance : Self.eyeDistances(per: pins)
        let touch = { (raster: inout RGBAImage) in
            context.style.tint?.apply(&raster)
            return
        }
        let repetition = context.style.motion.repetition
        if moving.isEmpty,
            let animation = try Art.loadAnimation(
                file: names[0], folder: context.folder, range: context.target.range, touch: touch)
        {
            pictures = animation.pictures
            timeline = Timeline(
                durations: animation.milliseconds, repetition ?? (animation.plays == 0 ? .forever : .once))
        } else {
            pictures = try names.map {
                try Art(
                    file: $0, folder: context.folder, density: context.target.eyeDistance * perUnit,
                    range: context.target.range, touch: touch)
            }
            timeline = Timeline(
                durations: moving.isEmpty ? [1] : moving.map(\.milliseconds), repetition ?? .forever)
        }
        spline = pins.count > 3 || lips == .through ? try Self.spline(pictures, pins, fields) : nil
    }

    /// Whether two or three pins define where art is. More pins are checked when the warp is computed.
    private static func canHold(_ pins: [Pin]) -> Bool {
        switch pins.count {
        case 2: (pins[1].art - pins[0].art).length > 1e-3
        case 3:
            Affine(
                a: pins[1].art.x - pins[0].art.x, b: pins[2].art.x - pins[0].art.x, c: pins[1].art.y - pins[0].art.y,
                d: pins[2].art.y - pins[0].art.y, tx: 0, ty: 0
            ).inverse != nil
        default: true
        }
    }

    /// The warp grid over all animation frames.
    /// - Throws: `Problem` if the pins define no warp.
    private static func spline(_ pictures: [Art], _ pins: [Pin], _ fields: Fields) throws -> ThinPlateSpline {
        var (low, high) = (Point(.infinity, .infinity), Point(-.infinity, -.infinity))
        for picture in pictures {
            let level = picture.levels[0]
            guard let back = level.map.inverse else { continue }
            low = pointwiseMin(low, back(.zero))
            high = pointwiseMax(high, back(Point(Float(level.sprite.width - 1), Float(level.sprite.height - 1))))
        }
        guard pins.count > 3 else { return ThinPlateSpline(from: low, to: high) }
        guard let spline = ThinPlateSpline(from: low, to: high, pins: pins.map(\.art)) else {
            throw fields.wrong(
                "pins", "a list with pins on one line, or at the same place",
                allowed: "pins around the art")
        }
        return spline
    }

    /// Eye distances per art unit on a mean head, where the pins are spread most.
    private static func eyeDistances(per pins: [Pin]) -> Float {
        let head = Face.mean
        var largest: Float = 0
        for pin in pins.dropFirst() {
            let (art, seen) = (pin.art - pins[0].art, pin.face.position(on: head) - pins[0].face.position(on: head))
            largest = max(largest, seen.length / max(art.length, 1e-3))
        }
        return largest
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let art = pictures[timeline.frame(at: appearance.time)]
        let paint = appearance.paint(under: tracked.light, noise: tracked.noise)
        guard spline == nil else {
            drawBent(art, on: &canvas, tracked.face, paint, appearance.swing.x)
            return
        }
        guard let map = placement(on: tracked.face, swing: appearance.swing.x) else { return }
        let level = art.level(forScale: abs(map.determinant).squareRoot())
        guard let toArt = level.map.inverse else { return }
        blend(level.sprite, by: map.after(toArt), paint, onto: &canvas.frame)
    }

    /// Draws art that is warped, or that the lips show through.
    private func drawBent(
        _ art: Art, on canvas: inout Canvas, _ face: borrowing Face, _ paint: Paint, _ swing: Float
    ) {
        guard let spline else { return }
        var positions = [25 of Point](repeating: .zero)
        if pins.count > 3 {
            var seen = [16 of Point](repeating: .zero)
            for i in pins.indices { seen[i] = pins[i].face.position(on: face) }
            for i in 0..<ThinPlateSpline.corners { positions[i] = spline.position(i, seen) }
        } else {
            guard let map = placement(on: face, swing: swing) else { return }
            for i in 0..<ThinPlateSpline.corners { positions[i] = map(spline.grid[i]) }
        }
        var (low, high) = (positions[0], positions[0])
        for i in 0..<ThinPlateSpline.corners {
            low = pointwiseMin(low, positions[i])
            high = pointwiseMax(high, positions[i])
        }
        let far: Float = 20_000  // keeps conversions to Int defined for wild faces
        guard low.x > -far, low.y > -far, high.x < far, high.y < far else { return }
        let region = PixelRect(
            x: Int(low.x.rounded(.down)), y: Int(low.y.rounded(.down)), width: Int(high.x - low.x) + 3,
            height: Int(high.y - low.y) + 3)
        guard canvas.layer.begin(region, in: canvas.frame.layout) else { return }
        let last = ThinPlateSpline.corners - 1
        let scale = (positions[last] - positions[0]).length / max((spline.grid[last] - spline.grid[0]).length, 1e-6)
        let level = art.level(forScale: scale)
        var vertices = [25 of WarpVertex](repeating: WarpVertex(source: .zero, target: .zero, fade: 1))
        for i in 0..<ThinPlateSpline.corners {
            vertices[i] = WarpVertex(source: level.map(spline.grid[i]), target: positions[i], fade: 1)
        }
        let triangles = ThinPlateSpline.triangles
        warp(level.sprite, vertices.span, triangles.span, onto: &canvas.layer)
        if lips == .through { Lips(face).clear(&canvas.layer) }
        canvas.drawLayer(paint)
    }

    /// The map from art units to the face's pixels, by up to three pins; nil if pins coincide.
    /// - Parameter swing: degrees, clockwise, about a single pin.
    func placement(on face: borrowing Face, swing: Float = 0) -> Affine? {
        let first = pins[0].face.position(on: face)
        switch pins.count {
        case 1:
            let angle = radians(face.pose.roll + swing)
            let map = Affine(scale: face.head.scale / eyeDistance, angle: angle, origin: .zero)
            return shifted(map, first)
        case 2:
            let (art, seen) = (pins[1].art - pins[0].art, pins[1].face.position(on: face) - first)
            let length = (art * art).sum()
            guard length > 1e-6, (seen * seen).sum() > 1e-6 else { return nil }
            // As complex numbers: the map multiplies by seen / art.
            let re = (seen.x * art.x + seen.y * art.y) / length
            let im = (seen.y * art.x - seen.x * art.y) / length
            return shifted(Affine(a: re, b: -im, c: im, d: re, tx: 0, ty: 0), first)
        default:
            let (u, v) = (pins[1].art - pins[0].art, pins[2].art - pins[0].art)
            let (p, q) = (pins[1].face.position(on: face) - first, pins[2].face.position(on: face) - first)
            guard let back = Affine(a: u.x, b: v.x, c: u.y, d: v.y, tx: 0, ty: 0).inverse else { return nil }
            return shifted(Affine(a: p.x, b: q.x, c: p.y, d: q.y, tx: 0, ty: 0).after(back), first)
        }
    }

    /// The map, translated so that the first pin's art point is on `position`.
    private func shifted(_ map: Affine, _ position: Point) -> Affine {
        let at = map.linear(pins[0].art)
        var map = map
        (map.tx, map.ty) = (position.x - at.x, position.y - at.y)
        return map
    }
}
