import CAllocations
import Foundation
import Frames
import JSON
import Testing
import Track
import TestSupport

@testable import Compose

private let masks = masksFolder

/// A face of 100 pixels between the eyes.
private func face(yaw: Float = 0, open: Float = 0) -> Face {
    var face = Face.mean
    let (c, s) = (Frames.cos(radians(yaw)) * 100, Frames.sin(radians(yaw)) * 100)
    face.head = HeadPlacement(x: [c, 0, -s], y: [0, 100, 0], origin: Point(640, 300))
    face.landmarks = face.head.landmarks
    // In a closed mouth the inner lips touch; in an open one the lower lip and chin are lower.
    for i in 65...67 { face.landmarks[i].y = face.landmarks[128 - i].y + 1 + open }
    for i in [55, 56, 57, 58, 59] { face.landmarks[i].y += open }
    for i in 6...10 { face.landmarks[i].y += open }
    (face.id, face.state) = (1, .tracked)
    return face
}

/// A frame with uniform skin and a mask.
private func dressed(_ name: String, _ face: Face, luma: UInt8 = 140, _ format: PixelFormat = .yuyv) throws -> Canvas {
    let layout = FrameLayout(width: 1280, height: 720, format: format, range: .limited)
    return dressed(try MaskLibrary(searchPaths: [masks]).load(name, for: ArtTarget(layout)), layout, face, luma: luma)
}

private func dressed(_ mask: Mask, _ layout: FrameLayout, _ face: Face, luma: UInt8 = 140) -> Canvas {
    var canvas = Canvas(layout)
    canvas.frame.fill(y: luma, u: 112, v: 148)
    var compositor = Compositor(masks: [mask], seed: 1)
    compositor.compose(&canvas, [face], placement: .identity, at: 0)
    return canvas
}

extension Canvas {
    fileprivate func luma(_ p: Point) -> Int {
        let view = frame.view.luma
        return Int(view.samples[Int(p.y.rounded()) * view.rowStride + Int(p.x.rounded()) * view.pixelStride])
    }
}

@Test(arguments: ["makeup-evening", "makeup-goth", "tiger", "clown"])
func `an open mouth is unchanged, and lips are painted`(_ name: String) throws {
    let open = face(open: 45)
    let canvas = try dressed(name, open)
    let p = open.landmarks
    for t in stride(from: Float(0.1), through: 0.9, by: 0.1) {
        let tooth = p[62] + (p[66] - p[62]) * t
        let seen = canvas.luma(tooth)
        #expect(seen == 140, "\(name) at \(t) between the lips")
    }
    let lips = [(p[51] + p[62]) / 2, (p[57] + p[66]) / 2].map { canvas.luma($0) }
    print("\(name): skin 140, lips \(lips)")
    #expect(lips.allSatisfy { abs($0 - 140) > 8 })
}

@Test func `lips that touch show no bare skin between them, and open steadily`() throws {
    var last: Int?
    let layout = FrameLayout(width: 1280, height: 720, format: .yuyv, range: .limited)
    let mask = try MaskLibrary(searchPaths: [masks]).load("makeup-goth", for: ArtTarget(layout))
    for open in stride(from: Float(0), through: 14, by: 0.5) {
        let mouth = face(open: open)
        let canvas = dressed(mask, layout, mouth)
        let middle = (mouth.landmarks[62] + mouth.landmarks[66]) / 2
        let painted = (-2...2).filter { canvas.luma(middle + Point(0, Float($0))) < 125 }.count
        if open < 1 { #expect(painted >= 4) }
        if let last { #expect(abs(painted - last) <= 2) }
        last = painted
    }
    #expect(last == 0)
}

@Test func `make-up is the same in every layout`() throws {
    let one = try dressed("makeup-evening", face(), .yuyv)
    for format in [PixelFormat.uyvy, .nv12, .i420, .i422, .i444] {
        let other = try dressed("makeup-evening", face(), format)
        var worst = 0
        for y in stride(from: Float(180), to: 500, by: 3) {
            for x in stride(from: Float(520), to: 760, by: 3) {
                worst = max(worst, abs(one.luma(Point(x, y)) - other.luma(Point(x, y))))
            }
        }
        #expect(worst <= 2, "\(format)")
    }
}

@Test func `nothing is drawn next to a turned face, and its near side is covered`() throws {
    for yaw in [Float(-40), 40] {
        let turned = face(yaw: yaw)
        let canvas = try dressed("tiger", turned)
        let places = CanonicalFaceUV.positions(on: turned)
        let outline = CanonicalFaceUV.outline.map { places[$0] }
        let low = outline.map(\.x).min() ?? 0
        let high = outline.map(\.x).max() ?? 0
        for y in stride(from: Float(100), to: 600, by: 4) {
            let beside = [canvas.luma(Point(low - 3, y)), canvas.luma(Point(high + 3, y))]
            #expect(beside == [140, 140])
        }
        let near = yaw < 0 ? places[85] : places[84]
        let changes = [abs(canvas.luma(near) - 140), abs(canvas.luma(near + Point(6, 6)) - 140)]
        #expect(changes[0] > 4 || changes[1] > 4)
    }
}

@Test func `hair stays in front of painted foreheads, and shade, brows and cheeks are painted`() throws {
    let layout = FrameLayout(width: 1280, height: 720, format: .yuyv, range: .limited)
    /// Luma of a lock of hair and of shade on the forehead, of skin next to them, and of a spot as dark as the lock
    /// below the brows.
    func seen(_ hair: String) throws -> (lock: Int, shade: Int, skin: Int, cheek: Int) {
        let mask = try layer(
            "{\"kind\": \"skin\", \"art\": \"clown.svg\", \"shading\": 0.9, \"hair\": \"\(hair)\"}", layout,
            folder: masks + "/clown")
        var canvas = Canvas(layout)
        canvas.frame.fill(y: 160, u: 112, v: 148)
        let places: [(x: Int, y: Int, luma: UInt8)] = [(590, 205, 40), (680, 205, 120), (700, 380, 40)]
        var bytes = canvas.frame.mutableBytes
        for place in places {
            for y in place.y - 8...place.y + 8 {
                for x in place.x - 8...place.x + 8 { bytes[y * layout.planes[0].stride + 2 * x] = place.luma }
            }
        }
        var compositor = Compositor(masks: [mask], seed: 1)
        compositor.compose(&canvas, [face()], placement: .identity, at: 0)
        return (
            canvas.luma(Point(590, 205)), canvas.luma(Point(680, 205)), canvas.luma(Point(640, 205)),
            canvas.luma(Point(700, 380))
        )
    }
    let (open, covered) = (try seen("open"), try seen("covered"))
    print("hair open: \(open), covered: \(covered)")
    #expect(open.lock == 40 && covered.lock > 45)
    #expect(open.shade == covered.shade && open.shade > 130)
    #expect(open.skin == covered.skin && open.skin > 180)
    #expect(open.cheek == covered.cheek && open.cheek > 45)
}

@Test func `paint is darker in a dim room`() throws {
    let day = try dressed("clown", face(), luma: 160)
    let dusk = try dressed("clown", face(), luma: 60)
    let forehead = Point(640, 210)
    print("clown's white on skin of luma 160: \(day.luma(forehead)), of 60: \(dusk.luma(forehead))")
    let whites = [dusk.luma(forehead), day.luma(forehead)]
    #expect(whites[0] < whites[1] - 50)
}

@Test func `a mistake in make-up is an error with line and key`() throws {
    func problem(_ text: String) -> String {
        do {
            var fields = try Fields(try JSON(Array(text.utf8), file: "mask.json"), file: "mask.json")
            let target = ArtTarget(FrameLayout(width: 640, height: 480, format: .i420))
            _ = try MaskLayer(&fields, folder: "/", target: target)
            return ""
        } catch { return "\(error)" }
    }
    #expect(problem(#"{"kind": "makeup", "lips": {"strength": 2}}"#).contains("lips.strength"))
    #expect(problem(#"{"kind": "makeup", "lips": {"strength": 1, "glos": 1}}"#).contains("gloss"))
    #expect(
        problem(##"{"kind": "makeup", "palettes": {"rose": {"lips": "red"}}, "lips": {"strength": 1}}"##)
            .contains("palettes.rose.lips"))
    #expect(
        problem(##"{"kind": "makeup", "palettes": {"rose": {}}, "palette": "rosa", "lips": {"strength": 1}}"##)
            .contains("rose"))
    #expect(problem(#"{"kind": "makeup"}"#).contains("lips"))
}

@Test func `skin is smoothed as strongly as is set, however much its colour is evened out`() throws {
    let layout = FrameLayout(width: 320, height: 240, format: .i444)
    let chroma = layout.planes[1].offset
    // Faint pores, which smoothing removes, and noise of colour.
    var before = Samples(noise: layout)
    for i in 0..<chroma { before.bytes[i] = UInt8(148 + Int(before.bytes[i]) % 9) }
    /// Whether the luma, and the chroma, are changed.
    func changes(_ skin: String) throws -> [Bool] {
        let after = worn(try layer("{\"kind\": \"makeup\", \"skin\": \(skin)}", layout), on: before, [middleFace])
        return [before.bytes[..<chroma] != after.bytes[..<chroma], before.bytes[chroma...] != after.bytes[chroma...]]
    }
    #expect(try changes(#"{"strength": 0, "even": 1}"#) == [false, true])
    #expect(try changes(#"{"strength": 1}"#) == [true, false])
    #expect(try changes(#"{"strength": 1, "even": 1}"#) == [true, true])
}

@Test(arguments: ["tiger", "makeup-evening", "domino"])
func `a frame allocates nothing once warm`(_ name: String) throws {
    let layout = FrameLayout(width: 1280, height: 720, format: .yuyv, range: .limited)
    let mask = try MaskLibrary(searchPaths: [masks]).load(name, for: ArtTarget(layout))
    var canvas = Canvas(layout)
    var compositor = Compositor(masks: [mask], seed: 1)
    let faces = [face()]
    var asked: UInt64 = 0
    for i in 0..<12 {
        canvas.frame.fill(y: 140, u: 112, v: 148)
        let before = callocations_count()
        compositor.compose(&canvas, faces, placement: .identity, at: Double(i) / 30)
        if i >= 5 { asked += callocations_count() - before }
    }
    #expect(asked == 0)
}
