import JSON
import NIOCore
import NIOWebSocket
import SystemKit

/// The channel handler for the first messages of a web socket: see `Handshake`. No message is passed on before both
/// sides are authenticated.
final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// The close code for a wrong proof. The page recognizes it by this number.
    static let refusedCode = WebSocketErrorCode(codeNumber: 4401)

    private enum State {
        case waiting(Handshake)
        case proven(token: [UInt8])
        case refused
    }

    private let router: PageRouter
    private let timer: RequestTimer
    private var state = State.refused

    init(_ router: PageRouter, _ timer: RequestTimer) { (self.router, self.timer) = (router, timer) }

    func handlerAdded(context: ChannelHandlerContext) {
        do throws(Problem) {
            let handshake = Handshake(port: router.port, secret: try router.secrets.current())
            state = .waiting(handshake)
            send(JSON(["nonce": JSON(handshake.serverNonce)]), context)
        } catch {
            // Whoever connects is not told the path. `guise page` tells the user.
            close(.unexpectedServerError, "Guise cannot read the page's secret", context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .proven(let token) = state { router.sessions.end(token) }
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .proven: context.fireChannelRead(data)
        case .refused: break
        case .waiting(let handshake):
            let frame = unwrapInboundIn(data)
            guard frame.opcode == .text else { return context.close(promise: nil) }
            let json = try? JSON(Array(frame.unmaskedData.readableBytesView), file: "handshake")
            guard let nonce = json?["nonce"]?.string, let shown = json?["proof"]?.string,
                let proof = handshake.serverProof(verifying: shown, clientNonce: nonce)
            else { return reject(context) }
            let token = router.sessions.begin(handshake.secret, on: context.eventLoop)
            state = .proven(token: token)
            timer.authenticated()
            router.table.authenticate(context.channel, token: token)
            send(JSON(["proof": JSON(proof), "session": JSON(hexEncoded(token))]), context)
            do {
                try context.pipeline.syncOperations.addHandler(
                    SocketBridge(router.limits) { [router] in try router.connect() })
            } catch { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch state {
        case .proven: context.fireErrorCaught(error)
        case .waiting where error is FrameValidator.InvalidFrame: close(.protocolError, "", context)
        case .waiting, .refused: context.close(promise: nil)
        }
    }

    /// Closes the connection after a pause, which limits the rate of guesses at the secret.
    private func reject(_ context: ChannelHandlerContext) {
        state = .refused
        let bound = context.loopBound
        context.eventLoop.assumeIsolated().scheduleTask(in: router.limits.refusalDelay) { [self] in
            close(Self.refusedCode, "the secret is not valid", bound.value)
        }
    }

    private func send(_ json: JSON, _ context: ChannelHandlerContext) {
        let frame = WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: json.text))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    private func close(_ code: WebSocketErrorCode, _ reason: String, _ context: ChannelHandlerContext) {
        state = .refused
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        data.writeString(reason)
        let channel = context.channel
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: sent)
    }
}
