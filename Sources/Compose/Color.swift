import Frames

/// A colour as people write it: #rrggbb.
struct Color: Equatable, Sendable {
    let red: UInt8
    let green: UInt8
    let blue: UInt8

    /// nil where the text is not of the form #rrggbb.
    init?(_ text: String) {
        let digits = text.utf8.dropFirst()
        guard text.hasPrefix("#"), digits.count == 6, let value = UInt32(text.dropFirst(), radix: 16) else { return nil }
        (red, green, blue) = (UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255))
    }

    /// Luma above black, U and V about 128, in samples of that range (ITU-R BT.601).
    func samples(_ range: ColorRange) -> SIMD3<Float> {
        let (r, g, b) = (Float(red), Float(green), Float(blue))
        let luma = 0.299 * r + 0.587 * g + 0.114 * b
        let chroma = SIMD2((b - luma) / 1.772, (r - luma) / 1.402)
        return range == .full
            ? [luma, chroma.x, chroma.y] : [luma * 219 / 255, chroma.x * 224 / 255, chroma.y * 224 / 255]
    }
}
