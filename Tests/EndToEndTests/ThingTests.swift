import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
    /// Things that are taught to the running program, and forgotten.
    @Suite(.serialized, .needsSample, .needsReleaseBuild) struct ThingTests {
        private static let config = #"{\#(RunningGuise.smallOutput), "masks": ["objects"]}"#

        private func write(_ picture: DrawnPicture, _ name: String, in scratch: ScratchFolder) throws -> String {
            let path = scratch.path(name)
            try Data(picture.ppm).write(to: URL(fileURLWithPath: path))
            return path
        }

        @Test func `a thing is taught by photos, listed, and forgotten`() throws {
            let scratch = try ScratchFolder()
            let (card, bean) = (DrawnThing(.card, 0), DrawnThing(.bean, 2))
            let held = try write(.lesson(card, 0, seed: 1), "card.ppm", in: scratch)
            let guise = try RunningGuise(
                RunningGuise.sample + ["--sink", "null"], config: Self.config, in: scratch)
            let one = try guise.guise("teach", "card", held)
            #expect(one.code == 0 && one.out.contains("'card' is taught by 1 picture\n"))
            let photos = try (0..<2).map { try write(.lesson(bean, $0, seed: 1), "bean\($0).ppm", in: scratch) }
            let byPhotos = try guise.guise("teach", "bean", photos[0], photos[1])
            #expect(byPhotos.code == 0 && byPhotos.out.contains("'bean' is taught by 2 pictures"))
            #expect(try guise.guise("things").out == "bean: 2 pictures\ncard: 1 picture\n")
            // A picture with nothing in it, one with two things, and the same thing by another name.
            let empty = try guise.guise("teach", "air", try write(DrawnPicture(), "empty.ppm", in: scratch))
            #expect(empty.code == 1 && empty.errors.contains("no thing was found in \(scratch.path("empty.ppm"))"))
            var two = DrawnPicture.lesson(bean, 0, seed: 1)
            two.things.append((card, DrawnPose(center: [200, 500], scale: 110, angle: 1)))
            let both = try guise.guise("teach", "both", try write(two, "two.ppm", in: scratch))
            #expect(both.code == 1 && both.errors.contains("shows 2 things"))
            let again = try guise.guise("teach", "map", held)
            #expect(again.code == 1 && again.errors.contains("taught already, as 'card'"))
            // Too many are refused before they are read.
            let many = try guise.guise(["teach", "card"] + Array(repeating: scratch.path("missing.png"), count: 9))
            #expect(many.code == 1 && many.errors.contains("'card' would have 10 pictures, the limit is 9"))
            #expect(try guise.guise("things").out == "bean: 2 pictures\ncard: 1 picture\n")
            // As file managers leave them behind.
            let folder = try scratch.shell("find . -type d -path '*Things/bean'").trimmingCharacters(in: .newlines)
            try #require(!folder.isEmpty)
            try scratch.shell("touch '\(folder)/.directory'")
            #expect(try guise.guise("forget", "bean").out == "card: 1 picture\n")
            #expect(try guise.guise("forget", "bean").errors.contains("nothing is taught as 'bean'"))
        }

        @Test func `what is held up is taught by three pictures, and named from then on`() throws {
            let scratch = try ScratchFolder()
            let clip = scratch.path("held.y4m")
            try Data(DrawnPicture.heldCard).write(to: URL(fileURLWithPath: clip))
            let guise = try RunningGuise(
                ["--source", clip, "--realtime", "--loop", "--sink", "null"], config: Self.config, in: scratch)
            /// The dark pixels in the corner where things are counted; the ground is light.
            func plate() throws -> Int {
                let picture = try guise.snapshot()
                var count = 0
                for y in 0..<60 {
                    for x in 0..<200 where picture.bytes[3 * (y * picture.width + x)] < 90 { count += 1 }
                }
                return count
            }
            #expect(try plate() == 0)
            let taught = try guise.guise("teach", "red card")
            #expect(taught.code == 0 && taught.out.contains("'red card' is taught by 3 pictures"), "\(taught)")
            #expect(try guise.guise("things").out == "red card: 3 pictures\n")
            #expect(guise.waits { _ in try plate() > 300 }, "it is counted")
            // What it is called already, it can't be called otherwise.
            let again = try guise.guise("teach", "map")
            #expect(again.code == 1 && again.errors.contains("taught already, as 'red card'"), "\(again)")
            #expect(try guise.guise("forget", "red card").code == 0)
            #expect(guise.waits { _ in try plate() == 0 })
            #expect(try guise.guise("pause").code == 0)
            #expect(try guise.guise("teach", "red card").errors.contains("`guise resume` first"))
        }

        @Test func `nothing is taught from the camera while no mask recognises things`() throws {
            let guise = try RunningGuise(
                RunningGuise.sample + ["--sink", "null"], config: #"{\#(RunningGuise.smallOutput), "masks": []}"#)
            let refused = try guise.guise("teach", "card")
            #expect(refused.code == 1 && refused.errors.contains("guise wear objects"))
        }
    }
}
