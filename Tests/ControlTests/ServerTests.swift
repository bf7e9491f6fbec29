import Dispatch
import Foundation
import Frames
import JSON
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import SystemKit

/// The control socket with untrusted clients: garbage, half lines, giant lines, floods, and clients that never read.
@Suite(.ownThread) struct ServerTests {
    /// A clock that goes on by a step with each look at it, whatever the machine does.
    private final class Clock: Sendable {
        private let time = Atomic<UInt64>(1_000_000_000_000)
        private let step: UInt64

        /// - Parameter step: nanoseconds.
        init(step: UInt64) { self.step = step }

        func now() -> UInt64 { time.add(step, ordering: .relaxed).newValue }
        func advance(milliseconds: UInt64) { time.add(milliseconds * 1_000_000, ordering: .relaxed) }
    }

    /// A handler that replies at once, but to snapshots and an undo only at the next resume. Later requests wait for
    /// that of the undo. A freeze holds the server's thread.
    private final class Echo: RequestResponder {
        /// Signalled when the thread is held.
        let isHeld = DispatchSemaphore(value: 0)
        /// Ends that.
        let release = DispatchSemaphore(value: 0)
        /// The masks that were toggled.
        let toggled = Mutex<[String]>([])
        /// The clock that a toggle advances by ten milliseconds.
        private let clock: Clock?

        init(_ clock: Clock? = nil) { self.clock = clock }

        private let held = Mutex<[@Sendable (Result<JSON, any Error>) -> Void]>([])
        let events = Atomic<Int>(0)
        /// The number of events that may be sent: a test that counts them allows the next when it has read the last.
        let most = Atomic<Int>(.max)

        func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) -> Bool {
            switch command {
            case .mask(.toggle(let mask)):
                clock?.advance(milliseconds: 10)
                toggled.withLock { $0.append(mask) }
                reply(.success(JSON(["mask": JSON(mask)])))
            case .picture(.freeze):
                isHeld.signal()
                release.wait()
                reply(.success(JSON([:])))
            case .picture(.snapshot): held.withLock { $0.append(reply) }
            case .history(.undo):
                held.withLock { $0.append(reply) }
                return true
            case .picture(.resume):
                let late = held.withLock { held in
                    defer { held = [] }
                    return held
                }
                for reply in late { reply(.success(JSON(["path": "late"]))) }
                reply(.success(JSON([:])))
            case .mask(.next): reply(.failure(RequestError(.notNow, "there is none")))
            default: reply(.success(JSON([:])))
            }
            return false
        }

        func pendingEvents() -> [(topic: Topic, event: JSON)] {
            guard events.load(ordering: .relaxed) < most.load(ordering: .relaxed) else { return [] }
            let number = events.add(1, ordering: .relaxed).newValue
            // So much that a client that does not read soon exceeds its limit.
            return [
                (
                    .metrics,
                    JSON([
                        "event": "metrics", "number": JSON(number), "text": JSON(String(repeating: "x", count: 20_000)),
                    ])
                )
            ]
        }
    }

    /// A server in a temporary folder.
    private final class ServerFixture {
        private let scratch: ScratchFolder
        var folder: URL { scratch.url }
        let echo: Echo
        let server: ControlServer

        var environment: [String: String] { ["XDG_RUNTIME_DIR": folder.path] }
        var socket: String { folder.appending(path: "guise/control.sock").path }

        /// - Parameter clock: the server's clock; nil: the real one.
        init(_ clock: Clock? = nil) throws {
            scratch = try ScratchFolder()
            echo = Echo(clock)
            // An event a thousand times per second, and time for a test that has to wait for a processor.
            server = try ControlServer(
                try Listener(environment: ["XDG_RUNTIME_DIR": scratch.url.path]), echo, eventInterval: 1,
                closeTimeout: 3600, now: { clock?.now() ?? monotonicTime() })
        }

        /// A raw connection that has its place, since it was answered.
        func placed() throws -> Int32 {
            let descriptor = try raw()
            write(descriptor, "{\"request\": \"next\"}\n")
            try #require(read(descriptor, lines: 1).first?.contains("not-now") == true)
            return descriptor
        }

        /// Retries until the server has room: it takes a moment to notice closed connections.
        func askPatiently(_ request: JSON) -> JSON? {
            for _ in 0..<10_000 {
                guard var client = try? client() else { return nil }
                if let answer = try? client.perform(request, within: timeout) { return answer }
            }
            return nil
        }

        func client() throws -> ControlClient { try ControlClient(environment: environment) }

        /// A raw connection.
        func raw() throws -> Int32 {
            let descriptor = socketPair(socket)
            try #require(descriptor >= 0)
            return descriptor
        }

        deinit { server.close() }
    }

    @Test func `requests are answered in order, with their ids, and slow ones block no others`() throws {
        let fixture = try ServerFixture()
        var client = try fixture.client()
        #expect(
            try client.perform(JSON(["request": "toggle", "mask": "santa"]), within: timeout)["mask"]?.string
                == "santa")
        try client.send(JSON(["id": "late", "request": "snapshot"]))
        try client.send(JSON(["id": 7, "request": "toggle", "mask": "a"]))
        try client.send(JSON(["id": 8, "request": "next"]))
        try client.send(JSON(["id": 9, "request": "resume"]))
        let answers = try (0..<4).map { _ in try #require(try client.next(within: timeout)) }
        #expect(answers.map { $0["id"]?.text } == ["7", "8", "\"late\"", "9"])
        #expect(answers[1]["error"]?["code"]?.string == "not-now")
    }

    @Test func `what a client requests after a change waits for the change's reply, and no other client does`() throws {
        let fixture = try ServerFixture()
        let descriptor = try fixture.raw()
        defer { close(descriptor) }
        write(descriptor, "{\"request\": \"undo\"}\n{\"request\": \"toggle\", \"mask\": \"later\"}\n")
        // It hangs up, which changes nothing.
        shutdown(descriptor, CInt(SHUT_WR))
        var other = try fixture.client()
        for _ in 0..<20 { _ = try other.perform(JSON(["request": "toggle", "mask": "other"]), within: timeout) }
        let before = fixture.echo.toggled.withLock { $0 }
        #expect(before == Array(repeating: "other", count: 20))
        _ = try other.perform(JSON(["request": "resume"]), within: timeout)
        #expect(read(descriptor, lines: 2).map { $0.contains("later") } == [false, true])
    }

    @Test func `clients that never read what they have asked for keep nobody out`() throws {
        let clock = Clock(step: 1)
        let fixture = try ServerFixture(clock)
        let clients = try (0..<64).map { _ in try fixture.placed() }
        defer { for descriptor in clients { close(descriptor) } }
        // More than a socket's buffer holds, and less than makes the server drop a client at once.
        let line = "{\"request\": \"toggle\", \"mask\": \"\(String(repeating: "a", count: 50_000))\"}\n"
        for client in clients.prefix(4) { write(client, String(repeating: line, count: 6)) }
        // The others wait for replies.
        for client in clients.dropFirst(4) { write(client, "{\"request\": \"snapshot\"}\n") }
        waits { fixture.echo.toggled.withLock { $0.count } == 4 * 6 }
        let refused = try fixture.raw()
        defer { close(refused) }
        waits {
            clock.advance(milliseconds: 100)
            return isReadable(refused)
        }
        #expect(read(refused, lines: 1).first?.contains("too-many-clients") == true)
        clock.advance(milliseconds: 6000)
        var more = try fixture.client()
        let answer = try more.perform(JSON(["request": "toggle", "mask": "a"]), within: timeout)
        #expect(answer["mask"]?.string == "a")
    }

    @Test func `a client that shuts down its side still gets its replies, then the connection ends`() throws {
        let fixture = try ServerFixture()
        let descriptor = try fixture.raw()
        defer { close(descriptor) }
        write(descriptor, #"{"request": "snapshot"}"# + "\n" + #"{"request": "next"}"# + "\nhalf")
        shutdown(descriptor, CInt(SHUT_WR))
        #expect(read(descriptor, lines: 1).first?.contains("not-now") == true)
        var other = try fixture.client()
        _ = try other.perform(JSON(["request": "resume"]), within: timeout)
        #expect(read(descriptor, lines: 1).map { $0.contains("late") } == [true])
        var byte: UInt8 = 0
        #expect(unsafe recv(descriptor, &byte, 1, 0) == 0)
        // A closed client is forgotten, whatever it requested.
        for _ in 0..<200 {
            let other = try fixture.raw()
            write(other, #"{"request": "snapshot"}"# + "\n")
            close(other)
        }
        #expect(fixture.askPatiently(JSON(["request": "toggle", "mask": "a"]))?["mask"]?.string == "a")
    }

    @Test func `only this user can access the socket`() throws {
        let fixture = try ServerFixture()
        func mode(_ path: String) throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        #expect(try mode(fixture.socket) == 0o600)
        #expect(try mode(fixture.folder.appending(path: "guise").path) == 0o700)
        #expect(throws: Problem.self) { try ControlSocket.path(environment: [:]) }
    }

    @Test func `a running daemon's socket is not replaced, a stale one is`() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url
        let environment = ["XDG_RUNTIME_DIR": folder.path]
        let socket = folder.appending(path: "guise/control.sock").path
        do {
            let listener = try Listener(environment: environment)
            let problem = #expect(throws: Problem.self) { _ = try Listener(environment: environment, timeout: 0) }
            #expect(problem?.kind == .busy)
            #expect(problem?.message.contains("(\(getpid()))") == true, "\(problem?.message ?? "")")
            // As if killed: its file remains.
            try FileManager.default.copyItem(atPath: "\(socket).lock", toPath: "\(socket).copy")
            unsafe rename(socket, "\(socket).kept")
            _ = consume listener
        }
        unsafe rename("\(socket).kept", socket)
        #expect(FileManager.default.fileExists(atPath: socket))
        // A child that another test is just starting may hold the listening descriptor until it runs its program.
        waits {
            do { _ = try ControlClient(environment: environment) } catch { return true }
            return false
        }
        let problem = #expect(throws: Problem.self) { _ = try ControlClient(environment: environment) }
        #expect(problem?.kind == .missing)
        do { _ = try Listener(environment: environment) }
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func `a killed daemon's child that has its socket for a moment is waited for`() throws {
        let scratch = try ScratchFolder()
        try scratch.makeFolder("guise")
        // The daemon ends at once. Its child lets go of the lock when this process tries to get it, and of the socket
        // when this process has found that somebody still listens.
        let daemon = """
            import fcntl, os, signal, socket, sys, time
            name = os.path.realpath("guise") + "/control.sock"
            lock = open(name + ".lock", "w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            print(os.getpid(), file=lock, flush=True)
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("guise/control.sock")
            listener.listen()
            if os.fork(): os._exit(0)
            signal.alarm(600)
            for descriptor in range(3): os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
            folder = "/proc/\(getpid())/fd"
            def target(entry):
                try: return os.readlink(folder + "/" + entry)
                except OSError: return ""
            while all(target(entry) != name + ".lock" for entry in os.listdir(folder)): time.sleep(0.002)
            lock.close()
            listener.accept()
            """
        try scratch.write(daemon, "daemon.py")
        try scratch.shell("python3 daemon.py")
        do { _ = try Listener(environment: ["XDG_RUNTIME_DIR": scratch.url.path], timeout: .max) }
        #expect(!FileManager.default.fileExists(atPath: scratch.path("guise/control.sock")), "it was this one's")
    }

    @Test func `garbage is answered with an error, and the next line is parsed`() throws {
        let fixture = try ServerFixture()
        let descriptor = try fixture.raw()
        defer { close(descriptor) }
        let giant = String(repeating: "y", count: 200_000)
        write(
            descriptor,
            "hello\n\n  \r\n{\"id\": 1}\n\(giant)\n{\"id\": 2, \"request\": \"toggle\", \"mask\": \"b\"}\n{\"request\": \"togg"
        )
        write(descriptor, "le\", \"mask\": \"c\"}\n")
        let lines = read(descriptor, lines: 5)
        try #require(lines.count == 5, "\(lines)")
        // No file is involved, so none is to be corrected.
        #expect(lines[0].contains("bad-line") && lines[0].contains("found 'h'; correct the request"), "\(lines[0])")
        #expect(lines[1].contains("\"id\":1") && lines[1].contains("bad-value"))
        #expect(lines[2].contains("bad-line") && lines[2].contains("65536"))
        #expect(lines[3] == #"{"id":2,"ok":{"mask":"b"}}"#)
        #expect(lines[4] == #"{"ok":{"mask":"c"}}"#)
    }

    @Test func `a subscriber that does not read is dropped with an error, others keep receiving`() throws {
        let fixture = try ServerFixture()
        fixture.echo.most.store(0, ordering: .relaxed)
        let slow = try fixture.raw()
        defer { close(slow) }
        write(slow, "{\"request\": \"subscribe\", \"events\": [\"metrics\"]}\n")
        var good = try fixture.client()
        _ = try good.perform(JSON(["request": "subscribe", "events": ["metrics"]]), within: timeout)
        // 20 KB each: socket and share of the other are full after some forty.
        var last = 0.0
        for _ in 0..<100 {
            fixture.echo.most.add(1, ordering: .relaxed)
            last = try #require(try good.next(within: timeout))["number"]?.number ?? 0
        }
        #expect(last >= 100)
        let said = readAll(slow)
        let tail = said.split(separator: "\n").last.map(String.init) ?? ""
        #expect(tail.hasPrefix(#"{"event":"dropped","error":{"code":"too-slow""#), "\(tail.prefix(200))")
    }

    @Test func `the sixty-fifth client gets an error that there are too many`() throws {
        let fixture = try ServerFixture(Clock(step: 1_000_000))
        // A subscriber that is dropped, since it does not read, leaves its place.
        fixture.echo.most.store(0, ordering: .relaxed)
        var clients = try (0..<64).map { _ in try fixture.raw() }
        for (number, client) in clients.enumerated() {
            let request = number < 48 ? "\"subscribe\", \"events\": [\"metrics\"]" : "\"snapshot\""
            write(client, "{\"request\": \(request)}\n{\"request\": \"next\"}\n")
            _ = read(client, lines: 1)
        }
        let more = try fixture.raw()
        #expect(read(more, lines: 1).first?.contains("too-many-clients") == true)
        close(more)
        close(clients.removeLast())
        #expect(fixture.askPatiently(JSON(["request": "toggle", "mask": "a"])) != nil, "there is room for one again")
        for descriptor in clients { close(descriptor) }
    }

    @Test func `the forty-ninth subscriber is refused, so that places are left for others`() throws {
        let fixture = try ServerFixture()
        fixture.echo.most.store(0, ordering: .relaxed)
        let clients = try (0..<49).map { _ in try fixture.raw() }
        defer { for descriptor in clients { close(descriptor) } }
        let subscription = "{\"request\": \"subscribe\", \"events\": [\"metrics\"]}\n"
        for client in clients.dropLast() {
            write(client, subscription)
            #expect(read(client, lines: 1).first?.contains("ok") == true)
        }
        write(clients[48], subscription)
        #expect(read(clients[48], lines: 1).first?.contains("too-many-clients") == true)
        // It stays connected, and those that are subscribed may change that.
        write(clients[0], "{\"request\": \"subscribe\", \"events\": []}\n")
        #expect(read(clients[0], lines: 1).first?.contains("ok") == true)
        write(clients[48], subscription)
        #expect(read(clients[48], lines: 1).first?.contains("ok") == true)
    }

    @Test func `more clients at once than there are places are all answered`() throws {
        // A millisecond at each look: those that were answered are idle after a hundred looks.
        let fixture = try ServerFixture(Clock(step: 1_000_000))
        let first = try fixture.raw()
        write(first, "{\"request\": \"freeze\"}\n")
        fixture.echo.isHeld.wait()
        let clients = try (0..<100).map { _ in try fixture.raw() }
        defer { for descriptor in clients + [first] { close(descriptor) } }
        for client in clients { write(client, "{\"request\": \"next\"}\n") }
        fixture.echo.release.signal()
        for client in clients {
            let line = read(client, lines: 1).first ?? ""
            #expect(line.contains("not-now"), "\(line)")
        }
    }

    @Test func `half a line that is not completed in ten seconds keeps nobody out`() throws {
        let clock = Clock(step: 1)
        let fixture = try ServerFixture(clock)
        let clients = try (0..<64).map { _ in try fixture.raw() }
        defer { for descriptor in clients { close(descriptor) } }
        for client in clients {
            write(client, "{\"request\": \"next\"}\n{\"requ")
            _ = read(client, lines: 1)
        }
        clock.advance(milliseconds: 11_000)
        var more = try fixture.client()
        let answer = try more.perform(JSON(["request": "toggle", "mask": "a"]), within: timeout)
        #expect(answer["mask"]?.string == "a")
    }

    @Test func `a client waits for one line of each other client, however many they have sent`() throws {
        let fixture = try ServerFixture()
        let clients = try (0..<4).map { _ in try fixture.placed() }
        defer { for descriptor in clients { close(descriptor) } }
        write(clients[0], "{\"request\": \"freeze\"}\n")
        fixture.echo.isHeld.wait()
        for (client, (mask, count)) in zip(clients[1...], [("a", 16), ("b", 16), ("c", 1)]) {
            write(client, String(repeating: "{\"request\": \"toggle\", \"mask\": \"\(mask)\"}\n", count: count))
        }
        fixture.echo.release.signal()
        for (client, count) in zip(clients[1...], [16, 16, 1]) { #expect(read(client, lines: count).count == count) }
        let order = fixture.echo.toggled.withLock { $0 }
        #expect(order.firstIndex(of: "c") ?? .max <= 2, "\(order)")
    }

    @Test func `a new client waits for twenty milliseconds of others' lines at most`() throws {
        // A toggle takes ten milliseconds.
        let fixture = try ServerFixture(Clock(step: 1))
        let clients = try (0..<3).map { _ in try fixture.placed() }
        defer { for descriptor in clients { close(descriptor) } }
        write(clients[0], "{\"request\": \"freeze\"}\n")
        fixture.echo.isHeld.wait()
        for (client, mask) in zip(clients[1...], ["a", "b"]) {
            write(client, String(repeating: "{\"request\": \"toggle\", \"mask\": \"\(mask)\"}\n", count: 16))
        }
        let new = try fixture.raw()
        defer { close(new) }
        write(new, "{\"request\": \"toggle\", \"mask\": \"new\"}\n")
        fixture.echo.release.signal()
        #expect(read(new, lines: 1).first?.contains("new") == true)
        let order = fixture.echo.toggled.withLock { $0 }
        #expect(order.firstIndex(of: "new") ?? .max <= 3, "\(order)")
    }

    @Test func `an end waits for the line that is being answered, and for none behind it`() throws {
        let echo = Echo()
        let server = try ControlServer(nil, echo)
        let client = try server.connect()
        defer { close(client) }
        let line = "{\"request\": \"toggle\", \"mask\": \"a\"}\n"
        write(client, "{\"request\": \"freeze\"}\n" + String(repeating: line, count: 10))
        echo.isHeld.wait()
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            server.close()
            ended.signal()
        }
        // Once it refuses connections, it is ending.
        while let other = try? server.connect() {
            close(other)
            usleep(1000)
        }
        echo.release.signal()
        ended.wait()
        let toggled = echo.toggled.withLock { $0 }
        #expect(toggled.isEmpty)
    }

    @Test func `the client that is idle for the longest makes room for a new one`() throws {
        let fixture = try ServerFixture()
        let clients = try (0..<64).map { _ in try fixture.raw() }
        defer { for descriptor in clients { close(descriptor) } }
        // The first one is the oldest, but the last that asked.
        for client in clients.reversed() {
            write(client, "{\"request\": \"next\"}\n")
            _ = read(client, lines: 1)
        }
        var more = try fixture.client()
        _ = try more.perform(JSON(["request": "toggle", "mask": "a"]), within: timeout)
        #expect(readAll(clients[63]).contains("too-many-clients"))
        write(clients[0], "{\"request\": \"next\"}\n")
        #expect(read(clients[0], lines: 1).first?.contains("not-now") == true)
    }

    @Test func `clients that connect, ask and leave in large numbers leave nothing open`() throws {
        let fixture = try ServerFixture()
        for round in 0..<150 {
            let descriptor = try fixture.raw()
            write(descriptor, round % 3 == 0 ? "{\"requ" : "{\"request\": \"toggle\", \"mask\": \"\(round)\"}\n")
            if round % 2 == 0, round % 3 != 0 { _ = read(descriptor, lines: 1) }
            close(descriptor)
        }
        // Each reply is one turn of the server, in which it notices closed connections.
        var client = try fixture.client()
        var open = 0
        for _ in 0..<1000 {
            _ = try client.perform(JSON(["request": "status"]), within: timeout)
            open = try connections(to: fixture.socket)
            if open == 1 { break }
        }
        #expect(open == 1, "\(open) connections are open, and one client is there")
    }
}

// MARK: - Raw sockets

/// Whether there is something to read, now.
private func isReadable(_ descriptor: Int32) -> Bool { waitUntilReady(descriptor, milliseconds: 0) }

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

/// Waits for a number of lines, or the end of the connection.
private func read(_ descriptor: Int32, lines wanted: Int) -> [String] {
    var bytes: [UInt8] = []
    while bytes.count(where: { $0 == UInt8(ascii: "\n") }) < wanted {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
}

/// Reads up to the end of the connection.
private func readAll(_ descriptor: Int32) -> String {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}

/// The number of open connections at the server's end of a socket.
private func connections(to path: String) throws -> Int {
    // Names in it may not be UTF-8.
    let table = String(decoding: try contents(of: "/proc/net/unix"), as: UTF8.self)
    // Num, RefCount, Protocol, Flags, Type, St, Inode, Path of proc_net_unix(5); a connection is in state 03.
    return table.split(separator: "\n").count { line in
        let fields = line.split(separator: " ")
        return fields.count == 8 && fields[7] == path && fields[5] == "03"
    }
}

/// Seconds: no time limit.
private let timeout = 1_000_000
