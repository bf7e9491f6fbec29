import CLinux
import Dispatch
import Glibc
import JSON
import Synchronization
import SystemKit

/// Limits of the control protocol.
public enum ControlLimits {
    /// The longest line in bytes, without its newline.
    public static let longestLine = 64 << 10
    /// The largest number of connections at once.
    static let maxClients = 64
    /// The largest number of unread bytes queued for one client. A client with more is dropped.
    static let maxPendingBytes = 256 << 10
    /// The largest number of lines of one client that are answered before other clients get their turn.
    static let linesAtOnce = 16
}

/// The object that answers requests for the server.
public protocol RequestResponder: Sendable {
    /// Performs a command. The server's thread calls this, so it must not block: long work runs elsewhere and calls
    /// `reply` when it is done. `reply` is called exactly once, from any thread.
    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void)
    /// Returns the events since the last call. Called ten times a second while there are subscribers.
    func pendingEvents() -> [(topic: Topic, event: JSON)]
}

/// A server that talks to clients on its own thread, with one JSON object per line in each direction. A misbehaving
/// client loses at most its own connection.
public final class ControlServer: Sendable {
    /// Data that other threads queue for the server's thread.
    private struct Outbox {
        var answers: [(client: Int, line: String)] = []
        /// Descriptors of clients that were added by `connect`.
        var newClients: [CInt] = []
        var isOpen = true
    }

    private let wakeEvent: WakeEvent
    private let outbox = Mutex(Outbox())
    /// The listening socket, until the server's thread takes it.
    private let listener: Mutex<Listener?>
    private let ended = DispatchSemaphore(value: 0)

    /// Milliseconds between polls for events while there are subscribers.
    private let eventInterval: CInt
    /// Seconds that a dropped client has to read the reason.
    private let closeTimeout: UInt64

    /// Starts to listen.
    /// - Parameters:
    ///   - listener: the listening socket; nil if clients connect through `connect` only.
    ///   - daemon: the object that answers the requests.
    ///   - eventInterval: milliseconds between polls for events while there are subscribers.
    ///   - closeTimeout: seconds that a dropped client has to read the reason.
    /// - Throws: an error if the wake event cannot be created.
    public init(
        _ listener: consuming Listener?, _ daemon: any RequestResponder, eventInterval: CInt = 100,
        closeTimeout: UInt64 = 10
    ) throws {
        (self.eventInterval, self.closeTimeout) = (eventInterval, closeTimeout)
        wakeEvent = try WakeEvent()
        self.listener = Mutex(consume listener)
        startThread(named: "control") { [self] in
            serve(self.listener.withLock { $0.take() }, daemon)
            ended.signal()
        }
    }

    /// Adds a client inside this process, under the same limits as any other client.
    /// - Returns: the client's end of the connection, a non-blocking descriptor that the caller closes.
    /// - Throws: `Problem` of kind `system` if no descriptor is left, `gone` after `close`.
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
            throw Problem(.gone, "Guise is shutting down")
        }
        wakeEvent.signal()
        return theirs
    }

    /// Sends the queued lines and ends the thread. Returns when the socket is closed.
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
            for client in clients { polled.append(client.pollRequest) }
            let listened = clients.contains { !$0.topics.isEmpty }
            let isBusy = clients.contains(where: \.hasLine)
            let timeout = isBusy ? 0 : listened || clients.contains(where: \.isClosing) ? eventInterval : -1
            var waiting = polled.mutableSpan
            let hasPolled = pollDescriptors(&waiting, milliseconds: timeout) >= 0
            if polled[0].revents != 0 { wakeEvent.drain() }

            let (pending, isOpen) = outbox.withLock { outbox in
                // Without it nobody can be served: this is the end, as if the server was closed.
                if !hasPolled { outbox.isOpen = false }
                let pending = outbox
                outbox.answers.removeAll()
                outbox.newClients.removeAll()
                return (pending, outbox.isOpen)
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
            // Without a free descriptor, the pending connection makes `poll` return at once again and again.
            if [-EMFILE, -ENFILE].contains(descriptor) { usleep(100_000) }
            guard descriptor >= 0 else { return }
            // The folder's permissions keep other users out, except for root and in a shared runtime folder.
            guard let peer = Listener.peer(of: descriptor), peer.user == getuid() else {
                Glibc.close(descriptor)
                continue
            }
            addClient(descriptor, &clients, &count)
        }
    }

    /// Adds a client. If all places are taken, it gets that of the client that has been silent for the longest and
    /// waits for nothing, so that connections which a program forgets keep nobody out.
    private func addClient(_ descriptor: CInt, _ clients: inout [Client], _ count: inout Int) {
        count += 1
        var client = Client(descriptor, number: count, closeTimeout: closeTimeout)
        if clients.count >= ControlLimits.maxClients,
            let idle = clients.indices.filter({ clients[$0].isIdle }).min(by: {
                clients[$0].lastReceived < clients[$1].lastReceived
            })
        {
            clients[idle].enqueueError(
                nil, RequestError(.tooManyClients, "\(ControlLimits.maxClients) clients are connected, this one idly"))
            clients[idle].send()
            clients.remove(at: idle).closeSocket()
        }
        if clients.count >= ControlLimits.maxClients {
            client.enqueueError(
                nil, RequestError(.tooManyClients, "\(ControlLimits.maxClients) clients are already connected"))
            client.closeAfterFlush()
        }
        if clients.count < 2 * ControlLimits.maxClients { clients.append(client) } else { client.closeSocket() }
    }

    private func handle(_ client: inout Client, _ daemon: any RequestResponder) {
        for _ in 0..<ControlLimits.linesAtOnce {
            switch client.nextLine() {
            case nil: return
            case .tooLong:
                client.enqueueError(
                    nil, RequestError(.badLine, "the line is longer than \(ControlLimits.longestLine) bytes"))
            case .line(let bytes):
                var id: JSON?
                do throws(RequestError) {
                    let json: JSON
                    do { json = try JSON(bytes, file: "request", noun: "request") } catch {
                        throw RequestError(.badLine, "\(error)".replacing("request:1: ", with: ""))
                    }
                    id = json["id"]
                    let request = try Request(id: id, json)
                    switch request.content {
                    case .subscription(.subscribe(let topics)):
                        client.topics = Set(topics)
                        client.enqueue(Self.successLine(id, JSON(["events": JSON(topics.map(\.rawValue))])))
                    case .command(let command):
                        let (number, id) = (client.number, id)
                        client.pendingReplies += 1
                        daemon.handle(command) { [weak self] result in self?.postReply(result, to: number, id) }
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
    /// An object with the request's id, if it has one: the start of every reply.
    fileprivate static func object(id: JSON?) -> JSON { id.map { JSON(["id": $0]) } ?? JSON([:]) }
}

/// One client connection.
private struct Client {
    enum Input {
        case line([UInt8])
        /// A line that is too long. Its bytes are discarded up to the newline.
        case tooLong
    }

    let number: Int
    let descriptor: CInt
    var topics: Set<Topic> = []
    /// True if nothing more is read from or sent to this client.
    private(set) var isClosed = false
    private var received: [UInt8] = []
    /// When bytes were last received, or else when it connected: nanoseconds of the monotonic clock.
    private(set) var lastReceived = monotonicTime()
    /// The number of bytes at the start of `received` that contain no newline.
    private var searched = 0
    private var isSkipping = false
    private var hasEnded = false
    /// The number of replies that are still due.
    var pendingReplies = 0
    private var waiting: [UInt8] = []
    private var sent = 0
    private var closeDeadline: UInt64?
    /// Seconds to read the reason for being dropped.
    private let closeTimeout: UInt64

    init(_ descriptor: CInt, number: Int, closeTimeout: UInt64) {
        (self.descriptor, self.number, self.closeTimeout) = (descriptor, number, closeTimeout)
    }

    var isClosing: Bool { closeDeadline != nil }

    /// Whether nothing is under way: no request, no reply, no subscription.
    var isIdle: Bool {
        topics.isEmpty && pendingReplies == 0 && received.isEmpty && waiting.isEmpty && !isSkipping && !isClosing
    }

    /// The events to poll for.
    var pollRequest: pollfd {
        // A client with a full line of unprocessed input is not read from until that input is processed.
        let listens = !isClosing && !hasEnded && received.count <= ControlLimits.longestLine
        let events = (listens ? POLLIN : 0) | (sent < waiting.count ? POLLOUT : 0)
        return pollfd(fd: descriptor, events: Int16(events), revents: 0)
    }

    /// True if a line is complete, so that a request can be processed without reading more.
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
        if count > 0 { lastReceived = monotonicTime() }
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

    /// Queues the reply to one request.
    mutating func completeRequest(with line: String) {
        pendingReplies -= 1
        enqueue(line)
    }

    mutating func enqueue(_ line: String) {
        guard !isClosing, !isClosed else { return }
        waiting += Array(line.utf8)
        waiting.append(UInt8(ascii: "\n"))
        guard waiting.count - sent > ControlLimits.maxPendingBytes else { return }
        send()
        guard waiting.count - sent > ControlLimits.maxPendingBytes, !isClosed else { return }
        // Finish the line that is partly sent; discard the rest.
        let end = waiting[sent...].firstIndex(of: UInt8(ascii: "\n")) ?? waiting.endIndex - 1
        waiting.removeSubrange((end + 1)...)
        let requestError = RequestError(.tooSlow, "dropped: \(ControlLimits.maxPendingBytes >> 10) KiB were not read")
        let reason = JSON(["event": "dropped", "error": requestError.json])
        waiting += Array(reason.text.utf8) + [UInt8(ascii: "\n")]
        closeAfterFlush()
    }

    mutating func enqueueError(_ id: JSON?, _ requestError: RequestError) {
        enqueue(ControlServer.errorLine(id, requestError))
    }

    /// Closes the connection as soon as the queued bytes are sent, or at the deadline.
    mutating func closeAfterFlush() { closeDeadline = monotonicTime() + closeTimeout * 1_000_000_000 }

    /// Closes the connection once the peer has hung up and its complete lines are processed. Replies are not sent any
    /// more.
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
            waiting.removeAll(keepingCapacity: waiting.capacity < ControlLimits.maxPendingBytes)
            sent = 0
            // A client that has ended its input still gets its pending replies. An incomplete last line is ignored.
            if isClosing || hasEnded && pendingReplies == 0 && !hasLine { isClosed = true }
        } else if sent > 1 << 16 {
            waiting.removeSubrange(..<sent)
            sent = 0
        }
        if let closeDeadline, monotonicTime() > closeDeadline { isClosed = true }
    }

    func closeSocket() { close(descriptor) }
}
