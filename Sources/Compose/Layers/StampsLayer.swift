import Frames
import JSON
import Track

extension LayerKind {
    static let stamps = LayerKind(
        "stamps",
        options: { layer in
            let names = layer["art"]?.keys.sorted() ?? []
            return ["items": (.stamps(names), layer["items"]?.text ?? "[]")]
        }, onPicture: { try StampsLayer(&$0, $1) })
}

/// A layer of stamps, frames round faces, and texts, which the user places by hand on the picture or on all faces. The
/// stamps are prepared once, when the mask is loaded or one of them was moved.
struct StampsLayer: PictureLayer {
    private struct Placed: Sendable {
        let art: CenteredArt
        let stamp: Stamp

        /// Draws the stamp.
        /// - Parameters:
        ///   - center: its centre, in pixels.
        ///   - unit: pixels per unit of the stamp's size.
        ///   - turn: degrees, clockwise, in addition to its own.
        func draw(at center: Point, unit: Float, turn: Float, on canvas: inout Canvas, _ appearance: Appearance) {
            art.draw(
                at: center, scale: stamp.size * unit / art.size.max(), angle: radians(stamp.turn + turn),
                opacity: appearance.opacity, onto: &canvas.frame)
        }
    }

    private let placed: [Placed]

    /// The most pictures to choose from.
    private static let maxArt = 64

    /// Reads the layer's description, and renders the stamps that are placed.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let files = try fields.texts("art")
        guard (1...Self.maxArt).contains(files.count) else {
            throw fields.wrong("art", "an object of \(files.count) pictures", allowed: "1 to \(Self.maxArt)")
        }
        let names = files.keys.sorted()
        let defaultValue = try Stamp.list(&fields, "items", names: names)
        // Those of the user. A list that an older version of the mask has left is replaced by the mask's own.
        let chosen = context.target.choices["items"].flatMap { try? Stamp.list(text: $0, names: names) }
        placed = try (chosen ?? defaultValue).map { stamp in
            let target = context.target
            let side = stamp.size * (stamp.pin == .picture ? Float(target.height) : target.eyeDistance)
            switch stamp.content {
            case .art(let name):
                let art = try CenteredArt(file: files[name] ?? "", folder: context.folder, range: target.range) {
                    side / $0.max()
                }
                return Placed(art: art, stamp: stamp)
            case .text(let text, let color):
                var style = TextStyle()
                style.color = color
                style.outline = Color(color).map { $0.luma > 140 } ?? true ? "#14181f" : "#ffffff"
                let raster = try style.drawn(text, lineHeight: side, within: Point(side, side))
                return Placed(art: CenteredArt(raster, range: target.range), stamp: stamp)
            }
        }
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let layout = canvas.frame.layout
        let size = Point(Float(layout.width), Float(layout.height))
        for i in placed.indices {
            let stamp = placed[i].stamp
            switch stamp.pin {
            case .picture:
                placed[i].draw(at: stamp.center * size, unit: size.y, turn: 0, on: &canvas, appearance)
            case .face:
                for j in scene.trackedFaces.indices {
                    let placement = FacePlacement(scene.trackedFaces[j].face)
                    placed[i].draw(
                        at: placement.position(of: stamp.center), unit: placement.eyeDistance, turn: placement.roll,
                        on: &canvas,
                        appearance)
                }
            }
        }
    }
}
