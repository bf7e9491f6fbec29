import Frames
import JSON
import SystemKit
import Track

extension LayerKind {
    static let anonymize = LayerKind(
        "anonymize", hiddenParts: AnonymizeLayer.hiddenParts, onFaces: { try AnonymizeLayer(&$0, $1) })
}

/// A layer that hides or inverts a face: pixelation, blur, block, negative. All but the negative are for privacy: they
/// cover the whole head, are opaque whatever the layer's opacity, and can't be reversed from the picture.
struct AnonymizeLayer: Layer {
    enum Mode: String, CaseIterable, Sendable { case pixelate, blur, block, negative }

    enum Shape: String, CaseIterable, Sendable {
        case ellipse, rectangle
        /// A bar over the eyes only.
        case bar
    }

    var hidesFace: Bool { Self.hidesFace(mode, shape) }

    private static func hidesFace(_ mode: Mode, _ shape: Shape) -> Bool { mode != .negative && shape != .bar }

    /// What a layer, by its description, hides of all faces and in every frame.
    @Sendable fileprivate static func hiddenParts(_ layer: JSON) -> HiddenParts {
        guard let mode = layer["mode"]?.string.flatMap(Mode.init), layer["when"] == nil,
            layer["on"].map({ $0.string == "every" }) ?? true
        else { return [] }
        return hidesFace(mode, layer["shape"]?.string.flatMap(Shape.init) ?? .ellipse) ? .foundFaces : []
    }

    let mode: Mode
    let shape: Shape
    /// For pixelate, the side of a cell; for blur, the standard deviation. In eye distances; `maxCells` sets a lower
    /// limit.
    let size: Float
    /// The colour of a block, as a pixel of a `Sprite`.
    let color: UInt32

    /// The most cells along the longer side of a head. With so few, eyes, nose and mouth share cells with what is
    /// beside them. The fewer and coarser, the less remains for networks that are trained to identify people by
    /// pixelated faces (McPherson, Shokri, Shmatikov: Defeating Image Obfuscation with Deep Learning, 2016). A blur
    /// whose standard deviation is one such cell leaves e^(-pi^2 / 2) = 0.7 % of a pattern that alternates from cell to
    /// cell: at most one level.
    private static let maxCells: Float = 6
    /// Soft edges fade from the first to the second of these outlines, relative to the head's. The first is beyond the
    /// head, since alpha is interpolated between cells.
    private static let (full, none): (Float, Float) = (1.1, 1.35)
    /// The side of the cells that are blurred, in those that the filters work on: 4 / sqrt(12) of the standard
    /// deviation.
    private static let blurredCell = 4
    /// The smallest cell in pixels. Very small faces show little detail anyway.
    private static let smallestCell: Float = 8

    /// Reads the layer's description.
    /// - Throws: `Problem` with file and line for an error in the description.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        mode = try fields.oneOf("mode", Mode.self)
        shape = mode == .pixelate || mode == .block ? try fields.choice("shape", default: .ellipse) : .ellipse
        guard shape != .bar || mode == .block else {
            throw fields.wrong("shape", "'bar', which needs the mode 'block'", allowed: "ellipse, rectangle")
        }
        switch mode {
        case .pixelate: size = Float(try fields.number("size", in: 0.33...2, default: 0.4))
        case .blur: size = Float(try fields.number("size", in: 0.35...2, default: 0.42))
        case .block, .negative: size = 0
        }
        color = (mode == .block ? try fields.color("color", default: "#111111") : Color(0, 0, 0))
            .pixel(context.target.range)
    }

    /// A layer that pixelates the boxes of whole heads.
    private init() { (mode, shape, size, color) = (.pixelate, .rectangle, 0.4, 0) }
    fileprivate static let cover = AnonymizeLayer()

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        guard appearance.opacity > 0 else { return }
        let outline = HeadOutline(tracked.face)
        guard outline.isSound else { return }
        let eyes = tracked.face.head.scale
        switch mode {
        case .pixelate: pixelate(&canvas, outline, eyes)
        case .blur: blur(&canvas, outline, eyes)
        case .block: block(&canvas, outline, tracked.face)
        case .negative: negative(&canvas, outline, opacity: appearance.opacity)
        }
    }

    /// Pixelates the head. The grid is centred on the head and scales with it, so that each cell shows the same part of
    /// the face in every frame. Under a fixed grid, a moving face could be reconstructed from many frames.
    private func pixelate(_ canvas: inout Canvas, _ outline: HeadOutline, _ eyes: Float) {
        let side = max(Self.smallestCell, eyes * size, Self.coarseness(of: outline))
        let half = outline.halfSize / side
        let (across, down) = (Self.whole(half.x), Self.whole(half.y))
        let origin = outline.center - Point(Float(across), Float(down)) * side
        canvas.effects.pixelation.average(
            canvas.frame, origin: origin, side: side, columns: 2 * across, rows: 2 * down)
        canvas.effects.pixelation.quantize()
        if shape == .ellipse {
            canvas.effects.pixelation.fade { column, row in
                let corner = origin + Point(Float(column), Float(row)) * side
                // The point of the cell that is nearest to the head's centre, and the cell's corners: the cell is
                // filled if any of them is inside.
                let nearest = pointwiseMin(pointwiseMax(outline.center, corner), corner + side)
                for point in 0..<5 {
                    let other = corner + Point(Float(point & 1), Float(point >> 1 & 1)) * side
                    if outline.distance(point == 4 ? nearest : other) <= 1 { return 255 }
                }
                return 0
            }
        }
        canvas.effects.pixelation.fill(&canvas.frame)
    }

    /// The smallest allowed cell, in pixels.
    private static func coarseness(of outline: HeadOutline) -> Float {
        2 * max(outline.halfSize.x, outline.halfSize.y) / maxCells
    }

    /// Number of cells on each side of the centre.
    private static func whole(_ count: Float) -> Int { max(1, min(200, Int(min(count, 200).rounded(.up)))) }

    /// Blurs the head: cells that are as coarse as pixelation's, blurred by three box filters, then enlarged.
    private func blur(_ canvas: inout Canvas, _ outline: HeadOutline, _ eyes: Float) {
        let sigma = max(eyes * size, Self.coarseness(of: outline))
        // Three boxes of radius r have a variance of r (r + 1) cells squared.
        let radius = 3
        let side = max(2, sigma / Float(radius * (radius + 1)).squareRoot())
        let half = outline.halfSize * Self.none / side
        // Whole blurred cells on each side, so that they stay where they are when the head grows.
        let cell = Self.blurredCell
        let (across, down) = ((Self.whole(half.x) / cell + 1) * cell, (Self.whole(half.y) / cell + 1) * cell)
        let origin = outline.center - Point(Float(across), Float(down)) * side
        let (columns, rows) = (2 * across, 2 * down)
        canvas.effects.pixelation.average(canvas.frame, origin: origin, side: side, columns: columns, rows: rows)
        // What is blurred is a pixelated head: steps between its cells would be seen, but not what they replace.
        canvas.effects.pixelation.join(cell)
        canvas.effects.pixelation.quantize()
        canvas.effects.pixelation.blur(radius: radius, passes: 3)
        canvas.effects.pixelation.fade { column, row in
            let middle = origin + Point(Float(column) + 0.5, Float(row) + 0.5) * side
            return UInt32(outline.cover(middle, full: Self.full, none: Self.none) * 255 + 0.5)
        }
        guard canvas.layer.begin(outline.box(grown: Self.none), in: canvas.frame.layout) else { return }
        let corner = origin + (side - 1) / 2
        canvas.effects.pixelation.draw(into: &canvas.layer, corner: corner, side: side)
        canvas.drawLayer(opacity: 1)
    }

    private func block(_ canvas: inout Canvas, _ outline: HeadOutline, _ face: borrowing Face) {
        let bar = EyeBar(face)
        let region = shape == .bar ? bar.box : outline.box()
        guard canvas.layer.begin(region, in: canvas.frame.layout) else { return }
        let (piece, stride) = (canvas.layer.region, canvas.layer.stride)
        var pixels = canvas.layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let p = Point(Float(piece.x + x), Float(piece.y + y))
                let covers =
                    switch shape {
                    case .rectangle: true
                    case .ellipse: outline.distance(p) <= 1
                    case .bar: bar.covers(p)
                    }
                if covers { pixels[y * stride + x] = color }
            }
        }
        canvas.drawLayer(opacity: 1)
    }

    private func negative(_ canvas: inout Canvas, _ outline: HeadOutline, opacity: Float) {
        guard canvas.layer.copyPixels(outline.box(), of: canvas.frame) else { return }
        let (piece, stride) = (canvas.layer.region, canvas.layer.stride)
        // In limited range, 16 and 235 are swapped in luma. 255 - x would slightly leave the range. Chroma is mirrored
        // about 128 in both ranges, so that grey stays grey.
        let range = canvas.frame.layout.range
        let (luma, chroma) = (UInt32(2 * range.black + range.lumaSpan), UInt32(2 * 128))
        var pixels = canvas.layer.pixels
        for y in 0..<piece.height {
            for x in 0..<piece.width {
                let p = Point(Float(piece.x + x), Float(piece.y + y))
                let alpha = UInt32(outline.cover(p, full: 0.85, none: 1) * 255 + 0.5)
                guard alpha > 0 else {
                    pixels[y * stride + x] = 0
                    continue
                }
                let pixel = pixels[y * stride + x]
                func part(_ shift: UInt32, _ ceiling: UInt32) -> UInt32 {
                    let value = pixel >> shift & 255
                    return ((ceiling > value ? min(255, ceiling - value) : 0) * alpha * 257 + 32768) >> 16
                }
                pixels[y * stride + x] =
                    part(0, luma) | part(8, chroma) << 8 | part(16, chroma) << 16 | alpha << 24
            }
        }
        canvas.drawLayer(opacity: opacity)
    }
}

/// A bar over the eyes, tilted with the head.
private struct EyeBar {
    private let center: Point
    /// Unit vector along the bar.
    private let along: Point
    /// Half the bar's length and height, in pixels.
    private let half: Point

    /// Half the length, from beyond one temple to beyond the other; the least half length, since a turned head shows
    /// less; and half the height, from above the brows to below the lids. In eye distances.
    private static let (length, leastLength, height): (Float, Float, Float) = (1.3, 0.8, 0.52)

    init(_ face: borrowing Face) {
        let scale = face.head.scale
        let across = Point(face.head.x.x, face.head.y.x)
        let (right, left) = (face[.rightEye], face[.leftEye])
        center = (right + left) / 2 - Point(face.head.x.y, face.head.y.y) * 0.1
        along = across.length > scale * 0.1 ? across / across.length : Point(1, 0)
        half = Point(
            max(across.length * Self.length, scale * Self.leastLength, (left - right).length), scale * Self.height)
    }

    /// The upright bounding box.
    var box: PixelRect {
        let x = abs(along.x) * half.x + abs(along.y) * half.y
        let y = abs(along.y) * half.x + abs(along.x) * half.y
        let edge: Float = 100_000  // keeps Int conversions defined
        func whole(_ value: Float) -> Int { value.isFinite ? Int(max(-edge, min(edge, value))) : 0 }
        return PixelRect(
            x: whole(center.x - x) - 1, y: whole(center.y - y) - 1, width: whole(2 * x) + 3, height: whole(2 * y) + 3)
    }

    func covers(_ p: Point) -> Bool {
        let d = p - center
        return abs(d.x * along.x + d.y * along.y) <= half.x && abs(d.y * along.x - d.x * along.y) <= half.y
    }
}

extension Canvas {
    /// Pixelates whole heads, as coarsely as the masks that hide faces.
    /// - Parameters:
    ///   - faces: faces in pixels of the searched picture.
    ///   - placement: the map from those pixels to the canvas's.
    public mutating func hideHeads(of faces: [Face], placement: Affine) {
        for face in faces {
            AnonymizeLayer.cover.draw(on: &self, TrackedFace(face: face.moved(by: placement)), Appearance())
        }
    }
}
