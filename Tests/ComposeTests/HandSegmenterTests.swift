import CAllocations
import Frames
import JSON
import TestSupport
import Testing
import Track

@testable import Compose

/// A drawn person before a wall, with or without an arm.
private struct Portrait {
    static let layout = FrameLayout(width: 640, height: 480, format: .i420, range: .full)
    var wall: SIMD3<UInt8> = [150, 135, 120]
    var skin: SIMD3<UInt8> = [160, 110, 155]
    var place = Point(320, 200)
    var yaw: Float = 0
    /// Half the width of the face.
    var half: Float = 55
    /// Where the tip of the arm is; its elbow is at the lower left. Nil: none.
    var arm: Point?
    /// The middle of a mug of this colour; nil: none.
    var mug: (middle: Point, color: SIMD3<UInt8>)?
    /// What the light adds to every colour.
    var light = SIMD3<Int>.zero

    static let scale: Float = 50

    var face: Face {
        let (c, s) = (Frames.cos(radians(yaw)) * Self.scale, Frames.sin(radians(yaw)) * Self.scale)
        var face = Face.mean
        face.head = HeadPlacement(x: [c, 0, s], y: [0, Self.scale, 0], origin: place)
        (face.id, face.state, face.landmarks) = (1, .tracked, face.head.landmarks)
        face.box = Rect(x: place.x - half, y: place.y - 25, width: 2 * half, height: 120)
        return face
    }

    func isArm(_ p: Point) -> Bool {
        guard let arm else { return false }
        let along = Point(-0.6, 0.8)
        let way = max(0, ((p - arm) * along).sum())
        return (p - arm - along * way).length < 22
    }

    func isMug(_ p: Point) -> Bool {
        guard let mug else { return false }
        return abs(p.x - mug.middle.x) < 28 && abs(p.y - mug.middle.y) < 30
    }

    private func color(_ p: Point) -> SIMD3<UInt8> {
        if let mug, isMug(p) { return mug.color }
        if isArm(p) { return SIMD3(skin.x - 35, skin.y, skin.z) }
        let d = p - place
        let isEye = abs(abs(d.x) - 25) < 10 && abs(d.y) < 5
        let isMouth = abs(d.x) < 20 && abs(d.y - 55) < 6
        if isEye || isMouth { return [70, 125, 135] }
        let (x, y) = (d.x / half, (d.y - 35) / 80)
        if x * x + y * y < 1 { return skin }
        if d.y > 115 && abs(d.x) < 140 { return [60, 140, 120] }
        if d.y < 20 && (d.x / 70) * (d.x / 70) + ((d.y - 10) / 95) * ((d.y - 10) / 95) < 1 { return [40, 126, 132] }
        return wall
    }

    func draw() -> Frame {
        var frame = Frame(Self.layout)
        let layout = Self.layout
        let chroma = layout.chroma
        var bytes = frame.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let color = SIMD3<UInt8>(
                    clamping: SIMD3<Int>(truncatingIfNeeded: color(Point(Float(x), Float(y)))) &+ light)
                bytes[layout.luma.offset + y * layout.luma.stride + x] = color.x
                guard let chroma, x % 2 == 0, y % 2 == 0 else { continue }
                bytes[chroma.u.offset + y / 2 * chroma.u.stride + x / 2] = color.y
                bytes[chroma.v.offset + y / 2 * chroma.v.stride + x / 2] = color.z
            }
        }
        return frame
    }
}

/// A segmenter that is shown portraits.
private struct Watch {
    var segmenter = HandSegmenter()
    private var time: Float = 0

    init() { segmenter.start(1) }

    mutating func look(at portrait: Portrait, frames: Int = 1) {
        let frame = portrait.draw()
        let pixels = PixelReader(frame.view)
        for _ in 0..<frames {
            time += 1 / 30
            segmenter.update(
                pixels, portrait.face, isRoomNew: Int(time * 30 + 0.5) % 6 == 0, elapsed: (1 / 30, 0.2),
                at: Double(time))
        }
    }

    /// The share of an arm's cells that are taken for a hand, and the number of others.
    func found(of portrait: Portrait) -> (share: Float, others: Int) {
        var (hits, all, others) = (Float(0), Float(0), 0)
        for y in 0..<CellSet.rows {
            for x in 0..<CellSet.columns {
                let p = segmenter.grid.point(x, y)
                guard p.x >= 0, p.y >= 0, p.x < 639, p.y < 479 else { continue }
                let isFound = segmenter.hand.contains(x, y)
                if portrait.isArm(p) || portrait.isMug(p) {
                    all += 1
                    hits += isFound ? 1 : 0
                } else if isFound {
                    others += 1
                }
            }
        }
        return (hits / max(all, 1), others)
    }
}

struct HandSegmenterTests {
    @Test(arguments: [Point(180, 330), Point(300, 300), Point(320, 255)])
    func `a hand that comes is found, beside the face and before it`(tip: Point) {
        var portrait = Portrait()
        portrait.arm = tip
        Self.expectFound(portrait, share: 0.7)
    }

    /// Expects that what comes before a face is found within three frames, and is gone with it.
    /// - Parameter share: of it that is found, at least.
    private static func expectFound(_ portrait: Portrait, share: Float) {
        var watch = Watch()
        watch.look(at: Portrait(), frames: 40)
        #expect(watch.segmenter.hand.isEmpty, "nobody has raised a hand yet")
        watch.look(at: portrait, frames: 3)
        let found = watch.found(of: portrait)
        print("arm \(String(describing: portrait.arm)), mug \(String(describing: portrait.mug)): \(found)")
        #expect(found.share > share)
        #expect(found.others < 60, "its outline by a cell")
        watch.look(at: Portrait())
        #expect(watch.segmenter.hand.isEmpty, "gone with it")
    }

    @Test func `a hand that stays remains a hand, and one that was there from the start is none`() {
        var portrait = Portrait()
        portrait.arm = Point(300, 300)
        var (late, early) = (Watch(), Watch())
        late.look(at: Portrait(), frames: 40)
        late.look(at: portrait, frames: 150)
        #expect(late.found(of: portrait).share > 0.6, "after 150 frames")
        early.look(at: portrait, frames: 60)
        #expect(early.segmenter.hand.isEmpty, "a scarf of that colour looks the same")
    }

    @Test(arguments: [SIMD3<UInt8>(210, 128, 128), [60, 150, 110], [120, 110, 110]], [Point(300, 290), nil])
    func `a mug before the mouth is found, whether the hand that holds it is seen or not`(
        color: SIMD3<UInt8>, arm: Point?
    ) {
        var portrait = Portrait()
        (portrait.arm, portrait.mug) = (arm, (Point(322, 262), color))
        Self.expectFound(portrait, share: 0.6)
    }

    @Test(arguments: [SIMD3(-60, 0, 0), [60, -5, 5], [-10, 35, -30], [-30, -20, -30], [20, -30, 25]])
    func `light that changes at once is no hand, and hands are found in it soon`(light: SIMD3<Int>) {
        var watch = Watch()
        watch.look(at: Portrait(), frames: 40)
        var portrait = Portrait()
        portrait.light = light
        for frame in 0..<60 {
            watch.look(at: portrait)
            #expect(watch.segmenter.hand.isEmpty, "frame \(frame)")
        }
        portrait.arm = Point(300, 300)
        watch.look(at: portrait, frames: 3)
        #expect(watch.found(of: portrait).share > 0.5)
    }

    @Test func `a hand is found before a wall of the same colour that is brighter`() {
        var portrait = Portrait()
        portrait.wall = [220, 112, 150]
        var watch = Watch()
        watch.look(at: portrait, frames: 40)
        portrait.arm = Point(250, 260)
        watch.look(at: portrait, frames: 2)
        #expect(watch.found(of: portrait).share > 0.5)
    }

    @Test func `a face that moves, turns, or blinks in other light is no hand`() {
        var watch = Watch()
        watch.look(at: Portrait(), frames: 40)
        for step in 0..<12 {
            var portrait = Portrait()
            portrait.place.x += Float(step) * 6
            watch.look(at: portrait)
            #expect(watch.segmenter.hand.isEmpty, "moved by \(step * 6) pixels")
        }
        var turned = Portrait()
        (turned.yaw, turned.half, turned.place.x) = (30, 85, 400)
        watch.look(at: turned)
        #expect(watch.segmenter.hand.isEmpty, "skin where the hair was")
        var lit = Portrait()
        (lit.wall, lit.skin) = ([190, 135, 120], [200, 108, 157])
        watch.look(at: lit)
        #expect(watch.segmenter.hand.isEmpty, "a lamp was switched on")
    }

    @Test func `without colours nothing is taken for a hand`() {
        var portrait = Portrait()
        (portrait.wall, portrait.skin) = ([150, 128, 128], [160, 128, 128])
        var watch = Watch()
        watch.look(at: portrait, frames: 40)
        portrait.arm = Point(200, 330)
        watch.look(at: portrait, frames: 3)
        #expect(watch.segmenter.hand.isEmpty)
    }
}

/// A layer that makes the whole picture dark.
private struct Plate: Layer {
    var hidesFace = false

    func draw(on canvas: inout Canvas, _ tracked: borrowing TrackedFace, _ appearance: Appearance) {
        let count = canvas.frame.layout.width * canvas.frame.layout.height
        var bytes = canvas.frame.mutableBytes
        for i in 0..<count { bytes[i] = 16 }
    }
}

/// A layer on the whole picture that makes it bright.
private struct Flash: PictureLayer {
    func draw(on canvas: inout Canvas, _ scene: borrowing Scene, _ appearance: Appearance) {
        let count = canvas.frame.layout.width * canvas.frame.layout.height
        var bytes = canvas.frame.mutableBytes
        for i in 0..<count { bytes[i] = 235 }
    }
}

struct HandsInFrontTests {
    private static func style(isOnFaces: Bool) throws -> LayerStyle {
        var fields = try Fields(try JSON(Array("{}".utf8), file: "mask.json"), file: "mask.json")
        return try LayerStyle(&fields, ArtTarget(Portrait.layout), isOnFaces: isOnFaces)
    }

    private static func mask(_ contents: [MaskLayer.Content]) throws -> Mask {
        Mask(
            name: "test", title: "", author: "", licence: "", tags: [],
            layers: try contents.map {
                if case .face = $0 { return MaskLayer(style: try style(isOnFaces: true), content: $0) }
                return MaskLayer(style: try style(isOnFaces: false), content: $0)
            })
    }

    /// The luma of an arm's middle and of a cheek, drawn over by a mask, and calls for memory in frames with the arm.
    private static func show(
        _ contents: [MaskLayer.Content], mayShowHands: Bool = true
    ) throws -> (arm: UInt8, cheek: UInt8, allocations: UInt64) {
        var compositor = Compositor(masks: [try mask(contents)], seed: 1)
        var canvas = Canvas(Portrait.layout)
        canvas.mayShowHands = mayShowHands
        var portrait = Portrait()
        var allocations: UInt64 = 0
        for number in 0..<60 {
            if number == 40 { portrait.arm = Point(300, 300) }
            canvas.frame = portrait.draw()
            let (faces, before) = ([portrait.face], callocations_count())
            compositor.compose(&canvas, faces, placement: .identity, at: Double(number) / 30)
            if number >= 50 { allocations += callocations_count() - before }
        }
        func luma(_ x: Int, _ y: Int) -> UInt8 { canvas.frame.bytes[y * Portrait.layout.luma.stride + x] }
        return (luma(276, 332), luma(345, 240), allocations)
    }

    @Test func `a hand is in front of what is worn on a face, and behind what is drawn on the whole picture`() throws {
        let worn = try Self.show([.face(Plate())])
        #expect(worn.arm == 125 && worn.cheek == 16)
        let behind = try Self.show([.face(Plate()), .picture(Flash())])
        #expect(behind.arm == 235 && behind.cheek == 235)
        let between = try Self.show([.picture(Flash()), .face(Plate())])
        #expect(between.arm == 235 && between.cheek == 16, "what the mask was drawn over")
    }

    @Test func `no hand is bare while a face must be hidden, by a mask or by a setting`() throws {
        let hidden = try Self.show([.face(Plate(hidesFace: true)), .face(Plate())])
        #expect(hidden.arm == 16 && hidden.cheek == 16)
        let covered = try Self.show([.face(Plate())], mayShowHands: false)
        #expect(covered.arm == 16 && covered.cheek == 16)
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `a hand in front allocates nothing once warm`() throws {
        let (hands, without) = (
            try Self.show([.face(Plate())]), try Self.show([.face(Plate())], mayShowHands: false)
        )
        #expect(hands.allocations == without.allocations)
    }
}

struct CellSetTests {
    private static func block(_ columns: Range<Int>, _ rows: Range<Int>) -> CellSet {
        var set = CellSet()
        for y in rows { for x in columns { set.insert(x, y) } }
        return set
    }

    private static func isSame(_ a: CellSet, _ b: CellSet) -> Bool {
        a.subtracting(b).isEmpty && b.subtracting(a).isEmpty
    }

    @Test func `opening removes lines and keeps blocks, also at the edges`() {
        let block = Self.block(0..<6, 50..<56)
        let line = Self.block(20..<22, 0..<40)
        #expect(Self.isSame(block.union(line).opened(), block))
    }

    @Test func `closing fills cracks, and filling fills holes of any size`() {
        let ring = Self.block(5..<20, 5..<20).subtracting(Self.block(8..<17, 8..<17))
        #expect(Self.isSame(ring.filled(), Self.block(5..<20, 5..<20)))
        let halves = Self.block(5..<10, 5..<20).union(Self.block(12..<20, 5..<20))
        #expect(Self.isSame(halves.closed(by: 1), Self.block(5..<20, 5..<20)))
        let apart = Self.block(5..<10, 5..<20).union(Self.block(13..<20, 5..<20))
        #expect(Self.isSame(apart.closed(by: 1), apart), "three cells are too wide")
    }

    @Test func `parts that touch at a corner are two, and small ones are left out`() {
        let (large, small) = (Self.block(0..<5, 0..<4), Self.block(5..<8, 4..<7))
        #expect(large.count == 20 && small.count == 9)
        #expect(Self.isSame(large.union(small).parts(of: 10), large), "corners do not connect")
        #expect(
            Self.isSame(
                Self.block(0..<1, 0..<1).grown(within: large, steps: 2),
                Self.block(0..<2, 0..<2).union(
                    Self.block(0..<3, 0..<1)
                ).union(Self.block(0..<1, 0..<3))))
    }

    @Test func `what a hand cuts off from a hat is left out, and what it never was a part of stays`() {
        // A band that a hand crosses near its end, and a thing that only lies beside the hand.
        let hat = Self.block(6..<36, 8..<14)
        let hand = Self.block(10..<14, 0..<30)
        let earring = Self.block(7..<9, 20..<22)
        let scraps = hat.union(earring).scraps(behind: hand)
        for y in 8..<14 { #expect(scraps.contains(7, y) && !scraps.contains(20, y)) }
        #expect(scraps.intersection(earring).isEmpty)
        // A thread beside the hand holds nothing.
        let above = Self.block(10..<14, 9..<30)
        #expect(hat.scraps(behind: above).contains(7, 10))
        // In the middle of a band neither half is a scrap.
        #expect(hat.scraps(behind: Self.block(18..<22, 0..<30)).isEmpty)
        #expect(hat.scraps(behind: CellSet()).isEmpty && CellSet().scraps(behind: hand).isEmpty)
    }
}
