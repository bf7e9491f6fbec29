import Foundation
import TestSupport
import Testing

extension Accuracy {
    /// Two people who pass each other: photos of one person each that slide past each other in front of a grey wall.
    @Suite struct Passing {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        /// The height of a shown photo in pixels, and the eyes' midpoint in it, as labelled.
        private static let size = 240.0
        private static let people = [
            (name: "yt_Colin_Powell", width: 227.0, height: 255.0, eyes: SIMD2(107.5, 100.4)),
            (name: "yt_Lene_Espersen", width: 212.0, height: 246.0, eyes: SIMD2(107.75, 81)),
        ]
        /// They stand for `still` frames, a second, so that both are known, and then slide by `step` pixels in each of
        /// `sliding` frames.
        private static let (still, step, sliding) = (30, 5, 130)
        private static let (width, height) = (854, 480)

        /// The least distance in pixels at which ids are compared; closer, one hides the other.
        private static let apart = 60.0

        /// The ids reported at the place of one of the two.
        private struct PersonState: CustomStringConvertible {
            /// Each id with the first frame that had it.
            var ids: [(id: Int, frame: Int)] = []
            var frames = 0
            var description: String { "\(frames) frames, \(ids.map { "\($0.id) from frame \($0.frame)" })" }
        }

        /// - Parameters:
        ///   - drop: how much lower the second is than the first, pixels.
        ///   - front: who passes in front of the other.
        private func pass(drop: Int, front: Int) throws -> [PersonState] {
            let widths = Self.people.map { $0.width * Self.size / $0.height }
            let way = "max(0,n-\(Self.still))*\(Self.step)"
            let (left, right) = (10, Self.width - 10 - Int(widths[1]))
            let photos = Self.people.map { "-loop 1 -r 30 -i '\(Fixtures.labelledFaces)/photo/\($0.name).png'" }
            let places = ["x='\(left)+\(way)':y=0", "x='\(right)-\(way)':y=\(drop)"]
            let graph =
                "[1]scale=-2:\(Int(Self.size))[p0];[2]scale=-2:\(Int(Self.size))[p1];"
                + "[0][p\(1 - front)]overlay=\(places[1 - front])[c];[c][p\(front)]overlay=\(places[front])[v]"
            try scratch.shell(
                "ffmpeg -v error -y -f lavfi -i color=gray:s=\(Self.width)x\(Self.height):r=30 \(photos[0]) \(photos[1]) "
                    + "-filter_complex \"\(graph)\" -map '[v]' -frames:v \(Self.still + Self.sliding) -c:v libx264 "
                    + "-crf 16 -pix_fmt yuv420p in.mp4")
            let outcome = try scratch.guise("track", "in.mp4", "--json")
            let lines = try Tracked.lines(outcome.out)
            try #require(outcome.code == 0 && lines.count == Self.still + Self.sliding, "\(outcome.errors)")
            var people = [PersonState(), PersonState()]
            for line in lines {
                let moved = Double(max(0, line.frame - Self.still) * Self.step)
                let corners = [SIMD2(Double(left) + moved, 0), SIMD2(Double(right) - moved, Double(drop))]
                let eyes = (0..<2).map { corners[$0] + Self.people[$0].eyes * Self.size / Self.people[$0].height }
                let between = eyes[0] - eyes[1]
                if (between * between).sum().squareRoot() < Self.apart { continue }
                for (i, place) in eyes.enumerated() {
                    let near = line.faces.first { face in
                        guard let a = face.points["right_eye"], let b = face.points["left_eye"] else { return false }
                        let off = SIMD2((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) - place
                        return face.state == "tracked" && (off * off).sum().squareRoot() < 15
                    }
                    guard let near else { continue }
                    people[i].frames += 1
                    if people[i].ids.last?.id != near.id { people[i].ids.append((near.id, line.frame)) }
                }
            }
            return people
        }

        @Test func `two people who pass each other without overlapping keep their ids`() throws {
            let people = try pass(drop: 235, front: 0)
            print("beside each other: \(people)")
            for person in people { #expect(person.ids.count == 1 && person.frames > 150) }
        }

        @Test(arguments: [120, 60, 10], [0, 1])
        func `a person who passes in front of another keeps the id, and it never goes to the other`(
            drop: Int, front: Int
        )
            throws
        {
            let people = try pass(drop: drop, front: front)
            print("the second \(drop) pixels lower, \(front == 0 ? "behind" : "before") the first: \(people)")
            #expect(people[front].ids.count == 1)
            // A person who was hidden for a second and came out two heads farther may have another id.
            #expect(people[1 - front].ids.count <= 2 && people[1 - front].frames > 60)
            #expect(Set(people[0].ids.map(\.id)).isDisjoint(with: people[1].ids.map(\.id)))
        }
    }
}
