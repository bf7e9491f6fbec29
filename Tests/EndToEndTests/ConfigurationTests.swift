import Foundation
import Frames
import Testing

@testable import guise

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration(text: Array(text.utf8), file: "c.json")
    }

    @Test func `the file at the top level holds every key and says what holds without it`() throws {
        let file = Package.folder.appending(path: "config.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(try read(text) == Configuration())
        // Each key that the code knows by default is in the file, under its own name.
        let keys = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(keys.keys.sorted() == ["camera", "faces", "masks", "output", "page", "sinks", "source"])
        for picture in ["camera", "output"] {
            #expect((keys[picture] as? [String: Any])?.keys.sorted() == ["height", "rate", "width"])
        }
        #expect((keys["faces"] as? [String: Any])?.keys.sorted() == ["hold", "most", "smallest"])
        #expect((keys["page"] as? [String: Any])?.keys.sorted() == ["port"])
    }
}
