import Foundation
import Glibc
import TestSupport
import Testing

@testable import SystemKit

@Suite(.ownThread) struct FileTests {
    let scratch: ScratchFolder
    init() throws { scratch = try ScratchFolder() }

    @Test func `the nearest folder is the folder itself, or one above it`() throws {
        try scratch.makeFolder("a")
        #expect(nearestFolder(to: scratch.path("a")) == scratch.path("a"))
        #expect(nearestFolder(to: scratch.path("a/b/c")) == scratch.path("a"))
        try scratch.write("", "a/b")
        #expect(nearestFolder(to: scratch.path("a/b/c")) == scratch.path("a"))
        #expect(nearestFolder(to: "none") == nil)
    }

    @Test func `a folder is unusable behind a link that leads to none, and none that is missing`() throws {
        try scratch.shell("mkdir there; touch file; ln -s there link; ln -s nowhere dangling; ln -s circle circle")
        for name in ["there", "link", "none", "none/a", "there/a", "link/a", "file/a"] {
            let problem = problem { try checkFolder(scratch.path(name)) }
            #expect(problem == nil, "\(name)")
        }
        for name in ["file", "dangling", "circle", "dangling/a", "circle/a/b"] {
            let problem = problem { try checkFolder(scratch.path(name)) }
            #expect(problem?.kind == .unusable && problem?.fix.isEmpty == false, "\(name)")
        }
    }

    @Test func `an own file may have the longest name, and errors say what is wrong with it`() throws {
        let longest = String(repeating: "n", count: 255)
        try writeOwnFile([1, 2], to: scratch.path(longest))
        #expect(try scratch.read(longest) == Data([1, 2]))
        try scratch.write("", "file")
        for (path, kind, words) in [
            (longest + "n", Problem.Kind.invalid, "its name is too long"), ("none/a", .missing, "does not exist"),
            ("file/a", .missing, "does not exist"), (longest, .exists, "it exists"),
        ] {
            let problem = problem { try writeOwnFile([3], to: scratch.path(path)) }
            #expect(problem?.kind == kind && problem?.message.contains(words) == true, "\(problem as Any)")
        }
        #expect(scratch.names() == ["file", longest])
    }

    @Test func `what is edited while its replacement is written to the disk stays, and nothing is left behind`() throws
    {
        let path = try scratch.write("old", "file")
        var parts: [String] = []
        let refused = try replaceFile(Array("new".utf8), at: path) {
            parts = scratch.names().filter { $0 != "file" }
            return false
        }
        #expect(refused == nil && parts.count == 1)
        #expect(try scratch.read("file") == Data("old".utf8) && scratch.names() == ["file"])
        // Another edit right after the renaming has another version than what was written.
        let written = try replaceFile(Array("new".utf8), at: path)
        #expect(written != nil && written == FileVersion(path))
        try scratch.write("newer", "file")
        #expect(written != FileVersion(path))
    }

    @Test func `the folders of links are those in which another link may come to lead elsewhere`() throws {
        try scratch.shell("mkdir -p a/v1/sub b; ln -s v1 a/link; touch a/v1/sub/file; ln -s ../a/v1/sub/file b/file")
        #expect(foldersOfLinks(in: scratch.path("a/v1/sub/file")).filter { $0.hasPrefix(scratch.path("")) } == [])
        #expect(foldersOfLinks(in: scratch.path("a/link/sub/file")).first == scratch.path("a"))
        #expect(foldersOfLinks(in: scratch.path("b/file")).first == scratch.path("b"))
        #expect(foldersOfLinks(in: "none/none") == [] && foldersOfLinks(in: "") == [])
    }

    @Test func `a folder that is moved is still reached`() throws {
        try scratch.makeFolder("a")
        let folder = try OpenFolder(containing: scratch.path("a/file"))
        #expect(!folder.wasMoved == true)
        let file = folder.create("file", 0o600)
        defer { close(file) }
        try scratch.shell("mv a b; mkdir a; touch b/taken")
        #expect(folder.wasMoved == true)
        #expect((folder.path == scratch.path("b")) == true)
        #expect(folder.rename("file", of: file, to: "taken", replacing: false) == false)
        #expect(folder.rename("file", of: file, to: "new", replacing: false) == true)
        #expect(folder.rename("new", of: file, to: "taken", replacing: true) == true)
        #expect(scratch.names(in: "b") == ["taken"])
        folder.remove("taken")
        #expect(scratch.names(in: "b") == [] && scratch.names(in: "a") == [])
    }

    @Test(arguments: [false, true])
    func `what has come to the name of an open file is not renamed`(replacing: Bool) throws {
        let folder = try OpenFolder(containing: scratch.path("part"))
        let file = folder.create("part", 0o600)
        defer { close(file) }
        try scratch.shell("rm part; echo mine > other; ln -s other part")
        #expect(folder.rename("part", of: file, to: "new", replacing: replacing) == false)
        #expect(scratch.names() == ["other", "part"])
    }

    @Test func `the folder of a file is found whatever its name begins with`() throws {
        // An accent that would combine with the slash.
        let path = scratch.path("x").dropLast() + "\u{301}"
        #expect(fileName(of: String(path)) == "\u{301}")
        try writeOwnFile([1], to: String(path))
        #expect(scratch.names().count == 1)
    }
}
