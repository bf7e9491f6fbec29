import NIOCore

/// A channel handler that closes a connection which keeps the server waiting. It precedes the HTTP decoder, so that it
/// sees bytes.
final class RequestTimer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        /// No request has begun.
        case idle
        /// Part of a head has arrived.
        case head
        /// The head has arrived, and the body is arriving.
        case body
        /// The server is processing the request, or the connection is a web socket.
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
        arm(limits.unauthenticatedTimeout)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch phase {
        case .idle:
            phase = .head
            if isAuthenticated { arm(limits.headTimeout) }
        case .body: if isAuthenticated { arm(limits.idleTimeout) }
        case .head, .response: break
        }
        context.fireChannelRead(data)
    }

    /// Marks a request's head as complete.
    func headArrived() {
        phase = .body
        if isAuthenticated { arm(limits.idleTimeout) }
    }

    /// Marks a request as complete: the client now waits for the server.
    func requestArrived() {
        phase = .response
        if isAuthenticated { deadline?.cancel() }
    }

    /// Marks a response as sent: the next request may arrive.
    func responseEnded() {
        phase = .idle
        if isAuthenticated { arm(limits.idleTimeout) }
    }

    /// Marks the client as authenticated: the connection may stay open.
    func authenticated() {
        guard !isAuthenticated else { return }
        isAuthenticated = true
        if phase == .body { arm(limits.idleTimeout) } else { deadline?.cancel() }
    }

    private func arm(_ time: TimeAmount) {
        deadline?.cancel()
        guard let channel = context?.channel else { return }
        deadline = channel.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
