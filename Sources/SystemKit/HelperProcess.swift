import CLinux
import Glibc

/// A running program of Guise's own that works for it: what its libraries do there can neither crash Guise nor slow its
/// start. It reads requests from its standard input until its end, and writes replies to its standard output.
///
/// The unsafe calls are in this file only.
public struct HelperProcess: Sendable {
    private let process: pid_t
    /// Pipes to its standard input, and from its standard output and error. The last carries libraries' messages and
    /// isn't read.
    private let (requests, replies, errors): (CInt, CInt, CInt)

    /// Where a program is: beside this one while it is built, under `libexec/guise` once installed.
    /// - Throws: `missing` if it is in neither place.
    private static func path(of name: String, _ purpose: String) throws(Problem) -> String {
        let own = realPath(of: "/proc/self/exe") ?? ""
        let folder = own[..<(own.lastIndex(of: "/") ?? own.startIndex)]
        let candidates = ["\(folder)/\(name)", "\(folder)/../libexec/guise/\(name)"]
        guard let found = candidates.first(where: isReadable) else {
            throw Problem(
                .missing, "\(name), which \(purpose), is neither at \(candidates[0]) nor at \(candidates[1])",
                fix: "run `make build` or `make install` again")
        }
        return found
    }

    /// Starts a program.
    /// - Parameters:
    ///   - name: of its file.
    ///   - purpose: for messages: "guise-art, which ...".
    /// - Throws: `missing` if it isn't installed; `system` if it can't be started.
    public init(_ name: String, purpose: String) throws(Problem) {
        let program = try Self.path(of: name, purpose)
        var ends: [2 of CInt] = [-1, -1]
        var child = clinux_child()
        var span = ends.mutableSpan
        guard unsafe span.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress) }) == 0 else {
            throw Problem(.system, "could not create a pipe to \(name): \(errorMessage(of: errno))")
        }
        // `clinux_child_start` closes all other descriptors in its children. This is for children that libraries start.
        for end in [ends[0], ends[1]] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let result = unsafe program.withCString { program in
            var words: [2 of UnsafePointer<CChar>?] = unsafe [program, nil]
            var span = unsafe words.mutableSpan
            return unsafe span.withUnsafeMutableBufferPointer {
                unsafe clinux_child_start($0.baseAddress, 0, ends[0], -1, &child)
            }
        }
        close(ends[0])
        guard result == 0 else {
            close(ends[1])
            throw Problem(.system, "could not start \(name): \(errorMessage(of: -result))")
        }
        (process, requests, replies, errors) = (child.pid, ends[1], child.pipe, child.errors)
    }

    /// Writes all bytes to the program; false if it has ended.
    public func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty, let base = rest.baseAddress {
            let count = unsafe clinux_write(requests, base.assumingMemoryBound(to: UInt8.self), rest.count)
            guard count > 0 else { return false }
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Fills the buffer from the program; false if it has ended. Kills it if it sends nothing until the timeout.
    /// - Parameter milliseconds: of wall-clock time.
    public func read(into bytes: UnsafeMutableRawBufferPointer, milliseconds: CInt) -> Bool {
        var rest = unsafe bytes
        while unsafe !rest.isEmpty, let base = rest.baseAddress {
            guard waitUntilReady(replies, milliseconds: milliseconds) else {
                kill(process, SIGKILL)
                return false
            }
            let count = unsafe clinux_read(replies, base.assumingMemoryBound(to: UInt8.self), rest.count)
            guard count > 0 else { return false }
            unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
        }
        return true
    }

    /// Closes the pipes, which makes the program exit, and waits for it.
    /// - Returns: its exit status, or 256 + the signal that ended it.
    public func end() -> CInt {
        close(requests)
        close(replies)
        close(errors)
        return clinux_child_wait(process)
    }
}
