import CAllocations
import Frames
import TestSupport
import Testing
import Track

@testable import Compose

/// Stamps, frames round faces and texts that the user places by hand.
struct StampsLayerTests {
    private static let layout = FrameLayout(width: 640, height: 360, format: .yuyv)
    private static let two = [
        face(at: Point(180, 150), scale: 50, roll: 30), face(at: Point(450, 170), scale: 42),
    ]
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        // A red square, and a bar along the upper edge of a square without colour.
        try scratch.write(
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="10" height="10" fill="red"/></svg>"#,
            "square.svg")
        try scratch.write(
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="10" height="10" fill="none"/>\
            <rect width="10" height="2" fill="red"/></svg>
            """, "bar.svg")
    }

    /// A mask of the stamps in `items`.
    private func stamps(_ items: String, chosen: String? = nil) throws -> Mask {
        var target = ArtTarget(Self.layout)
        target.choices["items"] = chosen
        return try layer(
            #"{"kind": "stamps", "art": {"square": "square.svg", "bar": "bar.svg"}, "items": \#(items)}"#, Self.layout,
            folder: scratch.url.path, target: target)
    }

    /// The box of the pixels that a mask draws on black.
    private func box(_ mask: Mask, _ faces: [Face] = []) throws -> Rect {
        let after = worn(mask, on: Samples(Frame(Self.layout)), faces)
        var (low, high) = (Point(640, 360), Point(0, 0))
        for y in 0..<360 {
            for x in 0..<640 where after[x, y].x > 40 {
                let point = Point(Float(x), Float(y))
                (low, high) = (pointwiseMin(low, point), pointwiseMax(high, point))
            }
        }
        return Rect(x: low.x, y: low.y, width: high.x - low.x + 1, height: high.y - low.y + 1)
    }

    @Test func `a stamp on the picture has its place and size in shares of the picture, whoever is in it`() throws {
        let mask = try stamps(#"[{"art": "square", "at": [0.25, 0.5], "size": 0.5}]"#)
        for faces in [[], Self.two] {
            let seen = try box(mask, faces)
            #expect(abs(seen.center.x - 160) < 2 && abs(seen.center.y - 180) < 2, "\(seen)")
            #expect(abs(seen.width - 180) < 3 && abs(seen.height - 180) < 3, "\(seen)")
        }
    }

    @Test func `a stamp turns clockwise about its centre`() throws {
        // The bar lies at the upper edge, after a quarter turn at the right one.
        let upright = try box(try stamps(#"[{"art": "bar", "at": [0.5, 0.5], "size": 0.5}]"#))
        #expect(upright.y < 95 && upright.height < 40 && upright.width > 170, "\(upright)")
        let turned = try box(try stamps(#"[{"art": "bar", "at": [0.5, 0.5], "size": 0.5, "turn": 90}]"#))
        #expect(turned.x > 370 && turned.width < 40 && turned.height > 170, "\(turned)")
    }

    @Test func `a stamp on faces lies on each, moves, grows and turns with it`() throws {
        let mask = try stamps(#"[{"art": "square", "on": "face", "at": [0, -2], "size": 1}]"#)
        #expect(try box(mask).width < 1, "there is no face")
        let straight = try box(mask, [Self.two[1]])
        #expect(abs(straight.center.x - 450) < 3 && abs(straight.center.y - (170 - 84)) < 3, "\(straight)")
        #expect(abs(straight.width - 42) < 3, "\(straight)")
        // Above a head that is tilted clockwise means to the right.
        let tilted = try box(mask, [Self.two[0]])
        #expect(abs(tilted.center.x - (180 + 50)) < 3 && abs(tilted.center.y - (150 - 86.6)) < 3, "\(tilted)")
        let both = try box(mask, Self.two)
        #expect(both.x < 210 && both.x + both.width > 460, "\(both)")
    }

    @Test func `what the user has placed replaces the mask's own; what can't be read does not`() throws {
        let own = #"[{"art": "square", "at": [0.25, 0.5], "size": 0.2}]"#
        let moved = try box(try stamps(own, chosen: #"[{"art": "square", "at": [0.75, 0.5], "size": 0.2}]"#))
        #expect(abs(moved.center.x - 480) < 2)
        #expect(try box(try stamps(own, chosen: "[]")).width < 1, "everything was removed")
        for broken in ["", "{", #"[{"art": "gone", "at": [0, 0], "size": 1}]"#] {
            #expect(abs(try box(try stamps(own, chosen: broken)).center.x - 160) < 2, "\(broken)")
        }
    }

    @Test func `a text fits its size, however long it is`() throws {
        for text in ["Hi", "A far longer text than the other one"] {
            let seen = try box(
                try stamps(##"[{"text": "\##(text)", "at": [0.5, 0.5], "size": 0.5, "color": "#ffffff"}]"##))
            #expect(max(seen.width, seen.height) <= 184 && max(seen.width, seen.height) > 120, "\(seen)")
            #expect(abs(seen.center.x - 320) < 12 && abs(seen.center.y - 180) < 12, "\(seen)")
        }
    }

    @Test(arguments: [
        (#"{"art": "sqare", "at": [0, 0], "size": 1}"#, "did you mean 'square'"),
        (#"{"at": [0, 0], "size": 1}"#, "'items[0].art' is missing"),
        (#"{"art": "square", "text": "a", "at": [0, 0], "size": 1}"#, "only one of them"),
        (#"{"text": " ", "at": [0, 0], "size": 1}"#, "empty"),
        (#"{"art": "square", "at": [2, 0], "size": 1}"#, "-0.5 to 1.5"),
        (#"{"art": "square", "at": [0, 0], "size": 3}"#, "0.02 to 2"),
        (#"{"art": "square", "on": "face", "at": [0, 0], "size": 30}"#, "0.1 to 20"),
        (#"{"art": "square", "on": "head", "at": [0, 0], "size": 1}"#, "picture, face"),
        (#"{"art": "square", "at": [0, 0], "size": 1, "angle": 3}"#, "unknown key"),
    ])
    func `a wrong stamp is an error that says what is allowed`(stamp: String, words: String) throws {
        let problem = #expect(throws: (any Error).self) { try stamps("[\(stamp)]") }
        #expect("\(problem.map { "\($0)" } ?? "")".contains(words), "\(problem.map { "\($0)" } ?? "")")
        #expect(!MaskOption.stamps(["square", "bar"]).allows("[\(stamp)]"))
    }

    @Test func `more stamps than anybody places are an error`() throws {
        let one = #"{"art": "square", "at": [0.5, 0.5], "size": 0.1}"#
        let most = "[\(Array(repeating: one, count: 32).joined(separator: ","))]"
        #expect(MaskOption.stamps(["square"]).allows(most))
        #expect(!MaskOption.stamps(["square"]).allows(most.dropLast() + ",\(one)]"))
    }

    @Test func `the mask that comes with Guise has stamps, a frame round each face, and options for both`() throws {
        let library = MaskLibrary(searchPaths: [masksFolder])
        let summary = try #require(library.summary(of: "stamps"))
        guard case .stamps(let names)? = summary.options["items"] else {
            Issue.record("the mask has no stamps: \(summary.options)")
            return
        }
        #expect(names.count >= 12 && !summary.isPersonal)
        // What it is shown with can be sent back.
        let standard = try #require(summary.defaults["items"])
        #expect(MaskOption.stamps(names).allows(standard), "\(standard)")
        // Each of them loads.
        let all = names.map { #"{"art": "\#($0)", "at": [0.5, 0.5], "size": 0.1}"# }.joined(separator: ",")
        var target = ArtTarget(Self.layout)
        target.choices["items"] = "[\(all)]"
        let seen = try box(try library.load("stamps", for: target))
        #expect(abs(seen.center.x - 320) < 20 && abs(seen.center.y - 180) < 20, "\(seen)")
    }

    @Test func `stamps ask for no memory once warm`() throws {
        let mask = try stamps(
            #"[{"art": "square", "at": [0.5, 0.5], "size": 0.3}, {"art": "bar", "on": "face", "at": [0, 0], "size": 4}]"#
        )
        var canvas = Canvas(Self.layout)
        var compositor = Compositor(masks: [mask])
        for i in 0..<3 { compositor.compose(&canvas, Self.two, placement: .identity, at: Double(i) / 30) }
        let asked = callocations_count()
        compositor.compose(&canvas, Self.two, placement: .identity, at: 0.1)
        #expect(callocations_count() == asked)
    }
}
