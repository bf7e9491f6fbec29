import Frames
import SystemKit
import TestSupport
import Testing
import Track

@testable import Compose

struct BlurEstimatorTests {
    private static let layout = FrameLayout(width: 160, height: 120, format: .gray, range: .full)
    private static let box = Rect(x: 10, y: 10, width: 140, height: 100)

    /// How soft the edges of a face are themselves, as the standard deviation of a Gaussian that blurs steps, pixels.
    private static let own: Float = 0.78

    /// Dark bars, 15 pixels wide, on a bright ground, as soft as a face, with edges that a Gaussian has blurred, and
    /// noise, or the fine grain of skin.
    private static func picture(blur: Float, noise: Float = 2, every period: Float = 30, shift: Float = 0) -> Frame {
        let blur = (blur * blur + own * own).squareRoot()
        var generator = RepeatableGenerator(3)
        var frame = Frame(layout)
        var bytes = frame.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let along = shift + Float(x) + 0.25 * Float(y)
                // The nearest edge, and the share of bright ground around it.
                let place = along - period * (along / period).rounded(.down)
                let distance = place < 15 ? min(place, 15 - place) : 0 - min(place - 15, period - place)
                let part = 1 / (1 + exp(-1.702 * distance / blur))
                let grain = (Float(generator.next(below: 200)) / 100 - 1) * noise
                bytes[y * layout.width + x] = UInt8(max(0, min(255, 70 + 110 * part + grain)))
            }
        }
        return frame
    }

    private static func estimate(_ frame: borrowing Frame) -> Float {
        var estimator = BlurEstimator()
        let pixels = PixelReader(frame.view)
        for _ in 0..<3 { estimator.update(pixels, box, elapsed: 1 / 30) }
        return estimator.deviation
    }

    @Test(arguments: [Float(0.5), 1, 1.5, 2]) func `the width of edges tells the blur`(blur: Float) {
        let (clean, noisy) = (
            Self.estimate(Self.picture(blur: blur)), Self.estimate(Self.picture(blur: blur, noise: 6))
        )
        print("blur of \(blur): \(clean), with noise \(noisy)")
        // The wider edges are, the less their ratio changes.
        #expect(abs(clean - blur) < 0.2 + 0.12 * blur)
        #expect(noisy < clean + 0.25, "noise is not blur")
    }

    @Test func `a picture without fine detail is soft, however steep its edges are`() {
        let (plain, grained) = (
            Self.estimate(Self.picture(blur: 0, noise: 0)), Self.estimate(Self.picture(blur: 0, noise: 4))
        )
        #expect(plain > 0.9 && grained < 0.6, "\(plain), \(grained)")
    }

    @Test func `where a few edges lie does not matter`() {
        let found = stride(from: Float(0), to: 60, by: 7).map {
            Self.estimate(Self.picture(blur: 1, every: 160, shift: $0))
        }
        print("blur of 1, moved: \(found)")
        #expect((found.max() ?? 9) - (found.min() ?? 0) < 0.1)
    }

    @Test func `an even picture, and a box outside of the frame, count as sharp`() {
        var frame = Frame(Self.layout)
        var bytes = frame.mutableBytes
        for i in bytes.indices { bytes[i] = 90 }
        #expect(Self.estimate(frame) == BlurEstimator.sharp)
        var estimator = BlurEstimator()
        let blurred = Self.picture(blur: 2)
        estimator.update(PixelReader(blurred.view), Rect(x: 500, y: -90, width: 40, height: 40), elapsed: 0)
        #expect(estimator.deviation == BlurEstimator.sharp)
    }
}
