import CAllocations
import Glibc
import Testing

@testable import Frames

/// A square patch of waves and soft spots, without repetition, seen through a map.
private struct Patch {
    static let side = 68
    private static let middle = Float(side - 1) / 2
    var samples: [UInt8]

    /// - Parameters:
    ///   - map: from the plain patch's pixels to this one's.
    ///   - gain: factor for the brightness.
    ///   - offset: added to the brightness, levels.
    ///   - detail: factor for the frequency of the waves; if not 1, it is another picture.
    init(through map: Affine = .identity, gain: Float = 1, offset: Float = 0, detail: Float = 1) throws {
        let back = try #require(map.inverse)
        samples = (0..<Self.side * Self.side).map { i in
            let p = back(Point(Float(i % Self.side), Float(i / Self.side)))
            let (x, y) = (p.x * detail, p.y * detail)
            let waves =
                30 * Frames.sin(x / 5 + 0.4 * Frames.sin(y / 7)) + 24 * Frames.sin(y / 6 - x / 17) + 16
                * Frames.sin((x - y) / 11)
            return UInt8(max(0, min(255, (128 + waves) * gain + offset)))
        }
    }

    init(filledBy sample: (Int) -> UInt8) { samples = (0..<Self.side * Self.side).map(sample) }

    /// Rotated and scaled about its middle, then shifted.
    static func map(scale: Float, degrees: Float, shift: Point) -> Affine {
        let turn = Affine(scale: scale, angle: degrees * .pi / 180, origin: .zero)
        let corner = turn.linear(Point(middle, middle))
        let origin = Point(middle, middle) + shift - corner
        return Affine(a: turn.a, b: turn.b, c: turn.c, d: turn.d, tx: origin.x, ty: origin.y)
    }

    /// The largest distance between two maps' images of the places where a face has its features, pixels.
    static func distance(_ map: Affine, _ other: Affine) -> Float {
        var most: Float = 0
        for y in stride(from: Float(16), through: 52, by: 12) {
            for x in stride(from: Float(16), through: 52, by: 12) {
                most = max(most, (map(Point(x, y)) - other(Point(x, y))).length)
            }
        }
        return most
    }
}

struct AlignTests {
    private func align(
        _ picture: Patch, to template: Patch, from start: Affine = .identity, maxIterations: Int = 8,
        capacity: Int = 800,
        visible: (Point) -> Bool = { _ in true }
    ) -> Alignment? {
        var imageAligner = ImageAligner(capacity: capacity)
        return imageAligner.align(
            picture.samples.span, to: template.samples.span, side: Patch.side, step: 2, visible: visible, from: start,
            maxIterations: maxIterations)
    }

    @Test func `a shift, a turn, a growth and another light are found to a twentieth of a pixel`() throws {
        let map = Patch.map(scale: 1.05, degrees: 5, shift: Point(2.3, -1.6))
        let picture = try Patch(through: map, gain: 0.8, offset: 30)
        let plain = try Patch()
        let found = try #require(align(picture, to: plain))
        let off = Patch.distance(found.map, map)
        print("\(off) pixels off, correlation \(found.correlation); untouched \(Patch.distance(.identity, map))")
        #expect(off < 0.05)
        #expect(found.correlation > 0.995)
        // The error that the tracker's three maxIterations leave of a frame's motion.
        let small = Patch.map(scale: 1.01, degrees: 1, shift: Point(0.8, -0.6))
        let soon = try #require(align(try Patch(through: small), to: plain, maxIterations: 3))
        #expect(Patch.distance(soon.map, small) < 0.05)
    }

    @Test func `a correct start stays, whatever the picture`() throws {
        let map = Patch.map(scale: 0.9, degrees: -12, shift: Point(-5, 4))
        let found = try #require(align(try Patch(through: map), to: try Patch(), from: map, maxIterations: 3))
        #expect(Patch.distance(found.map, map) < 0.05)
    }

    @Test func `closing eyelids and opening lips move the rest by at most half a pixel`() throws {
        let map = Patch.map(scale: 1, degrees: 0, shift: Point(1.2, 0.7))
        var picture = try Patch(through: map)
        for (xs, ys, change) in [(20..<28, 26..<29, 60), (40..<48, 26..<29, 60), (28..<41, 47..<50, -60)] {
            for y in ys {
                for x in xs {
                    let at = y * Patch.side + x
                    picture.samples[at] = UInt8(max(0, min(255, Int(picture.samples[at]) + change)))
                }
            }
        }
        let found = try #require(align(picture, to: try Patch()))
        print("\(Patch.distance(found.map, map)) pixels off beside lids and lips, correlation \(found.correlation)")
        #expect(Patch.distance(found.map, map) < 0.5)
    }

    @Test func `pixels masked as no part of the face do no harm`() throws {
        let map = Patch.map(scale: 1, degrees: 0, shift: Point(1.2, 0.7))
        var picture = try Patch(through: map)
        // The part outside the frame's edge: a fifth of the face.
        for y in 40..<Patch.side { for x in 34..<Patch.side { picture.samples[y * Patch.side + x] = 250 } }
        let found = try #require(align(picture, to: try Patch()) { $0.x < 30 || $0.y < 36 })
        #expect(Patch.distance(found.map, map) < 0.1)
        #expect(found.correlation > 0.99)
    }

    @Test func `a flat or different patch is not aligned`() throws {
        let plain = try Patch()
        let flat = Patch { _ in 90 }
        #expect(align(plain, to: flat) == nil, "nothing to go by")
        #expect(align(flat, to: plain)?.correlation ?? 0 == 0)
        let noise = Patch { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }
        for (name, other) in [("other waves", try Patch(detail: 1.7)), ("noise", noise)] {
            let correlation = align(other, to: plain)?.correlation ?? 0
            print("\(name): \(correlation)")
            #expect(correlation < 0.7, "\(name)")
        }
        #expect(align(plain, to: plain) { _ in false } == nil, "nothing is visible")
        #expect(align(plain, to: plain) { $0.x < 16 } == nil, "a strip is too little")
        #expect(align(plain, to: plain, capacity: 40) == nil, "40 samples are too few")
    }

    @Test(arguments: [
        Affine(scale: .nan, angle: 0, origin: .zero), Affine(scale: 1, angle: 0, origin: Point(.nan, 0)),
        Affine(scale: 1, angle: 0, origin: Point(0, .infinity)), Affine(scale: .infinity, angle: 0, origin: .zero),
        Affine(scale: 0, angle: 0, origin: .zero), Affine(scale: 1, angle: 0, origin: Point(1e30, -1e30)),
        Affine(scale: 1, angle: 0, origin: Point(67, 0)),
    ])
    func `a start outside the picture is rejected`(start: Affine) throws {
        let plain = try Patch()
        #expect(align(plain, to: plain, from: start) == nil)
        var imageAligner = ImageAligner(capacity: 800)
        let found = imageAligner.search(
            plain.samples.span, for: plain.samples.span, side: Patch.side, step: 2, visible: { _ in true },
            from: start, radius: 2)
        #expect(found == nil)
    }

    @Test func `a search finds a jump that refinement misses`() throws {
        let map = Patch.map(scale: 1, degrees: 0, shift: Point(9, -7))
        let (picture, plain) = (try Patch(through: map, detail: 2.5), try Patch(detail: 2.5))
        let refined = align(picture, to: plain).map { Patch.distance($0.map, map) } ?? .infinity
        var imageAligner = ImageAligner(capacity: 800)
        let found = imageAligner.search(
            picture.samples.span, for: plain.samples.span, side: Patch.side, step: 2, visible: { _ in true },
            from: .identity, radius: 10)
        let jump = try #require(found)
        print("refinement alone is \(refined) pixels off; searched: \(jump)")
        #expect(refined > 3, "else there is nothing to search for")
        #expect(jump.map == Affine(a: 1, b: 0, c: 0, d: 1, tx: 9, ty: -7))
        #expect(jump.correlation > 0.99)
    }

    @Test func `aligning and searching allocate nothing`() throws {
        let (picture, plain) = (try Patch(through: Patch.map(scale: 1.02, degrees: 2, shift: Point(1, 1))), try Patch())
        var imageAligner = ImageAligner(capacity: 800)
        func run() {
            _ = imageAligner.align(
                picture.samples.span, to: plain.samples.span, side: Patch.side, step: 2, visible: { $0.x > 3 },
                from: .identity, maxIterations: 3)
            _ = imageAligner.search(
                picture.samples.span, for: plain.samples.span, side: Patch.side, step: 2, visible: { $0.x > 3 },
                from: .identity, radius: 2)
        }
        run()
        let before = callocations_count()
        run()
        #expect(callocations_count() == before)
    }

    @Test func `a halved picture is the mean of each four samples`() {
        let source: [UInt8] = [0, 1, 255, 255, 2, 3, 255, 255, 10, 20, 0, 0, 30, 41, 0, 1]
        var target = [UInt8](repeating: 7, count: 5)
        var span = target.mutableSpan
        halve(source.span, side: 4, into: &span)
        // 1.5, 255, 25.25 and 0.25, to the nearest, halves up.
        #expect(target == [2, 255, 25, 0, 7])
    }
}
