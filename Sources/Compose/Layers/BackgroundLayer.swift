import Frames
import JSON
import Outline
import SystemKit

extension LayerKind {
    static let background = LayerKind("background", behindPeople: { try BackgroundLayer(&$0, $1) })
}

/// A layer that replaces or changes what is behind the people.
///
/// It is drawn before all layers of other kinds, whatever their order, so that nothing that belongs to a face is
/// mistaken for the room. Without the outline of the people in this very frame, it covers the whole picture.
struct BackgroundLayer: PictureLayer {
    enum Mode: String, CaseIterable, Sendable { case blur, picture, color, dim, grey }

    let background: Background
    /// The model of the outline; nil if it could not be loaded.
    let model: OutlineModel?
    /// Why there is no model, for the user.
    let warning: String?

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ parts: LayerParts) throws {
        let range = parts.target.range
        switch try fields.oneOf("mode", Mode.self) {
        case .blur:
            // Relative to the picture's height: from softened to hardly recognisable.
            let strength = Float(try fields.number("strength", in: 0...1, default: 0.5))
            background = .blur(radius: 0.012 + 0.088 * strength)
        case .picture:
            let art = try PictureArt(
                file: try fields.string("art"), folder: parts.folder, target: parts.target,
                fit: try fields.choice("fit", default: .cover))
            let pixels = art.pixels(over: Color(0, 0, 0))
            background = .picture(
                BackgroundPicture(width: parts.target.width, height: parts.target.height, pixels: pixels.span))
        case .color:
            let color = try fields.color("color", default: "#35506b")
            let end = fields.has("to") ? try fields.color("to", default: "#35506b") : color
            background = .gradient(color.yuv(range), end.yuv(range))
        case .dim:
            // Towards black: at full strength, a tenth of the light is left.
            let kept = 1 - 0.9 * Float(try fields.number("strength", in: 0...1, default: 0.6))
            background = .adjusted(gain: SIMD3(repeating: kept), offset: .zero)
        case .grey:
            let kept = 1 - Float(try fields.number("strength", in: 0...1, default: 1))
            background = .adjusted(gain: SIMD3(1, kept, kept), offset: .zero)
        }
        do throws(Problem) {
            (model, warning) = (try parts.target.outline?.model(), nil)
        } catch {
            (model, warning) = (nil, "backgrounds cover the whole picture, people included: \(error)")
        }
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        canvas.backgrounds.draw(
            background, opacity: appearance.opacity, behind: &canvas.outline, onto: &canvas.frame)
        if background.hidesRoom { canvas.isRoomHidden = true }
    }
}
