import Foundation
import Testing

extension EndToEnd {
    /// Clips of one labelled face, darkened and flattened, with a camera's noise.
    @Suite(
        .enabled(if: Package.has("\(Package.data)/index.json"), "needs the labelled faces"),
        .enabled(if: Program.isRelease, "needs GUISE_BINARY to be a release build"))
    struct PoorLight {
        private struct Labels: Decodable {
            struct Face: Decodable { var right_eye, left_eye, nose, mouth: [Double]? }
            var frames: [[Face]]
        }
        private static let clips = ["lp_d3", "lp_d6", "sad_hill"]
        private static let frames = 60

        @Test(arguments: [
            ("a quarter of the light", "val*0.25+16"), ("an eighth of the light", "val*0.12+16"),
            ("a fifth of the contrast", "(val-128)*0.2+128"),
        ])
        func `a face in poor light is found, and its points lie right`(_ name: String, _ levels: String) throws {
            let workshop = try Workshop()
            var (found, all, errors) = (0, 0, [Double]())
            for clip in Self.clips {
                let filter = "lutyuv=y='\(levels)',noise=c0s=4:c0f=t:c0_seed=1,format=yuv420p"
                try workshop.shell(
                    "ffmpeg -v error -y -i '\(Package.data)/video/\(clip).mp4' -frames:v \(Self.frames) -vf \"\(filter)\" "
                        + "-c:v libx264 -preset ultrafast -qp 10 -an \(clip).mp4")
                let tracked = try Tracked.lines(workshop.shell("'\(Program.path)' track \(clip).mp4 --json"))
                let labels = try JSONDecoder().decode(
                    Labels.self,
                    from: Data(
                        contentsOf: URL(fileURLWithPath: Package.data).appending(path: "annotations/video/\(clip).json")
                    )
                )
                for line in tracked {
                    guard let face = labels.frames[line.frame].first, let right = face.right_eye,
                        let left = face.left_eye, let nose = face.nose, let mouth = face.mouth
                    else { continue }
                    all += 1
                    let wanted = ["right_eye": right, "left_eye": left, "nose": nose, "mouth": mouth]
                    let eyes = hypot(left[0] - right[0], left[1] - right[1])
                    let off = line.faces.compactMap { face -> Double? in
                        let distances = wanted.compactMap { name, place in
                            face.points[name].map { hypot($0[0] - place[0], $0[1] - place[1]) }
                        }
                        return distances.count == 4 ? distances.reduce(0, +) / 4 / eyes : nil
                    }
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
