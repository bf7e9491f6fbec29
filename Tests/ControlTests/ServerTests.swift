import Foundation
import Frames
import JSON
import Synchronization
import Testing

@testable import Control

/// The socket as strangers use it: garbage, half lines, giant lines, floods, and those who never read.
@Suite(.serialized) struct ServerTests {
    /// Answers everything with what was asked for.
    private final class Echo: Answering {
        let asked = Mutex(0)
        let events = Atomic<Int>(0)

        func answer(_ verb: Verb, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) {
            asked.withLock { $0 += 1 }
            switch verb {
            case .toggle(let mask): reply(.success(JSON(["mask": JSON(mask)])))
            case .snapshot:
                Thread.detachNewThread {
                    Thread.sleep(forTimeInterval: 0.05)
                    reply(.success(JSON(["path": "late"])))
                }
            case .next: reply(.failure(Refusal(.notNow, "there is none")))
            default: reply(.success(JSON([:])))
            }
        }

        func news() -> [(topic: Topic, event: JSON)] {
            let number = events.add(1, ordering: .relaxed).newValue
            // So much that a client who does not read is over its share soon.
            return [
                (
                    .figures,
                    JSON([
                        "event": "figures", "number": JSON(number), "text": JSON(String(repeating: "x", count: 20_000)),
                    ])
                )
            ]
        }
    }

    /// A server in a folder of its own.
    private final class Place {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "guise-control-\(UUID().uuidString.prefix(8))")
        let echo = Echo()
        let server: ControlServer

        var environment: [String: String] { ["XDG_RUNTIME_DIR": folder.path] }
        var socket: String { folder.appending(path: "guise/control.sock").path }

        init() throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            server = try ControlServer(try Listener(environment: ["XDG_RUNTIME_DIR": folder.path]), echo)
        }

        func client() throws -> ControlClient { try ControlClient(environment: environment) }

        /// A bare connection.
        func raw() throws -> Int32 {
            let descriptor = socketPair(socket)
            try #require(descriptor >= 0)
            return descriptor
        }

        deinit {
            server.close()
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test func `requests are answered in order, with their ids, and what takes long holds nothing up`() throws {
        let place = try Place()
        var client = try place.client()
        #expect(try client.ask(JSON(["request": "toggle", "mask": "santa"]))["mask"]?.string == "santa")
        try client.send(JSON(["id": "late", "request": "snapshot"]))
        try client.send(JSON(["id": 7, "request": "toggle", "mask": "a"]))
        try client.send(JSON(["id": 8, "request": "next"]))
        let answers = try (0..<3).map { _ in try #require(try client.next(within: 5)) }
        #expect(answers.map { $0["id"]?.text } == ["7", "8", "\"late\""])
        #expect(answers[1]["error"]?["code"]?.string == "not-now")
    }

    @Test func `who says no more gets what it asked for, then its connection ends`() throws {
        let place = try Place()
        let descriptor = try place.raw()
        defer { close(descriptor) }
        write(descriptor, #"{"request": "snapshot"}"# + "\n" + #"{"request": "next"}"# + "\nhalf")
        shutdown(descriptor, CInt(SHUT_WR))
        #expect(read(descriptor, lines: 2).map { $0.contains("late") } == [false, true])
        var byte: UInt8 = 0
        #expect(unsafe recv(descriptor, &byte, 1, 0) == 0)
        // Who is gone altogether is forgotten, whatever it asked for.
        for _ in 0..<200 {
            let other = try place.raw()
            write(other, #"{"request": "snapshot"}"# + "\n")
            close(other)
        }
        // The server's thread gives way to others: on a busy machine it takes its time.
        var answer: JSON?
        for _ in 0..<50 where answer == nil {
            Thread.sleep(forTimeInterval: 0.1)
            var client = try place.client()
            answer = try? client.ask(JSON(["request": "toggle", "mask": "a"]))
        }
        #expect(answer?["mask"]?.string == "a")
    }

    @Test func `the socket is this user's alone`() throws {
        let place = try Place()
        func mode(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(place.socket) == 0o600)
        #expect(try mode(place.folder.appending(path: "guise").path) == 0o700)
        #expect(throws: Problem.self) { try ControlSocket.path(environment: [:]) }
    }

    @Test func `a living daemon's socket is not taken, a dead one's is`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "guise-control-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let environment = ["XDG_RUNTIME_DIR": folder.path]
        let socket = folder.appending(path: "guise/control.sock").path
        do {
            let listener = try Listener(environment: environment)
            let problem = #expect(throws: Problem.self) { _ = try Listener(environment: environment) }
            #expect(problem?.kind == .busy)
            #expect(problem?.what.contains("(\(getpid()))") == true, "\(problem?.what ?? "")")
            // As if killed: its file stays behind.
            try FileManager.default.copyItem(atPath: "\(socket).lock", toPath: "\(socket).copy")
            unsafe rename(socket, "\(socket).kept")
            _ = consume listener
        }
        unsafe rename("\(socket).kept", socket)
        #expect(FileManager.default.fileExists(atPath: socket))
        let problem = #expect(throws: Problem.self) { _ = try ControlClient(environment: environment) }
        #expect(problem?.kind == .missing)
        do { _ = try Listener(environment: environment) }
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func `garbage gets an answer, and the line after it counts`() throws {
        let place = try Place()
        let descriptor = try place.raw()
        defer { close(descriptor) }
        let giant = String(repeating: "y", count: 200_000)
        write(
            descriptor,
            "hello\n\n  \r\n{\"id\": 1}\n\(giant)\n{\"id\": 2, \"request\": \"toggle\", \"mask\": \"b\"}\n{\"request\": \"togg"
        )
        write(descriptor, "le\", \"mask\": \"c\"}\n")
        let lines = read(descriptor, lines: 5)
        try #require(lines.count == 5, "\(lines)")
        #expect(lines[0].contains("bad-line"))
        #expect(lines[1].contains("\"id\":1") && lines[1].contains("bad-value"))
        #expect(lines[2].contains("bad-line") && lines[2].contains("65536"))
        #expect(lines[3] == #"{"id":2,"ok":{"mask":"b"}}"#)
        #expect(lines[4] == #"{"ok":{"mask":"c"}}"#)
    }

    @Test func `a subscriber that does not read is dropped and told so, others hear on`() throws {
        let place = try Place()
        let slow = try place.raw()
        defer { close(slow) }
        write(slow, "{\"request\": \"subscribe\", \"events\": [\"figures\"]}\n")
        var good = try place.client()
        _ = try good.ask(JSON(["request": "subscribe", "events": ["figures"]]))
        var last = 0.0
        // 20 KB ten times a second: socket and share are full after some four seconds.
        for _ in 0..<70 { last = try #require(try good.next(within: 5))["number"]?.number ?? 0 }
        #expect(last >= 70)
        let said = readAll(slow)
        let tail = said.split(separator: "\n").last.map(String.init) ?? ""
        #expect(tail.hasPrefix(#"{"event":"dropped","error":{"code":"too-slow""#), "\(tail.prefix(200))")
    }

    @Test func `the sixty-fifth client is told that there are too many`() throws {
        let place = try Place()
        var clients = try (0..<64).map { _ in try place.raw() }
        // Each has been taken before the next one comes.
        write(clients[63], "{\"request\": \"next\"}\n")
        _ = read(clients[63], lines: 1)
        let more = try place.raw()
        #expect(read(more, lines: 1).first?.contains("too-many-clients") == true)
        close(more)
        close(clients.removeLast())
        Thread.sleep(forTimeInterval: 0.2)
        let next = try place.raw()
        write(next, "{\"request\": \"next\"}\n")
        #expect(read(next, lines: 1).first?.contains("not-now") == true)
        for descriptor in clients + [next] { close(descriptor) }
    }

    @Test func `half a thousand clients come, ask and go without an end`() throws {
        let place = try Place()
        let before = openDescriptors()
        for round in 0..<500 {
            let descriptor = try place.raw()
            write(descriptor, round % 3 == 0 ? "{\"requ" : "{\"request\": \"toggle\", \"mask\": \"\(round)\"}\n")
            if round % 2 == 0, round % 3 != 0 { _ = read(descriptor, lines: 1) }
            close(descriptor)
        }
        var client = try place.client()
        _ = try client.ask(JSON(["request": "status"]))
        Thread.sleep(forTimeInterval: 0.2)
        let after = openDescriptors()
        #expect(after <= before + 3, "\(before) descriptors became \(after)")
    }
}

// MARK: - bare sockets

private func socketPair(_ path: String) -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
    let result = unsafe withUnsafePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    return result == 0 ? descriptor : -1
}

private func write(_ descriptor: Int32, _ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
        let count = unsafe bytes.withUnsafeBytes {
            unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
    }
}

/// Waits for so many lines, five seconds at most.
private func read(_ descriptor: Int32, lines wanted: Int) -> [String] {
    var bytes: [UInt8] = []
    let end = Date().addingTimeInterval(5)
    while bytes.count(where: { $0 == UInt8(ascii: "\n") }) < wanted, Date() < end {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&polled, 1, 1000) > 0 else { continue }
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
}

/// All that there is, up to the end of the connection.
private func readAll(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}

private func openDescriptors() -> Int {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count
}
