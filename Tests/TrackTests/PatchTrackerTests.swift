import Frames
import Testing

@testable import Track

/// Alignment of a face's patches. The eyes are 40 pixels apart in the patch, and in the frame unless stated otherwise.
@Suite struct PatchTrackerTests {
    private static let (width, height) = (640, 480)
    private static let middle = Point(320, 240)

    /// A picture of waves without repetition nearby.
    private static func waves(_ p: Point, fineness: Float = 1) -> Float {
        let q = (p - middle) * fineness
        let first: Float = 30 * sin(q.x / 10 + 0.4 * sin(q.y / 14))
        let second: Float = 24 * sin(q.y / 12 - q.x / 34)
        let third: Float = 16 * sin((q.x - q.y) / 22)
        return 128 + first + second + third
    }

    /// A chessboard.
    private static func mailbox(_ p: Point) -> Float { (Int(p.x / 12) + Int(p.y / 12)) % 2 == 0 ? 60 : 190 }

    /// Grains of four pixels with random brightness.
    private static func grains(_ p: Point) -> Float {
        let (x, y) = (UInt32(p.x / 4), UInt32(p.y / 4))
        var hash = (x &* 7919 &+ y &* 104_729) &* 2_654_435_761
        hash ^= hash >> 15
        hash = hash &* 2_246_822_519
        return Float(hash >> 24)
    }

    /// The map from the patch's pixels to the frame's, for a face around a place.
    private static func cut(at place: Point = middle, scale: Float = 1) -> Affine {
        let half = scale * Float(PatchFitter.side - 1) / 2
        return Affine(a: scale, b: 0, c: 0, d: scale, tx: place.x - half, ty: place.y - half)
    }

    /// Rotates and scales about a place, then shifts.
    private static func move(
        about place: Point = middle, scale: Float = 1, degrees: Float = 0, shift: Point = .zero
    ) -> Affine {
        var map = Affine(scale: scale, angle: radians(degrees), origin: .zero)
        let at = map(place)
        (map.tx, map.ty) = (place.x + shift.x - at.x, place.y + shift.y - at.y)
        return map
    }

    /// A face's patch of a frame whose picture has moved. Outside the frame its edge is repeated.
    private static func patch(
        _ cut: Affine, moved: Affine = .identity, gain: Float = 1, offset: Float = 0, of picture: (Point) -> Float
    ) throws -> [UInt8] {
        let back = try #require(moved.inverse)
        let last = Point(Float(width - 1), Float(height - 1))
        return (0..<PatchFitter.side * PatchFitter.side).map { i in
            let p = cut(Point(Float(i % PatchFitter.side), Float(i / PatchFitter.side)))
            let q = back(pointwiseMax(pointwiseMin(p, last), .zero))
            return UInt8(max(0, min(255, picture(q) * gain + offset)))
        }
    }

    /// The largest distance between a face's features after two motions, in its eye distances.
    private static func distance(_ a: Affine, _ b: Affine, at place: Point = middle, scale: Float = 1) -> Float {
        var most: Float = 0
        for y in [-1, 0, 1] as [Float] {
            for x in [-1, 0, 1] as [Float] {
                let p = place + Point(x, y) * 40 * scale
                most = max(most, (a(p) - b(p)).length)
            }
        }
        return most / (40 * scale)
    }

    private static func motion(
        _ patchTracker: inout PatchTracker, slot: Int = 0, guess: Affine = .identity
    ) -> PatchTracker.Motion? {
        patchTracker.motion(slot: slot, guess: guess, width: width, height: height)
    }

    /// The estimated motion of a face whose patch was cut at one place, and then at its predicted place.
    private static func found(
        _ moved: Affine, at place: Point = middle, scale: Float = 1, guess: Affine = .identity, gain: Float = 1,
        offset: Float = 0, fineness: Float = 1
    ) throws -> PatchTracker.Motion? {
        var patchTracker = PatchTracker(slots: 1)
        let (first, second) = (cut(at: place, scale: scale), guess.after(cut(at: place, scale: scale)))
        patchTracker.setPatch(try patch(first) { waves($0, fineness: fineness) }, map: first)
        patchTracker.storePatch(slot: 0)
        let picture = try patch(second, moved: moved, gain: gain, offset: offset) { waves($0, fineness: fineness) }
        patchTracker.setPatch(picture, map: second)
        return motion(&patchTracker, guess: guess)
    }

    /// The tolerance in eye distances: a hundredth.
    private static let tolerance: Float = 0.01

    /// A motion with a change of light.
    struct Change: Sendable {
        let name: String
        let map: Affine
        var gain: Float = 1
        var offset: Float = 0
    }

    static let changes: [Change] = [
        Change(name: "still", map: .identity),
        Change(name: "a step", map: move(shift: Point(1.3, -0.7))),
        Change(name: "a large step", map: move(shift: Point(8, -5))),
        Change(name: "a turn", map: move(degrees: 4)),
        Change(name: "a turn back", map: move(degrees: -8)),
        Change(name: "nearer", map: move(scale: 1.05)),
        Change(name: "farther", map: move(scale: 0.94)),
        Change(name: "all at once", map: move(scale: 1.04, degrees: 3, shift: Point(5, -4))),
        Change(name: "darker", map: move(shift: Point(2, 1)), gain: 0.6, offset: 10),
        Change(name: "lighter", map: move(scale: 1.02, degrees: 2, shift: Point(3, -2)), gain: 0.7, offset: 70),
    ]

    @Test(arguments: changes)
    func `a face that moves from one frame to the next is aligned`(change: Change) throws {
        let motion = try Self.found(change.map, gain: change.gain, offset: change.offset)
        let found = try #require(motion, "\(change.name)")
        let off = Self.distance(found.map, change.map)
        #expect(off < Self.tolerance, "\(change.name): \(off) eye distances off")
        #expect(found.correlation > 0.99, "\(change.name)")
    }

    @Test(arguments: [(16, -12, 0), (20, 0, 0), (-20, 14, 0), (18, -10, 3)] as [(Float, Float, Float)])
    func `a face that jumps by half its eye distance is searched for nearby`(x: Float, y: Float, degrees: Float) throws
    {
        let jump = Self.move(degrees: degrees, shift: Point(x, y))
        // Waves so short that refinement alone would settle on a wrong one.
        let motion = try Self.found(jump, fineness: 2)
        let found = try #require(motion)
        #expect(Self.distance(found.map, jump) < Self.tolerance)
        #expect(found.correlation > 0.99)
    }

    @Test func `a predicted position leads to a face that has moved far`() throws {
        let far = Self.move(scale: 1.05, degrees: 3, shift: Point(50, -30))
        let guess = Self.move(scale: 1.04, degrees: 2, shift: Point(48, -31))
        let motion = try Self.found(far, guess: guess)
        let found = try #require(motion)
        #expect(Self.distance(found.map, far) < Self.tolerance)
    }

    @Test(arguments: [0.5, 1, 2] as [Float])
    func `faces of every size are aligned equally well`(scale: Float) throws {
        let map = Self.move(scale: 1.03, degrees: 2, shift: Point(3, -2.5) * scale)
        let motion = try Self.found(map, scale: scale)
        let found = try #require(motion)
        #expect(Self.distance(found.map, map, scale: scale) < Self.tolerance)
    }

    @Test(
        arguments: [
            (Point(10, 240), Point(2, 1)), (Point(20, 240), Point(-3, 1)), (Point(630, 240), Point(-2, 1)),
            (Point(320, 5), Point(1, 2)), (Point(320, 470), Point(1, -2)), (Point(10, 10), Point(2, 2)),
        ] as [(Point, Point)])
    func `a face cut in half by the frame's edge is aligned by its visible part`(place: Point, shift: Point) throws {
        let map = Self.move(shift: shift)
        let motion = try Self.found(map, at: place)
        let found = try #require(motion)
        #expect(Self.distance(found.map, map, at: place) < Self.tolerance)
    }

    static let elsewhere: [(Point, Affine)] = [
        (Point(-60, 240), .identity), (Point(700, 240), .identity), (Point(320, -80), .identity),
        (Point(320, 560), .identity), (middle, move(shift: Point(1000, 0))), (middle, move(shift: Point(0, -1000))),
        (middle, Affine(scale: .nan, angle: 0, origin: .zero)), (middle, Affine(scale: 0, angle: 0, origin: middle)),
        (middle, Affine(scale: 1, angle: 0, origin: Point(.infinity, 0))),
    ]

    @Test(arguments: elsewhere)
    func `a face outside the frame, or predicted outside it, is not aligned`(
        place: Point, guess: Affine
    ) throws {
        var patchTracker = PatchTracker(slots: 1)
        let cut = Self.cut(at: place)
        let picture = try Self.patch(cut) { Self.waves($0) }
        patchTracker.setPatch(picture, map: cut)
        patchTracker.storePatch(slot: 0)
        patchTracker.setPatch(picture, map: cut)
        let motion = Self.motion(&patchTracker, guess: guess)
        #expect(motion == nil)
    }

    @Test func `an empty slot, or a patch without size, is not aligned`() throws {
        let cut = Self.cut()
        let picture = try Self.patch(cut) { Self.waves($0) }
        var patchTracker = PatchTracker(slots: 2)
        patchTracker.setPatch(picture, map: cut)
        patchTracker.storePatch(slot: 1)
        patchTracker.setPatch(picture, map: cut)
        let (first, second) = (Self.motion(&patchTracker), Self.motion(&patchTracker, slot: 1))
        #expect(first == nil && second != nil)
        // This frame's patch, and then the one before.
        patchTracker.setPatch(picture, map: Self.cut(scale: 0))
        let third = Self.motion(&patchTracker, slot: 1)
        patchTracker.storePatch(slot: 1)
        patchTracker.setPatch(picture, map: cut)
        let fourth = Self.motion(&patchTracker, slot: 1)
        #expect(third == nil && fourth == nil)
    }

    @Test func `a flat patch, or another picture, is not aligned`() throws {
        let cut = Self.cut()
        let waves = try Self.patch(cut) { Self.waves($0) }
        let mailbox = try Self.patch(cut, of: Self.mailbox)
        let grains = try Self.patch(cut, of: Self.grains)
        let flat = [UInt8](repeating: 90, count: waves.count)
        let pairs = [
            ("flat now", waves, flat), ("flat before", flat, waves), ("flat", flat, flat), ("a board", waves, mailbox),
            ("a board before", mailbox, waves), ("grains", waves, grains), ("grains before", grains, waves),
        ]
        for (name, before, now) in pairs {
            var patchTracker = PatchTracker(slots: 1)
            patchTracker.setPatch(before, map: cut)
            patchTracker.storePatch(slot: 0)
            patchTracker.setPatch(now, map: cut)
            let correlation = Self.motion(&patchTracker)?.correlation ?? 0
            #expect(correlation < Thresholds.samePatchCorrelation, "\(name): \(correlation)")
        }
    }

    @Test func `each slot stores its own face`() throws {
        let cut = Self.cut()
        var patchTracker = PatchTracker(slots: 2)
        patchTracker.setPatch(try Self.patch(cut) { Self.waves($0) }, map: cut)
        patchTracker.storePatch(slot: 0)
        patchTracker.setPatch(try Self.patch(cut, of: Self.grains), map: cut)
        patchTracker.storePatch(slot: 1)
        let map = Self.move(shift: Point(3, -2))
        patchTracker.setPatch(try Self.patch(cut, moved: map) { Self.waves($0) }, map: cut)
        let (own, other) = (Self.motion(&patchTracker), Self.motion(&patchTracker, slot: 1))
        let found = try #require(own)
        #expect(Self.distance(found.map, map) < Self.tolerance)
        #expect(other?.correlation ?? 0 < Thresholds.samePatchCorrelation)
    }

    @Test(arguments: [true, false])
    func `the motion is relative to the patch stored last`(isKept: Bool) throws {
        let cut = Self.cut()
        let (first, second) = (Self.move(shift: Point(3, -2)), Self.move(degrees: 2, shift: Point(2, 2)))
        var patchTracker = PatchTracker(slots: 1)
        patchTracker.setPatch(try Self.patch(cut) { Self.waves($0) }, map: cut)
        patchTracker.storePatch(slot: 0)
        patchTracker.setPatch(try Self.patch(cut, moved: first) { Self.waves($0) }, map: cut)
        if isKept { patchTracker.storePatch(slot: 0) }
        patchTracker.setPatch(try Self.patch(cut, moved: second.after(first)) { Self.waves($0) }, map: cut)
        let motion = Self.motion(&patchTracker)
        let found = try #require(motion)
        #expect(Self.distance(found.map, isKept ? second : second.after(first)) < Self.tolerance)
    }
}
