import CLinux

import Glibc

/// Hears of changes in folders (inotify), and of a bell that other threads ring. For one thread.
///
/// The unsafe system calls are in this file alone.
public struct FolderWatch: ~Copyable {
    /// -1 where the system gives none: then nothing is heard but the bell.
    private let inotify: CInt
    private let wakeEvent: CInt
    private var watched: Set<CInt> = []

    /// Editors write in place, or write another file and rename it.
    private static let files =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_DELETE)
        | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(bitPattern: IN_ONLYDIR)
    /// Of a folder of mask folders only what comes and goes.
    private static let names =
        UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_DELETE_SELF)
        | UInt32(IN_MOVE_SELF) | UInt32(bitPattern: IN_ONLYDIR)

    /// - Parameter wakeEvent: wakes `wait`; borrowed.
    public init(wakeEvent: CInt) {
        self.wakeEvent = wakeEvent
        inotify = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
    }

    deinit { if inotify >= 0 { close(inotify) } }

    /// Watches these folders and no others; those that are not there are passed over.
    /// - Parameters:
    ///   - files: folders whose files count.
    ///   - names: folders of which only the coming and going of entries counts.
    public mutating func set(files: [String], names: [String]) {
        guard inotify >= 0 else { return }
        var now: Set<CInt> = []
        for (folders, events) in [(names, Self.names), (files, Self.files)] {
            for folder in folders {
                let watch = unsafe inotify_add_watch(inotify, folder, events)
                if watch >= 0 { now.insert(watch) }
            }
        }
        for gone in watched.subtracting(now) { inotify_rm_watch(inotify, gone) }
        watched = now
    }

    /// Waits for a change or the bell; after a change for `quiet` milliseconds without another one, for an editor's save
    /// is several of them, but at most five times as long, and no longer than until the bell.
    /// - Returns: all that was heard.
    @discardableResult
    public func wait(quiet: CInt) -> WaitResult {
        var result = WaitResult()
        while result.isEmpty { result = pollEvents(for: -1) }
        for _ in 0..<5 where !result.contains(.wakeEvent) {
            let more = pollEvents(for: quiet)
            if more.isEmpty { break }
            result.formUnion(more)
        }
        return result
    }

    /// What `wait` may hear.
    public struct WaitResult: OptionSet, Sendable {
        /// A bit for each.
        public let rawValue: Int
        /// It was rung.
        public static let wakeEvent = WaitResult(rawValue: 1)
        /// Something changed in a folder.
        public static let change = WaitResult(rawValue: 2)

        /// From its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// Hears what is there, or comes within so many milliseconds.
    private func pollEvents(for timeout: CInt) -> WaitResult {
        var polled: [2 of pollfd] = [
            pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeEvent, events: Int16(POLLIN), revents: 0),
        ]
        var span = polled.mutableSpan
        let count = unsafe span.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, 2, timeout) }
        guard count > 0 else { return [] }
        var result = WaitResult()
        if polled[1].revents != 0 {
            Self.drain(wakeEvent)
            result.insert(.wakeEvent)
        }
        if polled[0].revents != 0 {
            Self.drain(inotify)
            result.insert(.change)
        }
        return result
    }

    /// What changed is not told by the events, but by looking. A read has whole events alone, and is seldom full.
    private static func drain(_ descriptor: CInt) {
        var events = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &events, events.count) > 0 {}
    }
}
