import Frames
import Testing
import Track

@testable import Compose

struct AnonymizeLayerTests {
    /// Faces that are turned, tilted, small, partly outside, and predicted.
    static let faces: [(String, Face)] = [
        ("upright", face(at: Point(160, 110), scale: 44)),
        ("tilted", face(at: Point(150, 110), scale: 40, roll: 38)),
        ("turned", face(at: Point(170, 110), scale: 44, yaw: 62)),
        ("small", face(at: Point(60, 60), scale: 11)),
        ("at the edge", face(at: Point(8, 20), scale: 44, roll: -20)),
        ("predicted", face(at: Point(160, 110), scale: 44, state: .predicted)),
    ]

    private static let layouts = PixelFormat.allCases.map { FrameLayout(width: 320, height: 240, format: $0) }

    /// The landmarks' upright box and convex hull: the pixels that must be hidden.
    private static func hull(of face: Face, _ layout: FrameLayout) -> [(x: Int, y: Int)] {
        // Convex hull by gift wrapping.
        let points = (0..<68).map { face.landmarks[$0] }
        guard var at = points.min(by: { $0.x < $1.x }) else { return [] }
        var corners: [Point] = []
        repeat {
            corners.append(at)
            var next = points[0]
            for p in points {
                let (a, b) = (next - at, p - at)
                let turn = a.x * b.y - a.y * b.x
                if next == at || turn < 0 || (turn == 0 && b.length > a.length) { next = p }
            }
            at = next
        } while at != corners[0] && corners.count < 68
        var inside: [(Int, Int)] = []
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let p = Point(Float(x), Float(y))
                let isIn = corners.indices.allSatisfy {
                    let (a, b) = (corners[$0], corners[($0 + 1) % corners.count])
                    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) >= 0
                }
                if isIn { inside.append((x, y)) }
            }
        }
        return inside
    }

    @Test(arguments: layouts.indices)
    func `pixelated faces keep at most six cells along a head, in steps of 8 levels`(index: Int) throws {
        let layout = Self.layouts[index]
        let before = Samples(noise: layout)
        // The finest cells that the format allows.
        let mask = try layer(#"{"kind": "anonymize", "mode": "pixelate", "size": 0.34}"#, layout)
        for (name, face) in Self.faces {
            let after = worn(mask, on: before, [face])
            let hull = Self.hull(of: face, layout)
            #expect(!hull.isEmpty)
            let same = hull.filter { after[$0.x, $0.y] == before[$0.x, $0.y] }.count
            // Noise may equal its mean by chance.
            #expect(Double(same) < 0.06 * Double(hull.count), "\(name), \(layout): \(same) of \(hull.count) show")
            // Runs of one value across and down: no step within a cell.
            let half = HeadOutline(face).halfSize
            let side = max(8, max(half.x, half.y) / 3)
            #expect(hull.allSatisfy { after[$0.x, $0.y].x % 8 == 0 }, "\(name), \(layout)")
            var steps = 0
            for (x, y) in hull where x + 1 < layout.width && after[x, y].x != after[x + 1, y].x { steps += 1 }
            let rows = Set(hull.map(\.y)).count
            let across = Float(hull.count) / Float(max(rows, 1))
            let allowed = Float(rows) * (across / side + 1)
            #expect(Float(steps) <= allowed, "\(name), \(layout): \(steps) steps, \(allowed) allowed")
        }
    }

    @Test func `blurred faces keep almost no detail finer than the distance between the eyes`() throws {
        let layout = FrameLayout(width: 320, height: 240, format: .yuyv)
        // Stripes two eye widths apart represent features: lids, lips, wrinkles.
        for (name, face) in Self.faces {
            var before = Samples(noise: layout)
            let period = max(2, Int(face.head.scale / 2))
            for y in 0..<240 {
                for x in 0..<320 { before.bytes[before.places(x, y).y] = (x + y) % period * 2 < period ? 60 : 190 }
            }
            let mask = try layer(#"{"kind": "anonymize", "mode": "blur", "size": 0.35}"#, layout)
            let after = worn(mask, on: before, [face])
            let hull = Self.hull(of: face, layout)
            let values = hull.map { Double(after[$0.x, $0.y].x) }
            let mean = values.reduce(0, +) / Double(values.count)
            let deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)).squareRoot()
            print("blur, \(name): stripes of deviation 65 become \(deviation)")
            #expect(deviation < 4, "\(name): a sixteenth of the contrast is left: \(deviation)")
        }
    }

    @Test func `a face that is lost for a moment stays hidden, with a larger margin`() throws {
        let layout = FrameLayout(width: 320, height: 240, format: .i420)
        let before = Samples(noise: layout)
        for way in ["pixelate", "blur", "block"] {
            let mask = try layer(#"{"kind": "anonymize", "mode": "\#(way)"}"#, layout)
            func changed(_ state: Face.State) -> Int {
                let after = worn(mask, on: before, [face(at: Point(160, 110), scale: 30, state: state)])
                return zip(after.bytes, before.bytes).count { $0 != $1 }
            }
            let (seen, carried) = (changed(.tracked), changed(.predicted))
            #expect(seen > 5000 && Double(carried) > 1.1 * Double(seen), "\(way): \(seen) then \(carried) bytes")
        }
    }

    @Test func `layers that hide faces are opaque, whatever opacity the mask sets`() throws {
        let layout = FrameLayout(width: 320, height: 240, format: .yuyv)
        let before = Samples(noise: layout)
        for way in ["pixelate", "blur", "block"] {
            let whole = try layer(#"{"kind": "anonymize", "mode": "\#(way)"}"#, layout)
            let faint = try layer(#"{"kind": "anonymize", "mode": "\#(way)", "opacity": 0.2}"#, layout)
            let faces = [Self.faces[0].1]
            #expect(worn(whole, on: before, faces).bytes == worn(faint, on: before, faces).bytes)
        }
    }

    @Test func `a grid follows its face without swimming`() throws {
        let layout = FrameLayout(width: 640, height: 480, format: .i444)
        let flat = Samples(noise: layout)
        let mask = try layer(#"{"kind": "anonymize", "mode": "pixelate"}"#, layout)
        // The start of the first cell: noise does not have this many equal neighbours.
        func beginning(_ shift: Int) -> Int {
            let after = worn(mask, on: flat, [face(at: Point(300 + Float(shift), 200), scale: 60)])
            for x in 0..<600 {
                let isCell = (1..<8).allSatisfy { after[x + $0, 200] == after[x, 200] }
                if isCell { return x }
            }
            return 0
        }
        let first = beginning(0)
        #expect((150...250).contains(first))
        var worst = 0
        for shift in 1...40 { worst = max(worst, abs(beginning(shift) - first - shift)) }
        #expect(worst <= 2, "a line lies \(worst) pixels from its place on the face")
    }

    @Test func `the negative of the negative is the picture, inside`() throws {
        for layout in [FrameLayout(width: 320, height: 240, format: .i444), Self.layouts[0]] {
            let before = Samples(noise: layout)
            let mask = try layer(#"{"kind": "anonymize", "mode": "negative"}"#, layout)
            let faces = [Self.faces[0].1]
            let once = worn(mask, on: before, faces)
            let twice = worn(mask, on: once, faces)
            let middle = once[160, 120]
            #expect(abs(middle.x + before[160, 120].x - 251) <= 1)
            var worst = 0
            for y in 90..<150 { for x in 140..<180 { worst = max(worst, abs(twice[x, y].x - before[x, y].x)) } }
            #expect(worst <= 1, "\(layout): \(worst)")
        }
    }

    @Test(arguments: [ColorRange.limited, .full])
    func `the negative of grey is grey`(range: ColorRange) throws {
        let layout = FrameLayout(width: 320, height: 240, format: .i444, range: range)
        var canvas = Canvas(layout)
        canvas.frame.fill(y: 90, u: 128, v: 128)
        let mask = try layer(#"{"kind": "anonymize", "mode": "negative"}"#, layout)
        let after = worn(mask, on: Samples(canvas.frame), [Self.faces[0].1])
        #expect(after[160, 120] == [range == .full ? 165 : 161, 128, 128])
    }
}
