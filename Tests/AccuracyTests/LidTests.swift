import Foundation
import TestSupport
import Testing

extension Accuracy {
    /// A laptop's lid that is opened: the picture goes up a person, whose mouth comes in before the eyes.
    @Suite struct Lid {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        private static let frames = 90
        /// The eye distance and the size of the picture, pixels.
        private static let (eyeDistance, width, height) = (140.0, 1280, 720)
        /// Factor of the pictures that are compared, and the mean difference in grey levels of their samples below
        /// which eyes are bare: coding leaves 2 or 3.
        private static let (reduction, bare) = (4, 6.0)

        /// A man whose nose and mouth the cascades take for a small face.
        /// - Parameters:
        ///   - first: how far the eyes are above the picture's middle at first, in eye distances.
        ///   - step: by how much less in each frame.
        @Test(arguments: [(3.4, 0.03), (3.2, 0.04), (3, 0.05)])
        func `a face that comes in mouth first stays hidden`(first: Double, step: Double) throws {
            let clip = try Labels.read("annotations/video/vr_1.json", as: Labels.Clip.self)
            let marks = clip.frames.map { $0.first?.marks }
            let start = try #require(marks.first ?? nil)
            let scale = Self.eyeDistance / start.eyeDistance
            let eyes = (start.leftEye + start.rightEye) / 2 * scale
            // The left upper corner of the picture in the enlarged clip, which is padded on all sides.
            let left = (eyes.x - Double(Self.width) / 2).rounded()
            func top(_ frame: Int) -> Double {
                eyes.y + (first - step * Double(frame)) * Self.eyeDistance - Double(Self.height) / 2
            }
            let (wide, high) = (Int(Double(clip.width) * scale) & ~1, Int(Double(clip.height) * scale) & ~1)
            let pad =
                "pad=\(wide + Self.width):\(high + 2 * Self.height):\(Self.width / 2):\(Self.height):gray"
            let crop =
                "crop=\(Self.width):\(Self.height):\(left + Double(Self.width) / 2):"
                + "'\(top(0) + Double(Self.height))-\(step * Self.eyeDistance)*n'"
            try scratch.shell(
                "ffmpeg -v error -y -r 30 -i '\(Fixtures.labelledFaces)/video/vr_1.mp4' -vf "
                    + "\"scale=\(wide):\(high),\(pad),\(crop),format=yuv420p\" -frames:v \(Self.frames) -c:v ffv1 in.mkv"
            )
            let outcome = try scratch.guise("apply", "in.mkv", "-o", "out.mkv", "--mask", "pixelate")
            try #require(outcome.code == 0, "\(outcome.errors)")
            let size = (width: Self.width / Self.reduction, height: Self.height / Self.reduction)
            for file in ["in", "out"] {
                try scratch.shell(
                    "ffmpeg -v error -y -i \(file).mkv -vf scale=\(size.width):\(size.height),format=gray "
                        + "-f rawvideo \(file).gray")
            }
            let (before, after) = ([UInt8](try scratch.read("in.gray")), [UInt8](try scratch.read("out.gray")))
            try #require(before.count == Self.frames * size.width * size.height && after.count == before.count)
            var (seen, shown) = (0, [Int]())
            for frame in 0..<Self.frames {
                guard let marks = marks[frame] else { continue }
                let place = (marks.leftEye + marks.rightEye) / 2 * scale - SIMD2(left, top(frame))
                let (x, y) = (Int(place.x) / Self.reduction, Int(place.y) / Self.reduction)
                // The eyes, with a quarter of their distance around them.
                let reach = Int(Self.eyeDistance) / Self.reduction / 4
                guard y >= reach, y + reach < size.height else { continue }
                seen += 1
                var (sum, count) = (0, 0)
                for row in y - reach..<y + reach {
                    for column in x - 2 * reach..<x + 2 * reach {
                        let i = (frame * size.height + row) * size.width + column
                        sum += abs(Int(before[i]) - Int(after[i]))
                        count += 1
                    }
                }
                if Double(sum) < Self.bare * Double(count) { shown.append(frame) }
            }
            #expect(seen > 50 && shown.isEmpty, "bare in frames \(shown) of \(seen)")
        }
    }
}
