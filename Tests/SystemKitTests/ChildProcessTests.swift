import CLinux
import Glibc
import TestSupport
import Testing

@testable import SystemKit

@Suite(.ownThread) struct ChildProcessTests {
    @Test func `a child's limits only get lower, and its CPU time is limited in any case`() throws {
        var child = clinux_child()
        let words = ["sh", "-c", "ulimit -v 1000000 && exec sleep 60"]
        let strings: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe strings.forEach { unsafe free($0) } }
        let pointers: [UnsafePointer<CChar>?] = unsafe strings.map { unsafe UnsafePointer($0) }
        try #require(unsafe clinux_child_start(pointers, 0, -1, -1, &child) == 0)
        let pid = child.pid
        defer {
            kill(pid, SIGKILL)
            _ = clinux_child_wait(pid)
            close(child.pipe)
            close(child.errors)
        }
        /// The hard limit that starts with a name (proc(5)).
        func limit(_ name: String) throws -> String {
            let lines = String(decoding: try contents(of: "/proc/\(pid)/limits"), as: UTF8.self).split(separator: "\n")
            let line = try #require(lines.first { $0.hasPrefix(name) })
            return String(line.dropFirst(name.count).split(separator: " ")[1])
        }
        while try limit("Max address space") != "1024000000" { sched_yield() }
        #expect(clinux_child_limit(pid, 2 << 30, 7) == 0)
        #expect(try limit("Max address space") == "1024000000" && limit("Max cpu time") == "7")
        #expect(clinux_child_limit(pid, 1 << 29, 9) == 0)
        #expect(try limit("Max address space") == "\(1 << 29)" && limit("Max cpu time") == "7")
    }

    @Test(arguments: [(10, false), (1 << 17, true)])
    func `the whole output is returned, and too much of it is an error`(_ count: Int, _ fails: Bool) throws {
        let output = Result {
            try ChildProcess.output(
                of: ["head", "-c", "\(count)", "/dev/zero"], input: unsafe open("/dev/null", O_RDONLY)
            )
            .text
        }
        switch output {
        case .success(let text): #expect(!fails && text.utf8.count == count)
        case .failure(let error): #expect(fails && "\(error)".contains("head writes more than 64 KiB"))
        }
    }

    /// The exit of a shell line that must end in time.
    private func exit(of line: String, by deadline: UInt64) throws -> ChildProcess.Exit {
        let input = unsafe open("/dev/null", O_RDONLY)
        defer { close(input) }
        let limits = ChildProcess.Limits(memory: 1 << 30, deadline: deadline)
        return try ChildProcess.output(of: ["sh", "-c", line], input: input, limits: limits).exit
    }

    @Test(arguments: ["exec >&-", "exec >&- 2>&-"])
    func `a child that closes its output and stays is killed at its deadline`(_ closing: String) throws {
        let deadline = monotonicTime() + 1_000_000_000
        #expect(try exit(of: "\(closing); exec sleep 60", by: deadline) == .signal(9))
        #expect(monotonicTime() >= deadline)
    }

    @Test(arguments: ["exec >&-", "exec >&- 2>&-"])
    func `a child that closes its output and ends is not awaited until its deadline`(_ closing: String) throws {
        let deadline = monotonicTime() + 3600 * 1_000_000_000
        #expect(try exit(of: "\(closing); sleep 0.1; exit 3", by: deadline) == .status(3))
    }
}
