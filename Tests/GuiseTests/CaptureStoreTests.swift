import CLinux
import Control
import Frames
import Glibc
import Privacy
import Publish
import Synchronization
import SystemKit
import TestSupport
import Testing

@testable import guise

@Suite struct CaptureStoreTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private final class Replies: Sendable {
        private let received = Mutex<[Result<SnapshotReply, any Error>]>([])

        func add(_ reply: Result<SnapshotReply, any Error>) { received.withLock { $0.append(reply) } }

        /// Waits for the first reply.
        func first() throws -> SnapshotReply { try #require(all(1).first) }

        /// Waits for so many replies.
        func all(_ count: Int) throws -> [SnapshotReply] {
            waits { received.withLock { $0.count >= count } }
            return try received.withLock { $0 }.map { try $0.get() }
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

    @Test func `two photos for one path, in quick succession, are two files`() throws {
        let (store, replies, path) = (CaptureStore(), Replies(), scratch.path("one.png"))
        let picture = Placeholder(plain: FrameLayout(width: 64, height: 48, format: .i420))
        for _ in 0..<2 {
            CaptureStore.Snapshot(store: store, path: path, texts: [], note: nil) { replies.add($0) }
                .capture(picture.frame)
        }
        #expect(try replies.all(2).map(\.path) == [path, scratch.path("one 2.png")])
    }

    @Test func `a photo has its texts before it has its name`() throws {
        let (store, replies, path) = (CaptureStore(), Replies(), scratch.path("one.png"))
        let changes = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
        defer { close(changes) }
        let added = UInt32(IN_CREATE) | UInt32(IN_MOVED_TO)
        try #require(unsafe inotify_add_watch(changes, scratch.path("."), added) >= 0)
        let request = CaptureStore.Snapshot(store: store, path: path, texts: [("Software", "Guise")], note: nil) {
            replies.add($0)
        }
        let picture = Placeholder(plain: FrameLayout(width: 64, height: 48, format: .i420))
        request.capture(picture.frame)
        #expect(try replies.first().path == path)
        let png = try contents(of: path)
        #expect(PNGText.texts(in: png) == ["Software": "Guise"] && scratch.names() == ["one.png"])
        // No second file has replaced the one that first got the name.
        var events = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(changes, &events, events.count)
        #expect(events[..<max(0, count)].ranges(of: Array("one.png".utf8)).count == 1)
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
