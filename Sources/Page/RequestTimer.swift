import NIOCore

/// Closes a connection that keeps the server waiting. Sits before the HTTP decoder, where it sees bytes.
final class RequestTimer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        /// No request has begun.
        case idle
        /// Some bytes of a head have arrived.
        case head
        /// The head has arrived, the body is arriving.
        case body
        /// The server is at work, or the connection is a web socket.
        case response
    }

    private let limits: PageLimits
    private var phase = Phase.idle
    private var isAuthenticated = false
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(_ limits: PageLimits) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        arm(limits.unauthenticated)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch phase {
        case .idle:
            phase = .head
            if isAuthenticated { arm(limits.head) }
        case .body: if isAuthenticated { arm(limits.idle) }
        case .head, .response: break
        }
        context.fireChannelRead(data)
    }

    /// A request's head is complete.
    func headArrived() {
        phase = .body
        if isAuthenticated { arm(limits.idle) }
    }

    /// A request is complete: from now on the client waits for the server.
    func requestArrived() {
        phase = .response
        if isAuthenticated { deadline?.cancel() }
    }

    /// A response has been sent: the next request may come.
    func responseEnded() {
        phase = .idle
        if isAuthenticated { arm(limits.idle) }
    }

    /// The client has shown a valid credential: the connection may stay.
    func authenticated() {
        guard !isAuthenticated else { return }
        isAuthenticated = true
        if phase == .body { arm(limits.idle) } else { deadline?.cancel() }
    }

    private func arm(_ time: TimeAmount) {
        deadline?.cancel()
        guard let channel = context?.channel else { return }
        deadline = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
