import CAllocations
import Foundation
import Frames
import JSON
import Testing
import Track

@testable import Compose
@testable import SystemKit

/// A temporary folder for a mask's art, deleted after the test.
private final class Atelier {
    let path = NSTemporaryDirectory() + "guise-sprites-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    /// A PNG of one colour.
    func png(_ name: String, width: Int = 40, height: Int = 40, _ color: [UInt8]) throws -> [UInt8] {
        let raster = RGBAImage(
            width: width, height: height, bytes: (0..<width * height).flatMap { _ in color })
        try raster.write(png: "\(path)/\(name)")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
    }

    func layer(_ text: String) throws -> MaskLayer {
        var fields = try Fields(try JSON(Array(text.utf8), file: "mask.json"), file: "mask.json")
        return try MaskLayer(&fields, folder: path, target: ArtTarget(layout))
    }

    func mask(_ text: String) throws -> Mask {
        Mask(name: "m", title: "", author: "", licence: "", tags: [], layers: [try layer(text)])
    }
}

private let layout = FrameLayout(width: 320, height: 240, format: .i444, range: .full)

private let head = middleFace

/// The luma of a bright grey frame with one mask.
private func luma(_ mask: Mask, _ face: Face = head, at time: Double = 0) -> [UInt8] {
    var canvas = Canvas(layout)
    canvas.frame.fill(y: 200, u: 128, v: 128)
    var compositor = Compositor(masks: [mask], seed: 1)
    compositor.compose(&canvas, [face], placement: .identity, at: 0)
    if time > 0 {
        canvas.frame.fill(y: 200, u: 128, v: 128)
        compositor.compose(&canvas, [face], placement: .identity, at: time)
    }
    return (0..<320 * 240).map { canvas.frame.bytes[$0] }
}

private func at(_ p: Point) -> Int { Int(p.y.rounded()) * 320 + Int(p.x.rounded()) }

struct SpriteLayerTests {
    @Test func `a spline passes through each pin exactly, and is affine if a map will do`() throws {
        let pins = [Point(0, 0), Point(100, 0), Point(0, 80), Point(100, 80), Point(50, 120)]
        let bend = try #require(ThinPlateSpline(from: Point(0, 0), to: Point(100, 120), pins: pins))
        let map = Affine(scale: 1.3, angle: 0.4, origin: Point(30, 20))
        var seen = [16 of Point](repeating: .zero)
        for i in pins.indices { seen[i] = map(pins[i]) }
        var worst: Float = 0
        for i in 0..<ThinPlateSpline.corners { worst = max(worst, (bend.position(i, seen) - map(bend.grid[i])).length) }
        #expect(worst < 0.05, "\(worst) px from the affine map")
        // One pin is moved: corners on pins move with them, all others are in between.
        seen[4] += Point(0, 25)
        let corner = try #require((0..<ThinPlateSpline.corners).first { bend.grid[$0] == Point(50, 120) })
        #expect((bend.position(corner, seen) - seen[4]).length < 0.05)
        #expect((bend.position(0, seen) - seen[0]).length < 0.05)
        print("bend: at most \(worst) px from an affine map")
    }

    @Test func `more pins hold art to a jaw that opens`() throws {
        let atelier = try Atelier()
        _ = try atelier.png("beard.png", [20, 20, 20, 255])
        let text = """
            {"kind": "sprite", "art": "beard.png", "light": 0, "pins": [
              {"art": [0, 0], "face": "jaw_right"}, {"art": [40, 0], "face": "jaw_left"},
              {"art": [20, 0], "face": "mouth"}, {"art": [20, 39], "face": "chin"}]}
            """
        let mask = try atelier.mask(text)
        var open = head
        for i in 5...11 { open.landmarks[i].y += 20 }
        let (shut, wide) = (luma(mask), luma(mask, open))
        let chin = head.landmarks[8]
        #expect(shut[at(chin - Point(0, 4))] < 60 && shut[at(chin + Point(0, 12))] == 200)
        #expect(wide[at(chin + Point(0, 14))] < 60, "the beard went down with the chin")
    }

    @Test func `lips are left free if a beard lets them through`() throws {
        let atelier = try Atelier()
        _ = try atelier.png("beard.png", [20, 20, 20, 255])
        let pins = """
            "pins": [{"art": [0, 0], "face": "ear_right"}, {"art": [40, 0], "face": "ear_left"},
                     {"art": [20, 39], "face": "chin"}]
            """
        let covered = try atelier.mask(#"{"kind": "sprite", "art": "beard.png", "light": 0, \#(pins)}"#)
        let through = try atelier.mask(
            #"{"kind": "sprite", "art": "beard.png", "light": 0, "lips": "through", \#(pins)}"#)
        for roll in [Float(0), 40, -75] {
            var face = head
            let (c, s) = (Frames.cos(radians(roll)) * 60, Frames.sin(radians(roll)) * 60)
            face.head = HeadPlacement(x: [c, -s, 0], y: [s, c, 0], origin: Point(160, 110))
            face.landmarks = face.head.landmarks
            // An open mouth.
            for i in [55, 56, 57, 58, 59, 65, 66, 67] {
                face.landmarks[i] += face.head([0, 0.2, 0]) - face.head.origin
            }
            let p = face.landmarks
            let (with, without) = (luma(covered, face), luma(through, face))
            for place in [(p[51] + p[62]) / 2, (p[62] + p[66]) / 2, (p[57] + p[66]) / 2] {
                #expect(with[at(place)] < 60 && without[at(place)] > 150, "mouth at \(roll) degrees")
            }
            for place in [p[33], (p[57] + p[8] * 2) / 3, p[48] + (p[48] - p[54]) * 0.2] {
                #expect(without[at(place)] < 60, "beside the mouth at \(roll) degrees")
            }
        }
    }

    @Test func `frames follow one another, from files and from an APNG`() throws {
        let atelier = try Atelier()
        let dark = try atelier.png("dark.png", [0, 0, 0, 255])
        let light = try atelier.png("light.png", [250, 250, 250, 255])
        let pin = #""pins": [{"art": [20, 20], "face": "nose"}], "eyeDistance": 80, "light": 0"#
        let files = try atelier.mask(
            #"{"kind": "sprite", \#(pin), "motion": {"frames": [{"art": "dark.png", "milliseconds": 100}, {"art": "light.png", "milliseconds": 50}]}}"#
        )
        try atelier.write("film.png", apng([dark, light], milliseconds: [100, 50], size: 40))
        let film = try atelier.mask(#"{"kind": "sprite", "art": "film.png", \#(pin)}"#)
        let nose = at(Anchor.nose.position(on: head))
        for (name, mask) in [("files", files), ("APNG", film)] {
            #expect(luma(mask)[nose] < 10, "\(name) at the start")
            #expect(luma(mask, at: 0.12)[nose] > 240, "\(name) after 120 ms")
            #expect(luma(mask, at: 0.17)[nose] < 10, "\(name) after 170 ms")
        }
    }

    @Test func `an APNG's frames are combined by its disposal and blend operations`() throws {
        let atelier = try Atelier()
        let base = try atelier.png("base.png", width: 8, height: 8, [200, 0, 0, 254])
        let dot = try atelier.png("dot.png", width: 2, height: 2, [0, 100, 0, 128])
        // Nearly opaque, because PNGs without alpha have another header, and all frames share one.
        // The dot over the base, then cleared; then in place of what is there, then restored; then over it.
        let bytes = apng(
            [base, dot, dot, dot], milliseconds: [50, 50, 50, 50], size: 8,
            pieces: [(0, 0, 8, 0, 0), (2, 2, 2, 1, 1), (4, 4, 2, 2, 0), (6, 6, 2, 0, 1)])
        try atelier.write("film.png", bytes)
        let film = try #require(try ArtReader.loadAnimation(path: "\(atelier.path)/film.png"))
        #expect(film.pictures.count == 4)
        func pixel(_ picture: Int, _ x: Int, _ y: Int) -> [Int] {
            (0..<4).map { Int(film.pictures[picture].raster.bytes[(y * 8 + x) * 4 + $0]) }
        }
        func isNear(_ a: [Int], _ b: [Int]) -> Bool { zip(a, b).allSatisfy { abs($0 - $1) <= 2 } }
        #expect(isNear(pixel(0, 2, 2), [200, 0, 0, 255]))
        #expect(isNear(pixel(1, 2, 2), [100, 100, 0, 255]), "over: \(pixel(1, 2, 2))")
        #expect(isNear(pixel(2, 2, 2), [0, 0, 0, 0]), "cleared: \(pixel(2, 2, 2))")
        #expect(isNear(pixel(2, 4, 4), [0, 100, 0, 128]), "in place: \(pixel(2, 4, 4))")
        #expect(isNear(pixel(3, 4, 4), [200, 0, 0, 255]), "brought back: \(pixel(3, 4, 4))")
        #expect(isNear(pixel(3, 7, 7), [100, 100, 0, 255]))
    }

    @Test func `a damaged or greedy APNG is an error, and takes nothing down`() throws {
        let atelier = try Atelier()
        let dark = try atelier.png("dark.png", [0, 0, 0, 255])
        let sound = apng([dark, dark], milliseconds: [50, 50], size: 40)
        func reason(_ bytes: [UInt8]) -> String? {
            do {
                try atelier.write("film.png", bytes)
                _ = try ArtReader.loadAnimation(path: "\(atelier.path)/film.png")
                return nil
            } catch { return "\(error)" }
        }
        #expect(reason(sound) == nil)
        #expect(reason(apng([dark], milliseconds: [50], size: 4000, count: 60))?.contains("too many pixels") == true)
        #expect(reason(apng([dark], milliseconds: [50], size: 40, count: 1000))?.contains("the limit is 64") == true)
        let outside = reason(apng([dark], milliseconds: [50], size: 40, pieces: [(10, 0, 40, 0, 0)]))
        #expect(outside?.contains("beyond the picture") == true)
        #expect(reason(apng([dark, dark], milliseconds: [50, 50], size: 40, count: 1))?.contains("damaged") == true)
        #expect(reason(apng([dark], milliseconds: [50], size: 4096, count: 1))?.contains("too many") == true)
        // Truncated or changed anywhere: a picture or an error, nothing else.
        var told = 0
        for length in stride(from: 1, to: sound.count, by: 7) where reason(Array(sound.prefix(length))) != nil {
            told += 1
        }
        for i in stride(from: 8, to: sound.count, by: 3) {
            var bytes = sound
            bytes[i] ^= 0x85
            if reason(bytes) != nil { told += 1 }
        }
        print("damaged APNGs: \(told) told")
        #expect(told > 20)
    }

    @Test(arguments: [
        ([[0, 0], [10, 0], [20, 0], [30, 0]], "one line"), ([[5, 5], [5, 5]], "at the same place"),
        ([[0, 0], [10, 10], [20, 20]], "one line"), ([[7, 7], [7, 7], [7, 7]], "at the same place"),
    ])
    func `pins that cannot hold art are an error`(_ places: [[Int]], _ reason: String) throws {
        let atelier = try Atelier()
        _ = try atelier.png("a.png", [0, 0, 0, 255])
        let pins = places.map { #"{"art": \#($0), "face": "nose"}"# }.joined(separator: ", ")
        let problem = try #require(throws: Problem.self) {
            try atelier.layer(#"{"kind": "sprite", "art": "a.png", "pins": [\#(pins)]}"#)
        }
        #expect(problem.description.contains(reason), "\(problem.description)")
    }

    @Test func `motion that a layer does not support is an error`() throws {
        let atelier = try Atelier()
        _ = try atelier.png("a.png", [0, 0, 0, 255])
        let swing = #""motion": {"swing": {"frequency": 2}}"#
        let pins = #""pins": [{"art": [0, 0], "face": "right_eye"}, {"art": [40, 0], "face": "left_eye"}]"#
        for (text, reason) in [
            (
                #"{"kind": "anonymize", "mode": "blur", "motion": {"frames": [{"art": "a.png"}]}}"#,
                "'motion' has no effect"
            ),
            (#"{"kind": "background", "mode": "blur", \#(swing)}"#, "in sprite and mesh layers"),
            (#"{"kind": "sprite", "art": "a.png", \#(pins), \#(swing)}"#, "2 pins"),
        ] {
            let problem = try #require(throws: Problem.self) { try atelier.layer(text) }
            #expect(problem.description.contains(reason), "\(problem.description)")
        }
    }

    @Test func `art of the whole picture whose edges or place make no sense is an error`() throws {
        let atelier = try Atelier()
        _ = try atelier.png("a.png", width: 40, height: 40, [0, 0, 0, 255])
        for (keys, reason) in [
            (#""fit": "border", "border": [30, 0, 20, 0]"#, "thicker than the art"),
            (#""fit": "border", "border": [0, 25, 0, 16]"#, "thicker than the art"),
            (#""fit": "border", "border": [-1, 0, 0, 0]"#, "0 to 10000 units"),
            (#""fit": "cover", "place": "top""#, "no 'fit' beside 'place'"),
        ] {
            let problem = try #require(throws: Problem.self) {
                try atelier.layer(#"{"kind": "frame", "art": "a.png", \#(keys)}"#)
            }
            #expect(problem.description.contains(reason), "\(problem.description)")
        }
        #expect(throws: Never.self) {
            try atelier.layer(#"{"kind": "frame", "art": "a.png", "fit": "border", "border": [20, 1, 20, 1]}"#)
        }
    }

    @Test(arguments: [-1, 1] as [Float])
    func `a pendulum never hangs beyond its limit, not even at first`(side: Float) {
        let swing = Swing(frequency: 1.5, damping: 0.15, limit: 20)
        var pendulum = Pendulum()
        let tilt = SIMD2(side * 35 * .pi / 180, 0)
        for elapsed: Float in [0, 0.03, 0.03, 3, 0.03] {
            pendulum.step(swing, speed: .zero, tilt: tilt, elapsed: elapsed)
            #expect(abs(pendulum.degrees.x) <= 20.01)
        }
    }

    @Test func `a sprite on one pin swings about it when the head is thrown aside`() throws {
        let atelier = try Atelier()
        // The pin is at the middle of its upper edge.
        _ = try atelier.png("tongue.png", width: 8, height: 60, [0, 0, 0, 255])
        let text =
            #"{"kind": "sprite", "art": "tongue.png", "eyeDistance": 80, "light": 0,"#
            + #" "pins": [{"art": [4, 0], "face": "nose"}], "motion": {"swing": {"frequency": 2, "limit": 40}}}"#
        var compositor = Compositor(masks: [try atelier.mask(text)], seed: 1)
        var canvas = Canvas(layout)
        /// Position of the dark art's lower end, pixels right of the nose.
        var aside: [Float] = []
        for i in 0..<20 {
            let shift = Point(Float(min(i, 6)) * 5, 0)
            let face = head.moved(by: Affine(a: 1, b: 0, c: 0, d: 1, tx: shift.x, ty: shift.y))
            canvas.frame.fill(y: 200, u: 128, v: 128)
            compositor.compose(&canvas, [face], placement: .identity, at: Double(i) / 30)
            let nose = Anchor.nose.position(on: face)
            let row = Int(nose.y) + 25
            let dark = (0..<320).filter { canvas.frame.bytes[row * 320 + $0] < 60 }
            guard !dark.isEmpty else { continue }
            aside.append(Float(dark.reduce(0, +)) / Float(dark.count) - nose.x)
        }
        print("the tongue's lower part lies \(aside.map { $0.rounded() }) pixels beside the nose")
        #expect(aside.count == 20)
        #expect(abs(aside[0]) < 2)
        #expect((aside.min() ?? 0) < -2.5, "it lags behind a head that moves right")
        #expect((aside.suffix(13).max() ?? 0) > 2.5, "and swings over when it stops")
    }

    @Test func `a bent sprite with lips and light allocates nothing once warm`() throws {
        let atelier = try Atelier()
        _ = try atelier.png("beard.png", [20, 20, 20, 255])
        let mask = try atelier.mask(
            """
            {"kind": "sprite", "art": "beard.png", "blend": "multiply", "lips": "through", "pins": [
              {"art": [0, 0], "face": "jaw_right"}, {"art": [40, 0], "face": "jaw_left"},
              {"art": [20, 0], "face": "mouth"}, {"art": [20, 39], "face": "chin"}]}
            """)
        var canvas = Canvas(layout)
        canvas.frame.fill(y: 90, u: 110, v: 150)
        var compositor = Compositor(masks: [mask], seed: 1)
        let faces = [head]
        for i in 0..<3 { compositor.compose(&canvas, faces, placement: .identity, at: Double(i) / 30) }
        let before = callocations_count()
        for i in 3..<13 { compositor.compose(&canvas, faces, placement: .identity, at: Double(i) / 30) }
        let asked = callocations_count() - before
        print("a bent sprite: \(asked) calls for memory in ten frames")
        #expect(asked == 0)
    }
}

/// An APNG of single PNGs.
/// - Parameters:
///   - count: the number of frames in its header; nil: the real one.
///   - pieces: x, y, side, disposal and blend of each frame; nil: the whole picture.
private func apng(
    _ pngs: [[UInt8]], milliseconds: [Int], size: Int, count: Int? = nil, pieces: [(Int, Int, Int, Int, Int)]? = nil
) -> [UInt8] {
    func bytes(_ n: Int, _ count: Int = 4) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: n >> ($0 * 8)) }
    }
    func data(_ png: [UInt8]) -> [UInt8] {
        var (place, found): (Int, [UInt8]) = (8, [])
        while place + 12 <= png.count {
            let length = png[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            if Array(png[place + 4..<place + 8]) == Array("IDAT".utf8) { found += png[place + 8..<place + 8 + length] }
            place += length + 12
        }
        return found
    }
    var film = Array(pngs[0][0..<8])
    film += PNG.chunk("IHDR", bytes(size) + bytes(size) + pngs[0][24..<29])
    film += PNG.chunk("acTL", bytes(count ?? pngs.count) + bytes(0))
    var sequence = 0
    for (i, png) in pngs.enumerated() {
        let piece = pieces?[i] ?? (0, 0, size, 0, 0)
        film += PNG.chunk(
            "fcTL",
            bytes(sequence) + bytes(piece.2) + bytes(piece.2) + bytes(piece.0) + bytes(piece.1)
                + bytes(milliseconds[i], 2) + bytes(1000, 2) + [UInt8(piece.3), UInt8(piece.4)])
        sequence += 1
        if i == 0 {
            film += PNG.chunk("IDAT", data(png))
        } else {
            film += PNG.chunk("fdAT", bytes(sequence) + data(png))
            sequence += 1
        }
    }
    return film + PNG.chunk("IEND", [])
}
