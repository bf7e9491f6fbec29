/// The first bytes of clips. Other uploads are refused before a decoder starts.
public enum ClipHeader {
    /// Whether a file begins like a clip: MP4 and MOV, WebM and MKV, AVI, or GIF.
    public static func isClip(_ bytes: [UInt8]) -> Bool {
        /// Whether the bytes from an index on are those of a text.
        func has(_ text: String, at index: Int) -> Bool { bytes.dropFirst(index).starts(with: text.utf8) }
        return has("ftyp", at: 4) || bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3])
            || has("RIFF", at: 0) && has("AVI ", at: 8) || has("GIF8", at: 0)
    }
}
