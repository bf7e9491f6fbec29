import CLinux
import Glibc

/// Watches folders for changes (inotify), and waits for an eventfd that other threads signal. Used by one thread.
///
/// The unsafe system calls are confined to this file.
public struct FolderWatch: ~Copyable {
    /// The inotify descriptor; -1 if the system has none left.
    private let inotify: CInt
    /// Whether some folder can't be watched, so that a change is reported at intervals, in case there was one.
    private var mustPoll: Bool
    private let wakeEvent: CInt
    private var watched: Set<CInt> = []
    /// The milliseconds after which a change is reported while a folder can't be watched.
    private static let interval: CInt = 2000

    /// Events for folders whose files are watched: editors write in place, or write another file and rename it.
    private static let files =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_DELETE)
        | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(bitPattern: IN_ONLYDIR)
    /// Events for a folder of mask folders: only entries that appear or disappear.
    private static let names =
        UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE) | UInt32(IN_DELETE) | UInt32(IN_DELETE_SELF)
        | UInt32(IN_MOVE_SELF) | UInt32(bitPattern: IN_ONLYDIR)

    /// Creates a watch of no folders.
    /// - Parameter wakeEvent: an eventfd that wakes `wait`; borrowed.
    public init(wakeEvent: CInt) {
        self.init(wakeEvent: wakeEvent, inotify: inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    }

    /// - Parameter inotify: an inotify descriptor, which the watch closes; -1: there is none.
    init(wakeEvent: CInt, inotify: CInt) {
        (self.wakeEvent, self.inotify) = (wakeEvent, inotify)
        mustPoll = inotify < 0
    }

    deinit { if inotify >= 0 { close(inotify) } }

    /// Watches these folders and no others; folders that don't exist are skipped.
    /// - Parameters:
    ///   - files: folders in which any change to a file counts.
    ///   - names: folders in which only entries that appear or disappear count.
    public mutating func set(files: [String], names: [String]) {
        guard inotify >= 0 else { return }
        var now: Set<CInt> = []
        mustPoll = false
        for (folders, events) in [(names, Self.names), (files, Self.files)] {
            for folder in folders {
                let watch = unsafe inotify_add_watch(inotify, folder, events)
                if watch >= 0 {
                    now.insert(watch)
                } else if ![ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES].contains(errno) {
                    // ENOSPC: the user has no more watches (fs.inotify.max_user_watches).
                    mustPoll = true
                }
            }
        }
        for gone in watched.subtracting(now) { inotify_rm_watch(inotify, gone) }
        watched = now
    }

    /// Waits for a change or the wake event. An editor's save is several changes, so after a change this waits until
    /// there is no other for `quiet` milliseconds, for at most five such periods, or until the wake event.
    /// - Returns: everything that happened.
    @discardableResult
    public func wait(quiet: CInt) -> WaitResult {
        var result = WaitResult()
        while result.isEmpty {
            result = pollEvents(for: mustPoll ? Self.interval : -1)
            if result.isEmpty, mustPoll { result = .change }
        }
        for _ in 0..<5 where !result.contains(.wakeEvent) {
            let more = pollEvents(for: quiet)
            if more.isEmpty { break }
            result.formUnion(more)
        }
        return result
    }

    /// What ended a `wait`.
    public struct WaitResult: OptionSet, Sendable {
        /// One bit for each event.
        public let rawValue: Int
        /// The wake event was signalled.
        public static let wakeEvent = WaitResult(rawValue: 1)
        /// Something changed in a watched folder.
        public static let change = WaitResult(rawValue: 2)

        /// A set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// Reads the pending events, waiting at most `timeout` milliseconds for the first; -1 waits without a limit.
    private func pollEvents(for timeout: CInt) -> WaitResult {
        var polled: [2 of pollfd] = [
            pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeEvent, events: Int16(POLLIN), revents: 0),
        ]
        var span = polled.mutableSpan
        guard pollDescriptors(&span, milliseconds: timeout) > 0 else { return [] }
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

    /// Discards pending events: they only say that something changed, and the caller looks for what. A read returns
    /// whole events only, and rarely fills the buffer.
    private static func drain(_ descriptor: CInt) {
        var events = [UInt8](repeating: 0, count: 4096)
        while unsafe read(descriptor, &events, events.count) > 0 {}
    }
}
