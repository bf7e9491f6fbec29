import Frames
import JSON

/// A colour in mask.json: "#rrggbb".
struct Color: Equatable, Sendable {
    /// Red, green, blue, 0...255.
    let rgb: SIMD3<Float>

    init(_ red: Float, _ green: Float, _ blue: Float) { rgb = [red, green, blue] }

    /// Parses "#rrggbb"; nil if the text isn't a colour.
    init?(_ text: String) {
        let digits = text.dropFirst()
        // A number's text may have a sign, a colour's may not.
        guard text.hasPrefix("#"), digits.count == 6, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let value = UInt32(digits, radix: 16)
        else { return nil }
        self.init(Float(value >> 16), Float(value >> 8 & 255), Float(value & 255))
    }

    /// Full-range luma, 0...255, by ITU-R BT.601.
    var luma: Float { (rgb * [0.299, 0.587, 0.114]).sum() }

    /// Y, U and V samples in the given range, by ITU-R BT.601.
    func yuv(_ range: ColorRange) -> SIMD3<Float> {
        let chroma = SIMD2((rgb.z - luma) / 1.772, (rgb.x - luma) / 1.402)
        switch range {
        case .full: return [luma, 128 + chroma.x, 128 + chroma.y]
        case .limited:
            return [16 + luma * 219 / 255, 128 + chroma.x * 224 / 255, 128 + chroma.y * 224 / 255]
        }
    }

    /// The colour as an opaque YUVA pixel of a `Sprite`.
    func pixel(_ range: ColorRange) -> UInt32 {
        Art.pixel(SIMD4(yuv(range), 255))
    }
}

extension Fields {
    /// Reads a colour "#rrggbb".
    /// - Throws: `Problem` with file and line if it isn't one.
    mutating func color(_ key: String, default fallback: String) throws -> Color {
        let text = try string(key, default: fallback)
        guard let color = Color(text) else { throw wrong(key, "'\(text)'", allowed: "a colour like #ffcc00") }
        return color
    }

    /// Reads a colour: "#rrggbb", or `{"name": "cloth", "color": "#rrggbb"}` for one that the user can change.
    /// - Parameter choices: the user's options by name. A value that isn't a colour is ignored.
    /// - Throws: `Problem` with file and line for an error in the description.
    mutating func color(_ key: String, choices: [String: String], default fallback: String) throws -> Color {
        guard case .object? = json(key)?.value else { return try color(key, default: fallback) }
        var named = try object(key)
        let name = try named.string("name")
        guard !name.isEmpty else { throw named.wrong("name", "empty", allowed: "a name to show to users") }
        let own = try named.color("color", default: "")
        try named.finish()
        return choices[name].flatMap { Color($0) } ?? own
    }

    /// Reads one of an enumeration's raw values.
    /// - Throws: `Problem` with file and line if it is none of them; it lists the allowed values.
    mutating func oneOf<T: RawRepresentable<String> & CaseIterable>(_ key: String, _ type: T.Type) throws -> T {
        let names = T.allCases.map(\.rawValue)
        let text = try string(key)
        guard let value = T(rawValue: text) else {
            throw unknown(key, text, among: names)
        }
        return value
    }
}
