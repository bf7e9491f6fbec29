import Foundation
import TestSupport
import Testing

/// Detection and tracking of the labelled cats.
private enum Cats {
    private static let file = "annotations/cats.json"

    static func all() throws -> [String: Labels.Photo] { try Labels.read(file, as: [String: Labels.Photo].self) }

    /// The mean of three points.
    static func middle(_ points: [String: [Double]]) -> (x: Double, y: Double) {
        let three = labelled.compactMap { points[$0] }
        return (three.map { $0[0] }.reduce(0, +) / 3, three.map { $0[1] }.reduce(0, +) / 3)
    }

    static let labelled = ["right_eye", "left_eye", "nose"]
}

extension Accuracy {
    @Suite struct CatFaces {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        private func track(_ path: String) throws -> [Tracked] {
            let outcome = try scratch.guise("track", path, "--json")
            try #require(outcome.code == 0, "\(outcome)")
            return try Tracked.lines(outcome.out)
        }

        @Test func `labelled cats are detected as cats, with their eyes and noses in place`() throws {
            let cats = try Cats.all()
            var errors: [Double] = []
            var missed: [String] = []
            for (name, photo) in cats.sorted(by: { $0.key < $1.key }) {
                let label = try #require(photo.faces.first).points
                let (right, left) = (try #require(label["right_eye"]), try #require(label["left_eye"]))
                let distance = hypot(left[0] - right[0], left[1] - right[1])
                let wanted = Cats.middle(label)
                let face = try track("\(Fixtures.labelledFaces)/\(name)").first?.faces.first {
                    let found = Cats.middle($0.points)
                    return $0.kind == "cat" && hypot(found.x - wanted.x, found.y - wanted.y) < 0.5 * distance
                }
                guard let face else {
                    missed.append(name)
                    continue
                }
                for point in Cats.labelled {
                    let (a, b) = (try #require(face.points[point]), try #require(label[point]))
                    #expect(face.basis == "eyes", "\(name)")
                    errors.append(hypot(a[0] - b[0], a[1] - b[1]) / distance)
                }
            }
            let mean = errors.reduce(0, +) / Double(max(errors.count, 1))
            let found = cats.count - missed.count
            print("cats: \(found) of \(cats.count) found, mean error \(mean) eye distances; not: \(missed)")
            #expect(found >= 11, "not found: \(missed)")
            #expect(mean < 0.1)
        }

        @Test func `neither a human face nor anything else is detected as a cat`() throws {
            func cats(_ folder: String, most: Int) throws -> [String] {
                let names = try FileManager.default.contentsOfDirectory(atPath: "\(Fixtures.labelledFaces)/\(folder)")
                    .sorted()
                let some = stride(from: 0, to: names.count, by: max(1, names.count / most)).map { names[$0] }
                print("\(folder): \(some.count) pictures looked at for cats")
                return try some.filter { name in
                    try track("\(Fixtures.labelledFaces)/\(folder)/\(name)").contains {
                        $0.faces.contains { $0.kind == "cat" }
                    }
                }
            }
            let (people, things) = (try cats("photo", most: 40), try cats("nonface", most: 30))
            print("cats among people: \(people), among what has no face: \(things)")
            #expect(people.isEmpty)
            #expect(things.count <= 1)
        }

        @Test func `a cat in a moving picture is tracked under one id, and not searched for if that is off`()
            throws
        {
            // The photo moves over a grey background, like a camera that pans and zooms.
            try scratch.shell(
                "ffmpeg -v error -y -loop 1 -framerate 30 -t 3 -i '\(Fixtures.labelledFaces)/cat/cat_1135.jpg' -vf "
                    + "\"scale=-2:1200,pad=2200:1400:(ow-iw)/2:(oh-ih)/2:gray,zoompan=z='1.15+0.12*sin(on/40)'"
                    + ":x='(iw-iw/zoom)*(0.5+0.45*sin(on/30))':y='(ih-ih/zoom)*(0.5+0.4*sin(on/50))':d=1"
                    + ":s=1280x720:fps=30\" -pix_fmt yuv420p cat.mp4")
            let frames = try track(scratch.path("cat.mp4"))
            let first = try #require(frames.firstIndex { !$0.faces.isEmpty })
            let seen = frames.dropFirst(first).filter { $0.faces.map(\.kind) == ["cat"] }
            print("found in frame \(first), shown in \(seen.count) of the \(frames.count - first) frames from there")
            #expect(first < 45)
            #expect(Double(seen.count) > 0.95 * Double(frames.count - first))
            #expect(Set(seen.flatMap { $0.faces.map(\.id) }).count == 1)
            try scratch.write("{\"faces\": {\"cats\": false}}", "config/guise/config.json")
            #expect(try track(scratch.path("cat.mp4")).allSatisfy { $0.faces.isEmpty })
        }
    }
}
