import CAllocations
import Frames
import TestSupport
import Testing
import Track

@testable import Compose

struct EffectLayerTests {
    private static let layout = FrameLayout(width: 640, height: 360, format: .yuyv)
    private static let masks = ["pixelate", "blur", "polaroid", "snow", "name-tag", "tint", "hud", "bust"]
    private static let others = [
        #"{"kind": "anonymize", "mode": "block", "shape": "bar"}"#, #"{"kind": "anonymize", "mode": "negative"}"#,
        #"{"kind": "swap"}"#, #"{"kind": "effect", "mode": "white balance"}"#, #"{"kind": "effect", "mode": "grey"}"#,
        #"{"kind": "effect", "mode": "multiply", "art": "frame.svg"}"#,
    ]
    private static let two = [
        face(at: Point(180, 150), scale: 50, roll: 10), face(at: Point(450, 170), scale: 42, yaw: 20),
    ]

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `each effect loads, changes the picture, and allocates nothing once warm`() throws {
        let layout = Self.layout
        var worn: [(String, Mask)] = []
        let library = MaskLibrary(searchPaths: [masksFolder])
        var target = ArtTarget(layout)
        target.choices["text"] = "Ada"
        for name in Self.masks { worn.append((name, try library.load(name, for: target))) }
        for json in Self.others { worn.append((json, try layer(json, layout, folder: masksFolder + "/polaroid"))) }
        let before = Samples(noise: layout)
        for (name, mask) in worn {
            var canvas = Canvas(layout)
            canvas.frame = before.frame
            var compositor = Compositor(masks: [mask])
            for i in 0..<3 { compositor.compose(&canvas, Self.two, placement: .identity, at: Double(i) / 30) }
            let asked = callocations_count()
            compositor.compose(&canvas, Self.two, placement: .identity, at: 0.1)
            let count = callocations_count() - asked
            #expect(count == 0, "\(name) asks for memory \(count) times a frame")
            print("\(name): \(count) calls for memory in a frame")
            #expect(Samples(canvas.frame).bytes != before.bytes, "\(name) changes nothing")
        }
    }

    @Test func `grey leaves no colour, sepia one, and a tint passes through its colours in time`() throws {
        let before = Samples(noise: Self.layout)
        let grey = worn(try layer(#"{"kind": "effect", "mode": "grey"}"#, Self.layout), on: before, [])
        for x in stride(from: 0, to: 640, by: 7) {
            let (seen, was) = (grey[x, 100], before[x, 100])
            #expect(seen == [was.x, 128, 128])
        }
        let tint = try layer(
            ##"{"kind": "effect", "mode": "tint", "colors": ["#ff0000", "#0000ff"], "period": 1000, "strength": 1}"##,
            Self.layout)
        func chroma(_ time: Double) -> SIMD2<Int> {
            let after = worn(tint, on: before, [], at: time)
            var sum = SIMD2<Int>.zero
            for x in 0..<640 {
                let pixel = after[x, 50]
                sum = SIMD2(sum.x + pixel.y, sum.y + pixel.z)
            }
            return SIMD2(sum.x / 640, sum.y / 640)
        }
        let (red, blue, again) = (chroma(0.1), chroma(1.1), chroma(2.1))
        #expect(red.y > 150 && red.x < 128 && blue.x > 150 && blue.y < 128 && red == again)
        let between = chroma(0.83)
        #expect(between.x > red.x + 5 && between.x < blue.x - 5)
    }

    @Test func `white balance removes a colour cast, and follows a change slowly`() throws {
        let layout = Self.layout
        let mask = try layer(#"{"kind": "effect", "mode": "white balance"}"#, layout)
        func cast(_ u: UInt8, _ v: UInt8) -> Samples {
            var samples = Samples(noise: layout)
            for i in stride(from: 0, to: samples.bytes.count, by: 4) {
                (samples.bytes[i + 1], samples.bytes[i + 3]) = (u, v)
            }
            return samples
        }
        var canvas = Canvas(layout)
        var compositor = Compositor(masks: [mask])
        func seen(_ samples: Samples, _ time: Double) -> SIMD3<Int> {
            canvas.frame = samples.frame
            compositor.compose(&canvas, [], placement: .identity, at: time)
            return Samples(canvas.frame)[100, 100]
        }
        let first = seen(cast(110, 150), 0)
        #expect(abs(first.y - 128) <= 1 && abs(first.z - 128) <= 1)
        let jump = seen(cast(128, 128), 1.0 / 30)
        #expect(abs(jump.y - 146) <= 2, "one frame must not undo the balance: \(jump)")
        let grey = cast(128, 128)
        let frame = grey.frame
        for i in 1..<40 {
            convert(frame, into: &canvas.frame)
            compositor.compose(&canvas, [], placement: .identity, at: Double(i) / 6)
        }
        let later = seen(grey, 200.0 / 30)
        #expect(abs(later.y - 128) <= 1 && abs(later.z - 128) <= 1)
    }

    @Test func `wide particles leave the picture whole before they come in again`() throws {
        let layout = FrameLayout(width: 128, height: 72, format: .i420)
        let scratch = try ScratchFolder()
        _ = try scratch.write(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 1'><path fill='#fff' d='M0 0h8v1H0z'/></svg>",
            "wide.svg")
        let black = Samples(Frame(layout))
        // Seeds with which it lies nearly flat, far from the upper and lower edges.
        for seed in [2, 6, 7] {
            let mask = try layer(
                #"{"kind": "particles", "art": ["wide.svg"], "count": 1, "size": [0.1, 0.1], "fall": [0, 0], "#
                    + #""drift": [0.5, 0.5], "sway": 0, "opacities": [1, 1], "seed": \#(seed)}"#,
                layout, folder: scratch.url.path)
            var (last, worst, largest) = ([Bool](), 0, 0)
            // Longer than one way through the picture.
            for i in 0..<200 {
                let after = worn(mask, on: black, [], at: Double(i) / 30)
                let lit = (0..<128 * 72).map { after[$0 % 128, $0 / 128].x > 100 }
                // Nothing for the first frame.
                worst = max(worst, zip(lit, last).count { $0 != $1 })
                largest = max(largest, lit.count { $0 })
                last = lit
            }
            // It moves by 1.2 pixels a frame: 318 change if it vanishes at one edge and appears at the other.
            #expect(worst < 120 && largest > 300, "seed \(seed): \(worst) pixels at once, \(largest) of the whole")
        }
    }

    @Test func `snow falls, the same in each run, and never jumps`() throws {
        let mask = try layer(
            #"{"kind": "particles", "art": ["soft.svg"], "count": 1, "size": [0.1, 0.1], "fall": [0.2, 0.2], "drift": [0.1, 0.1], "seed": 4}"#,
            Self.layout, folder: masksFolder + "/snow")
        let black = Samples(Frame(Self.layout))
        func middle(_ time: Double) -> Point? {
            let after = worn(mask, on: black, [], at: time)
            var (sum, weight) = (Point.zero, Float(0))
            for y in 0..<360 {
                for x in 0..<640 {
                    let light = Float(after[x, y].x - 16)
                    sum += Point(Float(x), Float(y)) * light
                    weight += light
                }
            }
            // Only if it is entirely within the picture.
            let p = sum / max(weight, 1)
            return weight > 0 && p.x > 40 && p.x < 600 && p.y > 40 && p.y < 320 ? p : nil
        }
        #expect(worn(mask, on: black, [], at: 3.2).bytes == worn(mask, on: black, [], at: 3.2).bytes)
        var steps = 0
        for i in 0..<40 {
            let time = Double(i) * 0.25
            guard let here = middle(time), let there = middle(time + 0.04) else { continue }
            steps += 1
            let way = there - here
            // 0.2 heights per second are 2.9 pixels in 0.04 s.
            #expect(abs(way.y - 2.88) < 0.7 && abs(way.x) < 4, "moved by \(way) at \(time)")
        }
        #expect(steps > 10)
    }

    @Test func `two faces are swapped, in each other's colours; a single one is unchanged`() throws {
        let layout = FrameLayout(width: 640, height: 360, format: .i420)
        var before = Samples(noise: layout)
        // A dark and a bright face; each has a mark on its nose.
        for y in 0..<360 {
            for x in 0..<640 { before.bytes[before.places(x, y).y] = UInt8((x < 320 ? 70 : 170) + (x + y) % 3) }
        }
        // Both upright and facing the camera: the noses are at the same place between eyes and mouth.
        let (a, b) = (Self.two[0], face(at: Point(450, 170), scale: 42))
        func mark(_ face: Face, _ value: UInt8) {
            let p = face[.nose]
            for y in Int(p.y) - 8...Int(p.y) + 8 {
                for x in Int(p.x) - 8...Int(p.x) + 8 { before.bytes[before.places(x, y).y] = value }
            }
        }
        mark(a, 100)
        let mask = try layer(#"{"kind": "swap"}"#, layout)
        let after = worn(mask, on: before, [a, b])
        let (here, there) = (a[.nose], b[.nose])
        let (mine, yours) = (after[Int(here.x), Int(here.y)].x, after[Int(there.x), Int(there.y)].x)
        #expect(abs(mine - 71) <= 8, "the mark left the first face: \(mine)")
        #expect(yours > 182, "and came to the other, as much brighter than its skin: \(yours)")
        #expect(worn(mask, on: before, [a]).bytes == before.bytes)
    }

    @Test func `text is visible, upright, within the picture, and mirrored on request`() throws {
        let layout = Self.layout
        let black = Samples(Frame(layout))
        func lit(_ json: String) throws -> (box: PixelRect, Samples) {
            let after = worn(try layer(json, layout), on: black, [Self.two[0]])
            var (left, top, right, bottom) = (640, 360, 0, 0)
            for y in 0..<360 {
                for x in 0..<640 where after[x, y].x > 60 {
                    (left, right, top, bottom) = (min(left, x), max(right, x), min(top, y), max(bottom, y))
                }
            }
            return (PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1), after)
        }
        let (plain, picture) = try lit(#"{"kind": "text", "text": "Lima", "size": 0.1, "place": "top left"}"#)
        #expect((18...50).contains(plain.x) && (10...50).contains(plain.y), "\(plain)")
        #expect((20...40).contains(plain.height) && plain.width > 50 && plain.width < 140, "\(plain)")
        let (mirrored, other) = try lit(
            #"{"kind": "text", "text": "Lima", "size": 0.1, "place": "top left", "mirrored": true}"#)
        #expect(abs(mirrored.width - plain.width) <= 2)
        // An L has its foot on the right; mirrored it has its stem on the right.
        func stem(_ picture: Samples, _ x: Int) -> Int {
            (plain.y..<plain.y + plain.height).count { picture[x, $0].x > 100 }
        }
        #expect(stem(picture, plain.x + 2) > plain.height * 2 / 3)
        #expect(stem(other, mirrored.x + mirrored.width - 3) > plain.height * 2 / 3)
        let (long, _) = try lit(
            ##"{"kind": "text", "text": "A far longer name <&> \u05d3\u05d5\u05d3", "size": 0.1, "plate": {"color": "#808080"}}"##
        )
        #expect(long.x >= 0 && long.width > 300 && long.y + long.height <= 345)
        let (pinned, _) = try lit(#"{"kind": "text", "text": "Hi", "face": "chin", "shift": [0, 0.5], "size": 0.5}"#)
        let chin = Self.two[0].landmarks[8]
        #expect(abs(Float(pinned.x + pinned.width / 2) - chin.x) < 25 && Float(pinned.y) > chin.y - 5, "\(pinned)")
    }

    @Test(arguments: [false, true], ["", ##", "plate": {"color": "#ffffff", "opacity": 1}"##])
    func `text is visible and within the picture whatever its margin`(isUpright: Bool, plate: String) throws {
        let layout = FrameLayout(width: isUpright ? 180 : 640, height: isUpright ? 320 : 360, format: .i420)
        let black = Samples(Frame(layout))
        for margin in [0.05, 0.3, 0.5] {
            for place in ["top left", "center", "bottom right"] {
                let mask = try layer(
                    #"{"kind": "text", "text": "Ada", "margin": \#(margin), "place": "\#(place)"\#(plate)}"#, layout)
                let after = worn(mask, on: black, [])
                var (lit, atEdge) = (0, 0)
                for y in 0..<layout.height {
                    for x in 0..<layout.width where after[x, y].x > 60 {
                        lit += 1
                        if x == 0 || y == 0 || x == layout.width - 1 || y == layout.height - 1 { atEdge += 1 }
                    }
                }
                #expect(lit > 10 && atEdge == 0, "margin \(margin), \(place): \(lit) pixels, \(atEdge) at the edge")
            }
        }
    }

    @Test func `mistakes are errors that say what is allowed`() throws {
        func message(_ json: String) -> String {
            do {
                _ = try layer(json, Self.layout)
                return ""
            } catch { return "\(error)" }
        }
        #expect(message(#"{"kind": "treatment", "mode": "blur"}"#).contains("allowed: anonymize"))
        #expect(message(#"{"kind": "solid", "model": "a.glb"}"#).contains("allowed: mesh"))
        #expect(message(#"{"kind": "effect", "way": "grey"}"#).contains("use 'mode'"))
        #expect(message(#"{"kind": "anonymize", "mode": "pixlate"}"#).contains("did you mean 'pixelate'"))
        #expect(message(#"{"kind": "anonymize", "mode": "pixelate", "size": 0.1}"#).contains("0.33"))
        #expect(message(#"{"kind": "effect", "mode": "tint", "color": "red"}"#).contains("#ffcc00"))
        // What has no effect is an error, not ignored.
        let blended = message(#"{"kind": "effect", "mode": "grey", "blend": "add"}"#)
        #expect(blended.contains("unknown key") && blended.contains("blend"), "\(blended)")
        let tinted = message(##"{"kind": "makeup", "tint": "#ff0000", "blush": {"strength": 1}}"##)
        #expect(tinted.contains("unknown key") && tinted.contains("tint"), "\(tinted)")
        #expect(message(#"{"kind": "frame", "art": "../cat/ears.svg"}"#).contains("outside the mask's folder"))
        let long = String(repeating: "x", count: 201)
        #expect(message(#"{"kind": "text", "text": "\#(long)"}"#).contains("at most 200"))
        #expect(message(#"{"kind": "particles", "art": []}"#).contains("1 to 16"))
    }
}
