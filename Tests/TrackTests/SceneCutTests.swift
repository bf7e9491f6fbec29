import Frames
import Testing

@testable import Track

struct SceneCutTests {
    /// Blobs and a slope that differ from seed to seed.
    /// - Parameters:
    ///   - shift: pixels by which everything is shifted to the right.
    ///   - gain: contrast, about a grey of 110.
    private func scene(
        _ seed: Int, width: Int = 320, height: Int = 180, shift: Int = 0, gain: Float = 1, offset: Float = 0
    ) -> Frame {
        var frame = Frame(FrameLayout(width: width, height: height, format: .gray))
        let blobs = (0..<5).map { k in
            let number = (seed * 31 + k * 17) % 97
            return Point(Float(number * 37 % 97) / 97, Float(number * 53 % 89) / 89)
        }
        var bytes = frame.mutableBytes
        for y in 0..<height {
            for x in 0..<width {
                let place = Point(Float(x - shift) / Float(width), Float(y) / Float(height))
                var value = 110 + 60 * (seed.isMultiple(of: 2) ? place.x : place.y)
                for (k, blob) in blobs.enumerated() where (place - blob).length < 0.2 {
                    value += k.isMultiple(of: 2) ? 70 : -70
                }
                let seen = (value - 110) * gain + 110 + offset
                bytes[y * width + x] = UInt8(max(0, min(255, seen)))
            }
        }
        return frame
    }

    private func flat(_ gray: UInt8) -> Frame {
        var frame = Frame(FrameLayout(width: 320, height: 180, format: .gray))
        frame.fill(y: gray, u: 128, v: 128)
        return frame
    }

    private func take(_ cut: inout SceneCut, _ frame: consuming Frame) -> Bool {
        cut.update(frame.view.luma, isThorough: false) == .cut
    }

    @Test func `the first frame, and one of another size, is not a cut`() {
        var cut = SceneCut()
        #expect(!take(&cut, scene(1)))
        #expect(!take(&cut, scene(2, width: 640, height: 360)))
    }

    @Test func `movement and light are not cuts`() {
        var cut = SceneCut()
        _ = take(&cut, scene(1))
        #expect(!take(&cut, scene(1, shift: 10)))
        #expect(!take(&cut, scene(1, shift: 10, offset: 40)))
        #expect(!take(&cut, scene(1, shift: 20, gain: 0.3)))
        #expect(!take(&cut, scene(1, shift: 20)))
    }

    /// A wall of bricks of different greys, each smaller than a pan in one frame.
    /// - Parameter zoom: 1.1: a tenth larger.
    private func bricks(shift: Int, down: Int = 0, zoom: Float = 1) -> Frame {
        var frame = Frame(FrameLayout(width: 320, height: 180, format: .gray))
        var bytes = frame.mutableBytes
        for y in 0..<180 {
            for x in 0..<320 {
                let seen = (Point(Float(x), Float(y)) - Point(160, 90)) * (1 / zoom) + Point(160, 90)
                let (across, along) = (Int(seen.x.rounded(.down)), Int(seen.y.rounded(.down)))
                let (column, row) = ((across + 400 - shift) / 14, (along + 400 - down) / 14)
                bytes[y * 320 + x] = UInt8(40 + (column &* 7919 &+ row &* 104729 &+ column * row * 31) % 160)
            }
        }
        return frame
    }

    @Test(arguments: [(16, 0), (-16, 0), (0, 16), (9, -12)])
    func `a fast turn of the camera is not a cut`(across: Int, down: Int) {
        var cut = SceneCut()
        _ = take(&cut, bricks(shift: 0))
        #expect(!take(&cut, bricks(shift: across, down: down)))
        #expect(take(&cut, bricks(shift: across + 157, down: down + 90)), "another part of the wall is another scene")
    }

    /// One scene that is replaced by another: from 0 to 1.
    private func dissolve(_ from: Int, _ to: Int, share: Float) -> Frame {
        mixed(scene(from), scene(to), share: share)
    }

    @Test func `a long dissolve is a gradual change, and a scene that stays is none`() {
        var cut = SceneCut()
        var changes: [SceneCut.Change] = []
        for i in 0..<60 {
            let share = max(0, min(1, Float(i - 20) / 25))
            changes.append(cut.update(dissolve(1, 4, share: share).view.luma, isThorough: true))
        }
        #expect(changes.contains(.gradual) && !changes.contains(.cut))
        #expect(changes[..<20].allSatisfy { $0 == .none } && changes.suffix(5).allSatisfy { $0 == .none })
    }

    /// The frames that are cuts where the first picture is shown up to frame 11, and the second from 12 + `blended` on.
    private func cuts(from first: borrowing Frame, to second: borrowing Frame, blended: Int) -> [Int] {
        var cut = SceneCut()
        var cuts: [Int] = []
        for i in 0..<20 + blended {
            let share = max(0, min(1, Float(i - 11) / Float(blended + 1)))
            if takeInColor(&cut, mixed(first, second, share: share)) { cuts.append(i) }
        }
        return cuts
    }

    @Test(arguments: [1, 3, 6, 9])
    func `a cut that is blended over some frames is one until the new scene is there`(blended: Int) {
        for (first, second) in [(1, 4), (4, 7)] {
            let cuts = self.cuts(from: scene(first), to: scene(second), blended: blended)
            #expect(cuts.last == 12 + blended && cuts.allSatisfy { $0 > 11 }, "scenes \(first), \(second): \(cuts)")
        }
    }

    @Test(arguments: [(4, 0), (-12, 0), (0, -8)])
    func `a turn of the camera over many frames is not a cut`(across: Int, down: Int) {
        var cut = SceneCut()
        for i in -9..<9 {
            let isCut = takeInColor(&cut, bricks(shift: i * across, down: i * down))
            #expect(!isCut, "frame \(i)")
        }
    }

    @Test(arguments: [1.02, 0.95] as [Float]) func `a zoom over many frames is not a cut`(step: Float) {
        var cut = SceneCut()
        var zoom: Float = 1
        for i in 0..<24 {
            if (6..<18).contains(i) { zoom *= step }
            let isCut = takeInColor(&cut, bricks(shift: 0, zoom: zoom))
            #expect(!isCut, "frame \(i)")
        }
    }

    @Test func `another scene is a cut in its first frame only`() {
        var cut = SceneCut()
        _ = take(&cut, scene(1))
        for seed in 2...9 {
            #expect(take(&cut, scene(seed)), "scene \(seed)")
            #expect(!take(&cut, scene(seed, shift: 2)), "scene \(seed)")
        }
    }

    /// A scene with black bars around it.
    private func barred(_ seed: Int, left: Int, top: Int, shift: Int = 0) -> Frame {
        let scene = self.scene(seed, shift: shift)
        var frame = flat(16)
        var bytes = frame.mutableBytes
        for y in top..<180 - top {
            for x in left..<320 - left { bytes[y * 320 + x] = scene.bytes[y * 320 + x] }
        }
        return frame
    }

    @Test(arguments: [(105, 0), (40, 0), (0, 24), (40, 24)])
    func `black bars neither hide a cut nor make one`(left: Int, top: Int) {
        var cut = SceneCut()
        _ = take(&cut, barred(1, left: left, top: top))
        var cuts = 0
        for seed in 2...9 {
            if take(&cut, barred(seed, left: left, top: top)) { cuts += 1 }
            #expect(!take(&cut, barred(seed, left: left, top: top, shift: 2)), "scene \(seed)")
        }
        // The parts of two scenes between the bars may happen to be alike.
        #expect(cuts >= 7)
    }

    /// A head and shoulders before a wall, which are the same for all seeds, with bars above and below. Small blobs,
    /// the things in the room and the features of the face, differ from seed to seed.
    /// - Parameter covered: width of a dark hand that covers the left of the picture, pixels.
    private func portrait(_ seed: Int, bar: Int, shift: Int = 0, covered: Int = 0) -> Frame {
        var frame = flat(16)
        var bytes = frame.mutableBytes
        let blobs = (0..<40).map { k in
            let number = (seed * 31 + k * 17) % 97
            return Point(Float(number * 61 % 97) / 97 * 320, Float((number * 53 + k * 29) % 89) / 89 * 180)
        }
        for y in bar..<180 - bar {
            for x in 0..<320 {
                let place = Point(Float(x - shift), Float(y))
                let head = place - Point(160, 80)
                let isPerson = Point(head.x / 45, head.y / 55).length < 1 || (y > 125 && abs(head.x) < Float(y - 85))
                var value: Float = isPerson ? 70 : 170
                for (k, blob) in blobs.enumerated() where (place - blob).length < 12 {
                    value += k.isMultiple(of: 2) ? 30 : -30
                }
                bytes[y * 320 + x] = x < covered ? 40 : UInt8(max(0, min(255, value)))
            }
        }
        return frame
    }

    @Test(arguments: [0, 20, 24])
    func `two people in the same composition are two scenes`(bar: Int) {
        var cut = SceneCut()
        _ = take(&cut, portrait(2, bar: bar))
        for seed in 3...9 {
            #expect(take(&cut, portrait(seed, bar: bar)), "scene \(seed)")
            #expect(!take(&cut, portrait(seed, bar: bar, shift: 4)), "scene \(seed)")
        }
    }

    @Test(arguments: 1...5) func `a hand before a third of the picture is not a cut`(seed: Int) {
        var cut = SceneCut()
        _ = take(&cut, portrait(seed, bar: 0))
        #expect(!take(&cut, portrait(seed, bar: 0, covered: 107)))
        #expect(!take(&cut, portrait(seed, bar: 0)))
    }

    /// Somebody who sits in a room: hair, a face, and clothes with a pattern, which differ from person to person. The
    /// room is the same for all.
    /// - Parameters:
    ///   - shift: pixels by which the person, but not the room, is moved to the right.
    ///   - size: 1.1: a tenth larger.
    ///   - light: gain of all, in luma and chroma.
    ///   - covered: width of a hand that covers the left of the picture, pixels.
    private func seated(
        _ person: Int, format: PixelFormat = .i420, shift: Float = 0, size: Float = 1, light: Float = 1,
        covered: Int = 0
    ) -> Frame {
        var frame = Frame(FrameLayout(width: 320, height: 180, format: format))
        let (luma, chroma) = (frame.layout.luma, frame.layout.chroma)
        func trait(_ number: Int) -> Float { Float((person * 71 + number * 43) * 29 % 101) / 101 }
        let hair = SIMD3(30 + 160 * trait(1), 124 - 10 * trait(2), 130 + 12 * trait(2))
        let skin = SIMD3(100 + 90 * trait(3), 118 - 8 * trait(4), 140 + 12 * trait(4))
        let (cloth, print) = (
            SIMD3(30 + 190 * trait(5), 108 + 40 * trait(6), 108 + 40 * trait(7)),
            SIMD3(30 + 190 * trait(8), 108 + 40 * trait(9), 108 + 40 * trait(10))
        )
        let step = 22 + 20 * trait(11)
        var bytes = frame.mutableBytes
        for y in 0..<180 {
            for x in 0..<320 {
                // A room with shelves.
                let number = ((x + 7) / 40 * 37 + (y + 11) / 30 * 61) % 97
                var color = SIMD3(70 + Float(number) * 1.2, 122 + Float(number % 13), 122 + Float(number % 11))
                let place = (Point(Float(x) - shift, Float(y)) - Point(160, 75)) * (1 / size) + Point(160, 75)
                let head = place - Point(160, 75)
                let (across, down) = (head.x / 34, head.y / 44)
                if abs(head.x) < 30 + max(0, place.y - 112) * 3, abs(head.x) < 95, place.y > 112 {
                    color = Int(place.x / step + 100) + Int(place.y / step) & 1 == 0 ? cloth : print
                }
                if Point(across, down).length < 1 { color = down < -0.35 - 0.5 * trait(12) ? hair : skin }
                let eye = Point(abs(head.x) - 13, head.y + 4)
                if eye.length < 6 || Point(head.x / 12, head.y - 22).length < 4 { color = skin * 0.5 + 50 }
                if x < covered { color = SIMD3(110, 112, 146) }
                color = (color - SIMD3(0, 128, 128)) * light + SIMD3(0, 128, 128)
                bytes[luma.offset + y * luma.stride + x * luma.step] = UInt8(max(0, min(255, color.x)))
                guard let chroma, x.isMultiple(of: 2), y.isMultiple(of: 2) else { continue }
                for (site, value) in [(chroma.u, color.y), (chroma.v, color.z)] {
                    bytes[site.offset + y / 2 * site.stride + x / 2 * site.step] = UInt8(max(0, min(255, value)))
                }
            }
        }
        return frame
    }

    private func takeInColor(_ cut: inout SceneCut, _ frame: consuming Frame) -> Bool {
        cut.update(frame.view.luma, chroma: frame.view.chroma, isThorough: true) == .cut
    }

    @Test(arguments: [PixelFormat.i420, .nv12, .gray])
    func `another person in the same room is a cut in the first frame only`(format: PixelFormat) {
        var cut = SceneCut()
        _ = takeInColor(&cut, seated(1, format: format))
        var cuts = 0
        for person in 2...9 {
            if takeInColor(&cut, seated(person, format: format)) { cuts += 1 }
            for shift in [3, 0, 2] as [Float] {
                #expect(!takeInColor(&cut, seated(person, format: format, shift: shift)), "person \(person)")
            }
        }
        // Two people may happen to be alike in clothes and hair.
        #expect(cuts >= 5)
    }

    @Test(arguments: [1, 3, 6]) func `another person in the same room who is blended in is a cut`(blended: Int) {
        for (first, second) in [(3, 4), (5, 6)] {
            let cuts = self.cuts(from: seated(first), to: seated(second), blended: blended)
            #expect(cuts.last == 12 + blended && cuts.allSatisfy { $0 > 11 }, "person \(second): \(cuts)")
        }
    }

    @Test(arguments: 1...5) func `a person who moves, leans in or sits in other light is no cut`(person: Int) {
        var cut = SceneCut()
        _ = takeInColor(&cut, seated(person))
        for (shift, size, light) in [
            (16, 1, 1), (34, 1, 1), (16, 1, 1), (16, 1.1, 1), (20, 1, 1), (20, 1, 0.5), (20, 1, 1.2),
        ] as [(Float, Float, Float)] {
            #expect(
                !takeInColor(&cut, seated(person, shift: shift, size: size, light: light)), "\(shift) \(size) \(light)")
        }
    }

    @Test(arguments: 1...5) func `a hand before a third of somebody in a room is no cut`(person: Int) {
        var cut = SceneCut()
        _ = takeInColor(&cut, seated(person))
        #expect(!takeInColor(&cut, seated(person, covered: 107)))
        #expect(!takeInColor(&cut, seated(person)))
    }

    @Test func `a small thing that leaves a plain wall is not a cut`() {
        var cut = SceneCut()
        var frame = flat(128)
        var bytes = frame.mutableBytes
        for y in 80..<104 { for x in 150..<182 { bytes[y * 320 + x] = UInt8(x * y % 200) } }
        #expect(!take(&cut, frame))
        #expect(!take(&cut, flat(128)))
    }

    @Test func `a picture after darkness is a cut`() {
        var cut = SceneCut()
        _ = take(&cut, flat(20))
        #expect(!take(&cut, flat(30)))
        #expect(take(&cut, scene(1)))
        #expect(take(&cut, flat(20)))
    }

    @Test func `a tiny picture is never a cut`() {
        var cut = SceneCut()
        #expect(!take(&cut, scene(1, width: 64, height: 36)))
        #expect(!take(&cut, scene(2, width: 64, height: 36)))
    }
}

/// Two frames mixed, byte by byte.
func mixed(_ first: borrowing Frame, _ second: borrowing Frame, share: Float) -> Frame {
    var frame = Frame(first.layout)
    var bytes = frame.mutableBytes
    for i in bytes.indices {
        bytes[i] = UInt8(Float(first.bytes[i]) * (1 - share) + Float(second.bytes[i]) * share)
    }
    return frame
}
