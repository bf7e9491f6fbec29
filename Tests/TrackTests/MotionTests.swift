import Frames
import TestSupport
import Testing

@testable import Track

/// A frame of a grey wall with a bright square.
private func wall(_ width: Int, _ height: Int, square: PixelRect? = nil, noise: Int = 0, seed: UInt64 = 1) -> Gray {
    var picture = Gray(width: width, height: height, pixels: Array(repeating: 100, count: width * height))
    if let square {
        let inside = square.clamped(width: width, height: height)
        for y in inside.y..<inside.y + inside.height {
            for x in inside.x..<inside.x + inside.width { picture.pixels[y * width + x] = 200 }
        }
    }
    guard noise > 0 else { return picture }
    var random = RepeatableGenerator(state: seed)
    for i in picture.pixels.indices {
        picture.pixels[i] += UInt8(random.next(below: 2 * noise + 1))
    }
    return picture
}

extension FrameMotion {
    /// Compares a picture with the last one.
    fileprivate mutating func update(_ picture: Gray, known: [Rect] = []) {
        update(
            LumaView(
                samples: picture.pixels.span, width: picture.width, height: picture.height, rowStride: picture.width),
            known: known.span)
    }
}

struct MotionTests {
    private let whole = Rect(x: 0, y: 0, width: 640, height: 360)

    @Test func `the first frame has no motion, nor does an identical second one`() {
        var motion = FrameMotion(width: 640, height: 360)
        for _ in 0..<2 {
            motion.update(wall(640, 360, square: PixelRect(x: 60, y: 60, width: 200, height: 200)))
            #expect(motion.share == 0 && motion.share(of: whole) == 0)
        }
    }

    @Test func `a square that moved counts at its old and new place only`() {
        var motion = FrameMotion(width: 640, height: 360)
        motion.update(wall(640, 360, square: PixelRect(x: 60, y: 60, width: 96, height: 96)))
        motion.update(wall(640, 360, square: PixelRect(x: 360, y: 180, width: 96, height: 96)))
        #expect(motion.share(of: Rect(x: 60, y: 60, width: 96, height: 96)) == 1)
        #expect(motion.share(of: Rect(x: 360, y: 180, width: 96, height: 96)) == 1)
        for still in [
            Rect(x: 168, y: 0, width: 180, height: 360), Rect(x: 0, y: 288, width: 640, height: 72),
            Rect(x: 480, y: 0, width: 160, height: 360), Rect(x: 0, y: 0, width: 640, height: 48),
        ] {
            #expect(motion.share(of: still) == 0, "\(still)")
        }
        // Two squares of 8 x 8 cells in 53 x 30.
        #expect(abs(motion.share - 128 / 1590) < 0.001)
        // It stays there, so the next frame is still.
        motion.update(wall(640, 360, square: PixelRect(x: 360, y: 180, width: 96, height: 96)))
        #expect(motion.share == 0)
    }

    @Test func `a rectangle outside the frame, empty or huge, counts only its part inside`() {
        var motion = FrameMotion(width: 640, height: 360)
        motion.update(wall(640, 360))
        motion.update(wall(640, 360, square: PixelRect(x: 0, y: 0, width: 640, height: 360)))
        #expect(motion.share == 1)
        #expect(motion.share(of: Rect(x: -300, y: -300, width: 400, height: 400)) == 1)
        #expect(motion.share(of: Rect(x: -1e8, y: -1e8, width: 2e8, height: 2e8)) == 1)
        #expect(motion.share(of: Rect(x: 900, y: 20, width: 50, height: 50)) == 0)
        #expect(motion.share(of: Rect(x: 100, y: 100, width: 0, height: 0)) == 0)
    }

    @Test func `motion in a known face or below it does not count, motion next to it does`() {
        let face = Rect(x: 280, y: 120, width: 80, height: 80)
        let places = [
            ("the face", PixelRect(x: 290, y: 130, width: 60, height: 60), true),
            ("the hair", PixelRect(x: 300, y: 84, width: 36, height: 24), true),
            ("a shoulder", PixelRect(x: 192, y: 240, width: 60, height: 60), true),
            ("the lap", PixelRect(x: 264, y: 312, width: 108, height: 48), true),
            ("far above", PixelRect(x: 290, y: 0, width: 60, height: 48), false),
            ("beside the head", PixelRect(x: 120, y: 96, width: 60, height: 48), false),
            ("beside the shoulders", PixelRect(x: 36, y: 252, width: 60, height: 60), false),
        ]
        for (name, place, isExplained) in places {
            var motion = FrameMotion(width: 640, height: 360)
            motion.update(wall(640, 360), known: [face])
            motion.update(wall(640, 360, square: place), known: [face])
            #expect((motion.share == 0) == isExplained, "\(name)")
        }
        // Without known faces all of it counts.
        for (name, place, _) in places {
            var motion = FrameMotion(width: 640, height: 360)
            motion.update(wall(640, 360))
            motion.update(wall(640, 360, square: place))
            #expect(motion.share > 0, "\(name)")
        }
    }

    @Test func `a camera's noise is not motion, a change of light by a fifth is`() {
        var motion = FrameMotion(width: 640, height: 360)
        for frame in 0..<6 {
            // As strong as a webcam's in a dim room: a standard deviation of four levels.
            motion.update(wall(640, 360, noise: 7, seed: UInt64(frame + 1)))
            #expect(motion.share < 0.002, "frame \(frame): \(motion.share)")
        }
        var brighter = wall(640, 360, noise: 7, seed: 9)
        for i in brighter.pixels.indices { brighter.pixels[i] += 20 }
        motion.update(brighter)
        #expect(motion.share > 0.95)
    }

    @Test(arguments: [(641, 363), (50, 37), (1283, 719), (9, 300), (300, 9), (1000, 8), (3, 2), (1, 1)])
    func `frames whose sides are no multiples of a cell are compared too`(width: Int, height: Int) {
        var motion = FrameMotion(width: width, height: height)
        motion.update(wall(width, height))
        #expect(motion.share == 0)
        motion.update(wall(width, height, square: PixelRect(x: 0, y: 0, width: width, height: height)))
        let share = motion.share
        // A frame lower than a cell has no cells.
        #expect(share == 1 || (min(width, height) < 19 && share == 0), "\(share)")
        let all = Rect(x: 0, y: 0, width: Float(width), height: Float(height))
        #expect(motion.share(of: all) == share)
    }
}
