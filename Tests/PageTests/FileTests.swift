import Foundation
import TestSupport
import Testing

@testable import Page

/// Files served from the page's folder, and byte ranges.
struct FileTests {
    @Test func `only the page's own files are served`() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url
        try FileManager.default.createDirectory(at: folder.appending(path: "sub.js"), withIntermediateDirectories: true)
        for name in ["index.html", "a-b.js", "a.sh", ".hidden.js", "a.b.js"] {
            try Data(name.utf8).write(to: folder.appending(path: name))
        }
        let files = PageFiles(folder: folder.path)
        #expect(files.file(at: "/")?.type == "text/html; charset=utf-8")
        #expect(files.file(at: "/a-b.js")?.bytes == Array("a-b.js".utf8))
        for path in [
            "/a.sh", "/.hidden.js", "/a.b.js", "/sub.js", "/nothing.js", "/../a-b.js", "//a-b.js", "/sub.js/a-b.js", "",
            "/%61-b.js", "/a-b.js\u{0}",
        ] {
            #expect(files.file(at: path) == nil, "\(path)")
        }
        // An edit is visible on reload.
        try Data("new".utf8).write(to: folder.appending(path: "a-b.js"))
        #expect(files.file(at: "/a-b.js")?.bytes == Array("new".utf8))
    }

    @Test(arguments: [
        (nil, ByteRange.all), ("bytes=0-0", .part(0..<1)), ("bytes=2-5", .part(2..<6)), ("bytes=8-", .part(8..<10)),
        ("bytes=8-99", .part(8..<10)), ("bytes=-3", .part(7..<10)), ("bytes=-99", .part(0..<10)),
        ("bytes=10-", .unsatisfiable), ("bytes=99-100", .unsatisfiable), ("bytes=-0", .unsatisfiable),
        ("bytes=5-2", .all), ("bytes=a-b", .all), ("bytes=", .all), ("bytes=-", .all), ("bytes=0-1,3-4", .all),
        ("lines=0-1", .all), ("bytes=0-99999999999999999999", .all),
    ])
    func `a range is clipped to the file`(header: String?, range: ByteRange) {
        #expect(ByteRange(header, size: 10) == range, "\(header ?? "")")
    }
}
