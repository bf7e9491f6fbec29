import Foundation
import Frames
import TestSupport
import Testing

@testable import Page

/// The secret of a session.
struct TokenTests {
    @Test func `a session has one token, for its user alone, that outlives a daemon`() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url
        let environment = ["XDG_RUNTIME_DIR": folder.path]
        let first = try PageToken.ofSession(environment: environment)
        #expect(first.text.utf8.count == 64)
        #expect(try PageToken.ofSession(environment: environment).text == first.text)
        let file = folder.appending(path: "guise/page-token").path
        func mode() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        }
        #expect(try mode() == 0o600)
        // What others could have read is a secret no more; what is half written never was one.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let second = try PageToken.ofSession(environment: environment)
        #expect(second.text != first.text)
        #expect(try mode() == 0o600)
        try Data("abc".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try PageToken.ofSession(environment: environment).text != second.text)
        #expect(throws: Problem.self) { try PageToken.ofSession(environment: [:]) }
        #expect(PageToken().text != PageToken().text)
    }

    @Test func `a photo says how large it is before it is decoded`() throws {
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + bytes("IHDR") + [0, 1, 0, 0, 0, 0, 0x10, 1]
        #expect(PhotoHeader(png)?.width == 65536 && PhotoHeader(png)?.height == 4097)
        // A comment, bytes that fill, then a progressive frame of 300x200.
        let jpeg: [UInt8] = [
            0xFF, 0xD8, 0xFF, 0xFE, 0, 4, 1, 2, 0xFF, 0xFF, 0xC2, 0, 11, 8, 0, 200, 1, 44, 1, 1, 17, 0,
        ]
        #expect(PhotoHeader(jpeg)?.width == 300 && PhotoHeader(jpeg)?.height == 200)
        let extended =
            bytes("RIFF") + [0, 0, 0, 0] + bytes("WEBPVP8X") + [10, 0, 0, 0, 0, 0, 0, 0, 0x2B, 1, 0, 199, 0, 0]
        #expect(PhotoHeader(extended)?.width == 300 && PhotoHeader(extended)?.height == 200)
        for broken in [[], bytes("GIF89a"), Array(png.dropLast()), Array(jpeg.prefix(12)), bytes("RIFFxxxxWEBP")] {
            #expect(PhotoHeader(broken) == nil)
        }
    }
}
