import Frames

/// Text in a PNG file, as tEXt chunks (PNG specification, 11.3.3): the masks worn when the picture was taken.
public enum PNGText {
    /// Inserts text chunks after the header, in order.
    /// - Parameters:
    ///   - png: a whole file.
    ///   - texts: keywords of 1 to 79 letters, and their texts; characters outside Latin-1 become "?".
    /// - Returns: the new file; nil if `png` is not a PNG.
    public static func adding(_ texts: [(keyword: String, text: String)], to png: [UInt8]) -> [UInt8]? {
        let header = PNG.signature.count + 12 + 13
        guard png.count > header, png.starts(with: PNG.signature), PNG.size(of: png) != nil else { return nil }
        var result = Array(png[..<header])
        for (keyword, text) in texts {
            result += PNG.chunk("tEXt", latin(keyword).prefix(79) + [0] + latin(text))
        }
        return result + png[header...]
    }

    /// The texts of a PNG file by keyword; empty if it is not a PNG.
    public static func texts(in png: [UInt8]) -> [String: String] {
        var found: [String: String] = [:]
        var at = PNG.signature.count
        while let chunk = PNG.chunk(in: png, at: at), chunk.end <= png.count {
            let data = png[chunk.data]
            if chunk.name == "tEXt", let end = data.firstIndex(of: 0) {
                found[text(data[..<end])] = text(data[(end + 1)...])
            }
            at = chunk.end
        }
        return found
    }

    private static func latin(_ text: String) -> [UInt8] {
        text.unicodeScalars.map { (1...0xFF).contains($0.value) ? UInt8($0.value) : UInt8(ascii: "?") }
    }

    private static func text(_ latin: ArraySlice<UInt8>) -> String {
        String(String.UnicodeScalarView(latin.map { Unicode.Scalar($0) }))
    }
}
