/// The picture that the camera shows while Guise isn't running: the colour of Guise's placeholders and a short text.
///
/// It is drawn without a font or a file, so that the service reads nothing.
public enum ServicePlaceholder {
    private static let text = "GUISE IS NOT RUNNING"
    /// The letters of the text, 5 pixels wide and 7 high: a number for each row, the leftmost pixel in its highest bit.
    private static let letters: [Character: [UInt8]] = [
        "E": [0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x1F], "G": [0x0E, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0F],
        "I": [0x0E, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E], "N": [0x11, 0x19, 0x15, 0x13, 0x11, 0x11, 0x11],
        "O": [0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E], "R": [0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11],
        "S": [0x0F, 0x10, 0x10, 0x0E, 0x01, 0x01, 0x1E], "T": [0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04],
        "U": [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E],
    ]
    private static let letterWidth = 5
    private static let letterHeight = 7
    /// Y, U, V of the background (BT.601), as of all placeholders, and Y of the text.
    private static let background: (y: UInt8, u: UInt8, v: UInt8) = (48, 138, 124)
    private static let ink: UInt8 = 180

    /// The bytes of the placeholder: YUYV, rows without padding.
    public static func frame(_ mode: CameraMode) -> [UInt8] {
        let (width, height) = (mode.width, mode.height)
        var bytes = [UInt8](repeating: background.y, count: mode.frameBytes)
        for i in stride(from: 1, to: bytes.count, by: 4) {
            (bytes[i], bytes[i + 2]) = (background.u, background.v)
        }
        // The side of a letter's pixel in pixels of the picture: the text is about half as wide as the picture.
        let side = max(1, width / (2 * text.count * (letterWidth + 1)))
        let left = (width - text.count * (letterWidth + 1) * side) / 2
        let top = (height - letterHeight * side) / 2
        for (index, letter) in text.enumerated() {
            guard let rows = letters[letter] else { continue }
            for y in 0..<letterHeight * side {
                for x in 0..<letterWidth * side where rows[y / side] >> UInt8(letterWidth - 1 - x / side) & 1 == 1 {
                    bytes[((top + y) * width + left + index * (letterWidth + 1) * side + x) * 2] = ink
                }
            }
        }
        return bytes
    }
}
