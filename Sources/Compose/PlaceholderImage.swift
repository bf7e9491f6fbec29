import Frames

/// An image with a text that replaces the picture: nobody is watching, Guise is paused, or something is wrong.
public enum PlaceholderImage {
    /// The most characters on a line. Longer text is wrapped between words.
    static let lineLength = 58
    /// The most lines below the title. The rest is cut off.
    static let maxLines = 5

    /// A frame with the placeholder, without the text if it can't be drawn. Takes as long as `draw`.
    public static func frame(title: String, text: String, _ layout: FrameLayout) -> Frame {
        var frame = Frame(layout)
        try? draw(title: title, text: text, into: &frame)
        return frame
    }

    /// Draws the placeholder over the whole frame. Takes some milliseconds and starts a separate process, so don't call
    /// it in the frame loop.
    /// - Parameters:
    ///   - title: a few words.
    ///   - text: one or two sentences; may be empty.
    /// - Throws: `Problem` if the text can't be drawn. The frame then has the plain background.
    public static func draw(title: String, text: String, into frame: inout Frame) throws {
        frame.fillPlaceholderBackground()
        let layout = frame.layout
        let art = try Art(svg: svg(title, lines(of: text), layout), density: 1, range: layout.range)
        // Whole coordinates are pixel centres, so the first pixel's edge is at -0.5.
        guard let level = art.levels.first, let toArt = level.map.inverse else { return }
        let toPixels = Affine(a: 1, b: 0, c: 0, d: 1, tx: -0.5, ty: -0.5)
        blend(level.sprite, by: toPixels.after(toArt), opacity: 1, onto: &frame)
    }

    /// The SVG of a mask with two eyes, the title and the lines, in the middle of the picture.
    private static func svg(_ title: String, _ lines: [String], _ layout: FrameLayout) -> String {
        let (width, height) = (Double(layout.width), Double(layout.height))
        let unit = min(height / 100, width / 120)
        let middle = height / 2 - Double(lines.count) * 2.8 * unit
        var texts = ""
        for (i, line) in ([title] + lines).enumerated() {
            let size = (i == 0 ? 7.5 : 3.9) * unit
            let y = middle + (i == 0 ? 12 : 13.5 + Double(i) * 5.8) * unit
            texts += """
                <text x="\(width / 2)" y="\(y)" font-size="\(size)" font-weight="\(i == 0 ? 700 : 400)" \
                fill="\(i == 0 ? "#eef2f6" : "#a9b6c4")">\(xml(line))</text>
                """
        }
        // The mask is drawn in a box of 20x9 units around its centre.
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)">\
            <g transform="translate(\(width / 2) \(middle - 6 * unit)) scale(\(unit))">\
            <path fill="#6f8fb3" fill-rule="evenodd" d="M-13 -4.6 C-8 -7 -3.4 -5.6 0 -4.2 C3.4 -5.6 8 -7 13 -4.6 \
            C14.2 1 11.6 6.2 6.6 6.4 C3 6.5 1.8 3.4 0 3.2 C-1.8 3.4 -3 6.5 -6.6 6.4 C-11.6 6.2 -14.2 1 -13 -4.6 Z \
            M-9.4 .2 C-7.8 2.6 -4.2 2.6 -2.8 .6 C-4.6 -1.8 -7.8 -2 -9.4 .2 Z M9.4 .2 C7.8 2.6 4.2 2.6 2.8 .6 \
            C4.6 -1.8 7.8 -2 9.4 .2 Z"/></g>\
            <g font-family="sans-serif" text-anchor="middle">\(texts)</g></svg>
            """
    }

    /// Wraps a text into at most `maxLines` lines of at most `lineLength` characters. Dots show that there is more
    /// text.
    static func lines(of text: String) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + word.count < lineLength {
                lines[lines.count - 1] = "\(last) \(word)"
            } else if lines.count < maxLines {
                lines.append(String(word.prefix(lineLength)))
            } else {
                let end = " ..."
                lines[lines.count - 1] = lines[lines.count - 1].prefix(lineLength - end.count) + end
                break
            }
        }
        return lines
    }
}
