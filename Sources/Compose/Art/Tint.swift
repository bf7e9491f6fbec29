import Frames
import JSON

/// A colour that replaces the art's own colours when it is loaded. Light and dark shades stay.
struct Tint: Sendable {
    let color: Color

    init(color: Color) { self.color = color }

    /// Reads `"tint": "#rrggbb"`, or `"tint": {"name": "shell", "color": "#rrggbb"}` for a colour that the user can
    /// change.
    /// - Parameter choices: the user's options by name. A value that isn't a colour is ignored.
    /// - Returns: nil if the key is absent.
    /// - Throws: `Problem` with file and line for an error in the description.
    init?(_ fields: inout Fields, choices: [String: String]) throws {
        guard fields.has("tint") else { return nil }
        color = try fields.color("tint", choices: choices, default: "")
    }

    /// Tints a picture: pixels of its mean luma become the colour, darker ones go towards black, lighter ones towards
    /// white. So art of any colour, or of none, can be tinted.
    func apply(_ raster: inout RGBAImage) {
        var (sum, weight): (Float, Float) = (0, 0)
        for i in stride(from: 0, to: raster.bytes.count, by: 4) {
            sum += Self.luma(raster.bytes, i)
            weight += Float(raster.bytes[i + 3])
        }
        guard weight > 0 else { return }
        // 0...1. A black picture has no shades to keep, so it stays black.
        let mean = max(sum / weight, 1e-3)
        // In dark art, some shades are many times as light as others. In a light colour they would be black beside
        // white, which hair never is. So contrast is reduced by as much as the colour is lighter than the art.
        let contrast = min(1, (mean / max(color.luma / 255, 1e-3)).squareRoot())
        for i in stride(from: 0, to: raster.bytes.count, by: 4) where raster.bytes[i + 3] > 0 {
            let alpha = Float(raster.bytes[i + 3])
            let shade = min(Self.luma(raster.bytes, i) / alpha, 1)
            let dyed: SIMD3<Float> =
                shade <= mean
                ? color.rgb * pow(shade / mean, contrast)
                : color.rgb + (SIMD3(repeating: 255) - color.rgb) * ((shade - mean) / max(1 - mean, 1e-3))
            for c in 0..<3 { raster.bytes[i + c] = UInt8(min(alpha, dyed[c] * alpha / 255 + 0.5)) }
        }
    }

    private static func luma(_ bytes: [UInt8], _ i: Int) -> Float {
        Color(Float(bytes[i]), Float(bytes[i + 1]), Float(bytes[i + 2])).luma
    }
}
