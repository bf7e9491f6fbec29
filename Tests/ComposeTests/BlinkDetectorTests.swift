import Frames
import Testing
import Track

@testable import Compose

private let layout = FrameLayout(width: 320, height: 240, format: .i444, range: .full)
private let eyes = [36, 42]

/// What is between the eyelids, of eyes that look straight ahead or aside, or are closed.
private enum Gaze {
    case ahead, aside, shut
}

/// A face with uniform skin, and with eyes where the regression trees would place them.
private func picture(_ face: Face, _ gaze: Gaze, hasColor: Bool) -> Frame {
    var frame = Frame(layout)
    var bytes = frame.mutableBytes
    let area = layout.width * layout.height
    for y in 0..<layout.height {
        for x in 0..<layout.width {
            let place = y * layout.width + x
            var (luma, u, v): (Float, Float, Float) = (140 + Float((x * 7 + y * 13) % 5), 116, 148)
            for first in eyes where gaze != .shut {
                let p = face.landmarks
                let (corner, end) = (p[first], p[first + 3])
                let middle = (corner + end) / 2
                let half = (end - corner).length / 2
                let (dx, dy) = ((Float(x) - middle.x) / half, (Float(y) - middle.y) / (half * 0.5))
                guard dx * dx + dy * dy < 1 else { continue }
                let iris = gaze == .aside ? Float(0.8) : 0
                let isIris = abs(dx - iris) < 0.35
                (luma, u, v) = (isIris ? 45 : 190, 128, 128)
            }
            bytes[place] = UInt8(luma)
            bytes[area + place] = UInt8(hasColor ? u : 128)
            bytes[2 * area + place] = UInt8(hasColor ? v : 128)
        }
    }
    return frame
}

struct BlinkDetectorTests {
    /// The eye opening, relative to that of the trees.
    private func gap(_ blinkDetector: inout BlinkDetector, _ gaze: Gaze, trees: Float, hasColor: Bool) -> [Float] {
        var face = middleFace
        for first in eyes {
            for i in 1...2 {
                let (upper, lower) = (first + i, first + 6 - i)
                face.landmarks[upper] =
                    face.landmarks[lower] + (face.landmarks[upper] - face.landmarks[lower]) * trees
            }
        }
        let before = face
        let frame = picture(middleFace, gaze, hasColor: hasColor)
        blinkDetector.closeLids(&face, PixelReader(frame.view), elapsed: 1 / 30)
        return eyes.map { first in
            (face.landmarks[first + 1] - face.landmarks[first + 5]).length
                / (before.landmarks[first + 1] - before.landmarks[first + 5]).length
        }
    }

    /// The trees follow a blink only half the way, and sometimes hardly at all.
    @Test(arguments: [(0.55 as Float, true), (0.85, true), (0.55, false)])
    func `closed eyes are closed, open ones are unchanged`(trees: Float, hasColor: Bool) {
        var blinkDetector = BlinkDetector()
        for frame in 0..<30 {
            let open = gap(&blinkDetector, .ahead, trees: 1, hasColor: hasColor)
            #expect(open == [1, 1], "frame \(frame): \(open)")
        }
        for frame in 0..<60 {
            let shut = gap(&blinkDetector, .shut, trees: trees, hasColor: hasColor)
            #expect(shut.allSatisfy { $0 < 0.1 }, "shut for \(frame) frames: \(shut)")
        }
        let open = gap(&blinkDetector, .ahead, trees: 1, hasColor: hasColor)
        #expect(open == [1, 1], "open again: \(open)")
        guard hasColor else { return }
        let aside = gap(&blinkDetector, .aside, trees: 0.8, hasColor: true)
        #expect(aside == [1, 1], "looking aside: \(aside)")
    }

    @Test func `an eye beyond the picture's edge is unchanged`() {
        var blinkDetector = BlinkDetector()
        var face = middleFace
        for i in 0..<68 { face.landmarks[i].x -= 140 }
        let before = face.landmarks[37]
        let frame = picture(face, .ahead, hasColor: true)
        for _ in 0..<5 { blinkDetector.closeLids(&face, PixelReader(frame.view), elapsed: 1 / 30) }
        #expect(face.landmarks[37] == before)
    }
}
