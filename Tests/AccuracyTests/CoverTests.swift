import Foundation
import TestSupport
import Testing

extension Accuracy {
    /// How much a mask that hides faces covers next to the faces: covering everything would hide every face, and be
    /// useless. The figures come from `guise bench`, which counts the covered part of each frame.
    @Suite struct Cover {
        /// Longer clips show nothing new.
        private static let maxFrames = 600
        /// Size of the picture that `guise bench` composes, in pixels.
        private static let (width, height) = (1280.0, 720.0)
        /// A mean head's half axes in eye distances, as `HeadOutline` has them.
        private static let headArea = Double.pi * 1.36 * 2.06

        private let scratch: ScratchFolder

        init() throws { scratch = try ScratchFolder() }

        private static func clips(_ isWanted: (Labels.Item) -> Bool) throws -> [Labels.Item] {
            try Labels.read("index.json", as: [Labels.Item].self).filter { $0.type == "video" && isWanted($0) }
        }

        /// The part of each frame that is covered in addition to the masks, 0 to 1; 1: a placeholder was shown.
        private func shares(of clip: Labels.Item) throws -> [Double] {
            struct Report: Decodable { let covered: [Double] }
            let count = min(clip.frames ?? 1, Self.maxFrames)
            let outcome = try scratch.guise(
                "bench", "\(Fixtures.labelledFaces)/\(clip.name)", "--mask", "pixelate", "--json", "--frames",
                "\(count)")
            try #require(outcome.code == 0, "\(clip.name): \(outcome.errors)")
            return try JSONDecoder().decode(Report.self, from: Data(outcome.out.utf8)).covered
        }

        @Test func `with one person in view, little more than the head is covered, and a placeholder is rare`() throws {
            var (withheld, all, seen) = (0, 0, 0)
            for clip in try Self.clips({ $0.kind == "face" && $0.faces == 1 }) {
                let shares = try shares(of: clip)
                let labels = try Labels.read(try #require(clip.annotations), as: Labels.Clip.self).frames
                let scale = min(Self.width / Double(clip.width), Self.height / Double(clip.height))
                var heads: [Double] = []
                for (share, faces) in zip(shares, labels) where share < 1 {
                    guard let eyes = faces.compactMap(\.marks).first?.eyeDistance else { continue }
                    let head = Self.headArea * eyes * eyes * scale * scale
                    heads.append(1 + share * Self.width * Self.height / head)
                }
                seen += heads.count
                let mean = heads.reduce(0, +) / Double(max(1, heads.count))
                print("\(clip.name): \(mean) heads covered, \(shares.count { $0 == 1 }) of \(shares.count) withheld")
                #expect(mean <= 2.5, "\(clip.name)")
                withheld += shares.count { $0 == 1 }
                all += shares.count
            }
            print("placeholder: \(withheld) of \(all) frames with one person")
            #expect(Double(withheld) <= 0.01 * Double(all))
            #expect(seen > all / 2, "\(seen) of \(all) frames have a labelled head")
        }

        /// Frames in which labelled clips show another scene.
        private static let cuts = ["video/intel_car.mp4": [347]]

        @Test func `two seconds after the start or a cut, a picture without faces is almost unchanged`() throws {
            var (touched, all) = (0, 0)
            for clip in try Self.clips({ $0.kind == "negative" }) {
                let settling = Int(2 * (clip.fps ?? 30))
                let starts = [0] + (Self.cuts[clip.name] ?? [])
                let late = try shares(of: clip).enumerated().filter { frame, _ in
                    !starts.contains { ($0..<$0 + settling).contains(frame) }
                }
                print("\(clip.name): \(late.count { $0.element > 0 }) of \(late.count) touched")
                touched += late.count { $0.element > 0 }
                all += late.count
            }
            print("touched: \(touched) of \(all) frames without faces")
            #expect(all > 0 && Double(touched) <= 0.02 * Double(all))
        }
    }
}
