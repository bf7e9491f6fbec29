import CLinux
import Dispatch
import Frames
import Glibc
import JSON
import Synchronization

/// What the wire bears.
public enum ControlLimits {
    /// Bytes of a line, without its end.
    public static let longestLine = 64 << 10
    /// Connections at once.
    static let mostClients = 64
    /// Bytes that wait for a client who does not read them; then it is dropped.
    static let mostWaiting = 256 << 10
    /// Lines of one client that are answered before the others have their turn.
    static let linesAtOnce = 16
    /// Seconds for a client that is dropped to read why.
    static let farewell: UInt64 = 10
}

/// What answers requests, beside the server.
public protocol RequestResponder: Sendable {
    /// Does what a verb asks for. Called by the server's thread, which must not wait: what takes its time is done
    /// elsewhere, and answered when it is done, from any thread, once.
    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void)
    /// What subscribers should hear of since the last call. Called ten times a second while there are subscribers.
    func pendingEvents() -> [(topic: Topic, event: JSON)]
}

/// Speaks with clients on a thread of its own: one JSON object a line, each way. Whatever a client does costs it its own
/// connection at most.
public final class ControlServer: Sendable {
    /// What other threads have for clients.
    private struct Outbox {
        var answers: [(client: Int, line: String)] = []
        /// Descriptors of clients who came by `connect`.
        var newClients: [CInt] = []
        var isOpen = true
    }

    private let wakeEvent: WakeEvent
    private let outbox = Mutex(Outbox())
    /// Until the thread has it.
    private let listener: Mutex<Listener?>
    private let ended = DispatchSemaphore(value: 0)

    /// Milliseconds between two looks for news, while somebody listens.
    private let eventInterval: CInt

    /// Begins to listen.
    /// - Parameters:
    ///   - listener: nil: clients come by `connect` alone.
    ///   - eventInterval: milliseconds between two looks for news, while somebody listens.
    public init(
        _ listener: consuming Listener?, _ daemon: any RequestResponder, eventInterval: CInt = 100
    ) throws {
        self.eventInterval = eventInterval
        wakeEvent = try WakeEvent()
        self.listener = Mutex(consume listener)
        startThread(named: "control") { [self] in
            serve(self.listener.withLock { $0.take() }, daemon)
            ended.signal()
        }
    }

    /// A client of this very process, with all that holds for others: the other end of its connection, not blocking.
    /// - Throws: `system` where no descriptor is left, `gone` after the end.
    public func connect() throws(Problem) -> CInt {
        var ends: [2 of CInt] = [-1, -1]
        var span = ends.mutableSpan
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let made = unsafe span.withUnsafeMutableBufferPointer { unsafe socketpair(AF_UNIX, kind, 0, $0.baseAddress) }
        guard made == 0 else { throw Problem(.system, "no socket for a client: \(errorMessage(of: errno))") }
        let (own, theirs) = (ends[0], ends[1])
        let isOpen = outbox.withLock { outbox in
            if outbox.isOpen { outbox.newClients.append(own) }
            return outbox.isOpen
        }
        guard isOpen else {
            Glibc.close(own)
            Glibc.close(theirs)
            throw Problem(.gone, "guise is ending")
        }
        wakeEvent.signal()
        return theirs
    }

    /// Sends what waits, and ends; returns when the socket is gone.
    public func close() {
        outbox.withLock { $0.isOpen = false }
        wakeEvent.signal()
        ended.wait()
    }

    private func serve(_ listener: consuming Listener?, _ daemon: any RequestResponder) {
        let listening =
            switch listener {
            case .some(let listener): listener.descriptor
            case .none: CInt(-1)
            }
        lowerThreadPriority()
        var clients: [Client] = []
        var polled: [pollfd] = []
        var count = 0
        while true {
            polled.removeAll(keepingCapacity: true)
            polled.append(pollfd(fd: wakeEvent.descriptor, events: Int16(POLLIN), revents: 0))
            polled.append(pollfd(fd: listening, events: Int16(POLLIN), revents: 0))
            for client in clients { polled.append(client.wanted) }
            let listened = clients.contains { !$0.topics.isEmpty }
            let isBusy = clients.contains(where: \.hasLine)
            let timeout = isBusy ? 0 : listened || clients.contains(where: \.isClosing) ? eventInterval : -1
            guard unsafe poll(&polled, nfds_t(polled.count), timeout) >= 0 || errno == EINTR else { return }
            if polled[0].revents != 0 { wakeEvent.drain() }

            let (pending, isOpen) = outbox.withLock { outbox in
                let taken = outbox
                outbox.answers.removeAll()
                outbox.newClients.removeAll()
                return (taken, outbox.isOpen)
            }
            for (topic, event) in listened ? daemon.pendingEvents() : [] {
                let line = event.text
                for i in clients.indices where clients[i].topics.contains(topic) { clients[i].enqueue(line) }
            }
            for (number, line) in pending.answers {
                if let i = clients.firstIndex(where: { $0.number == number }) { clients[i].completeRequest(with: line) }
            }

            for i in clients.indices {
                if polled[i + 2].revents != 0 { clients[i].receive() }
                handle(&clients[i], daemon)
                clients[i].send()
                if polled[i + 2].revents & Int16(POLLHUP) != 0 { clients[i].handleHangup() }
            }
            for client in clients where client.isClosed { client.closeSocket() }
            clients.removeAll(where: \.isClosed)
            if polled[1].revents != 0 { acceptClients(&clients, &count, listening) }
            for descriptor in pending.newClients { addClient(descriptor, &clients, &count) }
            if !isOpen {
                for client in clients { client.closeSocket() }
                return
            }
        }
    }

    private func acceptClients(_ clients: inout [Client], _ count: inout Int, _ listener: CInt) {
        while true {
            let descriptor = clinux_local_accept(listener)
            // Who waits at the door without a descriptor for him is heard again and again.
            if [-EMFILE, -ENFILE].contains(descriptor) { usleep(100_000) }
            guard descriptor >= 0 else { return }
            // The folder keeps others out already; root and a shared runtime folder are not kept out by it.
            guard let peer = Listener.peer(of: descriptor), peer.user == getuid() else {
                Glibc.close(descriptor)
                continue
            }
            addClient(descriptor, &clients, &count)
        }
    }

    private func addClient(_ descriptor: CInt, _ clients: inout [Client], _ count: inout Int) {
        count += 1
        var client = Client(descriptor, number: count)
        if clients.count >= ControlLimits.mostClients {
            client.enqueueError(
                nil, RequestError(.tooManyClients, "\(ControlLimits.mostClients) clients are connected already"))
            client.closeAfterFlush()
        }
        if clients.count < 2 * ControlLimits.mostClients { clients.append(client) } else { client.closeSocket() }
    }

    private func handle(_ client: inout Client, _ daemon: any RequestResponder) {
        for _ in 0..<ControlLimits.linesAtOnce {
            switch client.nextLine() {
            case nil: return
            case .tooLong:
                client.enqueueError(
                    nil, RequestError(.badLine, "a line of more than \(ControlLimits.longestLine) bytes"))
            case .line(let bytes):
                var id: JSON?
                do throws(RequestError) {
                    let json: JSON
                    do { json = try JSON(bytes, file: "request") } catch {
                        throw RequestError(.badLine, "\(error)".replacing("request:1: ", with: ""))
                    }
                    id = json["id"]
                    let request = try Request(id: id, json)
                    if case .subscribe(let topics) = request.command {
                        client.topics = Set(topics)
                        client.enqueue(Self.successLine(id, JSON(["events": JSON(topics.map(\.rawValue))])))
                    } else {
                        let (number, id) = (client.number, id)
                        client.pendingReplies += 1
                        daemon.handle(request.command) { [weak self] result in self?.postReply(result, to: number, id) }
                    }
                } catch {
                    client.enqueueError(id, error)
                }
            }
        }
    }

    private func postReply(_ result: Result<JSON, any Error>, to number: Int, _ id: JSON?) {
        let line =
            switch result {
            case .success(let json): Self.successLine(id, json)
            case .failure(let error): Self.errorLine(id, RequestError(error))
            }
        outbox.withLock { $0.answers.append((number, line)) }
        wakeEvent.signal()
    }

    fileprivate static func successLine(_ id: JSON?, _ json: JSON) -> String {
        JSON.object(id: id).with("ok", json).text
    }

    fileprivate static func errorLine(_ id: JSON?, _ requestError: RequestError) -> String {
        JSON.object(id: id).with("error", requestError.json).text
    }
}

extension JSON {
    /// What every answer begins with.
    fileprivate static func object(id: JSON?) -> JSON { id.map { JSON(["id": $0]) } ?? JSON([:]) }
}

/// One connection.
private struct Client {
    enum Input {
        case line([UInt8])
        /// Thrown away up to its end.
        case tooLong
    }

    let number: Int
    let descriptor: CInt
    var topics: Set<Topic> = []
    /// Nothing more will be read from it or said to it.
    private(set) var isClosed = false
    private var received: [UInt8] = []
    /// Bytes of `received` that hold no end of a line.
    private var searched = 0
    private var isSkipping = false
    private var hasEnded = false
    /// Answers that are still to come.
    var pendingReplies = 0
    private var waiting: [UInt8] = []
    private var sent = 0
    private var closeDeadline: UInt64?

    init(_ descriptor: CInt, number: Int) { (self.descriptor, self.number) = (descriptor, number) }

    var isClosing: Bool { closeDeadline != nil }

    var wanted: pollfd {
        // Who has said much and reads nothing is not listened to.
        let listens = !isClosing && !hasEnded && received.count <= ControlLimits.longestLine
        let events = (listens ? POLLIN : 0) | (sent < waiting.count ? POLLOUT : 0)
        return pollfd(fd: descriptor, events: Int16(events), revents: 0)
    }

    /// True where an answer can be made without hearing more.
    var hasLine: Bool { !isClosing && received.count > searched && received[searched...].contains(UInt8(ascii: "\n")) }

    mutating func receive() {
        guard !isClosing, !hasEnded, received.count <= ControlLimits.longestLine else { return }
        let chunk = 16 << 10
        let before = received.count
        received.append(contentsOf: repeatElement(0, count: chunk))
        let count = unsafe received.withUnsafeMutableBufferPointer {
            unsafe clinux_read(descriptor, $0.baseAddress?.advanced(by: before), chunk)
        }
        received.removeLast(chunk - max(0, count))
        switch count {
        case 0: hasEnded = true
        case -Int(EAGAIN): break
        case ..<0: isClosed = true
        default: break
        }
    }

    mutating func nextLine() -> Input? {
        guard !isClosing else { return nil }
        guard let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = received.count
            if isSkipping || searched > ControlLimits.longestLine {
                received.removeAll()
                searched = 0
                if !isSkipping {
                    isSkipping = true
                    return .tooLong
                }
            }
            return nil
        }
        let line = Array(received[..<end])
        received.removeSubrange(...end)
        searched = 0
        if isSkipping {
            isSkipping = false
            return nextLine()
        }
        if line.count > ControlLimits.longestLine { return .tooLong }
        return line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") } ? nextLine() : .line(line)
    }

    /// Takes what its request came to.
    mutating func completeRequest(with line: String) {
        pendingReplies -= 1
        enqueue(line)
    }

    mutating func enqueue(_ line: String) {
        guard !isClosing, !isClosed else { return }
        waiting += Array(line.utf8)
        waiting.append(UInt8(ascii: "\n"))
        guard waiting.count - sent > ControlLimits.mostWaiting else { return }
        send()
        guard waiting.count - sent > ControlLimits.mostWaiting, !isClosed else { return }
        // The line that is half sent is finished; the rest is not.
        let end = waiting[sent...].firstIndex(of: UInt8(ascii: "\n")) ?? waiting.endIndex - 1
        waiting.removeSubrange((end + 1)...)
        let requestError = RequestError(.tooSlow, "dropped: \(ControlLimits.mostWaiting >> 10) KiB were not read")
        let farewell: JSON = JSON(["event": "dropped", "error": requestError.json])
        waiting += Array(farewell.text.utf8) + [UInt8(ascii: "\n")]
        closeAfterFlush()
    }

    mutating func enqueueError(_ id: JSON?, _ requestError: RequestError) {
        enqueue(ControlServer.errorLine(id, requestError))
    }

    /// Goes when it has read what waits, or has not for long.
    mutating func closeAfterFlush() { closeDeadline = monotonicTime() + ControlLimits.farewell * 1_000_000_000 }

    /// Nobody is at the other end any more: what was said is done, and not answered.
    mutating func handleHangup() { if hasEnded, !hasLine { isClosed = true } }

    mutating func send() {
        while sent < waiting.count, !isClosed {
            let count = unsafe waiting.withUnsafeBufferPointer {
                unsafe clinux_local_send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent)
            }
            if count == -Int(EAGAIN) { break }
            guard count > 0 else {
                isClosed = true
                return
            }
            sent += count
        }
        if sent == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.capacity < ControlLimits.mostWaiting)
            sent = 0
            // Who says no more may wait for answers; what it had half said was nothing.
            if isClosing || hasEnded && pendingReplies == 0 && !hasLine { isClosed = true }
        } else if sent > 1 << 16 {
            waiting.removeSubrange(..<sent)
            sent = 0
        }
        if let closeDeadline, monotonicTime() > closeDeadline { isClosed = true }
    }

    func closeSocket() { close(descriptor) }
}
