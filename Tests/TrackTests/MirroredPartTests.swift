import Frames
import Testing

@testable import Track

/// A picture whose luma tells the place: smooth, so that it can be scaled, and without symmetry.
private func picture() -> (samples: [UInt8], width: Int, height: Int) {
    let (width, height) = (800, 600)
    var samples: [UInt8] = []
    for y in 0..<height { for x in 0..<width { samples.append(UInt8((x / 4 + y / 20) % 256)) } }
    return (samples, width, height)
}

@Test(arguments: [
    EyePair(middle: Point(400, 300), distance: 20, roll: 10),
    EyePair(middle: Point(310.4, 250.7), distance: 59, roll: 0),
    EyePair(middle: Point(420.2, 280.1), distance: 150, roll: -25),
    EyePair(middle: Point(30, 20), distance: 40, roll: 5),
])
func `in the mirror a face is where its eyes are said to be, the other way round`(eyes: EyePair) {
    let picture = picture()
    let luma = LumaView(samples: picture.samples.span, width: picture.width, height: picture.height, rowStride: 800)
    var part = MirroredPart()
    part.copy(luma, around: eyes)
    let (mirror, seen) = (part.luma, part.eyes)
    #expect(abs(seen.roll + eyes.roll) < 1e-3 && seen.distance <= eyes.distance)
    let scale = eyes.distance / seen.distance
    for (dx, dy) in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1.5, 1), (-1.5, 2)] as [(Float, Float)] {
        // In eye distances from the middle of the eyes, beyond the picture's edge for the face in the corner.
        let at = Point(seen.middle.x + dx * seen.distance, seen.middle.y + dy * seen.distance)
        let from = Point(eyes.middle.x - dx * eyes.distance, eyes.middle.y + dy * eyes.distance)
        let column = max(0, min(picture.width - 1, Int(from.x.rounded())))
        let row = max(0, min(picture.height - 1, Int(from.y.rounded())))
        let wanted = Int(picture.samples[row * picture.width + column])
        let found = Int(mirror.samples[Int(at.y.rounded()) * mirror.rowStride + Int(at.x.rounded())])
        #expect(abs(found - wanted) <= (scale > 1 ? 2 : 1), "\(dx), \(dy): \(found) instead of \(wanted)")
    }
}
