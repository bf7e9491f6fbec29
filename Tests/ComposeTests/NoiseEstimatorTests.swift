import Frames
import TestSupport
import Testing

@testable import Compose

struct NoiseEstimatorTests {
    private static let box = Rect(x: 20, y: 10, width: 110, height: 120)

    /// A ground that gets brighter, with a dark bar, and normally distributed noise.
    private static func picture(noise: Float, brightness: Float = 90, range: ColorRange = .full) -> Frame {
        let layout = FrameLayout(width: 160, height: 140, format: .gray, range: range)
        var generator = RepeatableGenerator(5)
        var frame = Frame(layout)
        var bytes = frame.mutableBytes
        for y in 0..<layout.height {
            for x in 0..<layout.width {
                let bar: Float = (50..<70).contains(x) ? 40 : 0
                var level = brightness + Float(x) * 0.3 + Float(y) * 0.2 - bar
                // The sum of twelve even numbers up to 1 has a deviation of 1.
                for _ in 0..<12 { level += (Float(generator.next(below: 1000)) / 1000 - 0.5) * noise }
                let sample = range == .full ? level : 16 + level * 219 / 255
                bytes[y * layout.width + x] = UInt8(max(0, min(255, sample.rounded())))
            }
        }
        return frame
    }

    private static func estimate(_ frame: borrowing Frame, box: Rect = box) -> Float {
        var estimator = NoiseEstimator()
        estimator.update(PixelReader(frame.view), box, elapsed: 0.2)
        return estimator.deviation
    }

    @Test(arguments: [Float(2), 4, 8], [ColorRange.full, .limited])
    func `noise is measured, whatever the range, slopes and edges`(noise: Float, range: ColorRange) {
        let measured = Self.estimate(Self.picture(noise: noise, range: range))
        #expect(abs(measured - noise) < 0.2 * noise, "\(measured)")
    }

    @Test func `a clean picture has none, nor has a small face, or what is too dark to tell`() {
        #expect(Self.estimate(Self.picture(noise: 0)) == 0)
        #expect(Self.estimate(Self.picture(noise: 0.6)) == 0)
        #expect(Self.estimate(Self.picture(noise: 6), box: Rect(x: 20, y: 20, width: 50, height: 50)) == 0)
        #expect(Self.estimate(Self.picture(noise: 6), box: Rect(x: 500, y: -90, width: 90, height: 90)) == 0)
        #expect(Self.estimate(Self.picture(noise: 6, brightness: -80)) == 0)
    }

    @Test func `a change is followed slowly`() {
        var estimator = NoiseEstimator()
        let clean = Self.picture(noise: 2)
        let noisy = Self.picture(noise: 8)
        estimator.update(PixelReader(clean.view), Self.box, elapsed: 0.2)
        estimator.update(PixelReader(noisy.view), Self.box, elapsed: 0.2)
        #expect((2.5..<5).contains(estimator.deviation), "\(estimator.deviation)")
        for _ in 0..<30 { estimator.update(PixelReader(noisy.view), Self.box, elapsed: 0.2) }
        #expect(abs(estimator.deviation - 8) < 1.6)
    }

    @Test(arguments: [
        """
        {"kind": "mesh", "place": "hat", "materials": [{"name": "felt", "color": "#808080"}],
         "parts": [{"shape": "lathe", "material": "felt", "profile": [[1.3, 0], [1.3, 1], [0, 1.1]], "around": 48}]}
        """,
        #"{"kind": "sprite", "art": "hat.svg", "eyeDistance": 20, "pins": [{"art": [40, 60], "face": "nose"}]}"#,
    ])
    func `what is worn is as noisy as the face, and clean on a clean one`(description: String) throws {
        let layout = FrameLayout(width: 320, height: 240, format: .nv12, range: .full)
        var face = face(at: Point(160, 150), scale: 45)
        face.box = Rect(x: 110, y: 120, width: 100, height: 100)
        let folder = try ScratchFolder()
        let rectangle = ##"<rect width="80" height="60" fill="#808080"/>"##
        _ = try folder.write(
            #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 60">\#(rectangle)</svg>"#, "hat.svg")
        let hat = try layer(description, layout, folder: folder.url.path)
        /// The mean difference of neighbours along a row of the hat.
        func roughness(_ noise: Float) -> Float {
            var generator = RepeatableGenerator(7)
            var picture = Samples(noise: layout)
            for i in picture.bytes.indices {
                var level: Float = 128
                if i < layout.width * layout.height {
                    for _ in 0..<12 { level += (Float(generator.next(below: 1000)) / 1000 - 0.5) * noise }
                }
                picture.bytes[i] = UInt8(level)
            }
            let shown = worn(hat, on: picture, [face])
            let sum = (140..<180).reduce(0) { $0 + abs(shown[$1, 90].x - shown[$1 + 1, 90].x) }
            return Float(sum) / 40
        }
        let (clean, noisy) = (roughness(0), roughness(6))
        print("neighbours differ by \(clean) levels, and by \(noisy) beside noise of 6")
        #expect(clean < 1.5)
        // Of two normally distributed numbers of this deviation, by 6.8.
        #expect((4.5..<9).contains(noisy))
    }
}
