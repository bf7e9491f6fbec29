import CAllocations
import Glibc
import TestSupport
import Testing

@testable import Frames

/// A grey picture like a photo, with the same amount of detail at any patch size: soft blobs, an edge, a little noise.
private struct Scene {
    let width: Int
    let height: Int
    let pixelStride: Int
    private let samples: [UInt8]
    private var rowStride: Int { width * pixelStride + 5 }

    /// - Parameter detail: the size of details, relative to those for a patch at the picture's own scale.
    init(width: Int, height: Int, pixelStride: Int = 1, detail: Float = 1) {
        (self.width, self.height, self.pixelStride) = (width, height, pixelStride)
        // Bytes between samples are extreme, so that reading them is noticed.
        var samples = (0..<height * (width * pixelStride + 5)).map { UInt8(truncatingIfNeeded: $0 * 151) }
        var random = RepeatableGenerator(state: 7)
        for y in 0..<height {
            for x in 0..<width {
                let noise = Double(random.next(below: 8)) - 3.5
                let (u, v) = (Double(x) / Double(detail), Double(y) / Double(detail))
                let waves = 40 * sin(u / 5 + v / 9) + 25 * cos(u / 3 - v / 4)
                let edge = x * 2 + y > width ? 30.0 : -30
                samples[y * (width * pixelStride + 5) + x * pixelStride] = UInt8(128 + waves + edge + noise)
            }
        }
        self.samples = samples
    }

    func sample(_ x: Int, _ y: Int) -> Double {
        Double(samples[max(0, min(y, height - 1)) * rowStride + max(0, min(x, width - 1)) * pixelStride])
    }

    func patch(_ map: Affine, side: Int, over start: [UInt8]? = nil, mayBeWide: Bool = true) -> [UInt8] {
        var patch = start ?? Array(repeating: 0, count: side * side)
        var span = patch.mutableSpan
        let luma = LumaView(
            samples: samples.span, width: width, height: height, pixelStride: pixelStride, rowStride: rowStride)
        resample(luma, by: map, into: &span, width: side, height: side, mayBeWide: mayBeWide)
        return patch
    }

    /// The definition: the mean of the interpolated picture over the area of each patch pixel, with 6 x 6 samples.
    func reference(_ map: Affine, side: Int) -> [Double] {
        (0..<side * side).map { i in
            var sum = 0.0
            for tap in 0..<36 {
                let u = Float(i % side) + (Float(tap % 6) + 0.5) / 6 - 0.5
                let v = Float(i / side) + (Float(tap / 6) + 0.5) / 6 - 0.5
                let p = map(Point(u, v))
                let (x, y) = (Int(p.x.rounded(.down)), Int(p.y.rounded(.down)))
                let (fx, fy) = (Double(p.x) - Double(x), Double(p.y) - Double(y))
                let upper = sample(x, y) * (1 - fx) + sample(x + 1, y) * fx
                let lower = sample(x, y + 1) * (1 - fx) + sample(x + 1, y + 1) * fx
                sum += upper * (1 - fy) + lower * fy
            }
            return sum / 36
        }
    }
}

private func region(scale: Float, roll: Float, center: Point, side: Int) -> Affine {
    let turn = Affine(scale: scale, angle: roll * .pi / 180, origin: .zero)
    let middle = turn.linear(Point(Float(side - 1) / 2, Float(side - 1) / 2))
    return Affine(a: turn.a, b: turn.b, c: turn.c, d: turn.d, tx: center.x - middle.x, ty: center.y - middle.y)
}

struct ResampleTests {
    @Test(arguments: [1, 2, 3], [Float(0.5), 1, 1.4, 2, 2.6, 4, 8, 21])
    func `a patch shows the picture under it, at any size and tilt`(pixelStride: Int, scale: Float) {
        let scene = Scene(width: 480, height: 301, pixelStride: pixelStride, detail: scale)
        // Not a multiple of the blocks, so that there are partial ones.
        let side = 37
        for roll in [Float(0), 20, -40, 180] {
            // In the middle; over a corner.
            for center in [Point(240.3, 150.8), Point(470, 8)] {
                let map = region(scale: scale, roll: roll, center: center, side: side)
                let wanted = scene.reference(map, side: side)
                let errors = zip(scene.patch(map, side: side), wanted).map { abs(Double($0) - $1) }
                let mean = errors.reduce(0, +) / Double(errors.count)
                // Cells are smaller than the patch's pixels, for the benefit of small faces: between two integer
                // factors this costs some accuracy of the mean.
                #expect(mean <= 1.2, "scale \(scale) roll \(roll) at \(center): \(mean) levels in the mean")
                #expect(errors.max() ?? 0 <= 25, "scale \(scale) roll \(roll) at \(center)")
            }
        }
    }

    @Test(arguments: [1, 2], [Float(0.5), 1, 1.43, 2.2, 4.7, 21])
    func `upright patches are the same without AVX2`(pixelStride: Int, scale: Float) {
        let scene = Scene(width: 480, height: 301, pixelStride: pixelStride, detail: scale)
        for side in [1, 37, 160] {
            for center in [Point(240.3, 150.8), Point(470, 8)] {
                let map = region(scale: scale, roll: 0, center: center, side: side)
                let wide = scene.patch(map, side: side)
                #expect(Set(wide).count > 1 || side == 1)
                #expect(wide == scene.patch(map, side: side, mayBeWide: false), "\(side) pixels at \(center)")
            }
        }
    }

    @Test func `a patch of the picture's own pixels is the picture`() {
        let scene = Scene(width: 100, height: 80)
        let patch = scene.patch(Affine(scale: 1, angle: 0, origin: Point(20, 10)), side: 50)
        for y in 0..<50 { for x in 0..<50 { #expect(Double(patch[y * 50 + x]) == scene.sample(x + 20, y + 10)) } }
    }

    @Test(arguments: [Float(1), 3, 40, 700])
    func `beyond the picture its edge is repeated`(scale: Float) {
        let scene = Scene(width: 100, height: 80)
        let corner = scene.sample(0, 0)
        let patch = scene.patch(region(scale: scale, roll: 10, center: Point(-900_000, -800_000), side: 40), side: 40)
        #expect(patch.allSatisfy { abs(Double($0) - corner) <= 1 })
    }

    @Test(
        "A map that is not finite, or too extreme, leaves the patch unchanged",
        arguments: [
            Affine(scale: .nan, angle: 0, origin: .zero), Affine(scale: 1, angle: 0, origin: Point(0, .nan)),
            Affine(scale: .infinity, angle: 0, origin: .zero), Affine(scale: 1, angle: 0, origin: Point(1e9, 0)),
            Affine(scale: 5000, angle: 0, origin: .zero),
        ])
    func wild(map: Affine) {
        let before = [UInt8](repeating: 77, count: 400)
        #expect(Scene(width: 40, height: 40).patch(map, side: 20, over: before) == before)
    }

    @Test(
        "Singular maps, and maps that mirror, shear or stretch, are applied",
        arguments: [
            Affine(scale: 0, angle: 0, origin: Point(10, 10)), Affine(a: 0.5, b: 0, c: 0, d: 1.3, tx: 5, ty: 8),
            Affine(a: -1, b: 0.4, c: 0.1, d: 1, tx: 90, ty: 8), Affine(a: 1, b: 1, c: 1, d: 1, tx: 3, ty: 4),
        ])
    func odd(map: Affine) {
        let scene = Scene(width: 120, height: 90, detail: 2)
        let errors = zip(scene.patch(map, side: 40), scene.reference(map, side: 40)).map { abs(Double($0) - $1) }
        #expect(errors.reduce(0, +) / Double(errors.count) <= 2)
    }

    @Test func `a map that stretches one axis a thousandfold terminates`() {
        let scene = Scene(width: 120, height: 90)
        let patch = scene.patch(Affine(a: 999, b: 0, c: 0, d: 0.001, tx: -20_000, ty: 8), side: 40)
        #expect(patch.count == 1600)
    }

    @Test func `a picture of one pixel fills the patch`() {
        let one = Scene(width: 1, height: 1)
        let patch = one.patch(region(scale: 3, roll: 30, center: Point(0, 0), side: 34), side: 34)
        #expect(patch.allSatisfy { Double($0) == one.sample(0, 0) })
    }

    @Test(.enabled(if: callocations_is_enabled() != 0, "needs a build without sanitizers"))
    func `cutting a patch allocates nothing`() {
        let luma = [UInt8](repeating: 9, count: 10_000)
        var patch = [UInt8](repeating: 0, count: 3600)
        func cut() {
            var span = patch.mutableSpan
            let map = region(scale: 2.3, roll: 20, center: Point(50, 50), side: 60)
            let view = LumaView(samples: luma.span, width: 100, height: 100, rowStride: 100)
            resample(view, by: map, into: &span, width: 60, height: 60)
        }
        cut()
        let before = callocations_count()
        cut()
        #expect(callocations_count() == before)
    }
}
