import Capture
import Frames
import TestSupport
import Testing

@testable import Track

/// The pattern of edges. How well it tells faces is measured on many of them (Benchmarks/verifier.py).
@Suite(.needsSample) struct FacePatternTests {
    /// The sample's face in a patch's place: the eyes are 24 pixels apart in it.
    private static let face = PatchTransform(center: Point(224, 128), scale: scale, roll: 3)
    private static let scale: Float = 43.0 / 24

    /// The sample in gray, changed pixel by pixel.
    private func sample(_ change: (UInt8) -> UInt8 = { $0 }) throws -> Gray {
        var gray = Gray(width: 512, height: 512, pixels: [])
        try Clip.firstPicture(of: Fixtures.sample) { view in
            let luma = view.luma
            for y in 0..<512 {
                for x in 0..<512 { gray.pixels.append(change(luma.samples[y * luma.rowStride + x * luma.pixelStride])) }
            }
        }
        return gray
    }

    private func score(_ picture: Gray, _ region: PatchTransform) -> Float {
        var pattern = FacePattern()
        return picture.view { pattern.score($0, region) }
    }

    @Test func `a mirror image has the same score`() throws {
        var picture = try sample()
        let score = score(picture, Self.face)
        for y in 0..<512 { picture.pixels[y * 512..<(y + 1) * 512].reverse() }
        let mirrored = PatchTransform(
            center: Point(511 - Self.face.center.x, Self.face.center.y), scale: Self.scale, roll: -3)
        #expect(abs(self.score(picture, mirrored) - score) < 0.02)
    }

    @Test func `the light changes the score little, and a flat patch has none`() throws {
        let plain = score(try sample(), Self.face)
        let dim = score(try sample { $0 / 3 + 10 }, Self.face)
        #expect(abs(dim - plain) < 0.2, "\(dim), \(plain)")
        #expect(score(try sample { _ in 90 }, Self.face) == 0)
    }
}
