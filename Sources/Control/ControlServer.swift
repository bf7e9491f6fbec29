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
    /// The largest number of clients with subscriptions, which are never idle: programs that forget theirs leave places
    /// for others.
    static let maxSubscribers = 48
    /// The largest number of connections that wait for a place. Others wait in the socket's queue.
    static let maxArrivals = 64
    /// The largest number of connections that are accepted before clients get their turn.
    static let acceptedAtOnce = 16
    /// The largest number of unread bytes queued for one client. A client with more is dropped.
    static let maxPendingBytes = 256 << 10
    /// The largest number of lines of one client that are answered before the answers are sent. More might be dropped
    /// as unread.
    static let linesAtOnce = 16
    /// Nanoseconds of answering after which answers are sent and new clients let in. One line may take longer.
    static let answeringTime: UInt64 = 20_000_000
    /// Nanoseconds by which a new client's first line goes before those of clients that were answered lately. Clients
    /// that send one line after the other wait no longer than this for new ones.
    static let newClientLead: UInt64 = 100_000_000
    /// Nanoseconds of silence after which a client is idle. A client that has just connected sends its request now.
    static let shortestSilence: UInt64 = 100_000_000
    /// Nanoseconds after which a client that has not completed a line is idle too.
    static let longestHalfLine: UInt64 = 10_000_000_000
    /// Nanoseconds after which a client that has read nothing of what waits for it may lose its place.
    static let longestUnread: UInt64 = 5_000_000_000
    /// Nanoseconds that a new client waits for a place before it is refused: most clients leave with their answer.
    static let longestWait: UInt64 = 1_000_000_000
    /// Milliseconds between two looks for a place.
    static let placeInterval: CInt = 10
}

/// The object that answers requests for the server.
public protocol RequestResponder: Sendable {
    /// Performs a command. The server's thread calls this, so it must not block: long work runs elsewhere and calls
    /// `reply` when it is done. `reply` is called exactly once, from any thread.
    /// - Returns: whether later requests of the same client wait for the reply.
    func handle(_ command: Command, _ reply: @escaping @Sendable (Result<JSON, any Error>) -> Void) -> Bool
    /// Returns the events since the last call. Called ten times a second while there are subscribers.
    func pendingEvents() -> [(topic: Topic, event: JSON)]
}

/// A server that talks to clients on its own thread, with one JSON object per line in each direction. A misbehaving
/// client loses at most its own connection.
public final class ControlServer: Sendable {
    /// Data that other threads queue for the server's thread.
    private struct Outbox {
        var answers: [(client: Int, request: Int, line: String)] = []
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
    /// The time in nanoseconds of the monotonic clock.
    private let now: @Sendable () -> UInt64

    /// A connection that waits for a place among the clients.
    private struct Arrival {
        let descriptor: CInt
        /// When it was accepted, in nanoseconds of the server's clock.
        let time: UInt64
    }

    /// Starts to listen.
    /// - Parameters:
    ///   - listener: the listening socket; nil if clients connect through `connect` only.
    ///   - daemon: the object that answers the requests.
    ///   - eventInterval: milliseconds between polls for events while there are subscribers.
    ///   - closeTimeout: seconds that a dropped client has to read the reason.
    ///   - now: the monotonic clock, by which clients are idle and take turns.
    /// - Throws: an error if the wake event cannot be created.
    public init(
        _ listener: consuming Listener?, _ daemon: any RequestResponder, eventInterval: CInt = 100,
        closeTimeout: UInt64 = 10, now: @escaping @Sendable () -> UInt64 = { monotonicTime() }
    ) throws {
        (self.eventInterval, self.closeTimeout, self.now) = (eventInterval, closeTimeout, now)
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
        var arrivals: [Arrival] = []
        var polled: [pollfd] = []
        var count = 0
        while true {
            polled.removeAll(keepingCapacity: true)
            polled.append(pollfd(fd: wakeEvent.descriptor, events: Int16(POLLIN), revents: 0))
            let accepts = arrivals.count < ControlLimits.maxArrivals
            polled.append(pollfd(fd: accepts ? listening : -1, events: Int16(POLLIN), revents: 0))
            for client in clients { polled.append(client.pollRequest) }
            let listened = clients.contains { !$0.topics.isEmpty }
            var timeout = listened || clients.contains(where: \.isClosing) ? eventInterval : -1
            if !arrivals.isEmpty {
                timeout = timeout < 0 ? ControlLimits.placeInterval : min(timeout, ControlLimits.placeInterval)
            }
            if clients.contains(where: \.isReady) { timeout = 0 }
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
            for (number, request, line) in pending.answers {
                if let i = clients.firstIndex(where: { $0.number == number }) {
                    clients[i].completeRequest(request, with: line)
                }
            }
            guard isOpen else {
                for i in clients.indices {
                    clients[i].send()
                    clients[i].closeSocket()
                }
                for arrival in arrivals { Glibc.close(arrival.descriptor) }
                for descriptor in pending.newClients { Glibc.close(descriptor) }
                return
            }

            for i in clients.indices where polled[i + 2].revents != 0 { clients[i].receive(at: now()) }
            answerLines(&clients, daemon)
            for i in clients.indices {
                clients[i].send()
                if polled[i + 2].revents & Int16(POLLHUP) != 0 { clients[i].handleHangup() }
            }
            for client in clients where client.isClosed { client.closeSocket() }
            clients.removeAll(where: \.isClosed)
            if polled[1].revents != 0 { acceptClients(&arrivals, listening) }
            for descriptor in pending.newClients {
                if arrivals.count < 2 * ControlLimits.maxArrivals {
                    arrivals.append(Arrival(descriptor: descriptor, time: now()))
                } else {
                    Glibc.close(descriptor)
                }
            }
            placeArrivals(&arrivals, &clients, &count)
        }
    }

    /// Accepts connections; not all at once, so that a program that connects again and again stops nobody.
    private func acceptClients(_ arrivals: inout [Arrival], _ listener: CInt) {
        for _ in 0..<ControlLimits.acceptedAtOnce {
            let descriptor = clinux_local_accept(listener)
            // Without a free descriptor, the pending connection makes `poll` return at once again and again.
            if [-EMFILE, -ENFILE].contains(descriptor) { usleep(100_000) }
            guard descriptor >= 0 else { return }
            // The folder's permissions keep other users out, except for root and in a shared runtime folder.
            guard let peer = Listener.peer(of: descriptor), peer.user == getuid() else {
                Glibc.close(descriptor)
                continue
            }
            arrivals.append(Arrival(descriptor: descriptor, time: now()))
        }
    }

    /// Gives new connections their places, in the order of their arrival. Those that find none in time are refused.
    private func placeArrivals(_ arrivals: inout [Arrival], _ clients: inout [Client], _ count: inout Int) {
        while let arrival = arrivals.first {
            let time = now()
            let taken = clients.count(where: { !$0.isClosing })
            let hasPlace = taken < ControlLimits.maxClients || dropIdleClient(&clients, at: time)
            guard hasPlace || time >= arrival.time + ControlLimits.longestWait else { return }
            arrivals.removeFirst()
            count += 1
            var client = Client(arrival.descriptor, number: count, now: now, closeTimeout: closeTimeout)
            if !hasPlace {
                client.enqueueError(
                    nil, RequestError(.tooManyClients, "\(ControlLimits.maxClients) clients are already connected"))
                client.closeAfterFlush()
                client.send()
            }
            if !client.isClosed, clients.count < 2 * ControlLimits.maxClients {
                clients.append(client)
            } else {
                client.closeSocket()
            }
        }
    }

    /// Drops the client that has been silent for the longest and waits for nothing, so that connections which a program
    /// forgets keep nobody out.
    /// - Returns: false if there is none.
    private func dropIdleClient(_ clients: inout [Client], at time: UInt64) -> Bool {
        let idle = clients.indices.filter { clients[$0].isIdle(at: time) }
            .sorted { clients[$0].lastReceived < clients[$1].lastReceived }
        for i in idle {
            // Its request may have come since the sockets were polled.
            clients[i].receive(at: time)
            guard clients[i].isIdle(at: time) else { continue }
            clients[i].enqueueError(
                nil, RequestError(.tooManyClients, "\(ControlLimits.maxClients) clients are connected, this one idly"))
            clients[i].send()
            clients.remove(at: i).closeSocket()
            return true
        }
        return false
    }

    /// Answers lines for a while, each time one of the client that was not answered for the longest: how long a client
    /// waits does not depend on how many lines others have sent.
    private func answerLines(_ clients: inout [Client], _ daemon: any RequestResponder) {
        let end = now() + ControlLimits.answeringTime
        var answered = [Int](repeating: 0, count: clients.count)
        while outbox.withLock({ $0.isOpen }) {
            var longest: Int?
            for i in clients.indices where clients[i].isReady && answered[i] < ControlLimits.linesAtOnce {
                if let best = longest, clients[best].lastAnswered <= clients[i].lastAnswered { continue }
                longest = i
            }
            guard let next = longest else { return }
            let subscribers = clients.count(where: { !$0.topics.isEmpty && !$0.isClosing })
            answerLine(of: &clients[next], maySubscribe: subscribers < ControlLimits.maxSubscribers, daemon)
            answered[next] += 1
            let time = now()
            clients[next].lastAnswered = time
            if time >= end { return }
        }
    }

    private func answerLine(of client: inout Client, maySubscribe: Bool, _ daemon: any RequestResponder) {
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
                    guard maySubscribe || topics.isEmpty || !client.topics.isEmpty else {
                        throw RequestError(
                            .tooManyClients, "\(ControlLimits.maxSubscribers) clients have subscribed already")
                    }
                    client.topics = Set(topics)
                    client.enqueue(Self.successLine(id, JSON(["events": JSON(topics.map(\.rawValue))])))
                case .command(let command):
                    let (number, id) = (client.number, id)
                    let request = client.beginRequest()
                    let mustWait = daemon.handle(command) { [weak self] result in
                        self?.postReply(result, to: number, request, id)
                    }
                    if mustWait { client.awaitedRequest = request }
                }
            } catch {
                client.enqueueError(id, error)
            }
        }
    }

    private func postReply(_ result: Result<JSON, any Error>, to number: Int, _ request: Int, _ id: JSON?) {
        let line =
            switch result {
            case .success(let json): Self.successLine(id, json)
            case .failure(let error): Self.errorLine(id, RequestError(error))
            }
        outbox.withLock { $0.answers.append((number, request, line)) }
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
    /// When bytes were last received, or else when it got its place: nanoseconds of the server's clock.
    private(set) var lastReceived: UInt64
    /// When the last line was answered.
    var lastAnswered: UInt64
    /// When the first byte of an incomplete line was received, at the latest.
    private var lineBegan: UInt64
    /// The number of bytes at the start of `received` that contain no newline.
    private var searched = 0
    /// The index of the first newline; nil if no line is complete.
    private var lineEnd: Int?
    /// True while the rest of a line that is too long is discarded.
    private var isSkipping = false
    /// True until such a line is answered.
    private var hasLongLine = false
    private var hasEnded = false
    /// The number of replies that are still due.
    private(set) var pendingReplies = 0
    /// The number of requests so far.
    private var requests = 0
    /// The request whose reply later requests wait for.
    var awaitedRequest: Int?
    private var waiting: [UInt8] = []
    private var sent = 0
    /// When some of `waiting` was last read, or when it was empty.
    private var lastRead: UInt64
    private let now: @Sendable () -> UInt64
    private var closeDeadline: UInt64?
    /// Seconds to read the reason for being dropped.
    private let closeTimeout: UInt64

    init(_ descriptor: CInt, number: Int, now: @escaping @Sendable () -> UInt64, closeTimeout: UInt64) {
        (self.descriptor, self.number, self.closeTimeout) = (descriptor, number, closeTimeout)
        self.now = now
        let time = now()
        (lastReceived, lineBegan, lastRead) = (time, time, time)
        lastAnswered = time - min(time, ControlLimits.newClientLead)
    }

    var isClosing: Bool { closeDeadline != nil }

    /// Whether nothing has been under way for a while: no request, no reply, no subscription. A line that is not
    /// completed in time is no request, and a reply that is not read in time is none either.
    func isIdle(at time: UInt64) -> Bool {
        if isClosing { return false }
        if !waiting.isEmpty { return time >= lastRead + ControlLimits.longestUnread }
        guard topics.isEmpty, pendingReplies == 0, !hasLine else { return false }
        let isInLine = isSkipping || !received.isEmpty
        return time
            >= (isInLine ? lineBegan + ControlLimits.longestHalfLine : lastReceived + ControlLimits.shortestSilence)
    }

    /// The events to poll for.
    var pollRequest: pollfd {
        // A client with a full line of unprocessed input is not read from until that input is processed.
        let listens = !isClosing && !hasEnded && received.count <= ControlLimits.longestLine
        let events = (listens ? POLLIN : 0) | (sent < waiting.count ? POLLOUT : 0)
        // One that has hung up would be reported again and again while its next line waits.
        let waits = hasLine && !isReady && waiting.isEmpty
        return pollfd(fd: waits ? -1 : descriptor, events: Int16(events), revents: 0)
    }

    /// True if a line is complete or too long, so that a request can be processed without reading more.
    var hasLine: Bool { !isClosing && !isClosed && (hasLongLine || lineEnd != nil) }

    /// True if such a line need not wait for an earlier reply.
    var isReady: Bool { hasLine && awaitedRequest == nil }

    mutating func receive(at time: UInt64) {
        guard !isClosing, !hasEnded, received.count <= ControlLimits.longestLine else { return }
        let chunk = 16 << 10
        let before = received.count
        received.append(contentsOf: repeatElement(0, count: chunk))
        let count = unsafe received.withUnsafeMutableBufferPointer {
            unsafe clinux_read(descriptor, $0.baseAddress?.advanced(by: before), chunk)
        }
        received.removeLast(chunk - max(0, count))
        if count > 0 {
            lastReceived = time
            if before == 0, !isSkipping { lineBegan = time }
            findLineEnd()
        }
        switch count {
        case 0: hasEnded = true
        case -Int(EAGAIN): break
        case ..<0: isClosed = true
        default: break
        }
    }

    /// Looks for the end of the first line, and discards what has come of a line that is too long.
    private mutating func findLineEnd() {
        guard lineEnd == nil else { return }
        lineEnd = received[searched...].firstIndex(of: UInt8(ascii: "\n"))
        guard lineEnd == nil else { return }
        searched = received.count
        guard isSkipping || searched > ControlLimits.longestLine else { return }
        received.removeAll()
        searched = 0
        if !isSkipping { (isSkipping, hasLongLine) = (true, true) }
    }

    /// Takes the first line.
    /// - Returns: nil if it is blank or the end of one that was too long, or if none is complete.
    mutating func nextLine() -> Input? {
        guard !isClosing else { return nil }
        if hasLongLine {
            hasLongLine = false
            return .tooLong
        }
        guard let end = lineEnd else { return nil }
        let line = Array(received[..<end])
        let isRest = isSkipping
        received.removeSubrange(...end)
        (searched, lineEnd, isSkipping, lineBegan) = (0, nil, false, lastReceived)
        findLineEnd()
        if isRest { return nil }
        if line.count > ControlLimits.longestLine { return .tooLong }
        return line.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") } ? nil : .line(line)
    }

    /// Counts a request, whose reply is due now.
    /// - Returns: its number.
    mutating func beginRequest() -> Int {
        requests += 1
        pendingReplies += 1
        return requests
    }

    /// Queues the reply to one request.
    mutating func completeRequest(_ request: Int, with line: String) {
        pendingReplies -= 1
        if awaitedRequest == request { awaitedRequest = nil }
        enqueue(line)
    }

    mutating func enqueue(_ line: String) {
        guard !isClosing, !isClosed else { return }
        if waiting.isEmpty { lastRead = now() }
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
            lastRead = now()
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
