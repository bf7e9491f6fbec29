import Foundation
import Frames
import TestSupport
import Testing

@testable import Page
@testable import SystemKit

/// The user's secret.
struct SecretTests {
    private let scratch: ScratchFolder
    private let store: PageSecretStore
    private var file: String { scratch.path("state/guise/page-secret") }

    init() throws {
        scratch = try ScratchFolder()
        store = PageSecretStore(folder: scratch.path("state/guise"))
    }

    private func mode() throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    }

    @Test func `a user has one secret, readable only by this user, that outlives a daemon`() throws {
        let first = try store.current()
        #expect(try first.hex.utf8.count == 64 && mode() == 0o600)
        #expect(try PageSecretStore(folder: scratch.path("state/guise")).current() == first)
        #expect(store.isCurrent(first) && !store.isCurrent(PageSecret()))
        #expect(PageSecret().hex != PageSecret().hex)
        #expect(scratch.names(in: "state/guise") == ["page-secret"])
    }

    @Test func `a secret that others could read, or that is damaged, is replaced`() throws {
        var last = try store.current()
        func isReplaced(_ what: String, _ spoil: () throws -> Void) throws {
            try spoil()
            #expect(!store.isCurrent(last), "\(what)")
            let next = try store.current()
            #expect(next != last && store.isCurrent(next), "\(what)")
            #expect(try mode() == 0o600)
            last = next
        }
        try isReplaced("readable") {
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        }
        for text in ["abc", "", last.hex + "0", String(repeating: "g", count: 64)] {
            try isReplaced("\(text)") { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
        }
        try isReplaced("a link") {
            let other = scratch.path("other")
            try FileManager.default.moveItem(atPath: file, toPath: other)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: other)
        }
        #expect(try scratch.read("other").count == 64, "what a link led to is left alone")
        try isReplaced("gone") { try FileManager.default.removeItem(atPath: file) }
        try isReplaced("revoked") { try store.revoke() }
    }

    @Test func `a secret that cannot be stored is an error`() throws {
        try scratch.write("", "file")
        let store = PageSecretStore(folder: scratch.path("file/guise"))
        #expect(throws: Problem.self) { _ = try store.current() }
        #expect(throws: Problem.self) { try store.revoke() }
        // Without a home folder it lasts as long as the daemon, and can't be revoked.
        let homeless = PageSecretStore(folder: nil)
        #expect(try homeless.current() == homeless.current())
        #expect(throws: Problem.self) { try homeless.revoke() }
    }
}
