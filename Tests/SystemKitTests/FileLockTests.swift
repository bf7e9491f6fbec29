import Foundation
import Synchronization
import TestSupport
import Testing

@testable import SystemKit

@Suite(.ownThread) struct FileLockTests {
    let scratch: ScratchFolder
    let path: String

    init() throws {
        scratch = try ScratchFolder()
        path = scratch.path("a.lock")
    }

    /// "locked", who holds it, or what the system says. It is let go at once.
    private static func outcome(of path: String, timeout: Int = 0) -> String {
        do throws(FileLock.Failure) {
            _ = try FileLock(path, timeout: timeout)
            return "locked"
        } catch {
            switch error {
            case .held(let holder): return "held by \(holder)"
            case .system(let code): return errorMessage(of: code)
            }
        }
    }

    /// Waits until it is free: a child that some other test starts just then has all descriptors for a moment.
    private static func outcomeOnceFree(of path: String) -> String { outcome(of: path, timeout: .max) }

    @Test func `the second gets an error that names the first, and gets the lock after it`() throws {
        do {
            let first = try FileLock(path)
            let said = Self.outcome(of: path)
            #expect(said == "held by \(RunningProcess(getpid()))" && said.hasSuffix("(\(getpid()))"))
            #expect(Self.outcome(of: scratch.path("b.lock")) == "locked", "another file is another lock")
            withExtendedLifetime(first) {}
        }
        #expect(Self.outcomeOnceFree(of: path) == "locked")
        #expect(scratch.names() == ["a.lock", "b.lock"], "the files stay")
    }

    @Test func `another process keeps the lock until it ends, however it ends`() throws {
        let script = "mkfifo pipe && exec 9<>a.lock && flock 9 && echo $$ >&9 && echo locked >&2 && read < pipe"
        let holder = try Running(["-c", script], of: "/bin/bash", in: scratch)
        try #require(holder.waits(for: "locked"))
        #expect(Self.outcome(of: path) == "held by bash (\(holder.pid))")
        holder.send(signal: SIGKILL)
        holder.wait()
        #expect(Self.outcomeOnceFree(of: path) == "locked")
    }

    @Test func `a process that inherits the descriptor keeps the lock`() throws {
        let inherited: CInt
        do {
            let lock = try FileLock(path)
            inherited = fcntl(lock.descriptor, F_DUPFD_CLOEXEC, 0)
            withExtendedLifetime(lock) {}
        }
        try #require(inherited >= 0)
        #expect(Self.outcome(of: path) == "held by \(RunningProcess(getpid()))")
        close(inherited)
        #expect(Self.outcomeOnceFree(of: path) == "locked")
    }

    @Test func `started programs do not inherit the lock by default`() throws {
        let lock = try FileLock(path)
        let flags = fcntl(lock.descriptor, F_GETFD)
        #expect(flags >= 0 && flags & FD_CLOEXEC != 0)
        withExtendedLifetime(lock) {}
    }

    @Test func `the file contains only the holder's process id, and only this user can read it`() throws {
        try scratch.write("12345678901234567890\nolder\n", "old.lock")
        for name in ["a.lock", "old.lock"] {
            let lock = try FileLock(scratch.path(name))
            let text = try scratch.read(name)
            #expect(text == Data("\(getpid())\n".utf8), "\(name)")
            withExtendedLifetime(lock) {}
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test(arguments: [
        ("", "another guise"), ("\n", "another guise"), ("somebody\n", "another guise"),
        ("99999999999\n", "another guise"), ("2147483647\nmore\n", "process (2147483647)"),
    ])
    func `a holder without a name is reported as another`(text: String, holder: String) throws {
        let lock = try FileLock(path)
        try scratch.write(text, "a.lock")
        #expect(Self.outcome(of: path) == "held by \(holder)")
        withExtendedLifetime(lock) {}
    }

    @Test func `a link in the file's place is not followed`() throws {
        let precious = try scratch.write("precious", "precious")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: precious)
        #expect(Self.outcome(of: path) == errorMessage(of: ELOOP))
        let text = try scratch.read("precious")
        #expect(text == Data("precious".utf8))
    }

    @Test func `a folder in the file's place, or a missing folder, is a system error`() throws {
        try scratch.makeFolder("a.lock")
        #expect(Self.outcome(of: path) == errorMessage(of: EISDIR))
        #expect(Self.outcome(of: scratch.path("none/a.lock")) == errorMessage(of: ENOENT))
        #expect(scratch.names() == ["a.lock"])
    }

    @Test func `a pipe in the file's place does not block`() throws {
        try scratch.shell("mkfifo a.lock")
        let lock = try FileLock(path)
        #expect(Self.outcome(of: path) == "held by another guise")
        withExtendedLifetime(lock) {}
    }

    /// A thread's result.
    private final class Report: Sendable {
        let text = Mutex("")
        let hasBegun = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
    }

    @Test func `who has timeout gets it once it is let go`() throws {
        let (report, path) = (Report(), path)
        do {
            let first = try FileLock(path)
            Thread.detachNewThread {
                let before = Self.outcome(of: path)
                report.hasBegun.signal()
                let after = Self.outcome(of: path, timeout: .max)
                report.text.withLock { $0 = "\(before), then \(after)" }
                report.hasEnded.signal()
            }
            report.hasBegun.wait()
            withExtendedLifetime(first) {}
        }
        report.hasEnded.wait()
        let text = report.text.withLock { $0 }
        #expect(text == "held by \(RunningProcess(getpid())), then locked")
    }
}
