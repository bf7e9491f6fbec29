import Frames
import JSON
import Track

/// A picture pinned to landmarks. One pin moves it, with scale and roll from the head; two give a similarity, three an
/// affine map.
struct Sprite: Layer {
    struct Pin: Sendable {
        /// In the art's own units (an SVG's viewBox, a PNG's pixels).
        let art: Point
        let face: Anchor
    }

    let art: Art
    let pins: [Pin]
    /// Art units between the eyes; used with one pin.
    let eyeDistance: Float

    /// - Throws: `Problem` with file and line for what is wrong in the description or the art.
    init(_ fields: inout Fields, _ parts: LayerParts) throws {
        let name = try fields.string("art")
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
        guard (1...3).contains(pins.count) else {
            throw fields.wrong("pins", "has \(pins.count) pins", allowed: "one, two or three")
        }
        let wantsDistance = pins.count == 1
        let distance = try fields.number("eyeDistance", in: 1...10_000, default: wantsDistance ? nil : 100)
        eyeDistance = Float(distance)
        let perUnit = wantsDistance ? 1 / eyeDistance : Self.eyeDistances(per: pins)
        art = try Art(
            file: name, folder: parts.folder, density: parts.target.eyeDistance * perUnit, range: parts.target.range,
            touch: { parts.style.tint?.dye(&$0) })
    }

    /// Eye distances that one art unit covers on a mean head, by the pins' spread.
    private static func eyeDistances(per pins: [Pin]) -> Float {
        let head = Face.mean
        var most: Float = 0
        for pin in pins.dropFirst() {
            let (art, seen) = (pin.art - pins[0].art, pin.face.position(on: head) - pins[0].face.position(on: head))
            most = max(most, seen.length / max(art.length, 1e-3))
        }
        return most
    }

    func draw(on canvas: inout Canvas, _ wearer: borrowing Wearer, _ look: Look) {
        guard let map = placement(on: wearer.face) else { return }
        let scale = abs(map.determinant).squareRoot()
        let level = art.level(forScale: scale)
        guard let toArt = level.map.inverse else { return }
        blend(level.stamp, by: map.after(toArt), look.paint(under: wearer.light), onto: &canvas.frame)
    }

    /// From art units to the face's pixels; nil where the pins fall together.
    func placement(on face: borrowing Face) -> Affine? {
        let first = pins[0].face.position(on: face)
        switch pins.count {
        case 1:
            let angle = radians(face.pose.roll)
            let map = Affine(scale: face.head.scale / eyeDistance, angle: angle, origin: .zero)
            return shifted(map, first)
        case 2:
            let (art, seen) = (pins[1].art - pins[0].art, pins[1].face.position(on: face) - first)
            let length = (art * art).sum()
            guard length > 1e-6, (seen * seen).sum() > 1e-6 else { return nil }
            // As complex numbers: the map's factor is seen / art.
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

    /// The map with the first pin's art point on `place`.
    private func shifted(_ map: Affine, _ place: Point) -> Affine {
        let at = map.linear(pins[0].art)
        var map = map
        (map.tx, map.ty) = (place.x - at.x, place.y - at.y)
        return map
    }
}
