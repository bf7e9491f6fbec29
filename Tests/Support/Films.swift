import Frames
import JPEG

/// Moving pictures of plain greys.
public enum Films {
    /// The bytes of a film, one picture for each level of luma.
    public static func plain(_ levels: [UInt8], width: Int = 64, height: Int = 48) throws -> [UInt8] {
        let layout = FrameLayout(width: width, height: height, format: .i420, range: .full)
        var encoder = try JPEGEncoder(layout: layout, maxWidth: width)
        var frame = Frame(layout)
        var bytes: [UInt8] = []
        for level in levels {
            frame.fill(y: level, u: 128, v: 128)
            bytes += encoder.encode(frame.view) ?? []
        }
        return bytes
    }

    /// A film with a picture that begins and ends where it should, but can't be decoded.
    /// - Parameter number: the picture's.
    public static func damaging(_ number: Int, of film: [UInt8]) -> [UInt8] {
        var film = film
        let starts = film.indices.dropLast(3).filter { film[$0...].starts(with: [0xFF, 0xD8, 0xFF]) }
        guard starts.indices.contains(number),
            let table = film.indices[starts[number]...].first(where: { film[$0...].starts(with: [0xFF, 0xC4]) })
        else { return [] }
        // More codes of each length than there can be.
        for at in table + 5..<table + 21 { film[at] = 0xFF }
        return film
    }
}
