import CLinux
import FoundationEssentials
import Glibc
import SystemKit
import V4L2

// Access to the real machine for the checks. Most unsafe C calls of this module are in this file.

/// The timeout in seconds for a program or the daemon; pw-dump and snap take longest.
private let defaultTimeout = 10.0
/// The maximum size of an answer in bytes.
private let answerLimit = 16 << 20

/// Runs a program to its end, without input.
func runProgram(_ arguments: [String], timeout: Double = defaultTimeout) -> System.Output {
    do throws(Problem) {
        var child = try ChildProcess(arguments, .reading)
        let end = monotonicTime() + UInt64(timeout * 1e9)
        var text: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while text.count < answerLimit {
            var span = block.mutableSpan
            switch try child.read(into: &span, from: 0) {
            case .bytes(let count): text += block[..<count]
            case .nothing:
                // A program that is still running is killed when `child` goes out of scope.
                guard monotonicTime() < end else { return .failed }
                waitUntil(child.pipe, POLLIN, until: end)
            case .end:
                return child.finish() == .status(0) ? .text(String(decoding: text, as: UTF8.self)) : .failed
            }
            child.drainErrors()
        }
        return .failed
    } catch {
        return error.kind == .missing ? .absent : .failed
    }
}

/// Whether another program streams from a camera. Only then does the driver refuse to set the camera's current format,
/// which is what this does.
func cameraIsTaken(_ path: String) -> Bool {
    do throws(Problem) {
        let camera = try Device(path: path)
        guard let format = camera.format(for: .capture) else { return false }
        _ = try camera.setFormat(format.fourCC, width: format.width, height: format.height, for: .capture)
        return false
    } catch {
        return error.kind == .busy
    }
}

/// Sends a line to a Unix socket and waits for the reply line.
func querySocket(_ path: String, _ line: String, timeout: Double = defaultTimeout) -> System.Answer {
    let descriptor = unsafe clinux_local_connect(path, 0)
    // A Unix socket connects at once, unless its queue is full: then a process listens but does not accept.
    guard descriptor >= 0 else { return descriptor == -EAGAIN ? .silent : .refused }
    defer { close(descriptor) }
    let request = Array("\(line)\n".utf8)
    guard unsafe clinux_local_send(descriptor, request, request.count) == request.count else { return .silent }
    let end = monotonicTime() + UInt64(timeout * 1e9)
    var answer: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 12)
    while monotonicTime() < end, answer.count < answerLimit {
        waitUntil(descriptor, POLLIN, until: end)
        let count = unsafe block.withUnsafeMutableBytes { block in
            retryingInterrupted { unsafe recv(descriptor, block.baseAddress, block.count, 0) }
        }
        if count < 0, errno == EAGAIN { continue }
        guard count > 0 else { break }
        answer += block[..<count]
        if let newline = answer.firstIndex(of: UInt8(ascii: "\n")) {
            return .line(String(decoding: answer[..<newline], as: UTF8.self))
        }
    }
    return .silent
}

/// Waits until a descriptor is ready, at most until `end` on the monotonic clock, in nanoseconds.
private func waitUntil(_ descriptor: CInt, _ events: Int32, until end: UInt64) {
    let now = monotonicTime()
    guard now < end else { return }
    waitUntilReady(descriptor, for: events, milliseconds: CInt((end - now) / 1_000_000 + 1))
}
