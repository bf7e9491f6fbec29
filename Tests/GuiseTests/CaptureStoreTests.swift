import Control
import Frames
import Privacy
import Synchronization
import SystemKit
import TestSupport
import Testing

@testable import guise

@Suite struct CaptureStoreTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private final class Replies: Sendable {
        private let all = Mutex<[Result<SnapshotReply, any Error>]>([])

        func add(_ reply: Result<SnapshotReply, any Error>) { all.withLock { $0.append(reply) } }

        /// Waits for the first reply.
        func first() throws -> SnapshotReply {
            waits { all.withLock { !$0.isEmpty } }
            return try #require(all.withLock { $0.first }).get()
        }
    }

    @Test func `a photo and its note are saved, and the page finds the photo by its name`() throws {
        let (store, replies, path) = (CaptureStore(), Replies(), scratch.path("one.png"))
        let request = CaptureStore.Snapshot(store: store, path: path, texts: [], note: "santa\n") { replies.add($0) }
        let picture = Placeholder(plain: FrameLayout(width: 64, height: 48, format: .i420))
        request.capture(picture.frame)
        let reply = try replies.first()
        #expect(reply.path == path && reply.album == "one.png" && store.path(of: "one.png") == path)
        #expect(reply.note == scratch.path("one.txt") && scratch.names() == ["one.png", "one.txt"])
        let saved = try scratch.picture(path)
        // The dark background of placeholders.
        #expect((saved.width, saved.height) == (64, 48) && saved.bytes.allSatisfy { (20..<60).contains($0) })
    }

    @Test func `a file whose name begins with an accent stays in its folder when it gets another name`() throws {
        try scratch.makeFolder("album")
        // The accent combines with the slash before it.
        let (store, path) = (CaptureStore(), "\(scratch.path("album"))/\u{301}a.png")
        try writeOwnFile([1], to: path)
        #expect(try store.rename(store.add(path), to: "b").path == scratch.path("album/b.png"))
        #expect(scratch.names(in: "album") == ["b.png"])
    }

    @Test func `without a picture the reply is an error, and no file is made`() throws {
        let (store, replies) = (CaptureStore(), Replies())
        let path = scratch.path("one.png")
        CaptureStore.Snapshot(store: store, path: path, texts: [], note: nil) { replies.add($0) }
            .refuse("there is no picture: Guise is paused")
        #expect(throws: RequestError(.notNow, "there is no picture: Guise is paused")) { try replies.first() }
        #expect(scratch.names().isEmpty && store.path(of: "one.png") == nil)
    }
}
