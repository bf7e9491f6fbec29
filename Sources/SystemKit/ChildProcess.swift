import CLinux
import Glibc
import Synchronization

/// A child process connected by a pipe: ffmpeg as a decoder or an encoder. It lives as long as this value: if it is
/// still running at the end it is killed and reaped, so that no zombie remains.
///
/// No shell is involved: arguments are passed as they are.
@safe public struct ChildProcess: ~Copyable, Sendable {
    /// The direction of the pipe.
    public enum Direction: Sendable { case reading, writing }

    /// The result of a read.
    public enum Read: Equatable, Sendable {
        /// The number of bytes read.
        case bytes(Int)
        /// No data yet: poll `pipe`.
        case nothing
        /// The child has closed its output.
        case end
    }

    /// The exit status of a child, or the signal that killed it.
    public enum Exit: Equatable, Sendable {
        case status(Int)
        case signal(Int)

        /// Whether it was killed by a signal that its limits on time and memory send, or the end of this process.
        public var isByLimit: Bool {
            if case .signal(let signal) = self { [SIGXCPU, SIGKILL].contains(CInt(signal)) } else { false }
        }
    }

    /// The resource limits of a child. If it exceeds them, it fails or is killed.
    public struct Limits: Sendable {
        /// Bytes of address space.
        public var memory: Int
        /// Seconds of CPU time; nil: no limit.
        public var cpuSeconds: Int?
        /// The monotonic clock's time from which on it is killed while its output or end is awaited, nanoseconds; nil:
        /// never.
        public var deadline: UInt64?

        public init(memory: Int, cpuSeconds: Int? = nil, deadline: UInt64? = nil) {
            (self.memory, self.cpuSeconds, self.deadline) = (memory, cpuSeconds, deadline)
        }
    }

    /// Our end of the pipe, readable or writable according to the direction.
    public let pipe: CInt
    private let name: String
    /// Readable when the child has written to its standard error, or has closed it, as it does when it exits.
    public let errors: CInt
    private var pid: pid_t
    private let deadline: UInt64?
    private var pipeIsOpen = true
    private var exit: Exit?
    /// The end of the child's standard error.
    private var errorTail: [UInt8] = []

    /// Children that were started and not yet reaped.
    private struct Running {
        var processes: Set<pid_t> = []
        var isShuttingDown = false
    }
    private static let running = Mutex(Running())

    /// Kills all children of this type and prevents new ones from starting: for a program that must exit even if they
    /// do not. Helper processes end by themselves when their pipe is closed.
    /// - Parameter end: called before other threads learn that their child has ended, so that they can't report it. It
    ///   must not use children.
    public static func killAll(before end: () -> Void = {}) {
        running.withLock { running in
            running.isShuttingDown = true
            for pid in running.processes { Glibc.kill(pid, SIGKILL) }
            end()
        }
    }

    /// Whether `killAll` was called, so that no more children start.
    public static var isShuttingDown: Bool { running.withLock { $0.isShuttingDown } }

    /// Bytes kept of the child's standard error: enough for ffmpeg's last messages.
    private static let errorTailSize = 4096

    /// Starts `arguments[0]`, found in PATH.
    /// - Parameters:
    ///   - input: a descriptor that becomes the child's standard input if we read from it; nil: no input.
    ///   - output: a descriptor that becomes the child's standard output instead of the pipe, or of no output.
    ///   - limits: the child's resource limits; nil: none.
    /// - Throws: `Problem` of kind `missing` if the program is not installed, otherwise `system`.
    public init(
        _ arguments: [String], _ direction: Direction, input: CInt? = nil, output: CInt? = nil, limits: Limits? = nil
    ) throws(Problem) {
        let name = arguments.first ?? ""
        var child = clinux_child()
        let result = unsafe withCStrings(arguments) { arguments in
            Self.running.withLock { running in
                guard !running.isShuttingDown else { return -ECANCELED }
                let result = unsafe clinux_child_start(
                    arguments, direction == .writing ? 1 : 0, input ?? -1, output ?? -1, &child)
                if result == 0 { running.processes.insert(child.pid) }
                return result
            }
        }
        guard result == 0 else {
            if -result == ENOENT {
                throw Problem(
                    .missing, "cannot start \(name): it is not installed",
                    fix: "install it: sudo apt install \(Self.package(of: name))")
            }
            throw Problem(.system, "cannot start \(name): \(errorMessage(of: -result))")
        }
        (self.name, pid, pipe, errors) = (name, child.pid, child.pipe, child.errors)
        deadline = limits?.deadline
        // This fails only if the child has exited already, and then it needs no limits.
        if let limits { _ = clinux_child_limit(pid, UInt64(limits.memory), UInt64(limits.cpuSeconds ?? 0)) }
        log("started: \(arguments.joined(separator: " "))", .debug)
    }

    deinit {
        if pipeIsOpen { close(pipe) }
        close(errors)
        if exit == nil {
            Glibc.kill(pid, SIGKILL)
            _ = reap()
        }
    }

    /// Waits for the child's exit, and drops its pid before another process can get it.
    private func reap() -> CInt {
        clinux_child_await(pid)
        return Self.running.withLock { running in
            running.processes.remove(pid)
            return clinux_child_wait(pid)
        }
    }

    /// Kills the child. It no longer runs when this returns; it is reaped by `finish` or when this value ends.
    public func kill() {
        guard exit == nil else { return }
        Glibc.kill(pid, SIGKILL)
        clinux_child_await(pid)
    }

    /// Whether the child has exited, so that `finish` doesn't wait. Does not block.
    public var hasExited: Bool { exit != nil || clinux_child_has_ended(pid) != 0 }

    /// Kills the child without waiting for its exit.
    public func requestKill() {
        if exit == nil { Glibc.kill(pid, SIGKILL) }
    }

    /// Reads available data into `bytes` from `offset` on, at most up to its end. Does not block.
    /// - Precondition: there is room for at least one byte; otherwise it would look like the end.
    public func read(into bytes: inout MutableSpan<UInt8>, from offset: Int) throws(Problem) -> Read {
        precondition(offset < bytes.count, "nothing can be read into no room")
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer -> Int in
            guard let base = buffer.baseAddress else { return 0 }
            return unsafe clinux_read(pipe, base + offset, buffer.count - offset)
        }
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        if -count == Int(EAGAIN) {
            if let deadline, monotonicTime() >= deadline { requestKill() }
            return .nothing
        }
        throw Problem(.system, "cannot read from \(name): \(errorMessage(of: CInt(-count)))")
    }

    /// Writes all of `bytes`; waits while the pipe is full.
    /// - Returns: false if the child has closed its end.
    public func write(_ bytes: Span<UInt8>) throws(Problem) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBufferPointer { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                return unsafe clinux_write(pipe, base + offset, buffer.count - offset)
            }
            if -count == Int(EPIPE) { return false }
            guard count > 0 else {
                throw Problem(.system, "cannot write to \(name): \(errorMessage(of: CInt(-count)))")
            }
            offset += count
        }
        return true
    }

    /// Reads the child's standard error. Does not block. The child never waits for this, but its messages are lost
    /// while the pipe is full.
    public mutating func drainErrors() {
        var block = [4096 of UInt8](repeating: 0)
        while true {
            var span = block.mutableSpan
            let count = unsafe span.withUnsafeMutableBufferPointer { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                return unsafe clinux_read(errors, base, buffer.count)
            }
            guard count > 0 else { return }
            for i in 0..<count { errorTail.append(block[i]) }
            if errorTail.count > Self.errorTailSize { errorTail.removeFirst(errorTail.count - Self.errorTailSize) }
        }
    }

    /// The lines of the child's standard error; only the last ones if there were many.
    public var lines: [String] {
        String(decoding: errorTail, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
    }

    /// The last line of the child's standard error; nil if there was none.
    public var lastLine: String? { lines.last }

    /// Closes the pipe and waits for the child to exit. If its limits have a deadline, it is killed then.
    public mutating func finish() -> Exit {
        if let exit { return exit }
        if pipeIsOpen { close(pipe) }
        pipeIsOpen = false
        if let deadline { awaitExit(until: deadline) }
        let code = Int(reap())
        drainErrors()
        let exit: Exit = code >= 256 ? .signal(code - 256) : .status(code)
        self.exit = exit
        return exit
    }

    /// Waits for the child's exit without reaping it, and kills it at the deadline.
    private mutating func awaitExit(until deadline: UInt64) {
        while !hasExited {
            let now = monotonicTime()
            guard now < deadline else { return requestKill() }
            // An exit ends its standard error, but not at once if another process has that too.
            waitUntilReady(errors, milliseconds: CInt(min((deadline - now) / 1_000_000 + 1, 100)))
            drainErrors()
            // A closed one is ready all the time: only the exit itself is awaited then.
            if waitUntilReady(errors, milliseconds: 0) { usleep(1000) }
        }
    }

    /// Runs a program to its end and returns its output.
    /// - Throws: `Problem` if the program can't be started, or if it writes 64 KiB or more.
    public static func output(
        of arguments: [String], input: CInt, limits: Limits? = nil
    ) throws(Problem) -> (text: String, exit: Exit, lines: [String]) {
        var child = try ChildProcess(arguments, .reading, input: input, limits: limits)
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var count = 0
        reading: while count < bytes.count {
            var span = bytes.mutableSpan
            switch try child.read(into: &span, from: count) {
            case .bytes(let more): count += more
            case .nothing:
                child.wait()
                child.drainErrors()
            case .end: break reading
            }
        }
        let exit = child.finish()
        guard count < bytes.count else {
            throw Problem(
                .unusable, "\(arguments[0]) writes more than \(bytes.count >> 10) KiB",
                fix: "if it reads a file, try another copy")
        }
        return (String(decoding: bytes[..<count], as: UTF8.self), exit, child.lines)
    }

    /// The Debian package that contains a program.
    private static func package(of program: String) -> String { program == "ffprobe" ? "ffmpeg" : program }

    /// Waits until the pipe is readable, or a second.
    public func wait() {
        waitUntilReady(pipe, milliseconds: 1000)
    }
}

extension ChildProcess.Exit: CustomStringConvertible {
    /// The exit for the user, such as "exit status 1" or "killed by signal 9".
    public var description: String {
        switch self {
        case .status(let status): "exit status \(status)"
        case .signal(let number): "killed by signal \(number)"
        }
    }
}

// Other ways to run a program.
extension ChildProcess {
    /// Runs a program that shares this terminal, as sudo needs for its password prompt.
    /// - Returns: the exit status; 127 if the program could not be started, 128 plus the signal's number if a signal
    ///   ended it.
    public static func runInTerminal(_ arguments: [String]) -> Int {
        var process = pid_t()
        guard !arguments.isEmpty, unsafe withCStrings(arguments, { unsafe clinux_terminal_start($0, &process) }) == 0
        else { return 127 }
        let result = Int(clinux_child_wait(process))
        // The shell's convention for signals, which `clinux_child_wait` returns as 256 plus the number.
        return result < 0 ? 127 : result < 256 ? result : result - 128
    }

    /// Starts a program that may outlive this one, without input and output. Does nothing if it can't be started.
    public static func startDetached(_ arguments: [String]) {
        var child = clinux_child()
        guard unsafe withCStrings(arguments, { unsafe clinux_child_start($0, 0, -1, -1, &child) }) == 0 else { return }
        close(child.pipe)
        close(child.errors)
        let process = child.pid
        startThread(named: "child") { _ = clinux_child_wait(process) }
    }
}

/// Lends strings as a list of C strings that ends with a null pointer.
@unsafe private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let copies: [UnsafeMutablePointer<CChar>?] = unsafe strings.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    let pointers: [UnsafePointer<CChar>?] = unsafe copies.map { unsafe UnsafePointer($0) }
    return unsafe pointers.withUnsafeBufferPointer { buffer in
        guard let first = buffer.baseAddress else { preconditionFailure("the list has at least its end") }
        return unsafe body(first)
    }
}
