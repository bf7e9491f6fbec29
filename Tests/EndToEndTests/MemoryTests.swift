import Foundation
import Testing

extension EndToEnd {
    @Suite(
        .enabled(if: Package.hasSample, "needs the sample"),
        .enabled(if: Program.isRelease, "needs GUISE_BINARY to be a release build"))
    struct MemoryOfMasks {
        /// What three masks may take beside everything else, MB; and what all may, were all of them worn at once.
        private static let (most, mostOfAll) = (60, 75)

        /// Only what is worn is loaded; all that comes along is worn here, so that all of it is.
        @Test func `all masks loaded take little memory`() throws {
            let workshop = try Workshop()
            let masks = try FileManager.default.contentsOfDirectory(
                atPath: Package.folder.appending(path: "Masks").path
            ).filter { Package.has(Package.folder.appending(path: "Masks/\($0)/mask.json").path) }.sorted()
            try #require(masks.count > 10)
            // A bench wears something always: this has no art.
            try workshop.write(
                "{\"version\": 1, \"layers\": [{\"kind\": \"effect\", \"way\": \"grey\"}]}",
                "config/guise/Masks/bare/mask.json")
            let bare = try memory(["bare"], workshop)
            let three = try memory(["santa", "makeup-evening", "round-glasses"], workshop)
            let all = try memory(masks, workshop)
            print("resident: \(bare) MB without masks, \(three) MB with three, \(all) MB with all \(masks.count)")
            #expect(three - bare <= Self.most, "three masks take \(three - bare) MB")
            #expect(all - bare <= Self.mostOfAll, "\(masks.count) masks take \(all - bare) MB")
            #expect(all > bare + 5, "masks that take nothing were not loaded")
        }

        /// Resident memory after a bench, MB.
        private func memory(_ masks: [String], _ workshop: Workshop) throws -> Int {
            let arguments = ["bench"] + masks.flatMap { ["--mask", $0] }
            let outcome = try Program.run(arguments, in: workshop)
            try #require(outcome.code == 0, "\(outcome)")
            let line = outcome.out.split(separator: "\n").first { $0.hasPrefix("memory: ") }
            return try #require(line.flatMap { Int($0.dropFirst(8).prefix { $0.isNumber }) }, "\(outcome)")
        }
    }
}
