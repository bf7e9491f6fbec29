import Foundation
import TestSupport
import Testing

extension Accuracy {
    /// A photo shown for seconds, as by a camera that repeats its last picture: what hides the face stays on it.
    @Suite struct StillPicture {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        private static let frames = 90
        /// The mean difference in grey levels of a face's samples below which it is bare: coding leaves 2 or 3.
        private static let bare = 6.0

        /// Faces whose landmarks fit badly, so that the cascade is asked for them in every other frame.
        @Test(arguments: [("mmpose_aflw_image22568.jpg", 800, 450), ("mmpose_aflw_image22568.jpg", 1280, 720)])
        func `a face in a picture that stands still stays hidden`(name: String, width: Int, height: Int) throws {
            let photos = try Labels.read("annotations/photos.json", as: [String: Labels.Photo].self)
            let photo = try #require(photos["photo/\(name)"])
            let marks = try #require(photo.faces.first?.marks)
            let scale = Double(height) / Double(photo.height)
            let left = (Double(width) - (Double(photo.width) * scale).rounded()) / 2
            try scratch.shell(
                "ffmpeg -v error -y -loop 1 -framerate 30 -i '\(Fixtures.labelledFaces)/photo/\(name)' "
                    + "-vf scale=-2:\(height),pad=\(width):\(height):-1:0,format=yuv420p -frames:v \(Self.frames) "
                    + "-c:v ffv1 in.mkv")
            let outcome = try scratch.guise("apply", "in.mkv", "-o", "out.mkv", "--mask", "pixelate")
            try #require(outcome.code == 0, "\(outcome.errors)")
            let (side, middle) = (Int(2 * marks.eyeDistance * scale), marks.middle * scale)
            let (x, y) = (Int(left + middle.x) - side / 2, max(0, Int(middle.y) - side / 2))
            let crop = "crop=\(side):\(side):\(x):\(y):exact=1,format=gray"
            for file in ["in", "out"] {
                try scratch.shell("ffmpeg -v error -y -i \(file).mkv -vf \(crop) -f rawvideo \(file).gray")
            }
            let (before, after) = ([UInt8](try scratch.read("in.gray")), [UInt8](try scratch.read("out.gray")))
            let size = side * side
            #expect(before.count == Self.frames * size && after.count == Self.frames * size)
            let shown = (0..<min(before.count, after.count) / size).filter { frame in
                let range = frame * size..<(frame + 1) * size
                let sum = zip(before[range], after[range]).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
                return Double(sum) < Self.bare * Double(size)
            }
            #expect(shown.isEmpty, "bare in frames \(shown)")
        }
    }
}
