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
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return .refused }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    let hasRoom = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
        guard name.count < room.count else { return false }
        unsafe room.copyBytes(from: name)
        return true
    }
    guard hasRoom else { return .refused }
    let isConnected = unsafe withUnsafePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
    }
    // A Unix socket connects at once, unless its backlog is full: then a process listens but does not accept.
    guard isConnected else { return errno == EAGAIN ? .silent : .refused }
    let request = Array("\(line)\n".utf8)
    let sent = unsafe request.withUnsafeBytes { bytes in
        retryingInterrupted { unsafe send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
    }
    guard sent == request.count else { return .silent }
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

/// Runs a program that shares this terminal, as sudo needs for its password prompt.
/// - Returns: the exit status; 127 if the program could not be started, 128 plus the signal's number if a signal ended
///   it.
public func runInTerminal(_ arguments: [String]) -> Int {
    let strings: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
    defer { unsafe strings.forEach { unsafe free($0) } }
    var process = pid_t()
    guard let name = arguments.first, unsafe posix_spawnp(&process, name, nil, nil, strings, environ) == 0 else {
        return 127
    }
    var status: CInt = 0
    guard retryingInterrupted({ unsafe waitpid(process, &status, 0) }) >= 0 else { return 127 }
    // wait(2): the low seven bits are the signal, the next byte the exit status.
    let signal = Int(status & 0x7f)
    return signal == 0 ? Int(status >> 8 & 0xff) : 128 + signal
}
