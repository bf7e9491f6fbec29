import Foundation
import SystemKit
import TestSupport
import Testing

@testable import guise

/// Files that are replaced as a whole, and links to them, as programs that manage dotfiles make them.
@Suite struct TextFileTests {
    private let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    private func link(_ name: String, to target: String) throws {
        try scratch.makeFolder(URL(filePath: scratch.path(name)).deletingLastPathComponent().lastPathComponent)
        try FileManager.default.createSymbolicLink(atPath: scratch.path(name), withDestinationPath: target)
    }

    private func isLink(_ name: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: scratch.path(name))) != nil
    }

    @Test func `a link stays, and the file that it leads to is replaced`() throws {
        try scratch.write("old", "dotfiles/config.json")
        try link("guise/config.json", to: "../dotfiles/config.json")
        try writeAtomically("new", to: scratch.path("guise/config.json"))
        #expect(isLink("guise/config.json"))
        #expect(try scratch.read("dotfiles/config.json") == Data("new".utf8))
    }

    @Test(arguments: ["../dotfiles/own/config.json", "second.json"])
    func `a dangling link stays, and the file that it leads to is created with its folders`(target: String) throws {
        try link("guise/config.json", to: target)
        try link("guise/second.json", to: "./../dotfiles/x/../own/config.json")
        try writeAtomically("new", to: scratch.path("guise/config.json"))
        #expect(isLink("guise/config.json") && isLink("guise/second.json"))
        #expect(try scratch.read("dotfiles/own/config.json") == Data("new".utf8))
    }

    @Test func `a replaced file keeps its permissions, and nothing is left beside it`() throws {
        let path = scratch.path("own/config.json")
        try scratch.write("old", "own/config.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        try writeAtomically("new", to: path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path("own")) == ["config.json"])
    }

    @Test func `a folder that is a dangling link is created where it leads`() throws {
        try link("config/guise", to: scratch.path("dotfiles/guise"))
        try writeAtomically("new", to: scratch.path("config/guise/config.json"))
        #expect(isLink("config/guise"))
        #expect(try scratch.read("dotfiles/guise/config.json") == Data("new".utf8))
    }

    @Test func `a link that leads to itself is an error that names it`() throws {
        try link("guise/config.json", to: "config.json")
        let path = scratch.path("guise/config.json")
        let problem = problem { try writeAtomically("new", to: path) }
        #expect(problem?.kind == .unusable && problem?.message.contains("the link \(path) leads to itself") == true)
        #expect(isLink("guise/config.json"))
    }
}
