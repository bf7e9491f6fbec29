import SystemKit
import TestSupport
import Testing

@testable import guise

@Suite struct ThumbnailCacheTests {
    @Test func `a thumbnail outlives a restart, until its mask or what all need is changed`() throws {
        let scratch = try ScratchFolder()
        let (sample, mask) = (try scratch.write("sample", "sample.png"), try scratch.write("{}", "mask.json"))
        func cache() -> ThumbnailCache { ThumbnailCache(folder: scratch.path("cache/thumbnails"), files: [sample]) }
        func versions() -> [FileVersion] { [FileVersion(mask)].compactMap { $0 } }
        let jpeg: [UInt8] = [0xff, 0xd8, 0, 1]
        #expect(cache().read("crown", versions()) == nil)
        cache().write(jpeg, of: "crown", versions())
        #expect(cache().read("crown", versions()) == jpeg)
        #expect(cache().read("beanie", versions()) == nil)
        try scratch.write("{\"version\": 1}", "mask.json")
        #expect(cache().read("crown", versions()) == nil)
        cache().write(jpeg, of: "crown", versions())
        #expect(cache().read("crown", versions()) == jpeg)
        try scratch.write("another", "sample.png")
        #expect(cache().read("crown", versions()) == nil)
        try scratch.write("damaged", "cache/thumbnails/crown")
        #expect(cache().read("crown", versions()) == nil)
        ThumbnailCache(folder: nil, files: []).write(jpeg, of: "crown", versions())
    }
}
