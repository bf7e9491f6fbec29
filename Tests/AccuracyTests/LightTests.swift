import Foundation
import TestSupport
import Testing

extension Accuracy {
    /// Clips of one labelled face, darkened and flattened, with a camera's noise.
    @Suite struct PoorLight {
        private static let clips = ["lp_d3", "lp_d6", "sad_hill"]
        private static let frames = 60

        @Test(arguments: [
            ("a quarter of the light", "val*0.25+16"), ("an eighth of the light", "val*0.12+16"),
            ("a fifth of the contrast", "(val-128)*0.2+128"),
        ])
        func `a face in poor light is detected, with its landmarks in place`(_ name: String, _ levels: String) throws {
            let scratch = try ScratchFolder()
            var (found, all, errors) = (0, 0, [Double]())
            for clip in Self.clips {
                let filter = "lutyuv=y='\(levels)',noise=c0s=4:c0f=t:c0_seed=1,format=yuv420p"
                try scratch.shell(
                    "ffmpeg -v error -y -i '\(Fixtures.labelledFaces)/video/\(clip).mp4' -frames:v \(Self.frames) -vf \"\(filter)\" "
                        + "-c:v libx264 -preset ultrafast -qp 10 -an \(clip).mp4")
                let tracked = try Tracked.lines(scratch.shell("'\(Program.path)' track \(clip).mp4 --json"))
                let labels = try Labels.read("annotations/video/\(clip).json", as: Labels.Clip.self)
                for line in tracked {
                    guard let label = labels.frames[line.frame].first?.marks else { continue }
                    all += 1
                    let off = line.faces.compactMap { Marks($0.points)?.error(from: label) }
                    guard let best = off.min(), best < 0.5 else { continue }
                    found += 1
                    errors.append(best)
                }
            }
            let median = errors.isEmpty ? .infinity : errors.sorted()[errors.count / 2]
            print("\(name): \(found) of \(all) faces found, points off by \(median) of the eyes' distance")
            #expect(all >= Self.clips.count * Self.frames * 9 / 10, "labelled faces: \(all)")
            #expect(Double(found) >= 0.9 * Double(all), "\(name): \(found) of \(all) faces found")
            #expect(median < 0.04, "\(name): points are off by \(median) of the eyes' distance")
        }
    }
}
