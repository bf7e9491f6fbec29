import Foundation
import Glibc
import TestSupport
import Testing

@testable import SystemKit

/// The wake event is signalled after each change. The kernel reports a change before the call that made it returns: a
/// watch that sees only the wake event will never see that change.
@Suite(.ownThread) struct FolderWatchTests {
    let scratch: ScratchFolder
    let wakeEvent: WakeEvent

    init() throws {
        scratch = try ScratchFolder()
        wakeEvent = try WakeEvent()
        // Not by this process: children that other tests start at the same time would inherit the open file, and close
        // it when it is watched already.
        try scratch.shell("mkdir -p watched/folder && echo old > watched/file && echo outside > outside")
    }

    private let both: FolderWatch.WaitResult = [.wakeEvent, .change]

    /// The changes that a watch reports after a shell line in the watched folder.
    private func heard(_ watch: borrowing FolderWatch, after line: String) throws -> FolderWatch.WaitResult {
        try scratch.shell("cd watched && \(line)")
        wakeEvent.signal()
        return watch.wait(quiet: 0)
    }

    static let changes: [(String, Bool, Bool)] = [
        ("echo more >> file", true, false), ("chmod 600 file", true, false), ("touch file", true, false),
        ("touch new", true, true), ("mkdir new", true, true), ("ln -s file new", true, true),
        ("mv file renamed", true, true), ("mv ../outside file", true, true), ("mv file ../gone", true, true),
        ("rm file", true, true), ("rmdir folder", true, true), ("cd .. && rm -r watched", true, true),
        ("cd .. && mv watched renamed", true, true),
        ("cat file", false, false), ("ls -lR", false, false), ("touch folder/new", false, false),
        ("echo more >> ../outside", false, false),
    ]

    @Test(arguments: changes)
    func `changes in a folder are reported, and for some folders only added and removed names`(
        line: String, countsAsFile: Bool, countsAsName: Bool
    ) throws {
        var files = FolderWatch(wakeEvent: wakeEvent.descriptor)
        var names = FolderWatch(wakeEvent: wakeEvent.descriptor)
        files.set(files: [scratch.path("watched")], names: [])
        names.set(files: [], names: [scratch.path("watched")])
        let first = try heard(files, after: line)
        #expect(first == (countsAsFile ? both : .wakeEvent))
        wakeEvent.signal()
        let second = names.wait(quiet: 0)
        #expect(second == (countsAsName ? both : .wakeEvent))
    }

    @Test func `a folder watched in both ways reports all changes`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [scratch.path("watched")])
        let first = try heard(watch, after: "echo more >> file")
        #expect(first == both)
    }

    @Test func `changes at the same time are reported once`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [])
        let first = try heard(watch, after: "echo more > file; mv file new; rm new; mkdir one two")
        #expect(first == both)
        wakeEvent.signal()
        let second = watch.wait(quiet: 0)
        #expect(second == .wakeEvent)
    }

    @Test func `a folder that is no longer watched reports nothing, and the others still do`() throws {
        try scratch.makeFolder("other")
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched"), scratch.path("other")], names: [])
        watch.set(files: [scratch.path("other")], names: [])
        // The kernel also reports the end of a watch.
        wakeEvent.signal()
        watch.wait(quiet: 0)
        let first = try heard(watch, after: "rm file")
        #expect(first == .wakeEvent)
        let second = try heard(watch, after: "touch ../other/new")
        #expect(second == both)
    }

    @Test func `a folder that is created again is watched once it is set again`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [])
        let first = try heard(watch, after: "cd .. && rm -r watched && mkdir watched")
        #expect(first == both)
        watch.set(files: [scratch.path("watched")], names: [])
        wakeEvent.signal()
        watch.wait(quiet: 0)
        let second = try heard(watch, after: "touch new")
        #expect(second == both)
    }

    @Test(arguments: [false, true])
    func `a change is reported after a while without inotify, or without room for a folder`(hasInotify: Bool) throws {
        // A pipe takes no folders, as an inotify instance without room.
        let pipe = Pipe()
        let inotify = hasInotify ? dup(pipe.fileHandleForReading.fileDescriptor) : -1
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor, inotify: inotify)
        watch.set(files: [scratch.path("watched")], names: [])
        wakeEvent.signal()
        let first = watch.wait(quiet: 0)
        #expect(first == .wakeEvent)
        let second = watch.wait(quiet: 0)
        #expect(second == .change)
        withExtendedLifetime(pipe) {}
    }

    @Test func `paths that are no folders are ignored`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        let places = [scratch.path("none"), scratch.path("outside"), scratch.path("watched")]
        watch.set(files: places, names: places)
        let first = try heard(watch, after: "echo more >> ../outside; mkdir ../none")
        #expect(first == .wakeEvent)
        let second = try heard(watch, after: "touch new")
        #expect(second == both)
    }

    @Test func `many changes in many pieces are drained`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [])
        let first = try heard(watch, after: "for i in {1..500}; do : > new$i; done")
        #expect(first == both)
        wakeEvent.signal()
        let second = watch.wait(quiet: 0)
        #expect(second == .wakeEvent)
    }

    @Test func `without the wake event only a change is reported`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [])
        try scratch.shell("touch watched/new")
        let first = watch.wait(quiet: 0)
        #expect(first == .change)
    }

    @Test func `a wake event during the quiet period ends the wait, and is reported`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [scratch.path("watched")], names: [])
        try scratch.shell("touch watched/new")
        let wakeEvent = wakeEvent
        // Before the wait or during it. Nothing else ends the wait: the folder stays unchanged.
        Thread { wakeEvent.signal() }.start()
        let first = watch.wait(quiet: -1)
        #expect(first == both)
        wakeEvent.signal()
        let second = watch.wait(quiet: 0)
        #expect(second == .wakeEvent)
    }

    @Test func `the wake event is reported once, however often it was signaled`() throws {
        var watch = FolderWatch(wakeEvent: wakeEvent.descriptor)
        watch.set(files: [], names: [])
        for _ in 0..<3 { wakeEvent.signal() }
        let first = watch.wait(quiet: 0)
        #expect(first == .wakeEvent)
        var polled = pollfd(fd: wakeEvent.descriptor, events: Int16(POLLIN), revents: 0)
        let isRinging = unsafe poll(&polled, 1, 0) != 0
        #expect(!isRinging)
    }
}
