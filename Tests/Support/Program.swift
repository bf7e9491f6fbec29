import CTestSupport
import Foundation
import Glibc
import Synchronization
import Testing

/// The built `guise`, started like its users do, and other programs.
public enum Program {
    public struct Outcome: CustomStringConvertible {
        /// The exit code; 128 plus the signal's number if a signal ended it.
        public var code: Int32
        public var out: String
        public var errors: String

        /// The lines of standard error.
        public var lines: [String] { errors.split(separator: "\n").map(String.init) }
        public var description: String { "exit \(code)\n\(out.prefix(2000))\n\(errors.prefix(2000))" }
    }

    /// $GUISE_BINARY, or else the program that was built with these tests.
    public static let path: String =
        ProcessInfo.processInfo.environment["GUISE_BINARY"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "guise").path

    public static var isRelease: Bool { path.contains("/release/") }

    /// Runs a program to its end.
    public static func run(
        _ arguments: [String], of path: String = Program.path, in scratch: ScratchFolder
    ) throws -> Outcome {
        try Running(arguments, of: path, in: scratch).wait()
    }
}

/// A running program, killed with the value. A busy machine reaches no time limit: a program is killed when a test has
/// waited `Running.hangLimit` seconds for it, so that a hang fails the test that it belongs to.
public final class Running: Sendable {
    public let pid: pid_t
    private let arguments: [String]
    /// Standard output: a file without a name, so that the program never waits for a reader.
    private let out: CInt
    private let errors = Errors()

    /// The program's standard error, and its end.
    private final class Errors: @unchecked Sendable {
        private let condition = NSCondition()
        private var bytes: [UInt8] = []
        /// The status of waitpid(2).
        private var status: Int32?

        func append(_ more: ArraySlice<UInt8>) {
            condition.withLock {
                bytes += more
                condition.broadcast()
            }
        }

        func end(_ status: Int32) {
            condition.withLock {
                self.status = status
                condition.broadcast()
            }
        }

        var text: String { condition.withLock { String(decoding: bytes, as: UTF8.self) } }
        var hasEnded: Bool { condition.withLock { status != nil } }

        /// Waits until `isMet` or the end of the program `pid`.
        func wait(_ pid: pid_t, until isMet: (String) -> Bool) -> Bool {
            condition.withLock {
                var limit = Date(timeIntervalSinceNow: Running.hangLimit)
                while true {
                    if isMet(String(decoding: bytes, as: UTF8.self)) { return true }
                    if status != nil { return false }
                    guard !condition.wait(until: limit) else { continue }
                    kill(pid, SIGKILL)
                    limit += Running.hangLimit
                }
            }
        }

        func waitForEnd(_ pid: pid_t) -> Int32 {
            _ = wait(pid) { _ in false }
            return condition.withLock { status ?? SIGKILL }
        }
    }

    /// In seconds: three times what all tests together take on two cores that 16 other programs keep busy.
    private static let hangLimit = 600.0

    private static let living = Mutex<Set<pid_t>>([])
    private static let endings = Mutex<[@Sendable () -> Void]>([])

    /// Called when the test run exits, before the programs that still run are ended.
    static func atExit(_ body: @escaping @Sendable () -> Void) { endings.withLock { $0.append(body) } }

    /// Programs that tests share are still running when the test run exits. They get ten seconds for their own
    /// children.
    private static let endsLivingAtExit: Void = {
        atexit {
            for ending in Running.endings.withLock({ $0 }) { ending() }
            for pid in Running.living.withLock({ $0 }) { kill(pid, SIGTERM) }
            for _ in 0..<1000 where !Running.living.withLock({ $0.isEmpty }) { usleep(10_000) }
            for pid in Running.living.withLock({ $0 }) { kill(pid, SIGKILL) }
        }
    }()

    public init(_ arguments: [String], of path: String = Program.path, in scratch: ScratchFolder) throws {
        _ = Self.endsLivingAtExit
        self.arguments = arguments
        out = try Self.unnamedFile()
        let (reading, writing) = try Self.pipe()
        let (endReading, endWriting) = try Self.pipe()
        defer { close(writing) }
        do {
            pid = try Self.spawn([path] + arguments, out: out, errors: writing, in: scratch)
        } catch {
            for descriptor in [reading, endReading, endWriting, out] { close(descriptor) }
            throw error
        }
        Self.living.withLock { _ = $0.insert(pid) }
        let (child, errors) = (pid, errors)
        Thread.detachNewThread {
            var code: CInt = 0
            while unsafe waitpid(child, &code, 0) < 0, errno == EINTR {}
            Running.living.withLock { _ = $0.remove(child) }
            _ = unsafe write(endWriting, &code, MemoryLayout<CInt>.size)
            close(endWriting)
        }
        Thread.detachNewThread {
            Self.copy(from: reading, to: errors, until: endReading)
            close(reading)
            close(endReading)
        }
    }

    /// Copies the program's output until it has ended. Does not wait for a child process that keeps the pipe open.
    private static func copy(from reading: CInt, to errors: Errors, until ending: CInt) {
        var isOpen = true
        while true {
            var polled = [
                pollfd(fd: isOpen ? reading : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&polled, 2, -1) > 0 else { continue }
            if polled[0].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 64 << 10)
                let count = unsafe read(reading, &bytes, bytes.count)
                if count > 0 { errors.append(bytes[..<count]) } else { isOpen = false }
            } else if polled[1].revents != 0 {
                // All output was in the pipe before the program ended, and is read.
                var code: CInt = 0
                _ = unsafe read(ending, &code, MemoryLayout<CInt>.size)
                return errors.end(code)
            }
        }
    }

    private static func unnamedFile() throws -> CInt {
        let descriptor = unsafe ctest_unnamed_file(FileManager.default.temporaryDirectory.path)
        try #require(descriptor >= 0, "a file for a program's output")
        return descriptor
    }

    /// The standard output so far.
    public var output: String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe pread(out, &block, block.count, off_t(bytes.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += block[..<count]
        }
    }

    private static func pipe() throws -> (reading: CInt, writing: CInt) {
        var (reading, writing) = (CInt(-1), CInt(-1))
        let result = unsafe ctest_pipe(&reading, &writing)
        try #require(result == 0, "a pipe")
        return (reading, writing)
    }

    private static func spawn(
        _ words: [String], out: CInt, errors: CInt, in scratch: ScratchFolder
    ) throws -> pid_t {
        let environment = scratch.environment.map { "\($0.key)=\($0.value)" }
        var pid: pid_t = 0
        let result = unsafe withCStrings(words) { words in
            unsafe withCStrings(environment) { environment in
                unsafe ctest_spawn(words, environment, scratch.url.path, out, errors, &pid)
            }
        }
        try #require(result == 0, "\(words[0]) starts: \(unsafe String(cString: strerror(-result)))")
        return pid
    }

    /// The strings as C arguments: pointers, with a null at the end.
    private static func withCStrings<R>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        let copies: [UnsafeMutablePointer<CChar>?] = unsafe strings.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe body(copies.map { unsafe UnsafePointer($0) } + [nil])
    }

    deinit {
        if isRunning { kill(pid, SIGKILL) }
        close(out)
    }

    public var isRunning: Bool { !errors.hasEnded }

    /// The standard error so far.
    public var said: String { errors.text }

    /// Waits until standard error contains a text; false if the program ended without it.
    public func waits(for text: String) -> Bool { waits { $0.contains(text) } }

    /// Waits until standard error is as wanted; false if the program ended before.
    public func waits(until isMet: (String) -> Bool) -> Bool { errors.wait(pid, until: isMet) }

    public func send(signal: CInt) { kill(pid, signal) }

    /// Waits for the program's end.
    @discardableResult
    public func wait() -> Program.Outcome {
        let status = errors.waitForEnd(pid)
        // WIFEXITED and WEXITSTATUS of wait(2).
        let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
        return Program.Outcome(code: code, out: output, errors: errors.text)
    }
}
