import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The channel handler for the requests of one connection. It limits their size, and answers each in its own task.
final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let router: PageRouter
    private let timer: RequestTimer
    private var request: HTTPRequest?
    /// The number of body bytes received so far.
    private var bodyCount = 0
    /// The number of body bytes that are kept at most.
    private var bodyLimit = 0
    /// False if the announced body is too large, so that nothing of it is kept.
    private var keepsBody = true
    /// The memory of a photo's or picture's body, until it is answered.
    private var upload: UploadBudget.Share?
    private var version = HTTPVersion.http1_1
    /// True if the response has no body (RFC 9110, 9.3.2).
    private var isHead = false
    /// True if the connection stays open after the response.
    private var isKeepAlive = true
    /// True if the whole request has arrived.
    private var isComplete = false
    private var hasAnswered = false
    /// The promise of the response's end, which is held back while too much of the response is unsent; nil otherwise.
    private var heldEnd: EventLoopPromise<Void>?
    private var task: Task<Void, Never>?

    init(_ router: PageRouter, _ timer: RequestTimer) { (self.router, self.timer) = (router, timer) }

    func channelInactive(context: ChannelHandlerContext) {
        task?.cancel()
        (request, upload) = (nil, nil)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        task?.cancel()
        heldEnd?.fail(ChannelError.ioOnClosedChannel)
        heldEnd = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): append(bytes, context)
        case .end:
            timer.requestArrived()
            isComplete = true
            guard let request, !hasAnswered else { return }
            let upload = upload
            (self.request, self.upload) = (nil, nil)
            if let pageError = bodyCount > bodyLimit ? tooLarge : nil {
                answer(context) { try await $0.sendError(pageError, $1) }
            } else {
                answer(context) { router, writer in
                    defer { withExtendedLifetime(upload) {} }
                    try await router.answer(request, writer)
                }
            }
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        timer.headArrived()
        (version, isKeepAlive, isComplete, hasAnswered, bodyCount) = (head.version, head.isKeepAlive, false, false, 0)
        isHead = head.method == .HEAD
        let request = HTTPRequest(head)
        bodyLimit = router.limits.maxBodyBytes
        if case .authorized(let token) = router.decision(request) {
            timer.authenticated()
            router.table.authenticate(context.channel, token: token)
            bodyLimit = request.route.maxBody(router.limits)
        }
        self.request = request
        let announced = head.headers.first(name: "Content-Length").flatMap { Int($0) } ?? 0
        keepsBody = announced <= bodyLimit
        upload = bodyLimit > router.limits.maxBodyBytes && keepsBody ? UploadBudget.Share(of: router.uploads) : nil
        if announced > maxRead {
            refuse(tooLarge, context)
        } else if announced > 0, keepsBody {
            guard upload?.grow(to: announced) != false else { return refuse(Self.busy, context) }
            self.request?.body.reserveCapacity(announced)
        }
    }

    /// Answers before the whole request has arrived, and forgets what has.
    private func refuse(_ pageError: PageError, _ context: ChannelHandlerContext) {
        (request, upload) = (nil, nil)
        answer(context) { try await $0.sendError(pageError, $1) }
    }

    private static let busy = PageError(
        .busy, "other photos and pictures are being sent, as many as there is memory for; try again when they are done")

    private func append(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard !hasAnswered else { return }
        bodyCount += bytes.readableBytes
        if bodyCount > maxRead {
            refuse(tooLarge, context)
        } else if !keepsBody || bodyCount > bodyLimit {
            request?.body = []
            upload = nil
        } else if upload?.grow(to: bodyCount) == false {
            refuse(Self.busy, context)
        } else {
            request?.body.append(contentsOf: bytes.readableBytesView)
        }
    }

    /// The number of body bytes that are read at most, kept or not.
    private var maxRead: Int { bodyLimit > router.limits.maxBodyBytes ? router.limits.maxDiscardedBytes : bodyLimit }

    private var tooLarge: PageError {
        let limits = router.limits
        let message =
            switch bodyLimit {
            case limits.maxPhotoBytes: "the photo is larger than \(limits.maxPhotoBytes >> 20) MiB; make it smaller"
            case limits.maxPictureBytes:
                "the file is larger than \(limits.maxPictureBytes >> 20) MiB; make it shorter or smaller"
            default: "the request is larger than \(limits.maxBodyBytes >> 10) KiB"
            }
        return PageError(.tooLarge, message)
    }

    private func answer(
        _ context: ChannelHandlerContext,
        _ body: @escaping @Sendable (PageRouter, ResponseWriter) async throws -> Void
    ) {
        hasAnswered = true
        let (router, channel) = (router, context.channel)
        task = Task {
            // An error here means that the connection is closed, or that the response is incomplete.
            do { try await body(router, ResponseWriter(channel)) } catch { channel.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused web socket upgrade is answered like any other request.
        if error is NIOWebSocketUpgradeError { return }
        guard let error = error as? HTTPParserError, !hasAnswered else {
            context.close(promise: nil)
            return
        }
        let pageError: PageError
        if let request, request.route.maxBody(router.limits) > router.limits.maxBodyBytes {
            pageError = PageError(.badRequest, "the photo arrived incomplete; send it again")
        } else if case .headerOverflow = error {
            let limits = router.limits
            pageError = PageError(
                .headTooLarge,
                "the head is larger than \(limits.maxHeadBytes >> 10) KiB or \(limits.maxHeaderFields) fields")
        } else {
            pageError = PageError(.badRequest, "this is not an HTTP request")
        }
        (isKeepAlive, isHead) = (false, false)
        answer(context) { try await $0.sendError(pageError, $1) }
    }

    // MARK: - responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let status, var headers):
            if !isKeepAlive || !isComplete { headers.replaceOrAdd(name: "Connection", value: "close") }
            let head = HTTPResponseHead(version: version, status: status, headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body where isHead: promise?.succeed()
        case .body(let bytes): context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: promise)
        case .end:
            let (channel, sent) = (context.channel, promise ?? context.eventLoop.makePromise())
            if !isComplete {
                // If the connection were closed at once, a client that is still sending would not read the response.
                channel.eventLoop.scheduleTask(in: router.limits.closeDelay) { channel.close(promise: nil) }
            } else if !isKeepAlive {
                sent.futureResult.whenComplete { _ in channel.close(promise: nil) }
            }
            // NIO begins the next request when it gets the end, whether anything was sent or not. So it gets the end
            // once most was sent: otherwise the answers to a client that only sends requests would queue without limit.
            context.flush()
            if channel.isWritable { end(context, sent) } else { heldEnd = sent }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, let sent = heldEnd {
            heldEnd = nil
            end(context, sent)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Ends the response. The next request may begin before this returns.
    private func end(_ context: ChannelHandlerContext, _ sent: EventLoopPromise<Void>) {
        if isComplete, isKeepAlive { timer.responseEnded() }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: sent)
    }
}
