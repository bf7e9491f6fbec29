import Frames
import JSON
import SystemKit
import Track

extension LayerKind {
    static let text = LayerKind(
        "text", options: { ["text": (.text, $0["text"]?.string)] }, onFacesIf: "face",
        read: { try TextLayer(&$0, $1) })
}

/// A layer of text in the picture, or pinned to a face, such as a name tag. Rendered once, when the mask is loaded, by
/// librsvg, which uses Pango: it supports every script that the machine has a font for, including right-to-left ones.
struct TextLayer: Layer, PictureLayer {
    /// Where the text is drawn.
    private enum Place: Sendable {
        /// In the picture: the top left corner, in pixels.
        case picture(Point)
        /// On a face: an anchor, and the offset from it along the face's axes in eye distances.
        case face(Anchor, Point)
    }

    private let art: Art
    /// Size of the whole drawing, in pixels of its finest level.
    private let size: Point
    private let place: Place
    /// For text on a face, drawn pixels per eye distance.
    private let perEye: Float
    /// Whether the text is mirrored horizontally.
    private let isMirrored: Bool
    /// Whether there is nothing to write. Then the plate isn't drawn either: a sign without a name looks like a
    /// mistake.
    private let isEmpty: Bool

    /// The largest margin, relative to the picture's width and height.
    private static let largestMargin: Float = 0.45

    /// Reads the layer's description and renders the text.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let target = context.target
        // The user's own text, if there is one.
        let written = try fields.string("text")
        let text = target.choices["text"] ?? written
        guard text.count <= MaskOption.maxTextLength else {
            throw fields.wrong(
                "text", "\(text.count) characters long", allowed: "at most \(MaskOption.maxTextLength)")
        }
        isEmpty = text.allSatisfy(\.isWhitespace)
        var style = TextStyle()
        style.font = try fields.string("font", default: style.font)
        style.weight = try fields.integer("weight", in: 100...900, default: style.weight)
        style.isItalic = try fields.bool("italic", default: false)
        style.color = try Self.color(&fields, "color", style.color)
        if fields.has("outline") { style.outline = try Self.color(&fields, "outline", "#000000") }
        style.outlineWidth = try fields.number("outlineWidth", in: 0...0.5, default: style.outlineWidth)
        isMirrored = try fields.bool("mirrored", default: false)
        let plate = fields.has("plate") ? try Plate(try fields.object("plate"), context) : nil

        // Height of a line, or of the plate's art if there is any; pixels.
        let height: Float
        var pinned: (Anchor, Point)?
        if fields.has("face") {
            let name = try fields.string("face")
            guard let anchor = Anchor(rawValue: name) else {
                throw fields.unknown("face", name, among: Anchor.allCases.map(\.rawValue), what: "landmark")
            }
            let shift = fields.has("shift") ? try fields.numbers("shift", count: 2) : [0, 0]
            guard shift.allSatisfy({ abs($0) <= 20 }) else {
                throw fields.wrong("shift", "too far away", allowed: "-20 to 20 eye distances")
            }
            height = max(4, Float(try fields.number("size", in: 0.05...8, default: 0.4)) * target.eyeDistance)
            pinned = (anchor, Point(Float(shift[0]), Float(shift[1])))
        } else {
            height = max(4, Float(try fields.number("size", in: 0.01...0.9, default: 0.06)) * Float(target.height))
        }
        let corner: PicturePlace = try fields.choice("place", default: .bottom)
        let whole = Point(Float(target.width), Float(target.height))
        let distance = Float(try fields.number("margin", in: 0...0.5, default: 0.05)) * whole.y
        // Half the height may be more than half the width: room for the text is left in any case.
        let margin = pointwiseMin(Point(repeating: distance), whole * Self.largestMargin)
        let room = whole - 2 * margin

        let raster: RGBAImage
        if isEmpty {
            raster = RGBAImage(width: 1, height: 1, bytes: [0, 0, 0, 0])
        } else if let plate {
            raster = try plate.drawn(text, style, height: height, across: room.x)
        } else {
            // Long text is made smaller and not cut off.
            raster = try style.drawn(text, lineHeight: height, within: pinned == nil ? room : nil)
        }
        art = Art(
            rgba: raster.bytes, width: raster.width, height: raster.height, density: 1, origin: .zero,
            range: target.range)
        size = Point(Float(raster.width), Float(raster.height))
        perEye = target.eyeDistance
        if let (anchor, shift) = pinned {
            place = .face(anchor, shift)
        } else {
            // Whole pixels keep letters sharp.
            place = .picture((margin + (room - size) * corner.fraction).rounded(.toNearestOrAwayFromZero))
        }
    }

    private static func color(_ fields: inout Fields, _ key: String, _ fallback: String) throws -> String {
        _ = try fields.color(key, default: fallback)
        return try fields.string(key, default: fallback)
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        guard !isEmpty, case .picture(let corner) = place else { return }
        // Whole coordinates are pixel centres, so the first pixel's edge is half a pixel before the corner.
        let map = Affine(a: 1, b: 0, c: 0, d: 1, tx: corner.x - 0.5, ty: corner.y - 0.5)
        compositeLayer(map, scale: 1, onto: &canvas, appearance)
    }

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        guard !isEmpty, case .face(let anchor, let shift) = place else { return }
        let scale = tracked.face.head.scale
        let turn = Affine(scale: scale, angle: radians(tracked.face.pose.roll), origin: .zero)
        let middle = anchor.position(on: tracked.face) + turn.linear(shift)
        var map = turn
        let each = 1 / perEye
        (map.a, map.b, map.c, map.d) = (map.a * each, map.b * each, map.c * each, map.d * each)
        let half = map.linear(size / 2)
        (map.tx, map.ty) = (middle.x - half.x, middle.y - half.y)
        compositeLayer(map, scale: scale * each, onto: &canvas, appearance)
    }

    /// Draws the text.
    /// - Parameters:
    ///   - map: from drawn pixels, whose top left corner is 0, to the frame's pixels.
    ///   - scale: frame pixels per drawn pixel.
    private func compositeLayer(_ map: Affine, scale: Float, onto canvas: inout Canvas, _ appearance: Appearance) {
        let level = art.level(forScale: scale)
        guard let toArt = level.map.inverse else { return }
        let flip = isMirrored ? Affine(a: -1, b: 0, c: 0, d: 1, tx: size.x, ty: 0) : .identity
        blend(level.sprite, by: map.after(flip).after(toArt), opacity: appearance.opacity, onto: &canvas.frame)
    }
}

/// The font, colour and outline of a text.
struct TextStyle {
    /// A font family's name for fontconfig. Glyphs that it doesn't have are taken from other fonts.
    var font = "sans-serif"
    /// Font weight: 400 is regular, 700 bold.
    var weight = 700
    var isItalic = false
    var color = "#ffffff"
    /// Colour of the outline; nil: no outline.
    var outline: String?
    /// Width of the outline relative to the line's height.
    var outlineWidth = 0.1

    /// Height of a line in units of the drawing: large enough that hinting has no effect.
    private static let line = 100.0

    /// The SVG of the text.
    /// - Parameter box: the viewBox.
    private func svg(_ text: String, box: Rect) -> String {
        let stroke =
            outline.map {
                " stroke=\"\($0)\" stroke-width=\"\(2 * outlineWidth * Self.line)\" stroke-linejoin=\"round\""
                    + " paint-order=\"stroke\""
            } ?? ""
        let spans = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map { index, line in
            "<tspan x=\"0\" y=\"\(Double(index) * Self.line * 1.2)\">\(xml(String(line)))</tspan>"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="\(box.x) \(box.y) \(box.width) \(box.height)">\
            <text text-anchor="middle" font-family="\(xml(font))" font-size="\(Self.line * 0.9)" \
            font-weight="\(weight)" font-style="\(isItalic ? "italic" : "normal")" fill="\(color)"\(stroke)>\
            \(spans.joined())</text></svg>
            """
    }

    /// Renders the text.
    /// - Parameters:
    ///   - lineHeight: height of one line in pixels.
    ///   - room: the most pixels across and down, whatever the line's height; nil: no limit.
    /// - Throws: `Problem` if the text can't be rendered, or has no visible glyph.
    func drawn(_ text: String, lineHeight: Float, within room: Point? = nil) throws -> RGBAImage {
        let lines = Float(text.split(separator: "\n", omittingEmptySubsequences: false).count)
        // A viewBox wide enough for the longest text, rendered small, to find the text's extent.
        let area = Rect(x: -7500, y: -150, width: 15_000, height: 120 * lines + 150)
        let draft = try ArtReader.renderSVG(svg(text, box: area), named: "of the text", density: .infinity)
        guard var ink = draft.ink else {
            throw Problem(
                .invalid, "the text '\(text)' has no visible character", fix: "use characters that a font has")
        }
        // A fixed ascent and descent: names side by side share a baseline and height, with or without a y.
        let (top, bottom) = (min(ink.y, -72), max(ink.y + ink.height, (lines - 1) * 120 + 20))
        ink = Rect(x: ink.x - 2, y: top, width: ink.width + 4, height: bottom - top)
        var density = lineHeight / Float(Self.line)
        if let room { density = min(density, room.x / ink.width, room.y / ink.height) }
        return try ArtReader.renderSVG(svg(text, box: ink), named: "of the text", density: density)
    }
}

/// The background of a text.
struct Plate {
    private enum Background {
        /// A rounded plate that fits the text; opacity is 0...1.
        case plain(color: String, opacity: Double)
        /// Art, and the box in it that the text is fitted to, in art units.
        case art(path: String, box: Rect)
    }

    private let background: Background

    /// Makes a rounded plate that fits its text.
    /// - Parameter color: "#rrggbb".
    init(color: String, opacity: Double) { background = .plain(color: color, opacity: opacity) }

    /// Reads the key `plate`.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ source: consuming Fields, _ context: LayerContext) throws {
        var fields = source
        if fields.has("art") {
            let file = try fields.string("art")
            let box = try fields.numbers("box", count: 4)
            guard box[2] > 0, box[3] > 0, box.allSatisfy({ abs($0) < 100_000 }) else {
                throw fields.wrong("box", "empty, or too large", allowed: "left, top, width, height in art units")
            }
            background = .art(
                path: try Art.resolvePath(context.folder, file),
                box: Rect(x: Float(box[0]), y: Float(box[1]), width: Float(box[2]), height: Float(box[3])))
        } else {
            _ = try fields.color("color", default: "#101418")
            background = .plain(
                color: try fields.string("color", default: "#101418"),
                opacity: try fields.number("opacity", in: 0...1, default: 0.7))
        }
        try fields.finish()
    }

    /// Renders the plate with a text on it.
    /// - Parameters:
    ///   - height: for a plain plate, the height of a line; for art, the height of all of it; pixels.
    ///   - across: the most pixels across for a plain plate.
    /// - Throws: `Problem` if the text or the art can't be rendered.
    func drawn(_ text: String, _ style: TextStyle, height: Float, across: Float) throws -> RGBAImage {
        switch background {
        case .plain(let color, let opacity):
            let (side, down) = (Int(height * 0.55), Int(height * 0.3))
            let room = Point(max(4, across - 2 * Float(side)), .infinity)
            let words = try style.drawn(text, lineHeight: height, within: room)
            let (w, h) = (words.width + 2 * side, words.height + 2 * down)
            let plate = try ArtReader.renderSVG(
                """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(w) \(h)"><rect width="\(w)" height="\(h)" \
                rx="\(height * 0.35)" fill="\(color)" fill-opacity="\(opacity)"/></svg>
                """, named: "of the plate", density: 1)
            return plate.with(words, at: (side, down))
        case .art(let path, let box):
            let draft = try ArtReader.load(path: path, maxDimension: 64)
            let plate = try ArtReader.load(
                path: path, density: height / draft.size.y, maxDimension: ArtLimits.largestArt)
            let scale = plate.scale
            let room = Point(box.width * scale, box.height * scale)
            let words = try style.drawn(text, lineHeight: room.y, within: room)
            let corner = (Point(box.x, box.y) - plate.origin) * scale
            let free = (room - Point(Float(words.width), Float(words.height))) / 2
            let at = corner + pointwiseMax(free, .zero)
            return plate.with(words, at: (Int(at.x), Int(at.y)))
        }
    }
}

extension RGBAImage {
    /// The bounding box of the visible pixels, in art units, with a margin of one pixel; nil if there are none.
    fileprivate var ink: Rect? {
        var (left, top, right, bottom) = (width, height, 0, 0)
        for y in 0..<height {
            for x in 0..<width where bytes[(y * width + x) * 4 + 3] > 8 {
                (left, right) = (min(left, x), max(right, x + 1))
                (top, bottom) = (min(top, y), max(bottom, y + 1))
            }
        }
        guard left < right else { return nil }
        let corner = origin + Point(Float(left - 1), Float(top - 1)) / scale
        return Rect(
            x: corner.x, y: corner.y, width: Float(right - left + 2) / scale, height: Float(bottom - top + 2) / scale)
    }

    /// This picture with another one drawn over it and cropped to this one's edges.
    fileprivate func with(_ other: RGBAImage, at corner: (x: Int, y: Int)) -> RGBAImage {
        var both = self
        for y in max(0, -corner.y)..<max(0, -corner.y, min(other.height, height - corner.y)) {
            for x in max(0, -corner.x)..<max(0, -corner.x, min(other.width, width - corner.x)) {
                let (from, to) = ((y * other.width + x) * 4, ((y + corner.y) * width + x + corner.x) * 4)
                let shine = 255 - Int(other.bytes[from + 3])
                for c in 0..<4 {
                    both.bytes[to + c] = UInt8(
                        min(255, Int(other.bytes[from + c]) + (Int(bytes[to + c]) * shine + 127) / 255))
                }
            }
        }
        return both
    }
}

/// Escapes a text for XML.
func xml(_ text: String) -> String {
    var out = ""
    for letter in text {
        switch letter {
        case "&": out += "&amp;"
        case "<": out += "&lt;"
        case ">": out += "&gt;"
        case "\"": out += "&quot;"
        // Control characters, which XML forbids even if escaped.
        case _ where letter.unicodeScalars.allSatisfy({ $0.value < 32 }): out += " "
        default: out.append(letter)
        }
    }
    return out
}
