import Foundation
import TestSupport
import Testing

/// Foundation proper brings ICU along, 47 MB of it.
extension EndToEnd {
    @Suite struct Size {
        let scratch: ScratchFolder
        init() throws { scratch = try ScratchFolder() }

        @Test(.needsReleaseBuild) func `the program has at most 20 MB without its symbols, and no ICU`() throws {
            try scratch.shell("strip -o stripped '\(Program.path)'")
            let bytes = try FileManager.default.attributesOfItem(atPath: scratch.path("stripped"))[.size] as? Int
            #expect(try #require(bytes) <= 20_000_000)
            // ICU's data, by its version.
            let count = try scratch.shell("nm '\(Program.path)' >symbols && wc -l <symbols")
            #expect(Int(count.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 1000, "it has symbols: \(count)")
            #expect(try scratch.shell("grep ' icudt' symbols || true").isEmpty)
        }

        @Test func `no source imports Foundation, but for its essentials`() throws {
            let found = try scratch.shell(
                "grep -rlE 'import ([a-z]+ )?Foundation(Networking|Internationalization)?([^A-Za-z]|$)' "
                    + "'\(Fixtures.inPackage("Sources"))'; [ $? -le 1 ]")
            #expect(found.isEmpty)
        }
    }
}
