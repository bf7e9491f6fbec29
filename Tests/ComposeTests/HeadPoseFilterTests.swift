import Frames
import Testing
import Track

@testable import Compose

struct HeadPoseFilterTests {
    /// A hat's rim and tip in head space.
    private static let points: [SIMD3<Float>] = [[0, -0.86, -0.1], [-1.2, -0.75, 1], [1.2, -0.75, 1], [0, -3, 0.8]]
    private static let scale: Float = 110
    private static let frame: Float = 1 / 30

    private func placement(yaw: Float, roll: Float = 0, size: Float = scale) -> HeadPlacement {
        face(at: Point(600, 300), scale: size, roll: roll, yaw: yaw).head
    }

    @Test func `the same frame again has the same head, and leaves the filter as it is`() {
        var (one, other) = (HeadPoseFilter(placement(yaw: 0)), HeadPoseFilter(placement(yaw: 0)))
        for number in 1..<9 {
            let head = placement(yaw: Float(number) * 3)
            let shown = one.update(head, elapsed: Self.frame)
            let same = other.update(head, elapsed: Self.frame)
            let again = other.update(head, elapsed: nil)
            for point in Self.points { #expect(shown(point) == same(point) && same(point) == again(point)) }
        }
    }

    @Test func `a resting head's hat does not move`() {
        // The jitter of the tracker's placements, in degrees and fractions, independent from frame to frame.
        var scatter = SplitMix64(seed: 1)
        func shake(_ most: Float) -> Float { (scatter.next() - 0.5) * 2 * most }
        let heads = (0..<300).map { _ in
            placement(yaw: 5 + shake(0.4), roll: shake(0.2), size: Self.scale * (1 + shake(0.004)))
        }
        func motion(_ heads: [HeadPlacement]) -> Float {
            let ways = zip(heads, heads.dropFirst()).flatMap { a, b in
                Self.points.map { (b($0) - a($0)).length }
            }
            return ways.sorted()[ways.count / 2]
        }
        var steady = HeadPoseFilter(heads[0])
        let shown = heads.map { steady.update($0, elapsed: Self.frame) }
        let (before, after) = (motion(heads), motion(shown))
        print("a shaking head's hat moves \(before) px a frame, steadied \(after)")
        #expect(before > 0.6)
        #expect(after < 0.25 * before)
    }

    @Test(arguments: [30, 90, 180] as [Float])
    func `a turning head's hat follows it`(_ degreesPerSecond: Float) {
        // From rest, by an eighth of a circle, and to rest again.
        var steady = HeadPoseFilter(placement(yaw: -30))
        var (most, yaw) = (Float(0), Float(-30))
        for frame in 0..<120 {
            if frame > 20 { yaw = min(30, yaw + degreesPerSecond * Self.frame) }
            let seen = placement(yaw: yaw)
            let shown = steady.update(seen, elapsed: Self.frame)
            for point in Self.points { most = max(most, (shown(point) - seen(point)).length / Self.scale) }
        }
        print("turning by \(degreesPerSecond) degrees a second, a hat is off by \(most) eye distances at most")
        #expect(most < 0.1)
        let (seen, end) = (placement(yaw: 30), steady.update(placement(yaw: 30), elapsed: Self.frame))
        for point in Self.points { #expect((seen(point) - end(point)).length / Self.scale < 0.02) }
    }

    @Test func `another face inherits no filter state, and a photo is not filtered`() throws {
        let layout = FrameLayout(width: 320, height: 240, format: .yuyv)
        let hat = try layer(
            """
            {"kind": "mesh", "materials": [{"name": "felt"}],
             "parts": [{"shape": "ball", "radius": 0.5, "material": "felt", "at": [0, -1.5, 0.5]}]}
            """, layout)
        var (first, second) = (face(at: Point(160, 150), scale: 30), face(at: Point(160, 150), scale: 36, yaw: 25))
        (first.id, second.id) = (1, 2)
        let empty = Samples(noise: layout)
        func dress(_ faces: [Face]) -> [UInt8] {
            var canvas = Canvas(layout)
            var compositor = Compositor(masks: [hat], seed: 1)
            for (i, face) in faces.enumerated() {
                canvas.frame = empty.frame
                compositor.compose(&canvas, [face], placement: .identity, at: Double(i) / 30)
            }
            return Samples(canvas.frame).bytes
        }
        let alone = dress([second])
        #expect(alone != empty.bytes)
        let after = dress([first, second])
        let off = zip(alone, after).count { abs(Int($0) - Int($1)) > 24 }
        #expect(off == 0, "\(off) samples show the hat elsewhere")
    }
}
