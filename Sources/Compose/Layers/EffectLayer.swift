import Frames
import JSON

extension LayerKind {
    static let effect = LayerKind("effect", onPicture: { try EffectLayer(&$0, $1) })
}

/// A layer that changes the whole picture: its colours, its light, or both.
struct EffectLayer: PictureLayer {
    enum Mode: String, CaseIterable, Sendable {
        case grey, sepia, tint, adjust
        case whiteBalance = "white balance"
        case average, multiply, screen, hud
    }

    private enum Content: Sendable {
        case tone(ColorAdjustment)
        /// Chroma (U, V) of colours in sequence, and the duration of each in seconds.
        case tints([SIMD2<Float>], period: Double)
        case whiteBalance
        case overlay(FrameOverlay, FrameOverlay.Mode, opacity: Float)
        case hud(color: UInt32, ColorAdjustment)
    }

    private let content: Content
    /// The strength of the effect, 0...1.
    private let strength: Float

    /// Colours for `random` tints, in this order: around the colour wheel, each far from the one before.
    private static let wheelHues: [Color] = [
        Color(255, 64, 64), Color(40, 190, 255), Color(255, 190, 30), Color(160, 80, 255),
        Color(70, 220, 90), Color(255, 80, 190), Color(30, 210, 190), Color(255, 130, 40),
    ]

    /// Reads the layer's description and art.
    /// - Throws: `Problem` with file and line for an error in the description or the art.
    init(_ fields: inout Fields, _ context: LayerContext) throws {
        let mode = try fields.oneOf("mode", Mode.self)
        let range = context.target.range
        switch mode {
        case .average, .multiply, .screen, .hud: strength = 1
        default: strength = Float(try fields.number("strength", in: 0...1, default: mode == .tint ? 0.6 : 1))
        }
        switch mode {
        case .grey: content = .tone(ColorAdjustment(gain: [1, 0, 0], offset: .zero))
        case .sepia:
            // The chroma of brown ink, and slightly less contrast, since there is no pure black on old paper.
            content = .tone(ColorAdjustment(gain: [0.92, 0, 0], offset: [4, -21, 13]))
        case .tint: content = try Self.tint(&fields, range)
        case .adjust:
            let brightness = Float(try fields.number("brightness", in: -1...1, default: 0))
            let contrast = Float(try fields.number("contrast", in: 0...2, default: 1))
            let saturation = Float(try fields.number("saturation", in: 0...2, default: 1))
            let warmth = Float(try fields.number("warmth", in: -1...1, default: 0))
            // Full brightness lifts black to medium grey; full warmth is that of an evening lamp.
            content = .tone(
                ColorAdjustment(
                    gain: [contrast, saturation, saturation],
                    offset: [brightness * 110, warmth * -26, warmth * 16]))
        case .whiteBalance: content = .whiteBalance
        case .average, .multiply, .screen:
            let art = try PictureArt(
                file: try fields.string("art"), folder: context.folder, target: context.target,
                fit: try fields.choice("fit", default: .cover))
            switch mode {
            // Transparent parts leave the picture as it is.
            case .multiply: content = .overlay(art.overlay(over: Color(255, 255, 255)), .multiply, opacity: 1)
            case .screen: content = .overlay(art.overlay(over: Color(0, 0, 0)), .screen, opacity: 1)
            default: content = .overlay(art.overlay(), .over, opacity: 0.5)
            }
        case .hud:
            let color = try fields.color("color", default: "#b8ff3c")
            let chroma = color.yuv(range)
            // A dark picture in the colour's hue, as a background for bright lines.
            let tone = ColorAdjustment(
                gain: [0.5, 0.12, 0.12], offset: [-26, (chroma.y - 128) * 0.4, (chroma.z - 128) * 0.4])
            content = .hud(color: color.pixel(range), tone)
        }
    }

    private static func tint(_ fields: inout Fields, _ range: ColorRange) throws -> Content {
        let names = try fields.strings("colors", default: [])
        let isRandom = try fields.bool("random", default: false)
        let period = try fields.number("period", in: 500...3_600_000, default: 8000) / 1000
        var colors: [Color] = []
        for name in names {
            guard let color = Color(name) else {
                throw fields.wrong("colors", "a list with '\(name)'", allowed: "colours like #ffcc00")
            }
            colors.append(color)
        }
        if isRandom { colors += wheelHues }
        if colors.isEmpty { colors = [try fields.color("color", default: "#3c8cff")] }
        return .tints(
            colors.map {
                let yuv = $0.yuv(range)
                return [yuv.y - 128, yuv.z - 128]
            }, period: period)
    }

    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let part = strength * appearance.opacity
        switch content {
        case .tone(let tone): apply(tone.faded(part), to: &canvas.frame)
        case .tints(let colors, let period):
            let chroma = Self.chroma(colors, period: period, at: scene.time)
            // About half as strong as the colour itself, with a trace of the picture's own colours, to look like
            // coloured light and not like paint.
            let tone = ColorAdjustment(gain: [1, 0.15, 0.15], offset: [0, chroma.x * 0.55, chroma.y * 0.55])
            apply(tone.faded(part), to: &canvas.frame)
        case .whiteBalance:
            canvas.effects.balance.update(meanChroma(canvas.frame), at: scene.time)
            let mean = canvas.effects.balance.mean
            apply(ColorAdjustment(gain: [1, 1, 1], offset: [0, -mean.x, -mean.y]).faded(part), to: &canvas.frame)
        case .overlay(let overlay, let mode, let opacity):
            overlay.draw(onto: &canvas.frame, opacity: part * opacity, mode)
        case .hud(let color, let tone):
            canvas.effects.edges.find(canvas.frame)
            apply(tone.faded(part), to: &canvas.frame)
            canvas.effects.edges.screen(color, opacity: part, onto: &canvas.frame)
        }
    }

    /// The chroma at a time. Each colour lasts for `period` seconds, and fades into the next one during the last third.
    private static func chroma(_ colors: [SIMD2<Float>], period: Double, at time: Double) -> SIMD2<Float> {
        guard colors.count > 1 else { return colors[0] }
        let cycles = max(0, time) / period
        let index = Int(min(cycles, 1e9))
        let mix = smoothstep(Float((cycles - Double(index)) * 3 - 2))
        let (from, to) = (colors[index % colors.count], colors[(index + 1) % colors.count])
        return from + (to - from) * mix
    }
}
