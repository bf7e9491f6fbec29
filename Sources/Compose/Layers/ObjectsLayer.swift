import Frames
import JSON
import Objects

extension LayerKind {
    static let objects = LayerKind(
        "objects", allowsBehind: false, needsThings: true, onPicture: { try ObjectsLayer(&$0, $1) })
}

/// A layer that outlines the things in the picture that the user has taught, writes each thing's name above it, and
/// counts them at the picture's edge. Names and numbers are rendered once, when the mask is loaded.
struct ObjectsLayer: PictureLayer {
    /// Each taught thing's name on a plate.
    private let names: [Art]
    /// "1" to "9" on a plate of the layer's colour, and "9+".
    private let counts: [Art]
    /// A dash of the outlines.
    private let dash: Art
    private let place: PicturePlace
    /// Pixels: the margin of the counts, the gap between plates, and the length of a dash with the gap to the next one.
    private let (margin, padding, spacing): (Float, Float, Float)
    private let frame: Point
    /// A thing with its outline that is drawn in pictures of the mask, such as thumbnails; and what is counted there.
    private let example: (thing: Art, counts: [Int])?

    /// The gap between an outline and the thing, in dashes.
    private static let distance: Float = 0.4
    /// Seconds in which a dash moves to the place of the next one.
    private static let period = 0.9
    /// Pixels per unit of the dash's drawing, of which it is 24 long with the gap.
    private static let dashUnit: Float = 24
    /// In pictures of the mask: the least height of a line, and the middle of the example; fractions of the picture.
    private static let (exampleSize, examplePlace): (Float, Point) = (0.09, [0.79, 0.83])

    /// Reads the layer's description and renders the names.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let target = context.target
        let color = try fields.color("color", choices: target.choices, default: "#ffd23f")
        let size = Float(try fields.number("size", in: 0.02...0.2, default: 0.045))
        place = try fields.choice("place", default: .topLeft)
        margin = Float(try fields.number("margin", in: 0...0.5, default: 0.04)) * Float(target.height)
        frame = Point(Float(target.width), Float(target.height))
        let isExample = target.things == nil
        // Thumbnails are small, and their names are to be read too.
        let height = max(8, (isExample ? max(size, Self.exampleSize) : size) * frame.y)
        (padding, spacing) = (height * 0.22, height * 0.55)
        let range = target.range
        let width = frame.x / 2
        func art(_ text: String, _ ink: String, _ plate: String, opacity: Double) throws -> Art {
            var style = TextStyle()
            style.color = ink
            let picture = try Plate(color: plate, opacity: opacity).drawn(
                text, style, height: height, across: width)
            return Art(picture, range: range) { _ in }
        }
        let things = target.things?.load().things.things.map(\.name)
        let density = spacing / Self.dashUnit
        names = try (things ?? ["Key", "Coin"]).map { try art($0, "#ffffff", "#14181f", opacity: 0.82) }
        // Dark ink on a light colour, and light on a dark one.
        let ink = color.luma > 140 ? "#14181f" : "#ffffff"
        counts = try ((1...9).map { "\($0)" } + ["9+"]).map { try art($0, ink, color.hex, opacity: 0.95) }
        dash = try Art(
            svg: """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -6 24 12" stroke-linecap="round">\
                <path d="M-6 0H6" stroke="#000000" stroke-opacity=".45" stroke-width="8"/>\
                <path d="M-6 0H6" stroke="\(color.hex)" stroke-width="4.6"/></svg>
                """, density: density, range: range)
        example =
            isExample ? (try Art(svg: Self.exampleThing(color.hex), density: density, range: range), [1, 3]) : nil
    }

    /// A key with a dashed outline, in the dash's units.
    private static func exampleThing(_ color: String) -> String {
        let key = """
            M-46-20a20 20 0 1 0 .01 0ZM-52-7a7 7 0 1 0 .01 0ZM-28-7H52V7H46V19H38V7H32V15H24V7H-28Z
            """
        let outline = "M-18-18H54a10 10 0 0 1 10 10V20a10 10 0 0 1-10 10H24a10 10 0 0 1-10-10V18H-18A33 33 0 1 1-18-18Z"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="-84 -66 168 132" fill="none" stroke-linecap="round">\
            <linearGradient id="g" x1="0" y1="0" x2="0" y2="1"><stop stop-color="#f4f6f8"/>\
            <stop offset=".5" stop-color="#b9c0c8"/><stop offset="1" stop-color="#7e8791"/></linearGradient>\
            <g transform="rotate(-24)"><path d="\(key)" fill="url(#g)" fill-rule="evenodd" stroke="#2b3138" \
            stroke-width="2.4" stroke-linejoin="round"/><path d="M-24-2.4H50" stroke="#fff" stroke-opacity=".7" \
            stroke-width="2"/><g stroke-dasharray="12 12"><path d="\(outline)" stroke="#000" stroke-opacity=".45" \
            stroke-width="8"/><path d="\(outline)" stroke="\(color)" stroke-width="4.6"/></g></g></svg>
            """
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        if let example { draw(example: example.thing, on: &canvas, appearance) }
        let phase = Float((scene.time / Self.period).truncatingRemainder(dividingBy: 1))
        for i in canvas.things.tracks.indices {
            let track = canvas.things.tracks[i]
            guard track.isSeen, let thing = track.thing, names.indices.contains(thing) else { continue }
            drawOutline(of: i, phase: phase, on: &canvas, appearance)
            let box = track.region.box
            let size = names[thing].pixels
            // Above the thing, or below it at the picture's upper edge.
            let above = box.y - size.y - spacing
            let top = above >= 0 ? above : box.y + box.height + spacing
            draw(names[thing], at: Point(box.center.x - size.x / 2, top), on: &canvas, appearance)
        }
        drawCounts(on: &canvas, appearance)
    }

    private func draw(example: Art, on canvas: inout Canvas, _ appearance: Appearance) {
        let (center, scale) = (frame * Self.examplePlace, spacing / Self.dashUnit)
        let level = example.level(forScale: scale)
        guard let toArt = level.map.inverse else { return }
        let map = Affine(a: scale, b: 0, c: 0, d: scale, tx: center.x, ty: center.y)
        blend(level.sprite, by: map.after(toArt), opacity: appearance.opacity, onto: &canvas.frame)
        let size = names[0].pixels
        let top = center.y - example.pixels.y / 2 * scale - size.y
        draw(names[0], at: Point(center.x - size.x / 2, top), on: &canvas, appearance)
    }

    private func drawOutline(of track: Int, phase: Float, on canvas: inout Canvas, _ appearance: Appearance) {
        canvas.things.traceOutline(of: track, spacing: spacing, offset: spacing * Self.distance, phase: phase)
        let scale = spacing / Self.dashUnit
        let level = dash.level(forScale: scale)
        guard let toArt = level.map.inverse else { return }
        for i in canvas.things.outline.indices {
            let (position, direction) = canvas.things.outline[i]
            let turned = Affine(
                a: direction.x * scale, b: -direction.y * scale, c: direction.y * scale, d: direction.x * scale,
                tx: position.x, ty: position.y)
            blend(level.sprite, by: turned.after(toArt), opacity: appearance.opacity, onto: &canvas.frame)
        }
    }

    /// Draws a row for each thing in the picture: how many there are, and their name.
    private func drawCounts(on canvas: inout Canvas, _ appearance: Appearance) {
        var rows = 0
        for thing in names.indices where count(of: thing, canvas.things) > 0 { rows += 1 }
        guard rows > 0 else { return }
        let step = names[0].pixels.y + padding
        var top = margin + (frame.y - 2 * margin - Float(rows) * step + padding) * place.fraction.y
        for thing in names.indices {
            let number = count(of: thing, canvas.things)
            guard number > 0 else { continue }
            let plate = counts[min(number, counts.count) - 1]
            let width = plate.pixels.x + padding + names[thing].pixels.x
            let left = margin + (frame.x - 2 * margin - width) * place.fraction.x
            draw(plate, at: Point(left, top), on: &canvas, appearance)
            draw(names[thing], at: Point(left + plate.pixels.x + padding, top), on: &canvas, appearance)
            top += step
        }
    }

    private func count(of thing: Int, _ things: borrowing ThingTracker) -> Int {
        example?.counts[thing] ?? things.count(of: thing)
    }

    /// Draws a plate inside the picture, at whole pixels, which keeps letters sharp.
    private func draw(_ art: Art, at corner: Point, on canvas: inout Canvas, _ appearance: Appearance) {
        let room = pointwiseMax(frame - art.pixels, .zero)
        let inside = pointwiseMin(pointwiseMax(corner, .zero), room).rounded(.toNearestOrAwayFromZero)
        let level = art.level(forScale: 1)
        guard let toArt = level.map.inverse else { return }
        // Whole coordinates are pixel centres, so the first pixel's edge is half a pixel before the corner.
        let map = Affine(a: 1, b: 0, c: 0, d: 1, tx: inside.x - 0.5, ty: inside.y - 0.5)
        blend(level.sprite, by: map.after(toArt), opacity: appearance.opacity, onto: &canvas.frame)
    }
}

extension Art {
    /// The size of art that was rendered at one pixel per unit.
    fileprivate var pixels: Point { Point(Float(size.x), Float(size.y)) }
}

extension Color {
    /// "#rrggbb".
    fileprivate var hex: String {
        let digits = [rgb.x, rgb.y, rgb.z].map { value in
            let text = String(Int(value), radix: 16)
            return text.count == 1 ? "0" + text : text
        }
        return "#" + digits.joined()
    }
}
