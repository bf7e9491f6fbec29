import Frames
import JSON

extension LayerKind {
    static let frame = LayerKind("frame", onPicture: { try PictureFrameLayer(&$0, $1) })
}

/// A layer of art over the whole picture, along its edges or in a corner.
struct PictureFrameLayer: PictureLayer {
    private let overlay: FrameOverlay

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let file = try fields.string("art")
        let fit: PictureFit = try fields.choice("fit", default: .stretch)
        var border = SIMD4<Float>.zero
        if fit == .border {
            let edges = try fields.numbers("border", count: 4)
            guard edges.allSatisfy({ (0...10_000).contains($0) }) else {
                throw fields.wrong(
                    "border", "an edge that is too thick or negative",
                    allowed: "0 to 10000 units: left, top, right, bottom")
            }
            border = SIMD4(Float(edges[0]), Float(edges[1]), Float(edges[2]), Float(edges[3]))
        }
        let isPlaced = fields.has("place")
        guard !isPlaced || fit == .stretch else {
            throw fields.wrong("fit", "'\(fit.rawValue)' for art that has a place", allowed: "no 'fit' beside 'place'")
        }
        let place: PicturePlace = try fields.choice("place", default: .center)
        let size = isPlaced ? Float(try fields.number("size", in: 0.02...1, default: 0.3)) : nil
        let margin = isPlaced ? Float(try fields.number("margin", in: 0...0.5, default: 0.03)) : 0
        let art = try PictureArt(
            file: file, folder: context.folder, target: context.target, fit: fit, border: border, place: place,
            size: size,
            margin: margin)
        overlay = art.overlay()
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        overlay.draw(onto: &canvas.frame, opacity: appearance.opacity)
    }
}
