import Frames
import JSON

/// A stamp or a text that the user has placed by hand.
struct Stamp: Sendable {
    enum Content: Sendable, Equatable {
        /// One of the layer's pictures, by its name.
        case art(String)
        /// A text, and its colour, "#rrggbb".
        case text(String, color: String)
    }

    /// What the stamp keeps its place on.
    enum Pin: String, CaseIterable, Sendable {
        /// The picture: positions are fractions of its width and height from the top left corner, sizes of its height.
        case picture
        /// Every face: places and sizes are in eye distances, from the midpoint of the eyes, along the face's axes.
        case face
    }

    let content: Content
    let pin: Pin
    /// The place of the stamp's centre.
    let center: Point
    /// The longer side.
    let size: Float
    /// The rotation, clockwise in degrees; on a face, in addition to the head's.
    let turn: Float

    /// The most stamps of a layer.
    static let maxCount = 32

    /// Reads a stamp.
    /// - Parameter names: the names of the layer's pictures.
    /// - Throws: `Problem` for the first wrong key.
    init(_ source: Fields, names: [String]) throws {
        var fields = source
        pin = try fields.choice("on", default: .picture)
        if fields.has("text") {
            guard !fields.has("art") else {
                throw fields.wrong("text", "used together with 'art'", allowed: "only one of them")
            }
            let text = try fields.string("text")
            guard text.contains(where: { !$0.isWhitespace }), text.count <= MaskOption.maxTextLength else {
                throw fields.wrong(
                    "text", text.count > MaskOption.maxTextLength ? "too long" : "empty",
                    allowed: "1 to \(MaskOption.maxTextLength) characters")
            }
            _ = try fields.color("color", default: "#ffffff")
            content = .text(text, color: try fields.string("color", default: "#ffffff"))
        } else {
            let name = try fields.string("art")
            guard names.contains(name) else { throw fields.unknown("art", name, among: names) }
            content = .art(name)
        }
        let reach: ClosedRange<Double> = pin == .picture ? -0.5...1.5 : -20...20
        let numbers = try fields.numbers("at", count: 2, in: reach)
        center = Point(Float(numbers[0]), Float(numbers[1]))
        size = Float(try fields.number("size", in: pin == .picture ? 0.02...2 : 0.1...20))
        turn = Float(try fields.number("turn", in: -360...360, default: 0))
        try fields.finish()
    }

    /// Reads a list of stamps.
    /// - Parameter names: the names of the layer's pictures.
    /// - Throws: `Problem` for the first wrong stamp, or if there are too many.
    static func list(_ fields: inout Fields, _ key: String, names: [String]) throws -> [Stamp] {
        let stamps = try fields.objects(key)
        guard stamps.count <= maxCount else {
            throw fields.wrong(key, "a list of \(stamps.count) stamps", allowed: "at most \(maxCount)")
        }
        return try stamps.map { try Stamp($0, names: names) }
    }

    /// Reads a list of stamps from the text of a JSON array.
    /// - Throws: `Problem` if it is none, for the first wrong stamp, or if there are too many.
    static func list(text: String, names: [String]) throws -> [Stamp] {
        let list = try JSON(Array(text.utf8), file: "stamps")
        var fields = try Fields(JSON(["items": list]), file: "stamps")
        return try Self.list(&fields, "items", names: names)
    }
}
